"""Graphs in the graph6 format of nauty: one line of printable characters, six bits each.

First n, in one character up to 62, else in four or eight; then the upper triangle of the adjacency matrix, column by
column. https://users.cecs.anu.edu.au/~bdm/data/formats.txt
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from cgm_cli.errors import DataError
from cgm_cli.readers.adjacency import Graph, adjacency
from cgm_cli.readers.head import Head
from cgm_cli.readers.memory import check_fits
from cgm_cli.readers.text import read_lines
from cgm_cli.text import counted

_HEADER = ">>graph6<<"


def looks_like(head: Head) -> bool:
    """By its header, which may be left out, or by the name: a line of characters is not much to go by."""
    return head.text.startswith(_HEADER) or head.suffix == ".g6"


def read_graph6(path: Path, name: str) -> Graph:
    """The graph (see `cgm_cli.readers.adjacency`), its nodes numbered from 0, as the format does. DataError for a file
    of several graphs, or a damaged one.
    """
    lines = [line for line in read_lines(path, name) if line.strip() and line.strip() != _HEADER]
    if not lines:
        raise DataError(f"{name}: is empty")
    if len(lines) > 1:
        raise DataError(f"{name}: holds {len(lines)} graphs, one a line, and one is needed")
    line = lines[0].strip().removeprefix(_HEADER)
    if not all(63 <= ord(character) <= 126 for character in line):
        raise DataError(f"{name}: line 1: a character that graph6 does not have")
    codes = np.frombuffer(line.encode(), np.uint8) - 63
    # 126 stands for a number that follows in three characters, twice for one in six.
    long = 0 if line[0] != "~" else 2 if line[1:2] == "~" else 1
    first, last = (0, 1) if long == 0 else (long, long + 3 * long)
    nodes = sum(int(code) << 6 * place for place, code in enumerate(codes[first:last][::-1]))
    pairs = nodes * (nodes - 1) // 2
    if codes.size != last + -(-pairs // 6):
        raise DataError(
            f"{name}: line 1: {counted(nodes, 'node')}, and {counted(codes.size - last, 'character')}, "
            f"which is not what they take"
        )
    if nodes == 0:
        raise DataError(f"{name}: line 1: a graph without nodes")
    check_fits(name, 40 * pairs)
    bits = np.unpackbits(codes[last:, None], axis=1)[:, 2:].reshape(-1)[:pairs]
    pair = np.flatnonzero(bits)
    # Pair (i, j), i < j, has the number j (j - 1) / 2 + i.
    firsts = np.arange(nodes, dtype=np.int64) * np.arange(-1, nodes - 1) // 2
    heads = np.searchsorted(firsts, pair, side="right") - 1
    found = adjacency(name, nodes, pair - firsts[heads], heads, np.ones(pair.size))
    return Graph(found, [str(node) for node in range(nodes)])
