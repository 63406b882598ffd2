"""What the sections of a page say, as plain values; how it looks is in the templates of the same names, page/*.html."""

from __future__ import annotations

import base64
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from cgm_cli.display.formatting import duration, resting
from cgm_cli.reports import names
from cgm_cli.reports.cells import Column, best_rows, cell, clipped, figure
from cgm_cli.reports.collect import Unreadable
from cgm_cli.reports.curves import LEVELS, Quantity
from cgm_cli.reports.entry import FIGURES, Entry, flatten
from cgm_cli.reports.images import png
from cgm_cli.reports.material import WITH_PICTURES, Read
from cgm_cli.reports.pictures import Image, Picture
from cgm_cli.reports.query import as_number, as_text
from cgm_cli.reports.ranking import CONVERGED, marks
from cgm_cli.reports.sparkline import sparkline

FIRST = 8
"""Runs that are plotted when the page opens: more curves are hard to tell apart."""
PLOTTABLE = 4 * FIRST
"""Runs that a button adds to them."""
_WITH_PROVENANCE = 12


@dataclass(frozen=True)
class Fact:
    """A label with its value. status: good, spent or bad. bound_is, winner: what stands behind and below the value."""

    label: str
    value: Any
    status: str = ""
    bound_is: str = ""
    winner: str = ""


@dataclass(frozen=True)
class Summary:
    """path: of the run, if there is only one. faults: who is missing, and why."""

    facts: Sequence[Fact]
    faults: Sequence[tuple[str, str]]
    path: str | None = None


def summary(entries: Sequence[Entry], faults: Sequence[Unreadable], names_: Sequence[str]) -> Summary:
    """The figures of one run; of many how they ended, the best of each figure, and who is missing."""
    missing = [
        (label, f"{entry.state}. {entry.reason}") for entry, label in zip(entries, names_, strict=True) if entry.reason
    ]
    missing += [(str(fault.path), fault.reason) for fault in faults]
    if len(entries) == 1:
        return Summary(_single(entries[0]), missing, str(entries[0].path))
    states = Counter(entry.state for entry in entries)
    facts = [Fact("runs", len(entries)), *(Fact(state, count) for state, count in states.items())]
    row = {id(entry): index for index, entry in enumerate(entries)}
    for name, winners in marks(names.figures(entries), entries).items():
        if winners:
            more = f" and {len(winners) - 1} more" if len(winners) > 1 else ""
            winner = clipped(names_[row[id(winners[0])]], 60) + more
            facts.append(Fact(f"best {_in_plain(name)}", figure(name, winners[0]), winner=winner))
    return Summary(facts, missing)


def _single(entry: Entry) -> list[Fact]:
    ended = "good" if entry.state in CONVERGED else "spent" if entry.finished else "bad"
    facts = [Fact("status", entry.state, status=ended)]
    for name in names.figures([entry]):
        bound_is = _in_words(entry) if name == "bound" and entry.bound_is != "none" else ""
        facts.append(Fact(_in_plain(name), figure(name, entry), bound_is=bound_is))
    return facts


def _in_plain(name: str) -> str:
    """A figure by its name without underscores."""
    return name.removeprefix("metric_").replace("_", " ")


def _in_words(entry: Entry) -> str:
    """What the bound of a run is and, where it holds for no more than that, within what was assumed."""
    return entry.bound_is + resting(entry.bound_rests_on)


@dataclass(frozen=True)
class Cell:
    """text: what there is room for of `full`. heads: it heads its row."""

    text: str
    full: str
    heads: bool = False
    classes: str = ""
    best: bool = False


@dataclass(frozen=True)
class Row:
    """spark: the gap over the iterations as a line of blocks."""

    label: str
    plotted: bool
    cells: Sequence[Cell]
    spark: str


@dataclass(frozen=True)
class Table:
    """plottable: how many runs a button plots at the most."""

    columns: Sequence[Column]
    rows: Sequence[Row]
    plottable: int = PLOTTABLE


def runs_table(entries: Sequence[Entry], names_: Sequence[str], shown: Sequence[Column]) -> Table:
    """The table to sort, to filter and to choose from."""
    marked = best_rows(shown, entries)
    rows = []
    for row, (entry, label) in enumerate(zip(entries, names_, strict=True)):
        cells = [_cell(entry, column, label, row in marked.get(column.key, ())) for column in shown]
        rows.append(Row(label, row < FIRST, cells, sparkline(entry.gaps)))
    return Table(shown, rows)


def _cell(entry: Entry, column: Column, label: str, best: bool) -> Cell:
    text, full = cell(entry, column, label), cell(entry, column, label, None)
    if column.kind == "run":
        return Cell(text, full, heads=True)
    number = as_number(entry.value(column.key)) is not None
    return Cell(text, full, classes=" ".join(["number"] * number + ["best"] * best), best=best)


@dataclass(frozen=True)
class Bar:
    """text: the seconds. share: how long the bar is, in percent of its column; None where there is none."""

    text: str
    share: float | None


@dataclass(frozen=True)
class Race:
    """levels: the accuracies. first, others: label and bars of each run, those that are shown at once and the rest."""

    levels: Sequence[str]
    first: Sequence[tuple[str, Sequence[Bar]]]
    others: Sequence[tuple[str, Sequence[Bar]]]


