"""The comparison as text: which columns there are, and what stands in a cell. Every kind of table is made of these."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from cgm_cli.display.formatting import duration, number, ratio
from cgm_cli.methods.record import MARKS
from cgm_cli.reports import names
from cgm_cli.reports.entry import FIGURES, Entry
from cgm_cli.reports.query import as_number, as_text
from cgm_cli.reports.ranking import marks
from cgm_cli.text import visible

_LONGEST = 40
HEADLINE = ("objective", "bound", "gap")
"""What one looks for first."""
_WORDS = ("method", "template")
"""Parameters whose values say what they are."""
_ALL_TOLD = 3


@dataclass(frozen=True)
class Column:
    """key: the full name. heading: as short as it can be told from the others. kind: run, param, status or figure."""

    key: str
    heading: str
    kind: str


def columns(entries: Sequence[Entry]) -> list[Column]:
    """The run, how it ended, its headline figures, what varies, and every other figure, as far as any run has them."""
    shown = [name for name in names.figures(entries) if any(_known(entry, name) for entry in entries)]
    varying = names.varying(entries)
    short = names.short(varying, ("run", "status", *shown))
    figures = [Column(name, name if name in FIGURES else name.removeprefix("metric_"), "figure") for name in shown]
    return [
        Column("run", "run", "run"),
        Column("status", "status", "status"),
        *(column for column in figures if column.key in HEADLINE),
        *(Column(key, short[key], "param") for key in varying),
        *(column for column in figures if column.key not in HEADLINE),
    ]


def labels(entries: Sequence[Entry]) -> list[str]:
    """A short name for each run: that of the spec where a person has given each its own, else what varies
    (`cgal, beta0 = 5`), with as much of the path as it takes to tell apart what is left.
    """
    given = ["" if _is_numbered(entry) else entry.name for entry in entries]
    if all(given) and len(set(given)) == len(given):
        return given
    if len(entries) == 1:
        return [entries[0].name]
    own = given if len(set(given)) > 1 else [""] * len(entries)
    found = [", ".join(filter(None, parts)) for parts in zip(own, _what_varies(entries), strict=True)]
    if len(set(found)) == len(found) and all(found):
        return found
    endings = _endings(entries)
    again = Counter(found)
    return [
        label if label and again[label] == 1 else f"{label} ({end})" if label else end
        for label, end in zip(found, endings, strict=True)
    ]


def _is_numbered(entry: Entry) -> bool:
    """Whether it is called after the folder that a sweep has made for it."""
    return entry.name in {f"point-{part}" for part in entry.path.parts[-2:]}


def _what_varies(entries: Sequence[Entry]) -> list[str]:
    """The values of what varies: of all of it where that is little, else of as much as tells the runs apart."""
    keys = names.varying(entries)
    short = names.short(keys)
    keys.sort(key=lambda key: short[key] not in _WORDS)
    said: list[list[str]] = [[] for _ in entries]
    for count, key in enumerate(keys):
        before = len({tuple(each) for each in said})
        if count >= _ALL_TOLD and before == len(entries):
            break
        more = [_value(entry, key, short[key]) for entry in entries]
        grown = [[*each, text] if text else each for each, text in zip(said, more, strict=True)]
        if count < _ALL_TOLD or len({tuple(each) for each in grown}) > before:
            said = grown
    return [", ".join(each) for each in said]


def _value(entry: Entry, key: str, name: str) -> str:
    if key not in entry.params:
        return ""
    value = entry.params[key]
    number_ = as_number(value)
    text = clipped(as_text(value) if number_ is None else f"{number_:g}", _LONGEST // 2)
    return text if name in _WORDS else f"{name} = {text}"


def _endings(entries: Sequence[Entry]) -> list[str]:
    parts = [entry.path.absolute().parts for entry in entries]
    for depth in range(1, max(map(len, parts), default=1) + 1):
        endings = ["/".join(path[-depth:]) for path in parts]
        if len(set(endings)) == len(endings):
            return endings
    return [str(entry.path) for entry in entries]


def cell(entry: Entry, column: Column, label: str, longest: int | None = _LONGEST) -> str:
    """What stands in the table: whatever comes from a file with nothing left in it that a terminal would act upon."""
    if column.kind == "run":
        return clipped(label, longest)
    value = entry.value(column.key)
    if column.kind == "param":
        number_ = as_number(value)
        # A key that other specs have and this one has not: another method, another template.
        missing = value is None and column.key not in entry.params
        return "" if missing else clipped(as_text(value) if number_ is None else f"{number_:g}", longest)
    if column.kind == "status":
        return entry.state
    return figure(column.key, entry)


def figure(name: str, entry: Entry) -> str:
    """A figure of a run with the digits it deserves; `~` marks a bound that is only estimated, `*` a probable one."""
    value = entry.figures.get(name, math.nan)
    if math.isnan(value):
        return "-"
    if name in ("gap", "infeasibility"):
        return ratio(value)
    if name == "seconds":
        return duration(value)
    if name == "iterations":
        return str(int(value))
    return (MARKS.get(entry.bound_is, "") if name == "bound" else "") + number(value)


def best_rows(shown: Sequence[Column], entries: Sequence[Entry]) -> dict[str, set[int]]:
    """Figure -> the rows to mark."""
    found = marks([column.key for column in shown if column.kind == "figure"], entries)
    row = {id(entry): index for index, entry in enumerate(entries)}
    return {name: {row[id(entry)] for entry in winners} for name, winners in found.items()}


def clipped(text: str, longest: int | None = _LONGEST) -> str:
    """The text on one line, its middle left out if it is too long: names often differ at their end."""
    text = visible(text)
    if longest is None or len(text) <= longest:
        return text
    head = (longest - 1) // 2
    return f"{text[:head]}…{text[len(text) - (longest - 1 - head) :]}"


def _known(entry: Entry, name: str) -> bool:
    return not math.isnan(entry.figures.get(name, math.nan))
