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
from typing import Any

THREADED_ORDER = 3000
"""Orders of matrices from which factorisations share their work among threads: those of BLAS wait for each other by
spinning, and on smaller matrices, on a processor with other work, that has taken a hundred times as long as one alone.
"""

_THREADS: ContextVar[int] = ContextVar("threads", default=1)
_LOOK: ContextVar[Callable[[], None] | None] = ContextVar("look", default=None)


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
def looking(look: Callable[[], None]) -> Iterator[None]:
    """Let passes over matrices call `look` before every part of them; it may raise, and the pass is left half done."""
    token = _LOOK.set(look)
    try:
        yield
    finally:
        _LOOK.reset(token)


def look() -> None:
    """Between the parts of work that is not shared: what `looking` asked for."""
    asked = _LOOK.get()
    if asked is not None:
        asked()


@contextmanager
def one_thread() -> Iterator[None]:
    """Let BLAS and LAPACK use one thread: for many small matrices, where others are waited for many times as long."""
    import threadpoolctl

    with threadpoolctl.threadpool_limits(1):
        yield


@contextmanager
def blas_threads(order: int) -> Iterator[None]:
    """Let BLAS and LAPACK use as many threads, for a factorisation of a large order; else they have one
    (cgm_cli.runs.execute).
    """
    if allowed() == 1 or order < THREADED_ORDER:
        yield
        return
    import threadpoolctl

    with threadpoolctl.threadpool_limits(allowed()):
        yield


def share(work: Callable[..., Any], parts: Sequence[tuple[Any, ...]]) -> None:
    """Call work(*part) for each of the parts, by as many threads as are allowed, this one among them.

    Each takes the next part that nobody has taken, so that one that is late, or slow, is waited for no longer than it
    needs for one. Raises what the work raises, or whoever looks (`looking`), once nobody is at it any more.
    """
    asked = _LOOK.get()
    if asked is not None and len(parts) > 1:
        work = _after(asked, work)
    helpers = min(allowed(), len(parts)) - 1
    if helpers < 1:
        for part in parts:
            work(*part)
        return
    shared = _Shared(work, parts)
    _HELPERS.call(shared.help, helpers)
    errors = [_outcome(shared.take)]
    # Whatever happens here, nobody writes to the caller's arrays once this has returned.
    while True:
        try:
            errors += shared.close()
            break
        except BaseException as interrupt:  # a signal's handler, which is to be heard, but not before the others end
            errors.append(interrupt)
    for error in errors:
        if error is not None:
            raise error


def _after(look: Callable[[], None], work: Callable[..., Any]) -> Callable[..., Any]:
    def looked(*part: Any) -> None:
        look()
        work(*part)

    return looked


class _Shared:
    """Parts of work that several threads take from, and how those ended that came to help."""

    def __init__(self, work: Callable[..., Any], parts: Sequence[tuple[Any, ...]]):
        self._work, self._left = work, deque(parts)
        self._gate, self._is_open, self._entered = Lock(), True, 0
        self._ended: list[BaseException | None] = []
        self._wake: SimpleQueue[None] = SimpleQueue()

    def take(self) -> None:
        """Do parts until none is left."""
        while True:
            try:
                part = self._left.popleft()
            except IndexError:
                return
            self._work(*part)

    def help(self) -> None:
        """The same, unless this comes too late; does not raise."""
        with self._gate:
            if not self._is_open:
                return
            self._entered += 1
        self._ended.append(_outcome(self.take))
        self._wake.put(None)

    def close(self) -> list[BaseException | None]:
        """Let nobody begin any more, and wait for those who have; what they raised. May be interrupted and repeated."""
        with self._gate:
            self._is_open = False
        self._left.clear()
        while len(self._ended) < self._entered:
            self._wake.get()
        return self._ended


def _outcome(work: Callable[[], None]) -> BaseException | None:
    try:
        work()
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
