"""What a page is made of: the curves, provenance and pictures of every run, and its data for the script."""

from __future__ import annotations

import base64
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from cgm_cli.errors import CgmError
from cgm_cli.reports import names
from cgm_cli.reports.cells import Column
from cgm_cli.reports.curves import POINTS, Curve, Quantity, column_names, curves, quantities, seconds_to, with_accuracy
from cgm_cli.reports.declared import metric
from cgm_cli.reports.entry import Entry
from cgm_cli.reports.pictures import Picture, pictures
from cgm_cli.reports.query import as_number, as_text
from cgm_cli.text import visible

WITH_PICTURES = 12
"""Runs whose solutions are shown."""
_CURVE_BYTES = 4_000_000
_FEWEST_POINTS = 24
_BYTES_PER_VALUE = 16 / 3  # a float32 in base64


@dataclass
class Read:
    """What is read of one run, once, so that its arrays are in memory only for that moment."""

    curves: dict[str, Curve] = field(default_factory=dict)
    provenance: dict[str, Any] = field(default_factory=dict)
    pictures: list[Picture] = field(default_factory=list)
    seconds_to: list[float] = field(default_factory=list)
    fault: str = ""
    """Why there is no solution to draw, of a run that has one."""


def read_runs(entries: Sequence[Entry]) -> tuple[list[Read], list[Quantity]]:
    """Curves, provenance and pictures of every run, and the quantities to plot.

    The more runs, the fewer points has a curve, so that the page stays small.
    """
    available: dict[str, None] = {}
    reads = []
    for index, entry in enumerate(entries):
        read = Read()
        run = entry.open()
        _try(lambda run=run, read=read: read.provenance.update(run.provenance))
        trace = with_accuracy(_try(lambda run=run: run.trace) or {})
        read.seconds_to = seconds_to(trace)
        available |= dict.fromkeys(column_names([trace]))
        wanted = [name for each in quantities(column_names([trace]), len(entries)) for name in each.columns]
        points = _CURVE_BYTES / (max(1, len(entries)) * (len(wanted) + 2) * _BYTES_PER_VALUE)
        read.curves = curves(trace, wanted, int(min(POINTS, max(_FEWEST_POINTS, points))))
        if index < WITH_PICTURES and entry.finished:
            read.pictures = pictures(run)
            try:
                _ = run.solution
            except CgmError as error:
                read.fault = error.message
        reads.append(read)
    found = quantities(available, len(entries), lambda column: metric(column, entries))
    return reads, [each for each in found if any(_says(read.curves, each) for read in reads)]


def _says(found: Mapping[str, Curve], quantity: Quantity) -> bool:
    """Whether there is something to see: a problem without constraints has an infeasibility of zero throughout."""
    curve = found.get(quantity.name)
    return any(name in found for name in quantity.columns) and (curve is None or bool(curve.values.any()))


def _try(act: Callable[[], Any]) -> Any:
    """What a run cannot give is left out; the table tells why."""
    try:
        return act()
    except CgmError:
        return None


def packed(found: Mapping[str, Curve]) -> dict[str, Any]:
    """Curves for the page: columns that were logged in the same rows share their iterations and seconds."""
    grids: dict[bytes, int] = {}
    stored, packed = [], {}
    for name, curve in found.items():
        key = curve.k.tobytes()
        if key not in grids:
            grids[key] = len(stored)
            stored.append([_floats(curve.k), _floats(curve.seconds)])
        packed[name] = [grids[key], _floats(curve.values), curve.line]
    return {"grids": stored, "columns": packed}


def _floats(values: np.ndarray) -> str:
    with np.errstate(over="ignore"):
        return base64.b64encode(np.asarray(values, dtype="<f4").tobytes()).decode()


def value_of(entry: Entry, column: Column, label: str) -> Any:
    """A cell as the page sorts and filters it: a number, text, or null."""
    if column.kind == "run":
        return visible(label)
    value = entry.value(column.key)
    number = as_number(value)
    if number is not None:
        return number if math.isfinite(number) else None
    missing = value is None and column.key not in entry.params
    return None if missing else visible(as_text(value))


def axes_of(entries: Sequence[Entry]) -> list[str]:
    """The parameters worth an axis: those that vary, and not from run to run as names and files do."""
    found = []
    for key in names.varying(entries):
        # Of different templates, most keys are those of one of them alone.
        if not all(key in entry.params for entry in entries):
            continue
        values = [entry.params.get(key) for entry in entries]
        distinct = len({as_text(value) for value in values})
        if all(as_number(value) is not None for value in values) or distinct <= max(12, len(entries) // 4):
            found.append(key)
    return found
