"""Lists of edges of numbers alone, as they are where there are millions: read at once, and not cell by cell.

What they say is what `cgm_cli.readers.edge_list` would read in them: only lines are taken that leave nothing to be
asked, two whole numbers as everybody writes them and perhaps a weight, behind comments.
"""

from __future__ import annotations

import re

import numpy as np

from cgm_cli.readers.adjacency import Graph, adjacency
from cgm_cli.readers.memory import check_fits

FEWEST = 1000
"""Lines from which on it is looked for: a table of fewer may be a matrix."""

BYTES = 300
"""Of a line: two or three cells as texts and as numbers, their order, and the entries of the matrix."""

_NODE = r"(?:0|[1-9][0-9]{0,14})"
_WEIGHT = r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]{1,2})?"
_COMMENTS = re.compile(r"(?:[ \t]*(?:[#%][^\r\n]*)?\r?\n)*+")


def _lines(separator: str, *cells: str) -> re.Pattern[str]:
    return re.compile(rf"(?:[ \t]*{separator.join(cells)}[ \t]*\r?(?:\n|\Z))++\s*")


_PATTERNS = [
    (mark, len(cells), _lines(separator, *cells))
    for mark, separator in ((" ", r"[ \t]+"), (",", "[ \t]*,[ \t]*"), (";", "[ \t]*;[ \t]*"))
    for cells in ((_NODE, _NODE), (_NODE, _NODE, _WEIGHT))
]


def read_plain(text: str, name: str) -> Graph | None:
    """The graph of a text; None where it is no such list. name: what messages call the file."""
    if text.count("\n") < FEWEST:
        return None
    comments = _COMMENTS.match(text)
    start = 0 if comments is None else comments.end()
    found = next(((mark, width) for mark, width, pattern in _PATTERNS if pattern.fullmatch(text, start)), None)
    if found is None:
        return None
    mark, width = found
    check_fits(name, BYTES * text.count("\n"))
    cells = text[start:].replace(mark, " ").split()
    if width == 2:
        ends, weights = np.array(cells, dtype=np.int64).reshape(-1, 2), np.ones(len(cells) // 2)
    else:
        values = np.array(cells, dtype=float).reshape(-1, 3)
        ends, weights = values[:, :2].astype(np.int64), values[:, 2]
    numbers, places = np.unique(ends, return_inverse=True)
    tails, heads = places.reshape(-1, 2).T
    return Graph(adjacency(name, numbers.size, tails, heads, weights), [str(number) for number in numbers.tolist()])
