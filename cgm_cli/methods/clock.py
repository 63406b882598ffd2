"""Wall time since the start of a run, earlier processes included, and by phase since it was last asked."""

from __future__ import annotations

import time
from collections.abc import Generator
from contextlib import contextmanager


class Clock:
    """seconds: those of earlier processes."""

    def __init__(self, seconds: float = 0.0):
        self._start = time.perf_counter() - seconds
        self._recent: dict[str, float] = {}

    def elapsed(self) -> float:
        """Seconds since the start."""
        return time.perf_counter() - self._start

    @contextmanager
    def phase(self, name: str) -> Generator[None, None, None]:
        """What is done inside counts as this phase."""
        began = time.perf_counter()
        try:
            yield
        finally:
            self._recent[name] = self._recent.get(name, 0.0) + time.perf_counter() - began

    def take(self) -> dict[str, float]:
        """Seconds by phase since this was last asked."""
        recent, self._recent = self._recent, {}
        return recent
