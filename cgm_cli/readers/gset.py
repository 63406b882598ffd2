"""Weighted graphs in the G-set format: a line `n m`, then m lines `i j` or `i j weight`, nodes numbered from 1."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from cgm_cli.errors import DataError
from cgm_cli.readers.adjacency import Graph, adjacency
from cgm_cli.readers.cells import is_count, node_of, weight_of
from cgm_cli.readers.head import Head
from cgm_cli.readers.memory import check_fits
from cgm_cli.readers.text import read_lines
from cgm_cli.text import counted, visible


def looks_like(head: Head) -> bool:
    """Two counts, and as many edges as the second one says."""
    found = _counted(head)
    return found is not None and all(len(edge) in (2, 3) and all(map(is_count, edge[:2])) for edge in found)


def resembles(head: Head) -> bool:
    """Two counts, and between so many nodes another number of edges: a damaged file, which its reader tells."""
    header, *edges = head.cells or [[]]
    return _is_header(header) and all(
        len(edge) in (2, 3) and all(is_count(node) and 1 <= int(node) <= int(header[0]) for node in edge[:2])
        for edge in edges
    )


def promises(head: Head) -> bool:
    """Two counts, and as many lines as the second one says, whatever is in them."""
    return _counted(head) is not None


def _counted(head: Head) -> list[list[str]] | None:
    """The lines behind a header that counts them, as far as they are looked at."""
    header, *edges = head.cells or [[]]
    if not _is_header(header):
        return None
    left = int(header[1]) - len(edges)
    if head.whole and len(head.lines) < head.MOST:
        return None if left else edges
    return edges if left >= 0 and resembles(head) else None


def _is_header(cells: list[str]) -> bool:
    """Whether these are counts of nodes and edges: an edge needs two nodes."""
    return len(cells) == 2 and all(map(is_count, cells)) and (int(cells[0]) > 1 or int(cells[1]) == 0)


def read_gset(path: Path, name: str) -> Graph:
    """The graph (see `cgm_cli.readers.adjacency`).

    DataError with the line number for anything else: nodes that do not exist, a wrong number of edges.
    """
    lines = read_lines(path, name)
    filled = sum(not line.isspace() for line in lines if line)
    rows = ((number, line.split()) for number, line in enumerate(lines, start=1) if line and not line.isspace())
    number, header = next(rows, (0, []))
    if not header:
        raise DataError(f"{name}: is empty")
    if len(header) != 2 or not all(is_count(cell) for cell in header):
        raise DataError(f"{name}: line {number}: expected `nodes edges`, got '{visible(' '.join(header)[:60])}'")
    nodes, edges = int(header[0]), int(header[1])
    if nodes == 0:
        raise DataError(f"{name}: line {number}: a graph without nodes")
    if edges != filled - 1:
        raise DataError(
            f"{name}: line {number}: the header promises {counted(edges, 'edge')}, the file has {filled - 1}"
            " (a list of edges without such a line is read with `columns: [1, 2]`)"
        )
    check_fits(name, 8 * (nodes + 1) + 64 * edges)
    tails, heads, weights = np.empty(edges, np.int64), np.empty(edges, np.int64), np.empty(edges)
    for index, (number, cells) in enumerate(rows):
        try:
            tails[index], heads[index], weights[index] = _edge(cells, nodes)
        except ValueError as error:
            raise DataError(f"{name}: line {number}: {error}") from None
    return Graph(adjacency(name, nodes, tails, heads, weights))


def _edge(cells: list[str], nodes: int) -> tuple[int, int, float]:
    """Tail and head from 0, and weight; ValueError says what is wrong."""
    if len(cells) not in (2, 3):
        raise ValueError(f"expected `i j` or `i j weight`, got {counted(len(cells), 'value')}")
    tail, head = (node_of(cell, nodes) for cell in cells[:2])
    return tail, head, 1.0 if len(cells) == 2 else weight_of(cells[2])
