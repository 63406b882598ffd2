"""What a table says of the nodes of a graph, brought into the order of the nodes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from cgm_cli.errors import DataError, ProblemError
from cgm_cli.readers.cells import is_count
from cgm_cli.readers.context import BuildContext, called
from cgm_cli.spec.fields import ArrayField, TableArray
from cgm_cli.text import did_you_mean, quoted


def places_of_nodes(told: Sequence[str], names: Sequence[str] | None, nodes: int, source: str) -> np.ndarray:
    """Where in `told`, names of nodes, each node of the graph is (nodes,). names: what the nodes are called; None where
    they are told by their numbers, from 1. DataError unless each is told of once, and none that there is not.
    """
    known = _known(names, nodes)
    found = np.full(nodes, -1)
    for row, name in enumerate(told):
        place = known.get(_key(name))
        if place is None:
            hint = did_you_mean(name, list(known)) if names else f"they are numbered 1 to {nodes}"
            raise DataError(f"{source}: the graph has no node `{quoted(name)}`{f'; {hint}' if hint else ''}")
        if found[place] >= 0:
            raise DataError(f"{source}: node `{quoted(name)}` is there twice")
        found[place] = row
    if (found < 0).any():
        missing = [name for name, place in known.items() if found[place] < 0]
        others = f" and {len(missing) - 1} more are" if len(missing) > 1 else " is"
        raise DataError(f"{source}: node `{quoted(missing[0])}`{others} not there")
    return found


def in_order_of_nodes(context: BuildContext, value: ArrayField, names: Sequence[str] | None, nodes: int) -> np.ndarray:
    """The label of each node (nodes,), integers from 0: by name, of a table with a column of `names`, or in the order
    of the nodes. Raises DataError and ProblemError for what does not fit.
    """
    labels = context.classes(value).reshape(-1)
    if isinstance(value, TableArray) and value.names is not None:
        assert context.row_names is not None
        labels = labels[places_of_nodes(context.row_names, names, nodes, called(value))]
    if labels.size != nodes:
        raise ProblemError(f"there are {labels.size} labels, but the graph has {nodes} nodes")
    return np.unique(labels, return_inverse=True)[1].reshape(-1)


def is_node(name: str, names: Sequence[str] | None, nodes: int) -> bool:
    """Whether a node is called so."""
    return _key(name) in _known(names, nodes)


def _known(names: Sequence[str] | None, nodes: int) -> dict[str, int]:
    return {_key(name): place for place, name in enumerate(names or map(str, range(1, nodes + 1)))}


def _key(name: str) -> str:
    """01 and 1 are one node."""
    return str(int(name)) if is_count(name) else name
