"""Ctrl-C and a scheduler's signals become a polite request that the loop polls."""

from __future__ import annotations

import math
import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import FrameType

from cgm_cli.errors import wrapped
from cgm_cli.methods.status import Leave, Status

_PREEMPTION = (signal.SIGTERM, signal.SIGUSR1, signal.SIGUSR2)


class StopRequest:
    """Called, it answers how the run should end (INTERRUPTED or PREEMPTED), or None. Of the two, PREEMPTED stands: it
    is in more of a hurry. An interrupt is answered at once, on standard error: with when the run will be left.

    arrivals: a pipe with a byte for every signal (signal.set_wakeup_fd), because two that come while a factorisation
    holds the interpreter up make Python call its handler once; None: every call counts as one.
    """

    def __init__(self, arrivals: int | None = None) -> None:
        self.status: Status | None = None
        self._arrivals = arrivals
        self._interrupts = 0
        self._raises = False
        self._when = "soon"

    def __call__(self) -> Status | None:
        return self.status

    @contextmanager
    def raising(self, seconds: float = math.inf) -> Iterator[None]:
        """Work that cannot ask: in it, a request raises Leave; so does, at its beginning, one to leave at once, and the
        end of these seconds.
        """
        self._raises = True
        try:
            if self.status is Status.PREEMPTED:
                raise Leave(self.status)
            with _alarm(seconds):
                yield
        except RuntimeError as error:
            request = wrapped(error, Leave) or wrapped(error, KeyboardInterrupt)
            if request is None:
                raise
            raise request from None
        finally:
            self._raises = False

    def expect(self, when: str) -> None:
        """Say when a run is left that is interrupted from now on, in words that go on from "leaving"."""
        self._when = when

    def _request(self, status: Status) -> None:
        if self.status is not Status.PREEMPTED:
            self.status = status
        if self._raises:
            raise Leave(self.status)

    def on_interrupt(self, number: int, frame: FrameType | None) -> None:
        self._interrupts = max(1, self._interrupts + self._arrived(number))
        if self._interrupts > 1:
            raise KeyboardInterrupt
        _answer(f"Ctrl-C: leaving {self._when}; a second Ctrl-C leaves at once.")
        self._request(Status.INTERRUPTED)

    def on_preemption(self, number: int, frame: FrameType | None) -> None:
        self._request(Status.PREEMPTED)

    def _arrived(self, number: int) -> int:
        """How many of these signals have arrived since this was last asked."""
        if self._arrivals is None:
            return 1
        with suppress(BlockingIOError):
            return os.read(self._arrivals, 1 << 16).count(number)
        return 0


@contextmanager
def _alarm(seconds: float) -> Iterator[None]:
    """Leave(TIME_LIMIT) after so many seconds, where there are alarms: not outside of the main thread."""
    is_main = threading.current_thread() is threading.main_thread()
    if not (math.isfinite(seconds) and is_main and hasattr(signal, "setitimer")):
        yield
        return

    def leave(number: int, frame: FrameType | None) -> None:
        raise Leave(Status.TIME_LIMIT)

    former = signal.signal(signal.SIGALRM, leave)
    try:
        signal.setitimer(signal.ITIMER_REAL, max(seconds, 1e-3))
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, signal.SIG_DFL if former is None else former)


def _answer(line: str) -> None:
    """One line, past all that is buffered or locked: this is called in the middle of anything."""
    with suppress(OSError):
        # In a terminal the cursor stands behind a table, or behind the ^C that it shows.
        start = "\n" if os.isatty(2) else ""
        os.write(2, f"{start}{line}\n".encode())


@contextmanager
def stop_on_signals() -> Iterator[StopRequest]:
    """Let SIGINT, SIGTERM, SIGUSR1 and SIGUSR2 only set the request; a second SIGINT raises KeyboardInterrupt.

    The former handlers come back at the end. A signal that is ignored stays so: a shell script starts its background
    jobs with SIGINT ignored, so that Ctrl-C is not for them. Outside the main thread, where Python
    allows no handlers, nothing is changed.
    """
    if threading.current_thread() is not threading.main_thread():
        yield StopRequest()
        return
    with _arrivals() as arrivals:
        request, former = StopRequest(arrivals), {}
        handlers = {signal.SIGINT: request.on_interrupt, **dict.fromkeys(_PREEMPTION, request.on_preemption)}
        for number, handler in handlers.items():
            if signal.getsignal(number) is not signal.SIG_IGN:
                former[number] = signal.signal(number, handler)
        try:
            yield request
        finally:
            for number, handler in former.items():
                # None stands for a handler that was not set from Python; it cannot be put back by name.
                signal.signal(number, signal.SIG_DFL if handler is None else handler)


@contextmanager
def _arrivals() -> Iterator[int | None]:
    """A pipe that gets a byte for every signal; None where somebody else, an event loop say, has one already."""
    reading, writing = os.pipe()
    for end in (reading, writing):
        os.set_blocking(end, False)
    former = signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
    if former != -1:
        signal.set_wakeup_fd(former)
    try:
        yield reading if former == -1 else None
    finally:
        if former == -1:
            signal.set_wakeup_fd(-1)
        os.close(reading)
        os.close(writing)