def race(names_: Sequence[str], reads: Sequence[Read]) -> Race | None:
    """Seconds to each accuracy that any run came to; None where none came to any."""
    times = np.array([read.seconds_to for read in reads], dtype=float).reshape(len(reads), len(LEVELS))
    reached = np.flatnonzero(np.isfinite(times).any(axis=0))
    if reached.size == 0:
        return None
    longest = np.nanmax(times[:, reached], axis=0)
    rows = [
        (label, [_bar(seconds, most) for seconds, most in zip(own, longest, strict=True)])
        for label, own in zip(names_, times[:, reached], strict=True)
    ]
    return Race([f"{LEVELS[level]:.0e}" for level in reached], rows[:FIRST], rows[FIRST:])


def _bar(seconds: float, longest: float) -> Bar:
    if math.isnan(seconds):
        return Bar("not reached", None)
    return Bar(duration(seconds), round(100.0 * seconds / longest, 1) if longest > 0.0 else 0.0)


@dataclass(frozen=True)
class Plot:
    """The place of a plot. told: what its curves do, in words."""

    quantity: Quantity
    told: Sequence[str]


def convergence(
    found: Sequence[Quantity], entries: Sequence[Entry], names_: Sequence[str], reads: Sequence[Read]
) -> list[Plot]:
    """A place for the plot of each quantity, with what it shows in words."""
    return [Plot(each, _told(each, names_[:FIRST], reads[:FIRST])) for each in found]


def _told(quantity: Quantity, names_: Sequence[str], reads: Sequence[Read]) -> list[str]:
    told = []
    for label, read in zip(names_, reads, strict=True):
        curve = read.curves.get(quantity.name)
        if curve is not None:
            slope = f", slope {curve.line[0]:.2f}" if curve.line and quantity.fit else ""
            told.append(f"{clipped(label)} ends at {curve.values[-1]:.4g} after {curve.k[-1]:.0f} iterations{slope}")
    return told


@dataclass(frozen=True)
class Shown:
    """A picture: an image as base64 of a PNG, with holes where it has no values, or the place of a plot in the data."""

    title: str
    alt: str
    png: str = ""
    holes: bool = False
    place: int | None = None


@dataclass(frozen=True)
class Pictures:
    """runs: label and pictures of each that has any. first: of how many runs there are pictures, if not of all."""

    single: bool
    runs: Sequence[tuple[str, Sequence[Shown]]]
    first: int | None


def pictures_shown(names_: Sequence[str], reads: Sequence[Read], drawn: Sequence[Picture]) -> Pictures:
    """The pictures of every run that has any."""
    place = {id(picture): index for index, picture in enumerate(drawn)}
    runs = [
        (label, [_picture(each, place.get(id(each))) for each in read.pictures])
        for label, read in zip(names_, reads, strict=True)
        if read.pictures
    ]
    return Pictures(len(names_) == 1, runs, WITH_PICTURES if len(reads) > WITH_PICTURES else None)


def _picture(picture: Picture, place: int | None) -> Shown:
    if not isinstance(picture, Image):
        return Shown(picture.title, picture.alt, place=place)
    data = base64.b64encode(png(picture.array, picture.low, picture.high, picture.colours)).decode()
    return Shown(picture.title, picture.alt, data, holes=not np.isfinite(picture.array).all())


@dataclass(frozen=True)
class Parameters:
    """metrics, axes: what can be chosen, as pairs of value and text. preferred: the metric to begin with."""

    metrics: Sequence[tuple[str, str]]
    axes: Sequence[tuple[str, str]]
    preferred: str | None


def parameters(entries: Sequence[Entry], axes: Sequence[str]) -> Parameters:
    """What can be plotted of parameters against results."""
    metrics = [
        name for name in names.figures(entries) if not all(math.isnan(e.figures.get(name, math.nan)) for e in entries)
    ]
    preferred = next((name for name in ("gap", "infeasibility", "objective") if name in metrics), None)
    headings = names.short(axes, FIGURES)
    return Parameters([(name, name) for name in metrics], [(key, headings[key]) for key in axes], preferred)


def spec_table(entries: Sequence[Entry]) -> dict[str, str] | None:
    """The parameters that are the same in every run; None without runs."""
    if not entries:
        return None
    varying = set(names.varying(entries))
    return {key: as_text(value) for key, value in entries[0].params.items() if key not in varying}


@dataclass(frozen=True)
class Provenance:
    """runs: label and facts of each; together: in place of them what they have in common, if they are many."""

    runs: Sequence[tuple[str, Mapping[str, str]]] = ()
    together: Mapping[str, str] | None = field(default=None)


def provenance_shown(names_: Sequence[str], reads: Sequence[Read]) -> Provenance:
    """Where each run came from; of many, what they have in common."""
    flat = [{k: as_text(v) for k, v in flatten(_without_spec(read.provenance)).items()} for read in reads]
    if len(reads) <= _WITH_PROVENANCE:
        return Provenance(list(zip(names_, flat, strict=True)))
    keys = dict.fromkeys(key for each in flat for key in each)
    told = {}
    for key in keys:
        values = Counter(each.get(key, "") for each in flat)
        text, count = values.most_common(1)[0]
        told[key] = text if count == len(flat) else f"{len(values)} different values"
    return Provenance(together=told)


def _without_spec(provenance: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in provenance.items() if key not in ("resolved", "thread_pools", "resumed")}
