"""A bounded number of processes on this machine, looked after by one thread."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Protocol

from cgm_cli.readers.functions import is_allowed
from cgm_cli.sweeps.manifest import Manifest, ManifestRow
from cgm_cli.sweeps.task import PATIENCE, AttemptEnding, Kind, Order, Task

_TURN = 0.02
_LOOK_AGAIN = 0.5


@dataclass
class QueuedPoint:
    """A point in the queue. failed: attempts that failed; left: that were told to leave by somebody else, in a row."""

    row: ManifestRow
    failed: int = 0
    left: int = 0

    def again(self, ending: AttemptEnding, retries: int) -> bool:
        """Take note of how an attempt ended; whether another one is due."""
        self.failed += ending.kind is Kind.FAILED
        self.left = self.left + 1 if ending.kind is Kind.LEFT else 0
        return (ending.kind is Kind.FAILED and self.failed <= retries) or 0 < self.left < PATIENCE


class SweepObserver(Protocol):
    """Is told what happens, and may end the sweep."""

    def started(self, row: ManifestRow) -> None: ...

    def ended(self, row: ManifestRow, ending: AttemptEnding, final: bool) -> None:
        """final: no further attempt follows."""
        ...

    def tick(self) -> None:
        """Called many times a second."""
        ...


def order_of(manifest: Manifest, row: ManifestRow) -> Order:
    """What the task of a row needs to know."""
    folder = str(manifest.folder(row).path.absolute())
    return Order(folder, row.threads, manifest.timeout, manifest.cwd, manifest.data, is_allowed())


def run_local(
    manifest: Manifest,
    rows: Iterable[ManifestRow],
    workers: int,
    retries: int,
    observer: SweepObserver,
    should_stop: Callable[[], bool],
    patience: float = float("inf"),
) -> None:
    """Compute the points, `workers` at a time, until all have ended or `should_stop` says so; then runs are told to
    leave, and waited for. An exception, such as a second Ctrl-C, kills them.

    patience: seconds to wait, at the end, for points that another process is at.
    """
    queue = deque(QueuedPoint(row) for row in rows)
    busy: deque[QueuedPoint] = deque()
    running: list[tuple[QueuedPoint, Task]] = []
    look_again, idle_since = 0.0, None
    try:
        while queue or running or busy:
            stopping = should_stop()
            if stopping:
                queue.clear()
                busy.clear()
                for _, task in running:
                    task.stop()
            while queue and len(running) < workers:
                turn = queue.popleft()
                task = Task.start(order_of(manifest, turn.row))
                if isinstance(task, Task):
                    observer.started(turn.row)
                    running.append((turn, task))
                    idle_since = None
                elif task.kind is Kind.BUSY:
                    busy.append(turn)
                else:
                    observer.ended(turn.row, task, final=True)
            for turn, task in list(running):
                ending = task.poll()
                if ending is not None:
                    running.remove((turn, task))
                    again = turn.again(ending, retries) and not stopping
                    if again:
                        queue.append(turn)
                    observer.ended(turn.row, ending, final=not again)
            now = time.monotonic()
            if busy and not queue and now >= look_again:
                look_again = now + _LOOK_AGAIN
                if not running:
                    idle_since = now if idle_since is None else idle_since
                    if now - idle_since > patience:
                        break
                queue, busy = busy, queue
            observer.tick()
            if running or busy:
                time.sleep(_TURN)
    except BaseException:
        for _, task in running:
            task.kill()
        raise
