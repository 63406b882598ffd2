"""Weighted graphs in the G-set format: a line `n m`, then m lines `i j` or `i j weight`, nodes numbered from 1."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import scipy.sparse as sp

from cgm_cli.errors import DataError
from cgm_cli.readers.memory import check_fits
from cgm_cli.readers.text import read_lines
from cgm_cli.text import visible


def read_graph(path: Path, name: str | None = None) -> sp.csr_array:
    """The symmetric adjacency matrix (n, n), zero on the diagonal; edges given more than once add their weights.

    DataError with the line number for anything else: self loops, nodes that do not exist, a wrong number of edges.
    """
    name = name or str(path)
    lines = read_lines(path, name)
    filled = sum(not line.isspace() for line in lines if line)
    rows = ((number, line.split()) for number, line in enumerate(lines, start=1) if line and not line.isspace())
    number, header = next(rows, (0, []))
    if not header:
        raise DataError(f"{name}: is empty")
    if len(header) != 2 or not all(_is_count(cell) for cell in header):
        raise DataError(f"{name}: line {number}: expected `nodes edges`, got '{visible(' '.join(header)[:60])}'")
    nodes, edges = int(header[0]), int(header[1])
    if nodes == 0:
        raise DataError(f"{name}: line {number}: a graph without nodes")
    if edges != filled - 1:
        raise DataError(f"{name}: line {number}: the header promises {edges} edges, the file has {filled - 1}")
    check_fits(name, 8 * (nodes + 1) + 64 * edges)
    tails, heads, weights = np.empty(edges, np.int64), np.empty(edges, np.int64), np.empty(edges)
    for index, (number, cells) in enumerate(rows):
        try:
            tails[index], heads[index], weights[index] = _edge(cells, nodes)
        except ValueError as error:
            raise DataError(f"{name}: line {number}: {error}") from None
    both = (np.concatenate([tails, heads]), np.concatenate([heads, tails]))
    matrix = sp.coo_array((np.concatenate([weights, weights]), both), shape=(nodes, nodes)).tocsr()
    if not np.isfinite(matrix.data).all():
        raise DataError(f"{name}: the sum of the weights of an edge overflows")
    matrix.eliminate_zeros()
    return matrix


def _edge(cells: list[str], nodes: int) -> tuple[int, int, float]:
    """Tail and head from 0, and weight; ValueError says what is wrong."""
    if len(cells) not in (2, 3):
        raise ValueError(f"expected `i j` or `i j weight`, got {len(cells)} values")
    for cell in cells[:2]:
        if not _is_count(cell):
            raise ValueError(f"'{visible(cell[:40])}' is not the number of a node")
        if not 1 <= int(cell) <= nodes:
            raise ValueError(f"node {int(cell)} does not exist: they are numbered 1 to {nodes}")
    tail, head = int(cells[0]) - 1, int(cells[1]) - 1
    if tail == head:
        raise ValueError(f"an edge from node {tail + 1} to itself")
    if len(cells) == 2:
        return tail, head, 1.0
    try:
        weight = float(cells[2])
    except ValueError:
        raise ValueError(f"'{visible(cells[2][:40])}' is not a weight") from None
    if not math.isfinite(weight):
        raise ValueError(f"the weight {cells[2]} is not finite")
    return tail, head, weight


def _is_count(cell: str) -> bool:
    return cell.isascii() and cell.isdigit() and len(cell) <= 15
