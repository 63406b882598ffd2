"""Threads that share a pass over memory.

They are Python's, since compiled code and NumPy let go of the interpreter: those of numba would have to be waited for
by those of BLAS, and by the caller's own. They wait in a queue, because to wake one up must not take as long as what it
is to do: a tenth of a millisecond.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from queue import SimpleQueue
from threading import Lock, Thread

LARGE = 2000
"""Orders of matrices from which factorisations share their work among threads: those of BLAS wait for each other by
spinning, and on smaller matrices, on a processor with other work, that has taken a hundred times as long as one alone.
"""

_THREADS: ContextVar[int] = ContextVar("threads", default=1)


@contextmanager
def threads(count: int) -> Iterator[None]:
    """Let passes over matrices use up to `count` threads; one, where nothing is said."""
    token = _THREADS.set(count)
    try:
        yield
    finally:
        _THREADS.reset(token)


def allowed() -> int:
    """How many threads passes over matrices may use here."""
    return _THREADS.get()


@contextmanager
def blas_threads(order: int) -> Iterator[None]:
    """Let BLAS and LAPACK use as many threads, for a factorisation of a large order; else they have one
    (cgm_cli.runs.execute).
    """
    if allowed() == 1 or order < LARGE:
        yield
        return
    import threadpoolctl

    with threadpoolctl.threadpool_limits(allowed()):
        yield


def share(work: Callable, parts: list[tuple]) -> None:
    """Call work(*part) for each of the parts, the first by this thread and every other by one of its own.

    Raises what the work raises, once all of it has ended.
    """
    own, *rest = parts
    ended: SimpleQueue[BaseException | None] = SimpleQueue()
    for part in rest:
        _HELPERS.give(work, part, ended)
    errors = [_outcome(work, own)]
    # Whatever happens here, nobody writes to the caller's arrays once this has returned.
    while len(errors) < len(parts):
        try:
            errors.append(ended.get())
        except BaseException as interrupt:  # a signal's handler, which is to be heard, but not before the others end
            errors[0] = errors[0] or interrupt
    for error in errors:
        if error is not None:
            raise error


def _outcome(work: Callable, part: tuple) -> BaseException | None:
    try:
        work(*part)
    except BaseException as error:  # handed to the caller, whoever it is
        return error
    return None


class _Helpers:
    """Threads that wait for work; as many as were ever needed at once, and gone in a child after a fork."""

    def __init__(self) -> None:
        self.forget()
        os.register_at_fork(after_in_child=self.forget)

    def forget(self) -> None:
        self._lock = Lock()
        self._tasks: SimpleQueue = SimpleQueue()
        self._count = self._busy = 0

    def give(self, work: Callable, part: tuple, ended: SimpleQueue) -> None:
        """Have work(*part) done by one of the threads; what it raised, or None, is put into `ended`."""
        with self._lock:
            self._busy += 1
            if self._busy > self._count:
                self._count += 1
                Thread(target=self._help, args=(self._tasks,), name="cgm-kernels", daemon=True).start()
        self._tasks.put((work, part, ended))

    def _help(self, tasks: SimpleQueue) -> None:
        while True:
            work, part, ended = tasks.get()
            outcome = _outcome(work, part)
            with self._lock:
                self._busy -= 1
            ended.put(outcome)
            # Nothing of the caller's is kept while this thread waits.
            del work, part, ended, outcome


_HELPERS = _Helpers()
