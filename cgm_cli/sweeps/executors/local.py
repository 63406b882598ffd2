"""A bounded number of processes on this machine, looked after by one thread."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterable
from typing import Protocol

from cgm_cli.sweeps.manifest import Manifest, Row
from cgm_cli.sweeps.task import PATIENCE, Ending, Kind, Order, Task

_TURN = 0.02
_LOOK_AGAIN = 0.5


class Observer(Protocol):
    """Is told what happens, and may end the sweep."""

    def started(self, row: Row) -> None: ...

    def ended(self, row: Row, ending: Ending, final: bool) -> None:
        """final: no further attempt follows."""
        ...

    def tick(self) -> None:
        """Called many times a second."""
        ...


def order_of(manifest: Manifest, row: Row) -> Order:
    """What the task of a row needs to know."""
    folder = str(manifest.folder(row).path.absolute())
    return Order(folder, row.threads, manifest.timeout, manifest.cwd, manifest.data)


def run_local(
    manifest: Manifest,
    rows: Iterable[Row],
    workers: int,
    retries: int,
    observer: Observer,
    should_stop: Callable[[], bool],
    patience: float = float("inf"),
) -> None:
    """Compute the points, `workers` at a time, until all have ended or `should_stop` says so; then runs are told to
    leave, and waited for. An exception, such as a second Ctrl-C, kills them.

    patience: seconds to wait, at the end, for points that another process is at.
    """
    queue = deque((row, 0, 0) for row in rows)  # with the attempts that failed, and that were told to leave
    busy: deque[tuple[Row, int, int]] = deque()
    running: dict[int, tuple[Task, Row, int, int]] = {}
    look_again, idle_since = 0.0, None
    try:
        while queue or running or busy:
            stopping = should_stop()
            if stopping:
                queue.clear()
                busy.clear()
                for task, *_ in running.values():
                    task.stop()
            while queue and len(running) < workers:
                row, failed, left = queue.popleft()
                task = Task.start(order_of(manifest, row))
                if isinstance(task, Task):
                    observer.started(row)
                    running[row.number] = task, row, failed, left
                    idle_since = None
                elif task.kind is Kind.BUSY:
                    busy.append((row, failed, left))
                else:
                    observer.ended(row, task, final=True)
            for number, (task, row, failed, left) in list(running.items()):
                ending = task.poll()
                if ending is None:
                    continue
                del running[number]
                failed += ending.kind is Kind.FAILED
                left = left + 1 if ending.kind is Kind.LEFT else 0
                again = not stopping and (
                    (ending.kind is Kind.FAILED and failed <= retries) or (ending.kind is Kind.LEFT and left < PATIENCE)
                )
                if again:
                    queue.append((row, failed, left))
                observer.ended(row, ending, final=not again)
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
        for task, *_ in running.values():
            task.kill()
        raise
