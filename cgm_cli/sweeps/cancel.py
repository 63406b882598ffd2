"""`cgm sweep cancel`: whoever works on a sweep is told to stop; runs write their checkpoints and leave."""

from __future__ import annotations

import os
import signal
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from cgm_cli.runs.files import write_fault
from cgm_cli.sweeps import driver
from cgm_cli.sweeps.executors import slurm
from cgm_cli.sweeps.manifest import read_manifest
from cgm_cli.sweeps.point_folder import PointState
from cgm_cli.sweeps.status import orphans, standing


@dataclass(frozen=True)
class Cancelled:
    """told: drivers and jobs that were asked to stop. orphans: runs without a driver. running: what runs yet."""

    told: list[str]
    orphans: int
    running: int


def cancel(path: Path, wait: float) -> Cancelled:
    """Ask everybody to stop, and wait for it, for at most so many seconds. Raises DataError if there is no sweep."""
    manifest = read_manifest(path)
    told = driver.living(path)
    try:
        for token in told:
            driver.stop(path, token)
    except OSError as error:
        raise write_fault(Path(error.filename), error) from error
    for job, batch in slurm.jobs(path).items():
        slurm.cancel(path, job, batch)
        told.append(f"slurm job {job}")
    asked: set[int] = set()
    deadline = time.monotonic() + wait
    while True:
        for _, pid in orphans(manifest):
            if pid not in asked:
                asked.add(pid)
                with suppress(ProcessLookupError, PermissionError):
                    os.kill(pid, signal.SIGTERM)
        now = standing(path)
        ours = set(told) & set(now.drivers)
        running = len(now.of(PointState.RUNNING)) if told or asked else 0
        if (not ours and not running) or time.monotonic() >= deadline:
            return Cancelled(told, len(asked), running)
        time.sleep(0.2)
