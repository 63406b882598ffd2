"""The answer of a run as a table: a line for each node, point or feature, by the name that it has in the data, or for
each entry of a vector; of a matrix with the names of its columns above them.
"""

from __future__ import annotations

import csv
import io
from pathlib import Path

import numpy as np

from cgm_cli.errors import DataError, ProblemError
from cgm_cli.readers.checks import reason
from cgm_cli.readers.entries import COLUMN_IDS, LABELS, ROW_IDS, unpacked
from cgm_cli.reports.arrays import write_new
from cgm_cli.reports.declared import template_called
from cgm_cli.runs.load import Run
from cgm_cli.templates.listing import Listing
from cgm_cli.text import counted

VECTOR = Listing("x", "entry", "value")
"""What any other problem has whose x is a vector."""


def write_listing(path: Path, run: Run, force: bool = False) -> str:
    """Write what the template of the run calls its answer, names first: those of the data, else numbers from 1. Returns
    what was written, in words.

    Raises ProblemError for another ending than .csv, for an answer that is no vector, or where there is a file and
    no `force`; DataError where the run saved none.
    """
    problem = run.resolved.get("problem")
    template = template_called(problem.get("template") if isinstance(problem, dict) else None)
    listing = (None if template is None else template.listing) or VECTOR
    if listing is VECTOR and run.solution.get(VECTOR.array, np.zeros(())).ndim != 1:
        raise ProblemError(
            f"{run.path}: the answer is neither about nodes, points or features nor a vector: leave --table out, and "
            "take arrays by --solution."
        )
    if path.suffix.lower() != ".csv":
        raise ProblemError(f"{path}: a table is written as .csv.")
    values = run.solution.get(listing.array)
    if values is None:
        raise DataError(f"{run.path} has saved no {listing.array}: it ended as {run.status.value}.")
    rows = _names(run, (ROW_IDS, LABELS), len(values))
    columns = [listing.entry] if values.ndim == 1 else _names(run, (COLUMN_IDS, LABELS), values.shape[1])
    text = io.StringIO()
    table = csv.writer(text, lineterminator="\n")
    table.writerow([listing.row, *columns])
    entries = values.reshape(len(rows), -1).tolist()
    table.writerows([name, *row] for name, row in zip(rows, entries, strict=True))
    write_new(path, text.getvalue().encode(), force)
    what = listing.entry if values.ndim == 1 else f"{counted(len(columns), 'column')} of {listing.entry}"
    return f"{listing.row} and {what}, {counted(len(rows), 'line')}"


def _names(run: Run, saved_as: tuple[str, ...], count: int) -> list[str]:
    """What rows or columns are called, by the first of these arrays that the run saved, else by their numbers from 1.
    DataError for a damaged one.
    """
    array = next((run.solution[name] for name in saved_as if name in run.solution), None)
    if array is None:
        return [str(number + 1) for number in range(count)]
    try:
        names = unpacked(array)
        if len(names) != count:
            raise ValueError("there are not as many as entries")
    except (ValueError, TypeError) as error:
        raise DataError(f"{run.path / 'run.h5'}: the labels cannot be read: {reason(error)}.") from error
    return names
