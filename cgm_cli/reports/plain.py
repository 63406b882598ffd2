"""The comparison for other programs: CSV and JSON, every figure with all its digits."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Sequence

from cgm_cli.reports import names
from cgm_cli.reports.collect import Unreadable
from cgm_cli.reports.entry import Entry
from cgm_cli.reports.output import CSV_HEAD
from cgm_cli.reports.query import as_text
from cgm_cli.runs.files import to_json


def as_json(entries: Sequence[Entry], faults: Sequence[Unreadable]) -> str:
    """{"varying": [key], "runs": [{run, name, status, reason, sense, bound_is, params, <figure>...}], "faults": [...]}.

    params holds the whole resolved spec by dotted keys. Unknown figures are null.
    """
    runs = [
        {
            "run": str(entry.path),
            "name": entry.name,
            "status": entry.state,
            "reason": entry.reason,
            "sense": entry.sense,
            "bound_is": entry.bound_is,
            **{name: _exact(name, value) for name, value in entry.figures.items()},
            "params": dict(entry.params),
        }
        for entry in entries
    ]
    missing = [{"path": str(fault.path), "reason": fault.reason} for fault in faults]
    return to_json({"varying": names.varying(entries), "runs": runs, "faults": missing}, indent=2)


def as_csv(entries: Sequence[Entry]) -> str:
    """A line per run: its folder, name and status, the parameters that vary by their dotted keys, and every figure."""
    keys, figures = names.varying(entries), names.figures(entries)
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([*CSV_HEAD.rstrip(",").split(","), *keys, *figures, "bound_is", "reason"])
    for entry in entries:
        numbers = [_exact(name, entry.figures.get(name, math.nan)) for name in figures]
        writer.writerow(
            [str(entry.path), entry.name, entry.state]
            + [as_text(entry.params[key]) if key in entry.params else "" for key in keys]
            + ["" if math.isnan(value) else repr(value) for value in numbers]
            + [entry.bound_is, entry.reason]
        )
    return text.getvalue()


def _exact(name: str, value: float) -> float | int:
    return int(value) if name == "iterations" and not math.isnan(value) else value
