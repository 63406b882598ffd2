"""One run of a sweep as a process of its own: `cgm solve SPEC --resume RUN`. Every executor runs this task.

The process holds the claim of its point together with whoever started it, so that nobody else begins the same point
even when the latter is killed. It has a session of its own: a Ctrl-C in the terminal is for the sweep, which then asks
its runs to leave.
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

from cgm_cli.readers.functions import VARIABLE
from cgm_cli.runs.files import utc_now
from cgm_cli.sweeps.lease import Lease
from cgm_cli.sweeps.point_folder import HEADING, PointFolder

THREAD_VARIABLES = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "BLIS_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
    "NUMEXPR_NUM_THREADS",
    "NUMBA_NUM_THREADS",
)
GRACE = 60.0
"""Seconds that a run has to write its checkpoint once it was told to leave."""

PATIENCE = 3
"""So many times in a row a run may leave because somebody else told it to."""


class Kind(Enum):
    """How an attempt at a point ended."""

    DONE = "done"
    SKIPPED = "skipped"  # it was done before
    FAILED = "failed"
    STOPPED = "stopped"  # we told it to leave: it goes on from its checkpoint another time
    LEFT = "left"  # somebody else did
    BUSY = "busy"  # another process is at it


@dataclass(frozen=True)
class AttemptEnding:
    """seconds: wall time of the attempt. message: what went wrong, for a person."""

    kind: Kind
    seconds: float = 0.0
    message: str = ""


@dataclass(frozen=True)
class Order:
    """All that a task needs to know, wherever it runs. timeout: seconds, or None. data: $CGM_DATA. allow_python:
    whether its spec may have code run.
    """

    folder: str
    threads: int
    timeout: float | None
    cwd: str
    data: str
    allow_python: bool = False


class Task:
    """A run that was started. `poll` it; `stop` asks it to leave."""

    def __init__(self, order: Order, lease: Lease):
        self._folder = PointFolder(Path(order.folder))
        self._lease = lease
        self._began = time.monotonic()
        self._deadline = None if order.timeout is None else self._began + order.timeout
        self._told = ""  # why we told it to leave
        self._kill_at = float("inf")
        self._record = self._folder.condition().task
        self._record["attempts"] = self._record.get("attempts", 0) + 1
        command = [sys.executable, "-m", "cgm_cli", "solve", str(self._folder.spec)]
        command += ["--resume", str(self._folder.run), "--quiet"]
        with self._folder.output.open("ab") as output:
            output.write(
                f"{HEADING}{utc_now()} attempt {self._record['attempts']} on {socket.gethostname()}\n".encode()
            )
            output.flush()
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                cwd=order.cwd if os.path.isdir(order.cwd) else None,
                env=_environment(order),
                pass_fds=(lease.descriptor,),
                start_new_session=True,
            )
        lease.note({"run": self._process.pid})

    @classmethod
    def start(cls, order: Order) -> Task | AttemptEnding:
        """The task, or how the attempt ended at once: BUSY, SKIPPED, or FAILED where no process could be started."""
        folder = PointFolder(Path(order.folder))
        try:
            lease = folder.take()
        except OSError as error:
            return AttemptEnding(Kind.FAILED, message=f"{folder.path} cannot be used: {error.strerror}")
        if lease is None:
            return AttemptEnding(Kind.BUSY)
        # Not before the claim is ours: it may have been done since somebody looked.
        if folder.summary() is not None:
            lease.release()
            return AttemptEnding(Kind.SKIPPED)
        try:
            return cls(order, lease)
        except OSError as error:
            lease.release()
            return AttemptEnding(Kind.FAILED, message=f"no process could be started: {error.strerror or error}")

    def poll(self) -> AttemptEnding | None:
        """How the run ended, or None while it goes on. Also tells a run that its time is over."""
        code = self._process.poll()
        if code is not None:
            return self._finish(code)
        self._lease.beat()
        now = time.monotonic()
        if self._deadline is not None and now >= self._deadline and not self._told:
            self._ask_to_leave("time")
        if now >= self._kill_at:
            self.kill()
        return None

    def stop(self) -> None:
        """Ask the run to write its checkpoint and leave; after GRACE seconds it is killed."""
        if not self._told:
            self._ask_to_leave("stop")

    def kill(self) -> None:
        """End the run at once. It will go on from its last checkpoint."""
        self._told = self._told or "stop"
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)

    def _ask_to_leave(self, why: str) -> None:
        self._told = why
        self._kill_at = time.monotonic() + GRACE
        with suppress(ProcessLookupError):
            self._process.send_signal(signal.SIGTERM)

    def _finish(self, code: int) -> AttemptEnding:
        seconds = time.monotonic() - self._began
        ending = self._judge(code, seconds)
        self._record |= {
            "state": ending.kind.value,
            "message": ending.message,
            "exit_code": code,
            "seconds": round(self._record.get("seconds", 0.0) + seconds, 3),
            "host": socket.gethostname(),
            "ended": utc_now(),
        }
        self._folder.note(self._record)
        self._lease.release()
        return ending

    def _judge(self, code: int, seconds: float) -> AttemptEnding:
        if self._folder.summary() is not None and code in (0, 4):
            return AttemptEnding(Kind.DONE, seconds)
        if self._told == "time":
            return AttemptEnding(
                Kind.FAILED, seconds, f"not done after {seconds:.1f} s, its time limit; it keeps its checkpoint"
            )
        if self._told:
            return AttemptEnding(Kind.STOPPED, seconds)
        if code in (75, 130, -signal.SIGTERM, -signal.SIGINT):
            return AttemptEnding(Kind.LEFT, seconds, "it was told to leave, not by this sweep")
        if code < 0:
            name = signal.Signals(-code).name
            hint = "; out of memory?" if code == -signal.SIGKILL else ""
            return AttemptEnding(Kind.FAILED, seconds, f"killed by {name}{hint}")
        return AttemptEnding(Kind.FAILED, seconds, f"exit code {code}: {self._folder.message(self._process.pid)}")


def run(order: Order, should_stop: Callable[[], bool], patience: float, pause: float = 0.05) -> AttemptEnding:
    """Run the task to its end. A point that another process is at is waited for, for at most `patience` seconds."""
    deadline = time.monotonic() + patience
    left = 0
    while True:
        if should_stop():
            return AttemptEnding(Kind.STOPPED)
        task = Task.start(order)
        if isinstance(task, AttemptEnding):
            if task.kind is not Kind.BUSY or time.monotonic() >= deadline:
                return task
            time.sleep(1.0)
            continue
        while (ending := task.poll()) is None:
            if should_stop():
                task.stop()
            time.sleep(pause)
        left += ending.kind is Kind.LEFT
        if ending.kind is not Kind.LEFT or left >= PATIENCE or should_stop():
            return ending


def _environment(order: Order) -> dict[str, str]:
    # Before the process starts: the libraries read these once, when they are loaded.
    threads = dict.fromkeys(THREAD_VARIABLES, str(order.threads))
    data = {"CGM_DATA": order.data} if order.data else {}
    return {**os.environ, **threads, **data, **({VARIABLE: "1"} if order.allow_python else {})}
