"""The cluster of each point, or the side of each node, in a file."""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from cgm_cli.errors import DataError
from cgm_cli.readers.cells import is_number
from cgm_cli.readers.context import BuildContext
from cgm_cli.readers.names import key, places_of
from cgm_cli.readers.node_labels import is_node, places_of_nodes
from cgm_cli.readers.table import MISSING, SUFFIXES, rows_in
from cgm_cli.readers.text import read_text
from cgm_cli.runs.files import write_atomically
from cgm_cli.spec.fields import FileArray, TableArray
from cgm_cli.text import visible


def read_points(
    path: Path, options: Mapping[str, Any] | None = None, tell: Callable[[str], None] | None = None
) -> tuple[np.ndarray, list[str] | None]:
    """A point per row (n, d), and what the points are called, None where no column says so. options: those of a table
    in a spec. tell: what takes the remarks on what was read. Raises DataError with the name of a file that cannot be
    read.
    """
    field, context = TableArray if options else FileArray, _context()
    found = context.array(field.model_validate({"file": str(path.absolute()), **(options or {})}), copies=4)
    if tell is not None:
        for remark in context.remarks:
            tell(remark)
    return found, context.row_names


def read_labels(path: Path, names: Sequence[str] | None = None, encoding: str | None = None) -> np.ndarray:
    """What each line of a file says, words or numbers (n,); or the entries of a vector in a .npy, .mat, ... file. Of a
    table with two columns, where the points have names, by these, which stand in the first one. encoding: of the text.
    """
    if names is not None:
        known = set(map(key, names))
        told = _by_name(path, encoding, lambda cell: key(cell) in known)
        if told is not None:
            cells, labels = told
            return labels[places_of(cells, names, visible(str(path)), "point", "the points have")]
    if path.suffix.lower() not in ("", ".csv", ".txt", ".tsv", ".labels"):
        return _context().array(FileArray.model_validate({"file": str(path.absolute())})).reshape(-1)
    name = visible(str(path))
    lines = read_text(path, name, encoding).split()
    if not lines:
        raise DataError(f"{name}: the file is empty")
    for number, line in enumerate(lines, 1):
        if "," in line or ";" in line:
            raise DataError(f"{name}: line {number} has several cells, and one label a line is expected")
        if line.casefold() in MISSING:
            raise DataError(f"{name}: line {number} is `{line}`, and every point needs a label")
    return np.array(lines[1:] if _is_heading(lines) else lines)


def read_sides(path: Path, names: Sequence[str] | None, nodes: int, encoding: str | None = None) -> np.ndarray:
    """The side of each node of a graph (nodes,), words or numbers: of a table with two columns by the names of the
    nodes in the first one, else as in `read_labels`, in the order of the nodes. names: what the nodes are called; None
    where they are told by their numbers. encoding: of the text. Raises DataError for what is no such file.
    """
    told = _by_name(path, encoding, lambda cell: is_node(cell, names, nodes))
    if told is None:
        return read_labels(path, encoding=encoding)
    cells, sides = told
    return sides[places_of_nodes(cells, names, nodes, visible(str(path)))]


def _by_name(path: Path, encoding: str | None, is_name: Callable[[str], bool]) -> tuple[list[str], np.ndarray] | None:
    """The two columns of a table, below headings if the first cell is no name; None of any other file."""
    if path.suffix.lower() not in SUFFIXES:
        return None
    rows, _ = rows_in(path, None, visible(str(path)), encoding)
    if len(rows[0][1]) != 2:
        return None
    rows = rows if is_name(rows[0][1][0]) else rows[1:]
    return [cells[0] for _, cells in rows], np.array([cells[1] for _, cells in rows])


def _is_heading(lines: list[str]) -> bool:
    """A word above numbers."""
    return len(lines) > 1 and not is_number(lines[0]) and all(map(is_number, lines[1:]))


def check_writable(path: Path, read: Sequence[Path] = ()) -> None:
    """Raises DataError for a file that could not be written later on, or is one of those that are read, before anything
    is computed for it.
    """
    if path.exists() and any(other.exists() and path.samefile(other) for other in read):
        raise DataError(f"{visible(str(path))}: is what is read, and would be written over: give --out another name")
    if path.is_dir() or not os.access(path if path.exists() else path.parent, os.W_OK):
        raise DataError(f"{visible(str(path))}: cannot be written")


def write_labels(path: Path, labels: np.ndarray, names: Sequence[str] | None = None) -> None:
    """A line for each point: its label; where they have names, behind that, below headings. Raises CgmError where that
    cannot be written.
    """
    text = io.StringIO()
    table = csv.writer(text, lineterminator="\n")
    if names is None:
        table.writerows([label] for label in labels.tolist())
    else:
        table.writerow(["point", "cluster"])
        table.writerows(zip(names, labels.tolist(), strict=True))
    write_atomically(path, text.getvalue())


def _context() -> BuildContext:
    return BuildContext((Path("/"),))
