"""Threads that share a pass over memory.

They are Python's, since compiled code and NumPy let go of the interpreter: those of numba would have to be waited for
by those of BLAS, and by the caller's own. They wait in a queue, because to wake one up must not take as long as what it
is to do: a tenth of a millisecond.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterator, Sequence
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


def share(work: Callable, parts: Sequence[tuple]) -> None:
    """Call work(*part) for each of the parts, by as many threads as are allowed, this one among them.

    Each takes the next part that nobody has taken, so that one that is late, or slow, is waited for no longer than it
    needs for one. Raises what the work raises, once all parts are done.
    """
    helpers = min(allowed(), len(parts)) - 1
    if helpers < 1:
        for part in parts:
            work(*part)
        return
    left, ended = deque(parts), SimpleQueue()

    def take() -> None:
        while left:
            try:
                part = left.popleft()
            except IndexError:  # another was faster
                return
            ended.put(_outcome(work, part))

    _HELPERS.call(take, helpers)
    errors, done = [_outcome(take, ())], 0
    # Whatever happens here, nobody writes to the caller's arrays once this has returned.
    while done < len(parts):
        try:
            errors.append(ended.get())
            done += 1
        except BaseException as interrupt:  # a signal's handler, which is to be heard, but not before the others end
            errors.append(interrupt)
            take()
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
    """Threads that wait to be called; as many as were ever called at once, and gone in a child after a fork."""

    def __init__(self) -> None:
        self.forget()
        os.register_at_fork(after_in_child=self.forget)

    def forget(self) -> None:
        self._calls: SimpleQueue[Callable[[], None]] = SimpleQueue()
        self._lock, self._count = Lock(), 0

    def call(self, function: Callable[[], None], count: int) -> None:
        """Have `count` of the threads call the function, which does not raise, when they come to it."""
        with self._lock:
            while self._count < count:
                self._count += 1
                Thread(target=self._serve, args=(self._calls,), name="cgm-kernels", daemon=True).start()
        for _ in range(count):
            self._calls.put(function)

    @staticmethod
    def _serve(calls: SimpleQueue[Callable[[], None]]) -> None:
        while True:
            function = calls.get()
            function()
            del function  # nothing of the caller's is kept while this thread waits


_HELPERS = _Helpers()
