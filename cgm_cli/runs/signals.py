"""Ctrl-C and a scheduler's signals become a polite request that the loop polls."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from cgm_cli.methods.status import Leave, Status

_PREEMPTION = (signal.SIGTERM, signal.SIGUSR1, signal.SIGUSR2)


class StopRequest:
    """Called, it answers how the run should end (INTERRUPTED or PREEMPTED), or None. The first request stands."""

    def __init__(self) -> None:
        self.status: Status | None = None
        self._interrupted = False
        self._raises = False

    def __call__(self) -> Status | None:
        return self.status

    @contextmanager
    def raising(self) -> Iterator[None]:
        """Work that cannot ask: in it, a request raises Leave."""
        self._raises = True
        try:
            yield
        finally:
            self._raises = False

    def _request(self, status: Status) -> None:
        self.status = self.status or status
        if self._raises:
            raise Leave(self.status)

    def on_interrupt(self, number: int, frame: FrameType | None) -> None:
        if self._interrupted:
            raise KeyboardInterrupt
        self._interrupted = True
        self._request(Status.INTERRUPTED)

    def on_preemption(self, number: int, frame: FrameType | None) -> None:
        self._request(Status.PREEMPTED)


@contextmanager
def stop_on_signals() -> Iterator[StopRequest]:
    """Let SIGINT, SIGTERM, SIGUSR1 and SIGUSR2 only set the request; a second SIGINT raises KeyboardInterrupt.

    The former handlers come back at the end. A signal that is ignored stays so: a shell script starts its background
    jobs with SIGINT ignored, so that Ctrl-C is not for them. Outside the main thread, where Python
    allows no handlers, nothing is changed.
    """
    request = StopRequest()
    former = {}
    if threading.current_thread() is threading.main_thread():
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
