"""A process that may take so many seconds and so much memory, its peak read from the system while it runs."""

from __future__ import annotations

import os
import signal
import subprocess
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

PAUSE = 0.05


@dataclass(frozen=True)
class Watched:
    """How it ended: exit code, standard output and error, seconds, peak memory in bytes (of the largest process), and
    why it was stopped, if it was.
    """

    code: int
    output: str
    errors: str
    seconds: float
    peak: int
    stopped: str = ""


def peak(pid: int | str = "self") -> int:
    """Peak resident memory of a process in bytes, 0 if it is gone.

    The system's own count since the process began its program. What wait4 tells holds the parent's memory as well.
    """
    try:
        for line in Path(f"/proc/{pid}/status").read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024
    except (OSError, ValueError):
        pass
    return 0


def family(pid: int) -> list[int]:
    """The process and its descendants."""
    try:
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    except OSError:
        return [pid]
    return [pid, *(each for child in children for each in family(int(child)))]


def watch(command: Sequence[str], given: str, seconds: float, memory: float, environment: dict[str, str]) -> Watched:
    """Run a command with `given` on its standard input; it is killed, with all it started, beyond a limit."""
    began = time.perf_counter()
    with (
        tempfile.TemporaryFile("w+") as source,
        tempfile.TemporaryFile("w+") as out,
        tempfile.TemporaryFile("w+") as err,
    ):
        source.write(given)
        source.seek(0)
        process = subprocess.Popen(
            command, stdin=source, stdout=out, stderr=err, env=os.environ | environment, start_new_session=True
        )
        largest, stopped = 0, ""
        try:
            while process.poll() is None:
                largest = max(largest, *map(peak, family(process.pid)))
                if largest > memory:
                    stopped = f"needs more than {memory / 1e9:.1f} GB"
                elif time.perf_counter() - began > seconds:
                    stopped = f"stopped after {seconds:.0f} s"
                if stopped:
                    break
                time.sleep(PAUSE)
        finally:
            # Also when this process is interrupted: nothing is left behind.
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
        out.seek(0)
        err.seek(0)
        return Watched(process.returncode, out.read(), err.read(), time.perf_counter() - began, largest, stopped)
