"""`cgm solve --live`: objective and bound, infeasibility and gap, as curves in the terminal while the run goes on."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from rich.console import Console, Group
from rich.live import Live
from rich.text import Text

from cgm_cli.display.braille import Canvas
from cgm_cli.display.console import progress_table
from cgm_cli.display.formatting import bound_label, number
from cgm_cli.methods.record import IterationRecord

_MOST = 1000
_SECONDS = 0.25
_LEFT = 11
_NARROWEST = 40

# Two panels with two curves each: name, style, and how it is read off a record.
_Panel = Sequence[tuple[str, str, Callable[[IterationRecord], float]]]


class PlotView:
    """A view for `Progress`: two plots over the logarithm of k, and the newest row of the table."""

    def __init__(self, sense: str, console: Console):
        self._sense = sense
        self._live = Live(console=console, auto_refresh=False)
        self._kept: list[IterationRecord] = []
        self._next = 0

    def start(self) -> None:
        self._live.start()

    def stop(self) -> None:
        self._live.stop()

    def pause(self, seconds: float) -> float:
        """Seconds until the next picture."""
        return _SECONDS

    def remember(self, record: IterationRecord) -> None:
        """Nothing but what is shown is kept: `take` has it."""

    def take(self, record: IterationRecord) -> None:
        """Keep the record if the curve needs it: as many per doubling of k, however long the run."""
        if record.k >= self._next:
            self._kept.append(record)
            self._next = record.k + max(1, record.k // 60)
            if len(self._kept) > _MOST:
                self._kept = self._kept[::2]

    def show(self, record: IterationRecord, left: str) -> None:
        width, height = self._live.console.size
        picture = self.picture(record, width, height)
        self._live.update(Group(picture, Text(left, "dim")) if left else picture, refresh=True)

    def picture(self, record: IterationRecord, width: int, height: int) -> Group:
        """What stands in a terminal of this size."""
        table = progress_table(self._sense, [record], width)
        if width < _NARROWEST or height < 14:
            return Group(table)
        records = [*self._kept, record]
        rows = max(3, min(9, (height - 8) // 2))
        bound = bound_label(self._sense)
        top: _Panel = ((bound, "green", lambda r: r.bound), ("objective", "bold cyan", lambda r: r.total))
        bottom: _Panel = (
            ("gap", "magenta", lambda r: r.gap),
            ("infeasible", "bold yellow", lambda r: r.infeasibility),
        )
        return Group(
            *_plot(top, records, width, rows, logarithmic=False),
            *_plot(bottom, records, width, rows, logarithmic=True),
            table,
        )


def _plot(panel: _Panel, records: Sequence[IterationRecord], width: int, rows: int, logarithmic: bool) -> list[Text]:
    title = Text(" " * _LEFT)
    for name, style, _ in reversed(panel):
        title.append(f" ━ {name} ", style)
    scale = _log10 if logarithmic else float
    curves = [[(r.k, scale(read(r))) for r in records] for _, _, read in panel]
    low, high = _range(curves, logarithmic)
    if low > high:
        return []
    canvas = Canvas(max(10, width - _LEFT - 2), rows)
    last = math.log(records[-1].k + 1) or 1.0
    for (_, style, _), curve in zip(panel, curves, strict=True):
        points = [(math.log(k + 1) / last, (value - low) / (high - low)) for k, value in curve]
        canvas.curve(points, style)
    ends = {0: high, rows - 1: low}
    lines = [title]
    for row, characters in enumerate(canvas.rows()):
        line = Text().append(f"{_tick(ends.get(row), logarithmic):>{_LEFT - 1}} │", "dim")
        for character, style in characters:
            line.append(character, style)
        lines.append(line)
    lines.append(Text(f"{'':>{_LEFT}}└ 0 … {records[-1].k} iterations, logarithmic", style="dim"))
    return lines


def _range(curves: Sequence[Sequence[tuple[int, float]]], logarithmic: bool) -> tuple[float, float]:
    """Low and high end; low > high where there is nothing to see. Early values may be far off, early bounds more
    so, and early gaps zero: they do not decide.
    """
    values = [value for curve in curves for _, value in curve[min(3, len(curve) - 1) :] if math.isfinite(value)]
    if not logarithmic:
        bounds, objectives = curves
        values = [value for _, value in objectives[len(objectives) // 4 :] if math.isfinite(value)]
        values += [value for _, value in bounds[-1:] if math.isfinite(value)]
    if not values:
        return 1.0, 0.0
    low, high = min(values), max(values)
    room = 0.05 * (high - low) or 0.05 * abs(high) or 1.0
    return low - room, high + room


def _tick(value: float | None, logarithmic: bool) -> str:
    if value is None:
        return ""
    return f"{10**value:.1e}" if logarithmic else number(value, 5)


def _log10(value: float) -> float:
    return math.log10(value) if value > 0 else math.nan
