"""What a table says of the nodes of a graph, brought into the order of the nodes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from cgm_cli.errors import ProblemError
from cgm_cli.readers.context import BuildContext, called
from cgm_cli.readers.names import key, places_of
from cgm_cli.spec.fields import ArrayField, TableArray


def places_of_nodes(told: Sequence[str], names: Sequence[str] | None, nodes: int, source: str) -> np.ndarray:
    """Where in `told`, names of nodes, each node of the graph is (nodes,). names: what the nodes are called; None where
    they are told by their numbers, from 1. DataError unless each is told of once, and none that there is not.
    """
    hint = "" if names else f"they are numbered 1 to {nodes}"
    return places_of(told, _called(names, nodes), source, "node", "the graph has", hint)


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
    return key(name) in map(key, _called(names, nodes))


def _called(names: Sequence[str] | None, nodes: int) -> Sequence[str]:
    return names or list(map(str, range(1, nodes + 1)))
