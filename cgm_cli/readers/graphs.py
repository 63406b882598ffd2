"""Graphs in files: which format a file has, by its content first and its name second, and who reads it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import scipy.sparse as sp

from cgm_cli.readers import dimacs, edge_list, graph6, gset, networks
from cgm_cli.readers.adjacency import adjacency_of
from cgm_cli.readers.checks import finished
from cgm_cli.readers.head import Head
from cgm_cli.readers.market import looks_like as looks_like_market
from cgm_cli.readers.market import read_market


@dataclass(frozen=True)
class GraphFormat:
    """name: in words. suffixes: of files that are this, if their content does not say otherwise. read: the adjacency
    matrix of a file, called by a name, as `cgm_cli.readers.adjacency` makes it.
    """

    name: str
    suffixes: tuple[str, ...]
    looks_like: Callable[[Head], bool]
    read: Callable[[Path, str], sp.csr_array]


def _read_market(path: Path, name: str) -> sp.csr_array:
    return adjacency_of(name, finished(name, read_market(path, name)))


GSET = GraphFormat("a graph in the G-set format", (), gset.resembles, gset.read_gset)
DIMACS = GraphFormat("a graph in a DIMACS format", (".clq", ".col"), dimacs.looks_like, dimacs.read_dimacs)
EDGES = GraphFormat("a list of edges", edge_list.SUFFIXES, edge_list.looks_like, edge_list.read_edge_list)
FORMATS = (
    DIMACS,
    GraphFormat("a matrix in the Matrix Market format", (".mtx",), looks_like_market, _read_market),
    GraphFormat("a graph in graph6", (".g6",), graph6.looks_like, graph6.read_graph6),
    GraphFormat("a graph in GML", (".gml",), networks.looks_like_gml, networks.read_gml),
    GraphFormat("a graph in GraphML", (".graphml",), networks.looks_like_graphml, networks.read_graphml),
    replace(GSET, looks_like=gset.looks_like),
    EDGES,
    GSET,
)


def read_graph(path: Path, name: str | None = None) -> sp.csr_array:
    """The symmetric adjacency matrix (n, n), zero on the diagonal: see `cgm_cli.readers.adjacency` for edges from a
    node to itself, and those given more than once.

    DataError, with the line where there is one, for what is damaged; what looks like nothing is read as G-set.
    """
    name = name or str(path)
    head = Head.of(path, name)
    named = (each for each in FORMATS if head.suffix in each.suffixes)
    otherwise = EDGES if head.suffix in edge_list.TABLES else GSET
    found = next((each for each in FORMATS if each.looks_like(head)), None) or next(named, otherwise)
    return found.read(path, name)
