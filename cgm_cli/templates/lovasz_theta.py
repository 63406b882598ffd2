"""The Lovasz number of a graph, between its largest independent set and the colours of its complement."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
import scipy.sparse as sp
from pydantic import Field, model_validator

from cgm_cli.blocks.atoms import LowRankAtom
from cgm_cli.blocks.domains.psd import PSDTrace
from cgm_cli.blocks.fitting import named
from cgm_cli.blocks.iterates import Iterate
from cgm_cli.blocks.losses.linear import Linear
from cgm_cli.blocks.maps.identity import Identity
from cgm_cli.blocks.maps.sampling import Sampling
from cgm_cli.blocks.penalties.box import Nonnegative
from cgm_cli.blocks.penalties.equals import Equals
from cgm_cli.blocks.problem import CompositeProblem, Term
from cgm_cli.errors import DataError, ProblemError, located
from cgm_cli.numerics.deadline import NEVER, Deadline
from cgm_cli.readers.adjacency import Graph
from cgm_cli.readers.context import BuildContext
from cgm_cli.readers.dimacs import node_weights
from cgm_cli.readers.entries import named_arrays
from cgm_cli.solving.rounding import Rounding
from cgm_cli.spec.fields import ArrayField, ByKeys, FileArray, FromFloat, GraphField, StrictModel, TemplateSpec
from cgm_cli.spec.metrics import Metric
from cgm_cli.templates.base import Template
from cgm_cli.templates.claims import Claim, IndependentSet
from cgm_cli.templates.listing import Listing
from cgm_cli.templates.max_cut import RandomGraph
from cgm_cli.templates.views import nodes_in_groups
from cgm_cli.text import counted, visible


class Cycle(StrictModel):
    """The cycle through a number of nodes."""

    cycle: Annotated[int, Field(ge=3), FromFloat] = Field(description="number of nodes on the cycle")


class LovaszTheta(Template):
    """max <u u^T, X> / n subject to X_ij = 0 for the edges i-j, X positive semidefinite, tr X = n; u_i = sqrt(w_i).

    Lovasz, IEEE Trans. Inf. Theory 25, 1979; with weights w Groetschel, Lovasz and Schrijver, "Geometric Algorithms and
    Combinatorial Optimization", 1988, section 9.3; X is n times the usual one, so that its entries are of size 1. With
    `nonnegative` also X >= 0: Schrijver's smaller number. An independent set S gives a feasible X of value w(S), so the
    bound is above every independent set; of the complement it is above every clique. Rounding: a greedy one.
    """

    class Spec(TemplateSpec):
        template: Literal["lovasz-theta"]
        graph: Annotated[GraphField | RandomGraph | Cycle | Literal["petersen"], ByKeys()] = Field(
            description="a file, a symmetric matrix, {nodes, edges} of a random graph, {cycle: n}, or petersen"
        )
        complement: bool = Field(False, description="take the graph whose edges are those that are missing")
        weights: Annotated[ArrayField | Literal["file"] | None, ByKeys()] = Field(
            None,
            description="of the nodes, >= 0, or `file`: those that a DIMACS file of the graph has; left out: all 1",
        )
        nonnegative: bool = Field(False, description="X >= 0, entry by entry")

        examples: ClassVar[list[dict[str, Any]]] = [
            {"template": "lovasz-theta", "graph": {"cycle": 5}},
            {"template": "lovasz-theta", "graph": "petersen", "nonnegative": True},
            {"template": "lovasz-theta", "graph": {"cycle": 6}, "complement": True, "weights": [1, 2, 1, 0.5, 1, 2]},
        ]

        @model_validator(mode="after")
        def _weights_in_a_file(self):
            if self.weights == "file" and not isinstance(self.graph, FileArray):
                raise ValueError("`weights: file` are those of a graph in a file")
            return self

        def build(self, context: BuildContext) -> LovaszTheta:
            with located("graph"):
                found = self._graph(context)
                adjacency = found.adjacency
                if self.complement:
                    context.reserve("complement", 40 * adjacency.shape[0] ** 2)
                    adjacency = complement(adjacency)
                context.reserve("edges", 50 * adjacency.nnz)  # in the pattern of a direction, and its making
                if adjacency.nnz == 0:
                    which = "complement of the graph" if self.complement else "graph"
                    raise DataError(f"the {which} has no edges: its number is the sum of the weights of its nodes")
            if self.nonnegative:
                context.reserve("bounds on all entries", 8 * adjacency.shape[0] ** 2)
            with located("weights"):
                weights = self._weights(context, adjacency.shape[0])
            return LovaszTheta(adjacency, self.nonnegative, weights, found.labels)

        def _graph(self, context: BuildContext) -> Graph:
            if isinstance(self.graph, RandomGraph):
                return Graph(self.graph.draw(context))
            if isinstance(self.graph, Cycle):
                context.reserve("graph", 400 * self.graph.cycle)
                return Graph(cycle(self.graph.cycle))
            if self.graph == "petersen":
                return Graph(petersen())
            return context.graph(self.graph)

        def _weights(self, context: BuildContext, nodes: int) -> np.ndarray | None:
            if self.weights is None:
                return None
            if self.weights == "file":
                assert isinstance(self.graph, FileArray)
                found = node_weights(context.find(self.graph.file), visible(self.graph.file))
            else:
                found = context.array(self.weights)
            if found.shape != (nodes,):
                raise ProblemError(f"the weights are {named(found.shape)}, but the graph has {counted(nodes, 'node')}")
            if found.min() < 0.0:
                raise ProblemError(f"the weight of node {int(found.argmin()) + 1} is negative: {found.min():g}")
            if found.max() == 0.0:
                raise ProblemError("no node has a weight above 0")
            return found

    measures = (
        Metric("independent_set", "size of an independent set, found greedily", "higher", comparable=False),
        Metric("independent_weight", "weight of an independent set, found greedily", "higher", comparable=False),
    )

    listing = Listing("independent_set", "node", "chosen")
    views = nodes_in_groups(
        "the independent set",
        "-independent_set",
        "{rows} nodes, {sizes[0]} of them in the independent set",
        ordered="set",
    )

    def __init__(
        self,
        adjacency: sp.csr_array,
        nonnegative: bool = False,
        weights: np.ndarray | None = None,
        labels: list[str] | None = None,
    ):
        """adjacency: symmetric (n, n); its non-zeros off the diagonal are the edges. weights (n,), >= 0; None: 1.
        labels: what the nodes are called.
        """
        self.labels = labels
        n = adjacency.shape[0]
        shape = (n, n)
        edges = sp.coo_array(sp.triu(adjacency, k=1))
        edges.eliminate_zeros()
        self.neighbours, self.weights = sp.csr_array(adjacency), weights
        self.roots = np.ones(n) if weights is None else np.sqrt(weights)
        places = edges.coords[0].astype(np.intp) * n + edges.coords[1]
        terms = [Term("edges", Sampling(places, shape), Equals(places.shape, np.zeros(places.shape)))]
        if nonnegative:
            terms.append(Term("nonnegative", Identity(shape), Nonnegative(shape)))
        self.problem = CompositeProblem(
            PSDTrace(n, float(n), fixed_trace=True),
            Linear(LowRankAtom.symmetric(self.roots[:, None], np.array([-1.0 / n])), shape),
            tuple(terms),
            sense="maximise",
        )

    def round(
        self, iterate: Iterate, bound: float | None, rng: np.random.Generator, deadline: Deadline = NEVER
    ) -> Rounding:
        """independent_set: its size, by taking nodes greedily in the order of what they add to <u u^T, X>."""
        shares = self.roots * iterate.point.times(self.roots)
        chosen = greedy_independent_set(self.neighbours, np.argsort(-shares, kind="stable"))
        metrics = {"independent_set": float(chosen.sum())}
        if self.weights is not None:
            metrics["independent_weight"] = float(self.weights[chosen].sum())
        return Rounding(metrics, {"independent_set": chosen.astype(np.int8), **named_arrays(self.labels)})

    def claims(self) -> Sequence[Claim]:
        size = IndependentSet(self.neighbours, "independent_set")
        if self.weights is None:
            return (Claim("independent_set", size, limit=1.0),)
        weight = IndependentSet(self.neighbours, "independent_set", self.weights)
        return Claim("independent_set", size), Claim("independent_weight", weight, limit=1.0)


def greedy_independent_set(adjacency: sp.csr_array, order: np.ndarray) -> np.ndarray:
    """Which nodes (n,) are chosen when each, in this order, is taken unless a neighbour was."""
    chosen, barred = np.zeros(order.size, dtype=bool), np.zeros(order.size, dtype=bool)
    for node in order:
        if not barred[node]:
            chosen[node] = True
            barred[adjacency.indices[adjacency.indptr[node] : adjacency.indptr[node + 1]]] = True
    return chosen


def complement(adjacency: sp.csr_array) -> sp.csr_array:
    """The graph (n, n) that has an edge wherever this one has none."""
    missing = np.ones(adjacency.shape, dtype=bool)
    present = sp.coo_array(adjacency)
    missing[tuple(part[present.data != 0.0] for part in present.coords)] = False
    np.fill_diagonal(missing, False)
    return sp.csr_array(missing).astype(float)


def cycle(n: int) -> sp.csr_array:
    """The cycle through n nodes; its number is n cos(pi/n) / (1 + cos(pi/n)) for odd n, and n/2 for even n."""
    return _graph([(i, (i + 1) % n) for i in range(n)], n)


def petersen() -> sp.csr_array:
    """The Petersen graph: an outer cycle, an inner star, and spokes; its number is 4."""
    outer = [(i, (i + 1) % 5) for i in range(5)]
    star = [(5 + i, 5 + (i + 2) % 5) for i in range(5)]
    return _graph([*outer, *star, *((i, i + 5) for i in range(5))], 10)


def _graph(edges: list[tuple[int, int]], n: int) -> sp.csr_array:
    tails, heads = np.array(edges).T
    both = np.concatenate([tails, heads]), np.concatenate([heads, tails])
    return sp.csr_array((np.ones(2 * tails.size), both), shape=(n, n))
