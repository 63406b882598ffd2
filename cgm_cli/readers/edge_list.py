"""Graphs in tables (.csv, .tsv, .txt, .edges): lists of edges, two nodes a line and a weight or none; or their matrix.

Nodes are numbers, or names. Numbers, from 0, from 1 or from anywhere, become nodes in their order; names in the order
in which they appear. A node without edges is in no such list, and so not in the graph. `#` or `%` at the beginning of a
line makes a comment of it, and ` #` of the rest of one.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from cgm_cli.errors import DataError
from cgm_cli.readers.adjacency import Graph, adjacency
from cgm_cli.readers.frames import FRAMES, refuse_sheet
from cgm_cli.readers.head import Head
from cgm_cli.readers.matrix_table import matrix_in
from cgm_cli.readers.memory import check_fits
from cgm_cli.readers.plain_edges import read_plain
from cgm_cli.readers.table import Row, Table, checked_rows, rows_in, rows_of, separator, table_of
from cgm_cli.readers.text import lines_of, number_in, read_text
from cgm_cli.spec.fields import ColumnName
from cgm_cli.text import counted, quoted

SUFFIXES = (".edges", ".edgelist")

_WHOLE = re.compile(r"[+-]?[0-9]{1,18}")
_EXACT = 2.0**53

# What columns are called, in small letters and digits alone.
_IS = "(?:node|vertex)?(?:id|name|label|key)?"
_NUMBERED = "(?:node|vertex|v|n|id)"
_SOURCE = re.compile(f"(?:source|src|from|tail|start|origin|u|i|{_NUMBERED}[1a]){_IS}")
_TARGET = re.compile(f"(?:target|tgt|dst|dest|destination|to|head|end|v|j|{_NUMBERED}[2b]){_IS}")
_WEIGHT = re.compile("(?:edge)?(?:weights?|w|wt|values?|costs?|strength|capacity|count|length|distance|similarity)")


@dataclass(frozen=True)
class _Columns:
    """Where the two nodes of an edge are, and its weight, if it has one. headed: whether the first line has headings.
    sure: whether they, or the spec, say so.
    """

    nodes: tuple[int, int]
    weight: int | None
    headed: bool
    sure: bool = True


def looks_like(head: Head) -> bool:
    """Headings that name both nodes; or two columns of whole numbers or of names, and perhaps one of numbers, separated
    by `;`, `,` or tabs: by blanks only where the name of the file says so.
    """
    rows = _rows(head)
    if not rows:
        return False
    found = _called(rows)
    if found is None:
        first = next(line for line in map(_bare, head.lines) if line.strip())
        if len(rows[0][1]) > 3 or (separator(first, None) is None and head.suffix not in SUFFIXES):
            return False
        found = _by_place(rows)
    rows = rows[found.headed :]
    numbers = [] if found.weight is None else [number_in(cells[found.weight]) for _, cells in rows]
    return bool(rows) and all(_is_node(cells[at]) for _, cells in rows for at in found.nodes) and None not in numbers


def says_so(head: Head) -> bool:
    """Whether a list of edges is known for one by itself, and not only where there has to be one: its headings name
    both nodes, or half of the nodes in one of the columns, or more, are in the other one as well.
    """
    rows = _rows(head)
    if not looks_like(head):
        return False
    tails, heads, _ = _meant(rows)
    if len(tails) == len(heads) == 1:
        return True
    found = _called(rows) or _by_place(rows)
    one, other = ({cells[at] for _, cells in rows[found.headed :]} for at in found.nodes)
    return 2 * len(one & other) >= min(len(one), len(other))


def resembles(head: Head) -> bool:
    """A table of two columns or more, by any separator: what a graph may be in, where there has to be one."""
    return bool(_rows(head))


def read_edges(
    path: Path,
    name: str,
    columns: Sequence[ColumnName] | None = None,
    weight: ColumnName | None = None,
    encoding: str | None = None,
    sheet: str | int | None = None,
) -> Graph:
    """The graph of a list of edges, or of a matrix in a table (see `cgm_cli.readers.matrix_table`).

    columns: of the nodes, by heading or by number from 1; weight: of the weights. Left out, they are those with such
    headings (source, target, weight; from, to; u, v; ...), else the first two and, of three, the third; what was taken
    without a heading that says so is told. DataError with line and column for what is no edge.
    """
    given = columns is not None or weight is not None
    remarks: tuple[str, ...] = ()
    if path.suffix.lower() in FRAMES:
        rows, remarks = rows_in(path, None, name, sheet=sheet)
    else:
        refuse_sheet(path, name, sheet)
        text = read_text(path, name, encoding)
        plain = None if given else read_plain(text, name)
        if plain is not None:
            return plain
        lines = [_bare(line) for line in lines_of(text, name)]
        check_fits(name, 300 * len(lines))
        rows = checked_rows(rows_of(lines, None, name), name)
    found = _given(name, rows, columns, weight) if given else _called(rows)
    if found is None:
        matrix = matrix_in(name, rows)
        if matrix is not None:
            return replace(matrix, remarks=(*remarks, *matrix.remarks))
        if len(rows[0][1]) not in (2, 3):
            raise DataError(
                f"{name}: line {rows[0][0]} has {counted(len(rows[0][1]), 'cell')}, and "
                f"an edge is two nodes, and a weight or none"
                f"{_HINT}"
            )
        found = _by_place(rows)
    table = table_of(name, rows, found.headed, None)
    cells = [row[at] for _, row in table.rows for at in found.nodes]
    labels, nodes = _numbered(cells)
    if not given:
        _check_names(table, found)
    if "" in labels:
        line, at = next((line, at) for line, row in table.rows for at in found.nodes if not row[at])
        raise DataError(f"{table.at(line, at)}: the name of a node is missing")
    weights = np.ones(len(table.rows)) if found.weight is None else _weights(table, found.weight)
    ends = np.array(nodes, np.int64).reshape(-1, 2)
    return Graph(
        adjacency(name, len(labels), ends[:, 0], ends[:, 1], weights),
        labels,
        (*remarks, *table.remarks, *_told(table, found)),
    )


_HINT = " (`columns: [a, b]` says which columns have the nodes, and `weight: c` which has the weights)"


def _given(name: str, rows: list[Row], columns: Sequence[ColumnName] | None, weight: ColumnName | None) -> _Columns:
    """By what the spec says. DataError for columns that there are not, or that are the same."""
    first = rows[0][1]
    headed = any(isinstance(each, str) for each in (*(columns or ()), weight))
    table = Table(name, first if headed else None, rows, ".")
    at = None if weight is None else table.place(weight)
    if columns is None:
        found = _called(rows)
        if found is not None:
            return replace(found, weight=at)
        nodes = [place for place in range(len(first)) if place != at]
    else:
        nodes = [table.place(each) for each in columns]
    if len(nodes) != 2:
        raise DataError(
            f"{name}: has {counted(len(nodes), 'column')} besides that of the weights: {_HINT.strip(' ()')}"
        )
    if len({*nodes, at}) < 3:
        raise DataError(
            f"{name}: the two nodes and the weight are in columns of their own, but two of these are the same"
        )
    tail, head = nodes
    return _Columns((tail, head), at, headed or _headed(rows, (tail, head), at))


def _called(rows: list[Row]) -> _Columns | None:
    """By headings that say what their columns are; None where there are none."""
    tails, heads, weights = _meant(rows)
    width = len(rows[0][1])
    if len(tails) == len(heads) == 1:
        rest = set(range(width)) - {tails[0], heads[0]}
        if len(weights) == 1:
            return _Columns((tails[0], heads[0]), weights[0], True)
        last = next(iter(rest)) if len(rest) == 1 and not weights else None
        numbers = last is not None and all(
            number_in(cells[last].replace(",", ".")) is not None for _, cells in rows[1:]
        )
        return _Columns((tails[0], heads[0]), last if numbers else None, True, sure=not rest)
    if width == 3 and len(weights) == 1 and rows[1:]:
        tail, head = (place for place in range(3) if place != weights[0])
        if all(number_in(cells[weights[0]].replace(",", ".")) is not None for _, cells in rows[1:]):
            return _Columns((tail, head), weights[0], True)
    return None


def _meant(rows: list[Row]) -> tuple[list[int], list[int], list[int]]:
    """The columns whose headings may be those of the first nodes, of the second ones, and of weights."""
    names = [re.sub(r"[^a-z0-9]", "", cell.casefold()) for cell in rows[0][1]]
    tails, heads, weights = (
        [place for place, each in enumerate(names) if pattern.fullmatch(each)]
        for pattern in (_SOURCE, _TARGET, _WEIGHT)
    )
    return tails, heads, weights


def _by_place(rows: list[Row]) -> _Columns:
    """The first two columns and, of three, the third."""
    weight = 2 if len(rows[0][1]) == 3 else None
    return _Columns((0, 1), weight, _headed(rows, (0, 1), weight), sure=False)


def _headed(rows: list[Row], nodes: tuple[int, int], weight: int | None) -> bool:
    """Whether the first line has headings: its weight is no number, it has names where all others have numbers, or
    names that no other line has, while those of others are connected.
    """
    first, others = rows[0][1], rows[1:]
    if weight is not None:
        return number_in(first[weight].replace(",", ".")) is None
    named = [first[at] for at in nodes]
    if not others or any(number_in(cell) is not None for cell in named):
        return False
    counts = Counter(row[at] for _, row in others for at in nodes)
    return all(map(_WHOLE.fullmatch, counts)) or (not any(map(counts.get, named)) and max(counts.values()) > 1)


def _numbered(cells: list[str]) -> tuple[list[str], list[int]]:
    """The labels of the nodes in their order, and which node each cell is; 1, +1, 01 and 1.0 are one number, and called
    as it is first.
    """
    names = list(dict.fromkeys(cells))
    numbers = [_whole(name) for name in names]
    if None in numbers:
        places = {name: place for place, name in enumerate(names)}
        return names, [places[cell] for cell in cells]
    first = dict[int, str]()
    for name, number in zip(names, numbers, strict=True):
        assert number is not None
        first.setdefault(number, name)
    order = {number: place for place, number in enumerate(sorted(first))}
    places = {name: order[number] for name, number in zip(names, numbers, strict=True) if number is not None}
    return [first[number] for number in order], [places[cell] for cell in cells]


def _whole(cell: str) -> int | None:
    """The whole number that a cell is, written with a point and zeros or not."""
    if _WHOLE.fullmatch(cell):
        return int(cell)
    value = number_in(cell)
    return int(value) if value is not None and abs(value) < _EXACT and value.is_integer() else None


def _is_node(cell: str) -> bool:
    """Whether it may be the name of a node, and is no fraction."""
    value = number_in(cell)
    return bool(cell) and (value is None or not math.isfinite(value) or value.is_integer())


def _check_names(table: Table, found: _Columns) -> None:
    """DataError for a fraction where there should be a node, unless the spec says that there are such names."""
    for line, row in table.rows:
        for at in found.nodes:
            if row[at] and not _is_node(row[at]):
                raise DataError(f"{table.at(line, at)}: {quoted(row[at])} is no node, but a number{_HINT}")


def _weights(table: Table, at: int) -> np.ndarray:
    weights = table.numbers([at])[:, 0]
    if not np.isfinite(weights).all():
        line, row = table.rows[int(np.argmin(np.isfinite(weights)))]
        fault = (
            "the weight is missing" if np.isnan(table.numbers([at])).any() else f"the weight {row[at]} is not finite"
        )
        raise DataError(f"{table.at(line, at)}: {fault}")
    return weights


def _told(table: Table, found: _Columns) -> tuple[str, ...]:
    """What was taken for headings and weights, where no heading says so."""
    if found.sure or table.headings is None:
        return ()
    tail, head = (f"`{quoted(table.headings[at])}`" for at in found.nodes)
    weight = "all of weight 1" if found.weight is None else f"with weights `{quoted(table.headings[found.weight])}`"
    return (f"{table.name}: edges from {tail} to {head}, {weight}.",)


def _rows(head: Head) -> list[Row]:
    """Those at the beginning of a table of two columns or more; of anything else none."""
    try:
        rows = list(rows_of([_bare(line) for line in head.lines], None, ""))
    except DataError:
        return []
    widths = {len(cells) for _, cells in rows}
    return rows if len(widths) == 1 and min(widths) > 1 else []


def _bare(line: str) -> str:
    """Without a comment."""
    if line.lstrip()[:1] in ("#", "%"):
        return ""
    return line if '"' in line else re.split(r"\s#", line, maxsplit=1)[0]
