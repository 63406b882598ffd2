"""A claim that dies with its owner: whoever holds it is the only one, on this machine or on all that share the disk.

    <stem>.lock     locked (flock) by the owner, and by the process it starts with the open file: the kernel drops the
                    lock with the last of them
    <stem>.json     who the owner is; made exclusively, touched now and then, removed at the end

On one machine the lock decides. Some file systems do not carry locks between machines; there a foreign owner counts as
alive for as long as its file has been touched within the last STALE seconds.
"""

from __future__ import annotations

import json
import os
import secrets
import socket
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from cgm_cli.runs import locks

BEAT = 15.0
"""Seconds between two signs of life."""

STALE = 90.0
"""Seconds without one after which an owner on another machine is taken to be dead."""


class Lease:
    """A claim in our hands. `descriptor` may be handed to a child process, which then holds it as well."""

    def __init__(self, stem: Path, descriptor: int):
        self.descriptor = descriptor
        self._owner = stem.with_suffix(".json")
        self._beat = time.monotonic()

    def note(self, facts: Mapping[str, Any]) -> None:
        """Put facts beside host and pid of the owner."""
        told = {"host": socket.gethostname(), "pid": os.getpid(), **facts}
        with suppress(OSError):
            self._owner.write_text(json.dumps(told) + "\n", encoding="utf-8")

    def beat(self) -> None:
        """Give a sign of life, if it is time for one."""
        if time.monotonic() - self._beat >= BEAT:
            self._beat = time.monotonic()
            with suppress(OSError):
                os.utime(self._owner)

    def release(self) -> None:
        """Give the claim back."""
        self._owner.unlink(missing_ok=True)
        os.close(self.descriptor)


def take(stem: Path, signs: Sequence[Path] = ()) -> Lease | None:
    """The claim, or None if a living process holds it. signs: further files that a living owner writes to.

    Raises OSError where no file can be made.
    """
    owner = stem.with_suffix(".json")
    descriptor = os.open(stem.with_suffix(".lock"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        locked = locks.try_lock(descriptor)
        while locked is not False:
            if _create(owner):
                lease = Lease(stem, descriptor)
                lease.note({})
                return lease
            if not _is_stale(owner, signs, descriptor, locked):
                break
            _remove_stale(owner)
    except BaseException:
        os.close(descriptor)
        raise
    os.close(descriptor)
    return None


def is_held(stem: Path, signs: Sequence[Path] = ()) -> bool:
    """Whether a living process holds the claim."""
    try:
        owned = locks.is_owned(stem.with_suffix(".lock"))
    except OSError:
        return False
    owner = stem.with_suffix(".json")
    return owned is True or (owner.exists() and not _is_stale(owner, signs, None, None if owned is None else True))


def owner_of(stem: Path) -> dict[str, Any]:
    """What the owner told of itself: host, pid and more; empty if there is none."""
    try:
        told = json.loads(stem.with_suffix(".json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return told if isinstance(told, dict) else {}


def is_dead_here(owner: Mapping[str, Any]) -> bool:
    """Whether the owner was a process of this machine that has ended."""
    return owner.get("host") == socket.gethostname() and not _lives(owner.get("pid"))


def _create(owner: Path) -> bool:
    try:
        os.close(os.open(owner, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o644))
    except FileExistsError:
        return False
    return True


def _is_stale(owner: Path, signs: Sequence[Path], descriptor: int | None, locked: bool | None) -> bool:
    told = owner_of(owner)
    # A file without a host belongs to somebody who is about to write it, or died before it could.
    if told.get("host") == socket.gethostname():
        return locked is True or not _lives(told.get("pid"))
    times = []
    for path in (owner, *signs):
        with suppress(OSError):
            times.append(path.stat().st_mtime)
    return _now(descriptor) - max(times, default=0.0) > STALE


def _now(descriptor: int | None) -> float:
    """The time by the clock that stamps the files, which need not be ours."""
    if descriptor is not None:
        with suppress(OSError):
            os.utime(descriptor)
            return os.fstat(descriptor).st_mtime
    return time.time()


def _lives(pid: Any) -> bool:
    if not isinstance(pid, int):
        return False
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    # A process that has ended keeps its number until its parent has asked for it.
    try:
        state = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()[0]
    except (OSError, IndexError):
        return True
    return state != "Z"


def _remove_stale(owner: Path) -> None:
    # Of several who found it stale, one moves it away; a file that is made meanwhile by the winner must stay.
    seen = None
    with suppress(OSError):
        seen = owner.stat().st_ino
    aside = owner.with_name(f".{owner.name}.{secrets.token_hex(4)}")
    with suppress(OSError):
        os.rename(owner, aside)
        if aside.stat().st_ino == seen:
            aside.unlink()
        else:
            os.rename(aside, owner)
