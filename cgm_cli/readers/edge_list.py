"""Graphs as lists of edges (.csv, .tsv, .edges): two nodes a line, and a weight or none; `#` begins a comment.

Nodes are numbers, or names. Numbers, from 0, from 1 or from anywhere, become nodes in their order; names in the order
in which they appear. A node without edges is in no such list, and so not in the graph.
"""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import scipy.sparse as sp

from cgm_cli.errors import DataError
from cgm_cli.readers.adjacency import adjacency
from cgm_cli.readers.cells import is_number, weight_of
from cgm_cli.readers.head import Head
from cgm_cli.readers.memory import check_fits
from cgm_cli.readers.text import read_lines

SUFFIXES = (".edges", ".edgelist")
TABLES = (".csv", ".tsv")
"""Of files that may be anything else, too."""

_MARKS = (";", ",", "\t", None)
_HEADINGS = re.compile(
    r"(source|src|from|tail|start|u|i|node_?[1a]|vertex_?1)(_?(id|node))?,"
    r"(target|dst|dest|to|head|end|v|j|node_?[2b]|vertex_?2)(_?(id|node))?"
)
_WHOLE = re.compile(r"[+-]?[0-9]{1,18}")


def looks_like(head: Head) -> bool:
    """Two columns of whole numbers or of names, and perhaps one of numbers, separated by `;`, `,` or tabs; by spaces
    only where the name says so.
    """
    lines = [line for line in map(_content, head.lines) if line]
    mark = _mark(lines)
    if not lines or (mark is None and head.suffix not in SUFFIXES):
        return False
    rows = [_cells(line, mark) for line in lines]
    rows = rows[_has_headings(rows) :]
    if not rows or len({len(row) for row in rows}) != 1 or len(rows[0]) not in (2, 3):
        return False
    nodes = [cell for row in rows for cell in row[:2]]
    if any(not cell or (is_number(cell) and not _WHOLE.fullmatch(cell)) for cell in nodes):
        return False
    return all(is_number(row[2]) for row in rows if len(row) == 3)


def read_edge_list(path: Path, name: str) -> sp.csr_array:
    """The adjacency matrix (see `cgm_cli.readers.adjacency`). DataError with the line for what is no edge.

    The first line is one of headings if its weight is no number, if it names no numbers where all others do, or by its
    words: source, target; from, to; u, v; i, j ...
    """
    lines = [(number, line) for number, line in enumerate(map(_content, read_lines(path, name)), start=1) if line]
    check_fits(name, 300 * len(lines))
    mark = _mark([line for _, line in lines[:1]])
    rows = [(number, _cells(line, mark)) for number, line in lines]
    rows = rows[_has_headings([row for _, row in rows]) :]
    if not rows:
        raise DataError(f"{name}: holds no edges")
    width = len(rows[0][1])
    if width not in (2, 3):
        raise DataError(
            f"{name}: line {rows[0][0]}: an edge is two nodes, and a weight or none, and this line has {width} cells"
        )
    weights = np.ones(len(rows))
    for index, (number, row) in enumerate(rows):
        try:
            if len(row) != width:
                raise ValueError(f"has {len(row)} cells, but line {rows[0][0]} has {width}")
            if not all(row[:2]):
                raise ValueError("the name of a node is missing")
            if width == 3:
                weights[index] = weight_of(row[2])
        except ValueError as error:
            raise DataError(f"{name}: line {number}: {error}") from None
    places = _places([cell for _, row in rows for cell in row[:2]])
    ends = np.array([places[cell] for _, row in rows for cell in row[:2]], np.int64).reshape(-1, 2)
    return adjacency(name, max(places.values()) + 1, ends[:, 0], ends[:, 1], weights)


def _places(cells: list[str]) -> dict[str, int]:
    """The node, from 0, that each name stands for; 1, +1 and 01 are one number."""
    names = list(dict.fromkeys(cells))
    if not all(map(_WHOLE.fullmatch, names)):
        return {name: place for place, name in enumerate(names)}
    order = {number: place for place, number in enumerate(sorted({int(name) for name in names}))}
    return {name: order[int(name)] for name in names}


def _has_headings(rows: list[list[str]]) -> bool:
    if not rows:
        return False
    first, others = rows[0], rows[1:]
    if len(first) == 3 and not is_number(first[2]):
        return True
    numbered = bool(others) and all(all(map(_WHOLE.fullmatch, row[:2])) for row in others)
    named = not any(map(is_number, first[:2]))
    return (numbered and named) or _HEADINGS.fullmatch(",".join(first[:2]).lower()) is not None


def _mark(lines: list[str]) -> str | None:
    return next((mark for mark in _MARKS if mark is None or (lines and mark in lines[0])), None)


def _content(line: str) -> str:
    return line.partition("#")[0].strip()


def _cells(line: str, mark: str | None) -> list[str]:
    return [cell.strip().strip('"').strip() for cell in line.split(mark)]
