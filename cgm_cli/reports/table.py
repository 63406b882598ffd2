"""The comparison in a terminal: what varies, what came of it, the best of each marked, and who is missing."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from cgm_cli.errors import MOST_TOLD
from cgm_cli.reports.cells import Column, best_rows, cell, clipped, columns, labels
from cgm_cli.reports.collect import Unreadable
from cgm_cli.reports.entry import FIGURES, Entry
from cgm_cli.reports.sparkline import sparkline
from cgm_cli.text import counted, visible

_PADDING = 2
_NAMED = 8
_STYLE = "bold green"
_CURVE = Column("curve", "gap over k", "curve")
_FOLDER = Column("folder", "folder", "folder")
_DISPENSABLE = ("seconds", "iterations", "curve")
_PARAMS = 3
"""Parameters that are kept before other columns are."""
_WIDTH_OF_A_FILE = 10_000


def print_report(entries: Sequence[Entry], faults: Sequence[Unreadable], console: Console) -> None:
    """Print the table of the runs, then those that are not finished and paths without a run, with their reasons.

    Of either the first MOST_TOLD: the last line counts them all.
    """
    if entries:
        _print_table(entries, console)
    unfinished = [(label, entry) for label, entry in zip(labels(entries), entries, strict=True) if entry.reason]
    for label, entry in unfinished[:MOST_TOLD]:
        _say(console, f"{clipped(label)}: {entry.state}. {visible(entry.reason)}", "yellow")
    for fault in faults[:MOST_TOLD]:
        _say(console, f"{visible(str(fault.path))}: {visible(fault.reason)}", "red")
    done = len(entries) - len(unfinished)
    parts = [f"{done} finished"] if done else []
    parts += [f"{len(unfinished)} not finished"] if unfinished else []
    parts += [f"{len(faults)} that could not be read"] if faults else []
    _say(console, f"{counted(len(entries), 'run')}: {', '.join(parts) or 'none'}", "dim")


def _print_table(entries: Sequence[Entry], console: Console) -> None:
    shown, names = columns(entries), labels(entries)
    # A name may take a quarter of the line, so that there is room for what it is about.
    longest = max(20, console.width // 4) if console.is_terminal else 60
    marked = best_rows(shown, entries)
    cells = {
        column: [
            cell(entry, column, name, longest) + ("*" if row in marked.get(column.key, ()) else "")
            for row, (entry, name) in enumerate(zip(entries, names, strict=True))
        ]
        for column in shown
    }
    lines = [sparkline(entry.gaps) for entry in entries]
    if any(lines):
        cells = _after(cells, "gap", _CURVE, lines)
    cells[_FOLDER] = [clipped(str(entry.path), longest if console.is_terminal else None) for entry in entries]
    said = names != [entry.name for entry in entries]  # the names have the parameters in them
    dropped = _fit(cells, entries, console.width, 0 if said else _PARAMS) if console.is_terminal else []
    table = Table(box=None, padding=(0, _PADDING, 0, 0), header_style="bold")
    for column in cells:
        justify = "right" if column.kind == "figure" else "left"
        table.add_column(Text(visible(column.heading)), justify=justify, no_wrap=True)
    for row in range(len(entries)):
        # Text, because a name may hold brackets, which rich would read as markup.
        table.add_row(*(Text(texts[row], _STYLE if texts[row].endswith("*") else "") for texts in cells.values()))
    if console.is_terminal:
        console.print(table)
    else:
        print_wide(table, console)
    if any(marked.values()):
        _say(console, "* the best of its column", "dim")
    if dropped:
        more = f" and {len(dropped) - _NAMED} more" if len(dropped) > _NAMED else ""
        _say(console, f"Too narrow for {', '.join(dropped[:_NAMED])}{more}; --csv and --html have all.", "dim")


def _after(cells: dict[Column, list[str]], key: str, column: Column, texts: list[str]) -> dict[Column, list[str]]:
    """The columns with one more after that of the key."""
    grown: dict[Column, list[str]] = {}
    for each, own in cells.items():
        grown[each] = own
        if each.key == key:
            grown[column] = texts
    return grown


def _fit(cells: dict[Column, list[str]], entries: Sequence[Entry], width: int, params: int) -> list[str]:
    """Leave out what matters least until the table fits, `params` parameters late; -> the headings left out."""

    def total() -> int:
        return sum(max(map(len, (column.heading, *texts))) + _PADDING for column, texts in cells.items())

    def everywhere(column: Column) -> bool:
        return all(column.key in entry.params for entry in entries)

    last = list(reversed(cells))
    order = [_FOLDER]
    order += [column for column in last if column.kind == "figure" and column.key not in FIGURES]
    order += [column for column in last if column.kind == "param" and not everywhere(column)]
    order += [column for name in _DISPENSABLE for column in last if column.key == name]
    left = [column for column in last if column.kind == "param" and column not in order]
    order += left[: max(0, len(left) - params)]
    # What is left then: the name, and what one looks for first.
    order += [column for column in last if column.kind != "run" and column not in order]
    dropped = []
    for column in order:
        if total() <= width:
            break
        del cells[column]
        dropped.insert(0, visible(column.heading))
    return dropped


def print_wide(table: Table, console: Console) -> None:
    """Print it into a file, in which no line is too long."""
    wide = Console(file=console.file, width=_WIDTH_OF_A_FILE, highlight=False, no_color=True)
    with wide.capture() as capture:
        wide.print(table)
    console.file.write("".join(line.rstrip() + "\n" for line in capture.get().splitlines()))


def _say(console: Console, text: str, style: str) -> None:
    if console.is_terminal:
        console.print(Text(text, style))
    else:
        console.file.write(text + "\n")
