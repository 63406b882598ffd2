"""The Lovasz number of a graph, between its largest independent set and the colours of its complement."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
import scipy.sparse as sp
from pydantic import Field

from cgm_cli.blocks.domains.psd import PSDTrace
from cgm_cli.blocks.iterates import Iterate
from cgm_cli.blocks.losses.linear import Linear
from cgm_cli.blocks.maps.identity import Identity
from cgm_cli.blocks.maps.sampling import Sampling
from cgm_cli.blocks.penalties.box import Nonnegative
from cgm_cli.blocks.penalties.equals import Equals
from cgm_cli.blocks.problem import CompositeProblem, Term
from cgm_cli.errors import DataError, located
from cgm_cli.numerics.deadline import NEVER, Deadline
from cgm_cli.readers.context import BuildContext
from cgm_cli.solving.rounding import Rounding
from cgm_cli.spec.fields import ArrayField, ByKeys, StrictModel, TemplateSpec
from cgm_cli.spec.metrics import Metric
from cgm_cli.templates.base import Template
from cgm_cli.templates.claims import Claim, IndependentSetSize
from cgm_cli.templates.max_cut import RandomGraph
from cgm_cli.templates.views import nodes_in_groups


class Cycle(StrictModel):
    """The cycle through a number of nodes."""

    cycle: int = Field(ge=3, description="number of nodes on the cycle")


class LovaszTheta(Template):
    """max <J, X> / n subject to X_ij = 0 for the edges i-j, X positive semidefinite, tr X = n; J is all ones.

    Lovasz, IEEE Trans. Inf. Theory 25, 1979; X is n times the usual one, so that its entries are of size 1. With
    `nonnegative` also X >= 0: Schrijver's smaller number. The incidence vector of an independent set S gives a feasible
    X of value |S|, so the bound is above every independent set. Rounding: a greedy one.
    """

    class Spec(TemplateSpec):
        template: Literal["lovasz-theta"]
        graph: Annotated[ArrayField | RandomGraph | Cycle | Literal["petersen"], ByKeys()] = Field(
            description="a file, a symmetric matrix, {nodes, edges} of a random graph, {cycle: n}, or petersen"
        )
        nonnegative: bool = Field(False, description="X >= 0, entry by entry")

        examples: ClassVar[list[dict[str, Any]]] = [
            {"template": "lovasz-theta", "graph": {"cycle": 5}},
            {"template": "lovasz-theta", "graph": "petersen", "nonnegative": True},
        ]

        def build(self, context: BuildContext) -> LovaszTheta:
            with located("graph"):
                adjacency = self._adjacency(context)
                if adjacency.nnz == 0:
                    raise DataError("the graph has no edges: its number is that of its nodes")
            return LovaszTheta(adjacency, self.nonnegative)

        def _adjacency(self, context: BuildContext) -> sp.csr_array:
            if isinstance(self.graph, RandomGraph):
                _reserve_cost(context, self.graph.nodes)
                return self.graph.draw(context)
            if isinstance(self.graph, Cycle):
                _reserve_cost(context, self.graph.cycle)
                return cycle(self.graph.cycle)
            if self.graph == "petersen":
                return petersen()
            adjacency = context.graph(self.graph)
            _reserve_cost(context, adjacency.shape[0])
            return adjacency

    measures = (Metric("independent_set", "size of an independent set, found greedily", "higher", comparable=False),)

    views = nodes_in_groups(
        "the independent set",
        "-independent_set",
        "{rows} nodes, {sizes[0]} of them in the independent set",
        ordered="set",
    )

    def __init__(self, adjacency: sp.csr_array, nonnegative: bool = False):
        """adjacency: symmetric (n, n); its non-zeros off the diagonal are the edges."""
        n = adjacency.shape[0]
        shape = (n, n)
        edges = sp.coo_array(sp.triu(adjacency, k=1))
        edges.eliminate_zeros()
        self.neighbours = sp.csr_array(adjacency)
        places = edges.coords[0].astype(np.intp) * n + edges.coords[1]
        terms = [Term("edges", Sampling(places, shape), Equals(places.shape, np.zeros(places.shape)))]
        if nonnegative:
            terms.append(Term("nonnegative", Identity(shape), Nonnegative(shape)))
        self.problem = CompositeProblem(
            PSDTrace(n, float(n), fixed_trace=True),
            Linear(np.full(shape, -1.0 / n), shape),
            tuple(terms),
            sense="maximise",
        )

    def round(
        self, iterate: Iterate, bound: float | None, rng: np.random.Generator, deadline: Deadline = NEVER
    ) -> Rounding:
        """independent_set: its size, by taking nodes greedily in the order of X 1."""
        x = iterate.point.dense()
        chosen = greedy_independent_set(self.neighbours, np.argsort(-x.sum(axis=1), kind="stable"))
        metrics: Mapping[str, float] = {"independent_set": float(chosen.sum())}
        return Rounding(metrics, {"independent_set": chosen.astype(np.int8)})

    def claims(self) -> Sequence[Claim]:
        return (Claim("independent_set", IndependentSetSize(self.neighbours, "independent_set"), limit=1.0),)


def _reserve_cost(context: BuildContext, nodes: int) -> None:
    # A matrix of all pairs of nodes: what makes a graph too large, whatever its edges take.
    context.reserve("cost", 8 * nodes**2)


def greedy_independent_set(adjacency: sp.csr_array, order: np.ndarray) -> np.ndarray:
    """Which nodes (n,) are chosen when each, in this order, is taken unless a neighbour was."""
    chosen, barred = np.zeros(order.size, dtype=bool), np.zeros(order.size, dtype=bool)
    for node in order:
        if not barred[node]:
            chosen[node] = True
            barred[adjacency.indices[adjacency.indptr[node] : adjacency.indptr[node + 1]]] = True
    return chosen


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
