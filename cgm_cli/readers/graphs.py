"""Graphs in files: which format a file has, by its content first and its name second, and who reads it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from cgm_cli.errors import DataError
from cgm_cli.readers import dimacs, edge_list, graph6, gset, networks
from cgm_cli.readers.adjacency import Graph, adjacency_of
from cgm_cli.readers.checks import finished
from cgm_cli.readers.frames import FRAMES, refuse_sheet
from cgm_cli.readers.head import Head
from cgm_cli.readers.market import looks_like as looks_like_market
from cgm_cli.readers.market import read_market
from cgm_cli.spec.fields import ColumnName


@dataclass(frozen=True)
class GraphFormat:
    """name: in words. suffixes: of files that are this, if their content does not say otherwise. read: the graph of a
    file, called by a name, as `cgm_cli.readers.adjacency` makes it. weighed: the same, by a name of what edges weigh.
    """

    name: str
    suffixes: tuple[str, ...]
    looks_like: Callable[[Head], bool]
    read: Callable[[Path, str], Graph]
    weighed: Callable[[Path, str, str], Graph] | None = None


def _read_market(path: Path, name: str) -> Graph:
    return Graph(adjacency_of(name, finished(name, read_market(path, name))))


GSET = GraphFormat("a graph in the G-set format", (), gset.resembles, gset.read_gset)
DIMACS = GraphFormat("a graph in a DIMACS format", (".clq", ".col"), dimacs.looks_like, dimacs.read_dimacs)
EDGES = GraphFormat("a list of edges", edge_list.SUFFIXES, edge_list.looks_like, edge_list.read_edges)
GML = GraphFormat("a graph in GML", (".gml",), networks.looks_like_gml, networks.read_gml, networks.read_gml)
GRAPHML = replace(
    GML,
    name="a graph in GraphML",
    suffixes=(".graphml",),
    looks_like=networks.looks_like_graphml,
    read=networks.read_graphml,
    weighed=networks.read_graphml,
)
FORMATS = (
    DIMACS,
    GraphFormat("a matrix in the Matrix Market format", (".mtx",), looks_like_market, _read_market),
    GraphFormat("a graph in graph6", (".g6",), graph6.looks_like, graph6.read_graph6),
    GML,
    GRAPHML,
    replace(GSET, looks_like=gset.looks_like),
    EDGES,
    GSET,
)

_TABLES = (".csv", ".tsv")
"""Of files that are in no other format."""


def read_graph(
    path: Path,
    name: str | None = None,
    columns: Sequence[ColumnName] | None = None,
    weight: ColumnName | None = None,
    encoding: str | None = None,
    sheet: str | int | None = None,
) -> Graph:
    """The graph in a file: see `cgm_cli.readers.adjacency` for edges from a node to itself, and those given more than
    once. columns, weight: those of a list of edges, as `cgm_cli.readers.edge_list` takes them, or what weights of edges
    that have names for their numbers are called. encoding, sheet: of a list of edges.

    DataError, with the line where there is one, for what is damaged; what looks like nothing is read as G-set.
    """
    name = name or str(path)
    if path.suffix.lower() in FRAMES:
        return edge_list.read_edges(path, name, columns, weight, sheet=sheet)
    refuse_sheet(path, name, sheet)
    head = Head.of(path, name, encoding)
    found = next((each for each in FORMATS if each.looks_like(head)), None)
    found = found or next((each for each in FORMATS if head.suffix in each.suffixes), None)
    if columns is None and weight is None and encoding is None:
        lenient = EDGES if edge_list.resembles(head) and not gset.promises(head) else GSET
        return (found or (EDGES if head.suffix in _TABLES else lenient)).read(path, name)
    if found is None or found.read in (EDGES.read, GSET.read):
        return edge_list.read_edges(path, name, columns, weight, encoding)
    if encoding is not None:
        raise DataError(f"{name}: `encoding` is that of a list of edges, and this is {found.name}")
    if found.weighed is None or columns is not None:
        kept = "`columns` are" if found.weighed else "`columns` and `weight` are"
        raise DataError(f"{name}: {kept} those of a list of edges, and this is {found.name}")
    if not isinstance(weight, str):
        raise DataError(
            f"{name}: edges have names for their numbers in {found.name}: `weight` is one of them, in words"
        )
    return found.weighed(path, name, weight)
