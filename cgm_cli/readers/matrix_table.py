"""The matrix of a graph in a table: numbers alone, below the names of the nodes, or with these before each row, too."""

from __future__ import annotations

import numpy as np

from cgm_cli.errors import DataError
from cgm_cli.readers.adjacency import Graph, adjacency_of
from cgm_cli.readers.checks import finished
from cgm_cli.readers.table import Row, Table
from cgm_cli.readers.text import number_in

_WIDEST_EDGE = 3
"""Columns of a list of edges at most: a matrix of so many may be either."""


def matrix_in(name: str, rows: list[Row]) -> Graph | None:
    """The graph of a table that is square; None for another. DataError for a matrix that is not symmetric, or so small
    that it may be a list of edges as well.
    """
    width, first = len(rows[0][1]), rows[0][1]
    labels, cornered = None, False
    if len(rows) == width > 1 and number_in(first[0]) is None and [row[0] for _, row in rows] == first:
        labels, cornered = first[1:], True
        rows = [(number, row[1:]) for number, row in rows[1:]]
    elif len(rows) == width + 1 and all(number_in(cell) is None for cell in first):
        labels, rows = first, rows[1:]
    if len(rows) != len(rows[0][1]) or any(number_in(cell) is None for _, row in rows for cell in row):
        return None
    found = Table(name, None, rows, ".").numbers(list(range(len(rows))))
    if len(rows) <= _WIDEST_EDGE and not cornered:
        if np.diagonal(found).any() or not np.array_equal(found, found.T):
            return None
        raise DataError(
            f"{name}: may be the matrix of a graph, or a list of its edges: as a list it is read with "
            "`columns: [1, 2]`; a matrix as small as this can stand in the spec"
        )
    matrix = finished(name, found)
    assert isinstance(matrix, np.ndarray)
    return Graph(adjacency_of(name, matrix), labels)
