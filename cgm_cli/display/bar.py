"""Progress for programs: a bar of tqdm's kind, and a console whose lines go to the logger."""

from __future__ import annotations

import io
import logging
import math
from typing import Protocol

from rich.console import Console

from cgm_cli.methods.record import IterationRecord

logger = logging.getLogger(__name__)
_SECONDS = 0.2


class TqdmLike(Protocol):
    """What is asked of a bar."""

    def update(self, n: int) -> object: ...

    def set_postfix(self, **figures: str) -> object: ...

    def close(self) -> object: ...


class Bar:
    """An observer that moves a bar, five times a second at the most."""

    def __init__(self, bar: TqdmLike):
        self._bar = bar
        self._k = 0
        self._due = -math.inf
        self._last: IterationRecord | None = None

    def on_record(self, record: IterationRecord) -> None:
        """Take one record, and show it if it is time."""
        self._last = record
        if record.seconds >= self._due:
            self._show(record)

    def close(self) -> None:
        """Show the last record, and give the bar back."""
        if self._last is not None:
            self._show(self._last)
        self._bar.close()

    def _show(self, record: IterationRecord) -> None:
        figures = {"objective": record.total, "gap": record.gap, "infeasibility": record.infeasibility}
        self._bar.set_postfix(**{name: f"{value:.4g}" for name, value in figures.items() if not math.isnan(value)})
        self._bar.update(record.k - self._k)
        self._k, self._due = record.k, record.seconds + _SECONDS


class _Lines(io.StringIO):
    def write(self, text: str, /) -> int:
        for line in filter(None, text.splitlines()):
            logger.info("%s", line)
        return len(text)


def logging_console() -> Console:
    """A console that is no terminal, and whose lines are logged at the level INFO."""
    return Console(file=_Lines(), force_terminal=False, highlight=False)
