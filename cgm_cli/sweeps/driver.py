"""Processes that drive a sweep: each is known to the sweep's folder while it lives, and can be told there to stop.

    <sweep>/drivers/<token>.json  .lock     a claim (see `cgm_cli.sweeps.lease`) with host and pid
    <sweep>/drivers/<token>.stop            whoever drives under this token finishes: its runs are told to leave

A file reaches a process on another machine, too, and never a stranger that got the number of a dead process.
"""

from __future__ import annotations

import os
import secrets
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from cgm_cli.sweeps import lease

_LOOK = 0.5


class Driver:
    """A process that drives the sweep in the folder `path`."""

    def __init__(self, path: Path, token: str, held: lease.Lease | None):
        self.stop_file = path / "drivers" / f"{token}.stop"
        self._lease = held
        self._look = 0.0
        self._told = False

    def told_to_stop(self) -> bool:
        """Whether somebody asked this driver to stop. Also gives a sign of life; may be called at any rate."""
        now = time.monotonic()
        if now >= self._look and not self._told:
            self._look = now + _LOOK
            self._told = self.stop_file.exists()
            if self._lease is not None:
                self._lease.beat()
        return self._told


@contextmanager
def driving(path: Path) -> Iterator[Driver]:
    """Be a driver of the sweep in the folder `path` for the time of the `with`."""
    token = f"{os.getpid()}-{secrets.token_hex(4)}"
    stem = path / "drivers" / token
    held = None
    with suppress(OSError):
        stem.parent.mkdir(parents=True, exist_ok=True)
        held = lease.take(stem)
    driver = Driver(path, token, held)
    try:
        yield driver
    finally:
        if held is not None:
            held.release()
        with suppress(OSError):
            stem.with_suffix(".lock").unlink(missing_ok=True)
            driver.stop_file.unlink(missing_ok=True)


def living(path: Path) -> list[str]:
    """The tokens of the drivers that live; what the dead have left is cleared away."""
    found = []
    for file in sorted((path / "drivers").glob("*.lock")):
        stem = file.with_suffix("")
        if lease.is_held(stem):
            found.append(stem.name)
            continue
        for suffix in (".lock", ".json", ".stop"):
            with suppress(OSError):
                stem.with_suffix(suffix).unlink(missing_ok=True)
    return found


def stop(path: Path, token: str) -> None:
    """Ask a driver to stop. Raises OSError."""
    (path / "drivers" / f"{token}.stop").touch()
