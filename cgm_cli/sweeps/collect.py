"""One tidy table of a sweep: a row for each point, with what was varied, the figures of its summary, its metrics."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cgm_cli.runs.files import write_atomically
from cgm_cli.spec.load import one_line
from cgm_cli.sweeps.manifest import read_manifest

if TYPE_CHECKING:
    import h5py

FIGURES = ("status", "sense", "objective", "bound", "bound_is", "gap", "infeasibility", "iterations", "seconds")
"""Columns of the summary, in this order. `seconds`, and metrics named after times, depend on the machine."""


class ResultTable:
    """columns: name -> one value per point; None where a run has no such figure, or is not done."""

    def __init__(self, columns: dict[str, list[Any]]):
        self.columns = columns

    @property
    def rows(self) -> list[tuple[Any, ...]]:
        """The values of each point."""
        return list(zip(*self.columns.values(), strict=True))

    def csv(self) -> str:
        """The table with a heading; a value that is missing is an empty cell, a float has all its digits."""
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(self.columns)
        writer.writerows([["" if value is None else _cell(value) for value in row] for row in self.rows])
        return text.getvalue()


def collect(path: Path) -> ResultTable:
    """The table of the sweep in the folder `path`, as far as it has come. Raises DataError if there is none."""
    manifest = read_manifest(path)
    conditions = [manifest.folder(row).condition() for row in manifest.rows]
    summaries = [condition.summary or {} for condition in conditions]
    metrics = list(dict.fromkeys(name for summary in summaries for name in summary.get("metrics", {})))
    columns: dict[str, list[Any]] = {
        "point": [row.number for row in manifest.rows],
        "run": [row.id for row in manifest.rows],
        "state": [condition.state.value for condition in conditions],
    }
    for key in manifest.keys:
        columns[key] = [row.values[key] for row in manifest.rows]
    for name in FIGURES:
        columns[_free(name, columns)] = [summary.get(name) for summary in summaries]
    for name in metrics:
        columns[_free(name, columns)] = [summary.get("metrics", {}).get(name) for summary in summaries]
    return ResultTable(columns)


def save(table: ResultTable, stem: Path) -> tuple[Path, Path]:
    """Write <stem>.csv and <stem>.h5, each column a dataset there. Raises CgmError if the disk refuses."""
    from cgm_cli.runs.storage import write_hdf5

    text, binary = stem.with_name(f"{stem.name}.csv"), stem.with_name(f"{stem.name}.h5")
    write_atomically(text, table.csv())

    def fill(file: h5py.File) -> None:
        for name, values in table.columns.items():
            # A slash would make a group of what comes before it.
            file.create_dataset(name.replace("/", "_"), data=_array(values))
        file.attrs["columns"] = list(table.columns)

    write_hdf5(binary, fill, durable=True)
    return text, binary


def _free(name: str, columns: dict[str, list[Any]]) -> str:
    while name in columns:
        name = f"result.{name}"
    return name


def _cell(value: Any) -> Any:
    if isinstance(value, bool | list | dict):
        return one_line(value)
    return repr(value) if isinstance(value, float) else value


def _array(values: Sequence[Any]) -> Any:
    """Whole numbers, booleans and floats (missing: nan) as such; anything else as text (missing: empty)."""
    import h5py
    import numpy as np

    kinds = {type(value) for value in values if value is not None}
    if kinds and kinds <= {int, float}:
        if kinds == {int} and None not in values:
            return np.array(values, dtype=np.int64)
        return np.array([math.nan if value is None else value for value in values], dtype=float)
    if kinds == {bool} and None not in values:
        return np.array(values, dtype=bool)
    return np.array(["" if value is None else str(_cell(value)) for value in values], dtype=h5py.string_dtype())
