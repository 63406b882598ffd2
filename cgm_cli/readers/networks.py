"""Graphs in GML and GraphML, by networkx where it is installed.

The attribute `weight` of an edge is its weight, or else `value`, or what the spec calls its weight; a remark says what
is passed over. The attribute `label` or `name` of a node is what it is called, where no two have the same, or else its
id.
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
from cgm_cli.text import counted, did_you_mean, quoted

_GML = re.compile(r"(?:\s*(?:#.*|Creator\s.*|Version\s.*|comment\s.*)\n)*\s*graph\s*\[", re.IGNORECASE)
_GRAPH = re.compile(r"\bgraph\s*\[", re.IGNORECASE)
WEIGHTS = ("weight", "value")
"""What weights are called."""

_OWN = {"id", "key"}
"""Numbers of edges that tell them from each other."""

_BYTES = 50
"""What networkx makes of each byte of a file, about."""


def looks_like_gml(head: Head) -> bool:
    """`graph [`, behind comments alone."""
    return _GML.match(head.text) is not None


def looks_like_graphml(head: Head) -> bool:
    """Its outermost element."""
    return head.text.lstrip().startswith("<") and "<graphml" in head.text


def read_gml(path: Path, name: str, weight: str | None = None) -> Graph:
    """The graph (see `cgm_cli.readers.adjacency`), nodes in the order of the file. weight: the attribute of edges that
    is their weight; DataError where one has none.
    """
    return _read(path, name, weight, "GML", "parse_gml", label=None)


def read_graphml(path: Path, name: str, weight: str | None = None) -> Graph:
    """As `read_gml`."""
    return _read(path, name, weight, "GraphML", "parse_graphml")


def _read(path: Path, name: str, weight: str | None, form: str, parse: str, **options: object) -> Graph:
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
    edges = list(graph.edges(data=True))
    attribute = _weighed_by(name, edges, weight)
    try:
        weights = np.array([weight_of(str(data.get(attribute, 1.0))) for _, _, data in edges], dtype=float)
    except ValueError as error:
        raise DataError(f"{name}: {error}") from None
    tails = np.array([places[tail] for tail, _, _ in edges], np.int64)
    heads = np.array([places[head] for _, head, _ in edges], np.int64)
    remarks = () if weight is not None else _passed_over(name, edges, attribute)
    return Graph(adjacency(name, len(places), tails, heads, weights), _labels(graph), remarks)


_Edges = list[tuple[Any, Any, dict[str, Any]]]


def _weighed_by(name: str, edges: _Edges, asked: str | None) -> str:
    """The attribute of edges that is their weight. DataError where one has none of the one that was asked for."""
    if asked is None:
        return next((each for each in WEIGHTS if any(each in data for _, _, data in edges)), WEIGHTS[0])
    missing = sum(asked not in data for _, _, data in edges)
    if missing:
        known = _numeric(edges)
        hint = did_you_mean(asked, known)
        raise DataError(
            f"{name}: no `{quoted(asked)}` in {missing} of {counted(len(edges), 'edge')}{f'; {hint}' if hint else ''} "
            f"(numbers of edges: {_listed(known)})"
        )
    return asked


def _passed_over(name: str, edges: _Edges, attribute: str) -> tuple[str, ...]:
    """On edges without a weight, and on numbers of theirs that are none."""
    missing = sum(attribute not in data for _, _, data in edges)
    if missing < len(edges):
        return (f"{name}: {missing} of {len(edges)} edges have no `{attribute}`, and weigh 1.",) if missing else ()
    if not (others := _numeric(edges)):
        return ()
    return (
        f"{name}: every edge weighs 1; its edges have {_listed(others)}: `weight: {quoted(others[0])}` takes that for "
        "their weight.",
    )


def _numeric(edges: _Edges) -> list[str]:
    """The attributes of edges that are numbers, wherever there is one."""
    kinds = [(key, isinstance(value, (int, float))) for _, _, data in edges for key, value in data.items()]
    words = {key for key, is_number in kinds if not is_number}
    return [key for key in dict.fromkeys(key for key, _ in kinds) if key not in words and key not in _OWN]


def _listed(attributes: list[str]) -> str:
    return ", ".join(f"`{quoted(each)}`" for each in attributes) or "none"


def _labels(graph: Any) -> list[str]:
    for attribute in ("label", "name"):
        found = [" ".join(str(label).split()) for _, label in graph.nodes(data=attribute)]
        if len(set(found)) == len(found) and all(label is not None for _, label in graph.nodes(data=attribute)):
            return found
    return [" ".join(str(node).split()) for node in graph]
