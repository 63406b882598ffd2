"""Entries of a solution at pairs that a table asks for, by their ids or by their places; x is not written out."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from cgm_cli.blocks.iterates import factors_of, is_factored
from cgm_cli.errors import DataError, ProblemError
from cgm_cli.numerics.samples import entries
from cgm_cli.readers.checks import reason
from cgm_cli.readers.entries import COLUMN_IDS, ROW_IDS, unpacked
from cgm_cli.readers.table import Table, are_headings, rows_in
from cgm_cli.reports.arrays import write_new
from cgm_cli.runs.load import Run
from cgm_cli.spec.fields import ColumnName
from cgm_cli.text import counted, visible

Places = Mapping[str, int]
"""What a row or a column is called -> where it is, from 0."""


@dataclass(frozen=True)
class Predictions:
    """headings: of the two columns of pairs. values (k,): nan where a run does not know the row or the column. by_id:
    whether pairs are told by ids, not by numbers from 1.
    """

    headings: tuple[str, str]
    pairs: list[tuple[str, str]]
    values: np.ndarray
    by_id: bool

    @property
    def sentence(self) -> str:
        """How many there are, and how many could not be made."""
        blank = int(np.count_nonzero(np.isnan(self.values)))
        made = self.values.size - blank
        said = f"{counted(made, 'prediction')}"
        if not blank:
            return said
        why = "an id that the run does not know" if self.by_id else "a number, from 1, beyond the size of x"
        return f"{said}; left blank: {blank} of {self.values.size} pairs, with {why}"


def predict(run: Run, file: Path) -> Predictions:
    """The entries of x at the pairs of a table: in its columns that are called as those of users and items were in the
    spec, else in its first two. Raises DataError for a table or a run that cannot be read, or has no x, and
    ProblemError where x is no matrix of real numbers.
    """
    shape = _shape(run)
    rows, columns = _places(run, shape)
    name = visible(str(file))
    headings, pairs = _pairs(file, name, _asked(run), (rows, columns))
    found = np.array([(rows.get(row, -1), columns.get(column, -1)) for row, column in pairs]).reshape(-1, 2)
    known = (found >= 0).all(axis=1)
    values = np.full(len(pairs), math.nan)
    values[known] = _entries(run.solution, found[known, 0], found[known, 1])
    return Predictions(headings, pairs, values, run.solution.keys() >= {ROW_IDS, COLUMN_IDS})


def write_predictions(path: Path, found: Predictions, force: bool = False) -> None:
    """A table of the pairs and what is predicted, with headings. Raises ProblemError for another ending than .csv, or
    where there is a file and no `force`.
    """
    if path.suffix.lower() != ".csv":
        raise ProblemError(f"{path}: predictions are written as a table: give a .csv file.")
    text = io.StringIO()
    table = csv.writer(text, lineterminator="\n")
    table.writerow([*found.headings, "prediction"])
    for pair, value in zip(found.pairs, found.values.tolist(), strict=True):
        table.writerow([*pair, "" if math.isnan(value) else value])
    write_new(path, text.getvalue().encode(), force)


def _shape(run: Run) -> tuple[int, int]:
    solution = run.solution
    if not solution:
        raise DataError(f"{run.path} has saved no solution: it did not come to its end (status {run.status.value}).")
    if is_factored(solution):
        left, _, right = factors_of(solution)
        found, shape = left, (len(left), len(right))
    elif "x" in solution:
        found, shape = solution["x"], solution["x"].shape
    else:
        raise DataError(f"{run.path} keeps samples of x, not x itself.")
    if len(shape) != 2 or found.dtype.kind == "c":
        raise ProblemError(f"{run.path}: predictions are entries of a matrix of real numbers, and x is none.")
    return shape


def _places(run: Run, shape: tuple[int, int]) -> tuple[Places, Places]:
    """Of rows and columns by their ids, or by their numbers where there are none."""
    solution = run.solution
    if ROW_IDS not in solution or COLUMN_IDS not in solution:
        rows, columns = ({str(place + 1): place for place in range(length)} for length in shape)
        return rows, columns
    try:
        rows, columns = (unpacked(solution[name]) for name in (ROW_IDS, COLUMN_IDS))
        if (len(rows), len(columns)) != shape:
            raise ValueError("there are not as many as rows and columns")
    except (ValueError, TypeError) as error:
        raise DataError(f"{run.path / 'run.h5'}: the ids cannot be read: {reason(error)}.") from error
    return {key: place for place, key in enumerate(rows)}, {key: place for place, key in enumerate(columns)}


def _asked(run: Run) -> tuple[ColumnName, ColumnName]:
    """The columns of users and items in the spec; of another template, and without ids, the first two."""
    problem = run.resolved.get("problem")
    ratings = problem.get("ratings") if isinstance(problem, dict) else None
    return (ratings.get("user", 1), ratings.get("item", 2)) if isinstance(ratings, dict) else (1, 2)


def _pairs(
    file: Path, name: str, asked: tuple[ColumnName, ColumnName], known: tuple[Places, Places]
) -> tuple[tuple[str, str], list[tuple[str, str]]]:
    """The headings, and the pairs. A first line that names a known row or column is none of headings."""
    rows, _ = rows_in(file, None, name)
    first = rows[0][1]
    if len(first) < 2:
        raise DataError(f"{name}: has one column, and pairs of a row and a column are needed")
    named = all(each in first for each in asked)
    table = Table(name, first if named else None, rows, ".")
    here, there = (table.place(each) for each in (asked if named else (1, 2)))
    data = first[here] in known[0] or first[there] in known[1]
    headed = not data and are_headings([first[here], first[there]], asked)
    pairs = [(cells[here], cells[there]) for _, cells in rows[headed:]]
    return ((first[here], first[there]) if headed else ("row", "column")), pairs


def _entries(solution: Mapping[str, np.ndarray], rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
    if not is_factored(solution):
        return solution["x"][rows, columns]
    return entries(*factors_of(solution), rows, columns)
