"""What a person sees of a solve: a live table in a terminal, plain lines elsewhere, and a summary at the end.

All of it goes to standard error. The loop calls `Progress.on_record` for every record, so that returns after two
comparisons unless something is to be shown.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from rich.console import Console, Group
from rich.live import Live
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from cgm_cli.display.formatting import bound_label, duration, kind_in_words, number, pretty, ratio
from cgm_cli.display.meaning import colour, meaning
from cgm_cli.display.remaining import Remaining
from cgm_cli.methods.record import MARKS, IterationRecord

if TYPE_CHECKING:
    from cgm_cli.display.live import PlotView
    from cgm_cli.methods.stopping import StopRules
    from cgm_cli.solving.result import Result

_LIVE_SECONDS = 0.25
_PLAIN_SECONDS = 5.0
_HISTORY = 11
_ROOM_FOR_LEGEND = 100
"""Columns of a terminal in which there is room for what the figures are."""


def error_console() -> Console:
    """A rich console on standard error."""
    return Console(stderr=True, highlight=False)


# Heading -> the cell made of a record. The bound's heading depends on the sense. `~` marks a bound that is only
# estimated, `*` one that is probable.
_COLUMNS: dict[str, Callable[[IterationRecord], str]] = {
    "iteration": lambda record: str(record.k),
    "time": lambda record: duration(record.seconds),
    "objective": lambda record: number(record.total),
    "infeasible": lambda record: ratio(record.infeasibility),
    "bound": lambda record: record.mark + number(record.bound),
    "gap": lambda record: ratio(record.gap),
    "beta": lambda record: number(record.beta, 3),
    "matvecs": lambda record: str(record.lmo_matvecs),
}


def _columns(records: Sequence[IterationRecord]) -> dict[str, Callable[[IterationRecord], str]]:
    """Those of all tables and, behind the gap, of the best answer so far, where any record has one."""
    names = list(dict.fromkeys(name for record in records for name in record.in_hand))
    found = dict[str, Callable[[IterationRecord], str]]()
    for heading, cell in _COLUMNS.items():
        found[heading] = cell
        if heading == "gap":
            found.update({pretty(name): _in_hand(name) for name in names})
    return found


def _in_hand(name: str) -> Callable[[IterationRecord], str]:
    def cell(record: IterationRecord) -> str:
        value = record.in_hand.get(name, math.nan)
        return ratio(value) if name.endswith("_gap") else number(value)

    return cell


# What a narrow terminal does without, the first first; then headings get short, and then these go.
_DISPENSABLE = ("matvecs", "beta", "time", "gap")
_SHORT = {
    "iteration": "iter",
    "objective": "value",
    "infeasible": "infeas",
    "lower bound": "bound",
    "upper bound": "bound",
}
_LAST_RESORT = ("infeasible", "bound")


def progress_table(sense: str, records: Iterable[IterationRecord], width: int | None = None) -> Table:
    """A row per record. In a `width` that is too narrow there are fewer columns; a number is never cut."""
    records = list(records)
    columns = {}
    for name, cell in _columns(records).items():
        columns[name] = [bound_label(sense) if name == "bound" else name, *(cell(record) for record in records)]
    if width is not None:
        _fit(columns, width)
    table = Table(box=None, padding=(0, 1, 0, 0), header_style="bold")
    for heading, *_ in columns.values():
        table.add_column(heading, justify="right", no_wrap=True)
    for row in range(1, len(records) + 1):
        table.add_row(*(cells[row] for cells in columns.values()))
    return table


def _fit(columns: dict[str, list[str]], width: int) -> None:
    def too_wide() -> bool:
        return sum(max(map(len, cells)) + 1 for cells in columns.values()) > width

    beside = [name for name in columns if name not in _COLUMNS]
    for name in (*_DISPENSABLE, *reversed(beside)):
        if too_wide():
            del columns[name]
    if too_wide():
        for cells in columns.values():
            cells[0] = _SHORT[cells[0]]
    for name in _LAST_RESORT:
        if too_wide():
            del columns[name]


class Progress:
    """An observer that shows the records as they come. Use as a context: leaving it shows the last one.

    A console that cannot be written to (any more) is let alone from then on: the run goes on without it. plot: curves
    in place of the table, in a terminal. rules: when the run ends, for the time that is left.
    """

    def __init__(self, sense: str, console: Console, plot: bool = False, rules: StopRules | None = None):
        self._view = _view(sense, console, plot)
        self._remaining = Remaining(rules)
        self._last: IterationRecord | None = None
        self._shown: IterationRecord | None = None
        self._due = -math.inf
        self._mark = 0
        self._lost = False

    def on_record(self, record: IterationRecord) -> None:
        """Take one record, and show it if it is time."""
        if self._lost:
            return
        self._last = record
        self._view.take(record)
        self._remaining.take(record)
        if record.k >= self._mark:
            self._view.remember(record)
            self._mark = _next_mark(record.k)
        if record.seconds >= self._due:
            self._show(record)

    def _show(self, record: IterationRecord) -> None:
        self._try(lambda: self._view.show(record, self._remaining.in_words(record)))
        self._shown = record
        self._due = record.seconds + self._view.pause(record.seconds)

    def _try(self, show: Callable[[], None]) -> None:
        try:
            show()
        except OSError:
            self._lost = True

    def __enter__(self) -> Progress:
        self._try(self._view.start)
        return self

    def __exit__(self, *_: object) -> None:
        if self._last is not None and self._last is not self._shown and not self._lost:
            self._show(self._last)
        # Also when it is lost: the live view gives the console back.
        self._try(self._view.stop)


def _view(sense: str, console: Console, plot: bool) -> _PlainView | _LiveView | PlotView:
    if not console.is_terminal:
        return _PlainView(sense, console)
    # Without Unicode there are no dots to draw with.
    if not plot or console.is_dumb_terminal or not console.encoding.lower().startswith("utf"):
        return _LiveView(sense, console)
    from cgm_cli.display.live import PlotView

    return PlotView(sense, console)


class _PlainView:
    """One self-contained line per record, for log files."""

    def __init__(self, sense: str, console: Console):
        self._bound = bound_label(sense)
        self._console = console

    def start(self) -> None:
        """Nothing to set up."""

    def stop(self) -> None:
        """Nothing to take down."""

    def pause(self, seconds: float) -> float:
        """Seconds until the next line: a run of a day needs no line every five."""
        return max(_PLAIN_SECONDS, 0.02 * seconds)

    def take(self, record: IterationRecord) -> None:
        """Only what is shown counts."""

    def remember(self, record: IterationRecord) -> None:
        """Lines that were printed stay."""

    def show(self, record: IterationRecord, left: str) -> None:
        columns = _columns([record])
        cells = {self._bound if heading == "bound" else heading: cell(record) for heading, cell in columns.items()}
        parts = [f"{heading} {cell}" for heading, cell in cells.items()]
        _print_plain(self._console, "  ".join([*parts, *filter(None, [left])]))


class _LiveView:
    """A table of the newest record below a thinned history: iterations 0, 1, 2, 5, 10, 20, 50, ..."""

    def __init__(self, sense: str, console: Console):
        self._sense = sense
        self._live = Live(console=console, auto_refresh=False)
        self._history: deque[IterationRecord] = deque(maxlen=_HISTORY)

    def start(self) -> None:
        self._live.start()

    def stop(self) -> None:
        self._live.stop()

    def pause(self, seconds: float) -> float:
        return _LIVE_SECONDS

    def take(self, record: IterationRecord) -> None:
        """Only a thinned history counts."""

    def remember(self, record: IterationRecord) -> None:
        self._history.append(record)

    def show(self, record: IterationRecord, left: str) -> None:
        newest = () if self._history and self._history[-1] is record else (record,)
        table = progress_table(self._sense, (*self._history, *newest), self._live.console.width)
        self._live.update(Group(table, Text(left, "dim")) if left else table, refresh=True)


def show_result(
    console: Console, result: Result, summary: dict[str, Any], legend: Mapping[str, str] | None = None
) -> None:
    """The summary of a solve: how it ended, what that means, and the figures. A panel in a terminal, plain lines
    elsewhere, nothing where it cannot be written. legend: metric -> what it is.
    """
    with suppress(OSError):
        _show_parts(console, result, _told(result), _result_rows(result, summary, legend or {}))


def _told(result: Result) -> list[str]:
    """How it ended, and what it means."""
    ended = " ".join(filter(None, (result.status.sentence, result.message)))
    return [*filter(None, (ended, meaning(result)))]


def _show_parts(console: Console, result: Result, told: list[str], rows: list[tuple[str, str, str]]) -> None:
    if not console.is_terminal:
        for line in told:
            _print_plain(console, line)
        for label, value, what in rows:
            _print_plain(console, f"{label}: {value}" + (f"  ({what})" if what else ""))
        return
    table = Table.grid(padding=(0, 2))
    table.add_column(style="dim")
    table.add_column(overflow="fold")
    legends = any(what for _, _, what in rows) and console.width >= _ROOM_FOR_LEGEND
    if legends:
        table.add_column(style="dim")
    for label, value, what in rows:
        # Text, because a metric may have brackets in its name.
        table.add_row(Text(label), Text(value), *([Text(what)] if legends else []))
    style = colour(result.status)
    ended, *means = (Text(line) for line in told)
    ended.stylize(f"bold {style}")
    parts = Group(ended, *means, Text(""), table)
    console.print(Panel(parts, title=result.status.value, expand=False, border_style=style, padding=(0, 1)))


def result_line(summary: dict[str, Any]) -> str:
    """The result in one line, for `--quiet`."""
    parts = [summary["status"]]
    for key in ("objective", "bound", "gap", "infeasibility"):
        if summary[key] is not None:
            mark = MARKS.get(summary["bound_is"], "") if key == "bound" else ""
            parts.append(f"{key} {mark}{summary[key]:.6g}")
    return "  ".join([*parts, f"iterations {summary['iterations']}", summary["run"]])


def _result_rows(result: Result, summary: dict[str, Any], legend: Mapping[str, str]) -> list[tuple[str, str, str]]:
    """Label, value, and what it is."""
    record = result.record
    rows = [("objective", number(record.total, 8), "")]
    if result.bound_is != "none":
        mark = MARKS.get(result.bound_is, "")
        kind = kind_in_words(result.bound_is, record.bound_failure)
        rows.append((bound_label(result.sense), f"{mark}{number(record.bound, 8)} ({kind})", ""))
        if (found := summary["certificate"]) is not None:
            cost = "no worse than" if found["cost"] <= 0.0 else f"{found['cost']:.2g} short of"
            told = f"{cost} the estimate {number(found['estimate'], 8)}; {duration(found['seconds'])}"
            rows.append(("certificate", told, ""))
        rows.append(
            (
                "gap",
                ratio(record.gap),
                "|objective - bound| over the larger of both; near zero, over 1e-8 of what it may change by",
            )
        )
    for name, value in record.infeasibilities.items():
        rows.append((f"infeasibility of {pretty(name)}", ratio(value), "|A x - p| / |p|, p nearest in the set"))
    if record.owed > 0.0:
        rows.append(("owed to infeasibility", f"{ratio(record.owed)} of the objective", ""))
    rows += [(pretty(name), _metric(value), legend.get(name, "")) for name, value in result.metrics.items()]
    rows.append(("iterations", f"{record.k} in {duration(record.seconds)}", ""))
    if summary["method"]:
        rows.append(("method", summary["method"], ""))
    return [*rows, ("run", summary["run"], "")]


def _metric(value: Any) -> str:
    try:
        values = list(value)
    except TypeError:
        return number(float(value))
    shown = ", ".join(number(float(item)) for item in values[:8])
    return f"{shown}, ... ({len(values)} values)" if len(values) > 8 else shown


def _next_mark(k: int) -> int:
    """The smallest of 1, 2, 5, 10, 20, 50, ... above k."""
    decade = 10 ** (len(str(k)) - 1)
    return next(factor * decade for factor in (1, 2, 5, 10) if factor * decade > k)


def _print_plain(console: Console, line: str) -> None:
    # Written past rich, which would wrap at a width that a file does not have.
    console.file.write(line + "\n")
    console.file.flush()
