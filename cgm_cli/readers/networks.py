"""Graphs in GML and GraphML, by networkx where it is installed.

The attribute `weight` of an edge is its weight, or else `value`; the attribute `label` or `name` of a node is what it
is called, where no two have the same, or else its id.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np

from cgm_cli.errors import DataError, part
from cgm_cli.readers.adjacency import Graph, adjacency
from cgm_cli.readers.cells import weight_of
from cgm_cli.readers.checks import reason
from cgm_cli.readers.head import Head
from cgm_cli.readers.memory import check_fits
from cgm_cli.readers.text import read_text

_GML = re.compile(r"(?:\s*(?:#.*|Creator\s.*|Version\s.*|comment\s.*)\n)*\s*graph\s*\[", re.IGNORECASE)
_GRAPH = re.compile(r"\bgraph\s*\[", re.IGNORECASE)
_BYTES = 50
"""What networkx makes of each byte of a file, about."""


def looks_like_gml(head: Head) -> bool:
    """`graph [`, behind comments alone."""
    return _GML.match(head.text) is not None


def looks_like_graphml(head: Head) -> bool:
    """Its outermost element."""
    return head.text.lstrip().startswith("<") and "<graphml" in head.text


def read_gml(path: Path, name: str) -> Graph:
    """The graph (see `cgm_cli.readers.adjacency`), nodes in the order of the file."""
    return _read(path, name, "GML", "parse_gml", label=None)


def read_graphml(path: Path, name: str) -> Graph:
    """The graph (see `cgm_cli.readers.adjacency`), nodes in the order of the file."""
    return _read(path, name, "GraphML", "parse_graphml")


def _read(path: Path, name: str, form: str, parse: str, **options: object) -> Graph:
    with part("graphs", f"{name}: {form}"):
        import networkx
    text = read_text(path, name)
    if form == "GML" and "multigraph" not in text:
        text = _GRAPH.sub(r"\g<0> multigraph 1 ", text, count=1)  # or edges given twice are refused
    check_fits(name, _BYTES * len(text))
    try:
        graph = getattr(networkx, parse)(text, **options)
    except Exception as error:  # whatever its parsers, and those of XML, may raise
        raise DataError(f"{name}: not readable as {form}: {reason(error)}") from None
    if not graph.number_of_nodes():
        raise DataError(f"{name}: a graph without nodes")
    places = {node: place for place, node in enumerate(graph)}
    edges = [(tail, head, data.get("weight", data.get("value", 1.0))) for tail, head, data in graph.edges(data=True)]
    try:
        weights = np.array([weight_of(str(weight)) for _, _, weight in edges], dtype=float)
    except ValueError as error:
        raise DataError(f"{name}: {error}") from None
    tails = np.array([places[tail] for tail, _, _ in edges], np.int64)
    heads = np.array([places[head] for _, head, _ in edges], np.int64)
    return Graph(adjacency(name, len(places), tails, heads, weights), _labels(graph))


def _labels(graph: Any) -> list[str]:
    for attribute in ("label", "name"):
        found = [" ".join(str(label).split()) for _, label in graph.nodes(data=attribute)]
        if len(set(found)) == len(found) and all(label is not None for _, label in graph.nodes(data=attribute)):
            return found
    return [" ".join(str(node).split()) for node in graph]
