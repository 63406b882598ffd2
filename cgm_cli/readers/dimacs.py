"""Graphs in the DIMACS formats for cliques and colourings (.clq, .col, .graph).

`c` begins a comment, `p edge n m` or `p col n m` says how many nodes and edges there are, `e i j` is an edge between
nodes numbered from 1. Every edge weighs 1. `n i w` says that node i weighs w, which `node_weights` reads; places of
nodes (`d`, `v`, `x`) are passed over.
"""

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

_FORMATS = ("edge", "edges", "col")
_PASSED_OVER = ("c", "n", "d", "v", "x")


def looks_like(head: Head) -> bool:
    """A `p` line, behind comments alone."""
    text = next((line.split() for line in head.text.splitlines() if line.split() and line.split()[0] != "c"), [])
    return text[:1] == ["p"] and len(text) > 1 and text[1] in _FORMATS


def read_dimacs(path: Path, name: str) -> Graph:
    """The graph (see `cgm_cli.readers.adjacency`). DataError, with the line, for what is no such graph.

    m counts the lines, or, in files that list both directions, half of them: both are in use.
    """
    nodes = promised = 0
    tails, heads = list[int](), list[int]()
    lines = read_lines(path, name)
    check_fits(name, 200 * len(lines))
    for number, line in enumerate(lines, start=1):
        cells = line.split()
        try:
            if not cells or cells[0] in _PASSED_OVER:
                continue
            if cells[0] == "p" and not nodes:
                nodes, promised = _sizes(cells)
                check_fits(name, 8 * (nodes + 1))
            elif cells[0] == "e" and nodes:
                if len(cells) != 3:
                    raise ValueError(f"expected `e i j`, got {counted(len(cells), 'word')}")
                tails.append(node_of(cells[1], nodes))
                heads.append(node_of(cells[2], nodes))
            elif cells[0] in ("e", "p"):
                raise ValueError("a second `p` line" if nodes else "an edge before the line `p edge nodes edges`")
            else:
                raise ValueError(f"expected `e i j`, got '{visible(line.strip()[:60])}'")
        except ValueError as error:
            raise DataError(f"{name}: line {number}: {error}") from None
    if not nodes:
        raise DataError(f"{name}: has no line `p edge nodes edges`")
    if len(tails) not in (promised, 2 * promised) and 2 * len(tails) != promised:
        raise DataError(f"{name}: the header promises {counted(promised, 'edge')}, the file has {len(tails)}")
    return Graph(adjacency(name, nodes, np.array(tails, np.int64), np.array(heads, np.int64), np.ones(len(tails))))


def node_weights(path: Path, name: str) -> np.ndarray:
    """Those of the lines `n node weight` (nodes,), 1 where there is none. DataError, with the line, for what is no such
    line, for a node that has two, and for a file in another format, or without any.
    """
    found: np.ndarray | None = None
    known: set[int] = set()
    for number, line in enumerate(read_lines(path, name), start=1):
        cells = line.split()
        try:
            if cells[:1] == ["p"] and found is None:
                found = np.ones(_sizes(cells)[0])
            elif cells[:1] == ["n"]:
                if found is None or len(cells) != 3:
                    raise ValueError("expected `n node weight`, behind the line `p edge nodes edges`")
                node = node_of(cells[1], found.size)
                if node in known:
                    raise ValueError(f"node {cells[1]} has a weight already")
                known.add(node)
                found[node] = weight_of(cells[2])
        except ValueError as error:
            raise DataError(f"{name}: line {number}: {error}") from None
    if found is None or not known:
        raise DataError(f"{name}: has no weights of nodes, which DIMACS files have in lines `n node weight`")
    return found


def _sizes(cells: list[str]) -> tuple[int, int]:
    if len(cells) != 4 or cells[1] not in _FORMATS or not all(map(is_count, cells[2:])):
        raise ValueError(f"expected `p edge nodes edges`, got '{visible(' '.join(cells)[:60])}'")
    if int(cells[2]) == 0:
        raise ValueError("a graph without nodes")
    return int(cells[2]), int(cells[3])
