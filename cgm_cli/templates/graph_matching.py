"""Graph matching: which node of one graph is which of another, by doubly stochastic matrices and permutations."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
import scipy.sparse as sp
from pydantic import Field

from cgm_cli.blocks.domains.birkhoff import Birkhoff
from cgm_cli.blocks.iterates import Iterate
from cgm_cli.blocks.losses.least_squares import LeastSquares
from cgm_cli.blocks.maps.matrix import MatrixMap
from cgm_cli.blocks.problem import CompositeProblem
from cgm_cli.errors import DataError, located
from cgm_cli.methods.answers import Multiples
from cgm_cli.numerics.deadline import NEVER, Deadline
from cgm_cli.readers.adjacency import Graph
from cgm_cli.readers.context import BuildContext
from cgm_cli.readers.entries import COLUMN_IDS, named_arrays
from cgm_cli.solving.rounding import Rounding
from cgm_cli.spec.fields import ByKeys, GraphField, Size, StrictModel, TemplateSpec
from cgm_cli.spec.metrics import Metric
from cgm_cli.templates.assignments import tabu_search
from cgm_cli.templates.base import Template
from cgm_cli.templates.claims import Claim, Mismatch
from cgm_cli.templates.listing import Listing
from cgm_cli.templates.max_cut import RandomGraph
from cgm_cli.templates.views import Heatmap

STEPS = 10
"""Times n: exchanges of a search."""

SPREAD = 0.2
"""Of the logarithms of random factors on the entries of x, whose assignments searches begin from after the first."""

ROUNDING = 1e-9
"""Part of |A|^2 + |B|^2 that rounding errors are below, and that is taken off a bound before it is rounded up."""


class Copy(StrictModel):
    """The first graph, its nodes in another order, and some of its edges elsewhere; drawn by the seed."""

    rewired: float = Field(0.0, ge=0, le=1, description="fraction of the edges that join two other nodes")


class GraphMatching(Template):
    """min |A P - P B|^2 / 2 over doubly stochastic P, (n, n): from below, and a permutation near it.

    A permutation P that takes node i of A to node j of B, P_ij = 1, has |A - P B P^T|^2 / 2 there: the squares of what
    the weights of edges differ by; of graphs without weights, the number of edges that one has and the other has not.
    The smaller graph is given nodes without edges. The relaxation (Almohamad and Duffuaa 1993) says nothing of graphs
    all of whose nodes have one degree, where all entries 1 / n reach 0; where eigenvectors tell the nodes apart, it
    finds the isomorphism of two graphs, of which 0 is the value (Aflalo, Bronstein and Kimmel 2015).

    Permutations are those of the largest <X, P>, an assignment, and of X with its entries shaken, each made better by
    tabu search (Taillard 1991).
    """

    iterate = "dense"

    class Spec(TemplateSpec):
        template: Literal["graph-matching"]
        first: Annotated[GraphField | RandomGraph, ByKeys()] = Field(
            description="A: a graph in a file, {file: edges.csv}, a matrix of weights, or {nodes, edges} at random"
        )
        second: Annotated[GraphField | Copy, ByKeys()] = Field(
            description="B: another one; or {rewired: 0.05}, a copy of the first with nodes in another order and so "
            "many of its edges elsewhere"
        )
        starts: Size = Field(5, description="permutations that a tabu search begins from, each")

        examples: ClassVar[list[dict[str, Any]]] = [
            {
                "template": "graph-matching",
                "first": [[0, 1, 1, 0], [1, 0, 1, 0], [1, 1, 0, 1], [0, 0, 1, 0]],
                "second": [[0, 1, 0, 0], [1, 0, 1, 1], [0, 1, 0, 1], [0, 1, 1, 0]],
            },
            {"template": "graph-matching", "first": {"nodes": 12, "edges": 25}, "second": {"rewired": 0.1}},
        ]

        def build(self, context: BuildContext) -> GraphMatching:
            with located("first"):
                given = self.first
                first = Graph(given.draw(context)) if isinstance(given, RandomGraph) else context.graph(given)
                if first.adjacency.nnz == 0:
                    raise DataError("the graph has no edges: every permutation is as good")
            truth = None
            with located("second"):
                if isinstance(self.second, Copy):
                    rng = np.random.default_rng([context.seed, 14])
                    truth = rng.permutation(first.adjacency.shape[0])
                    second = Graph(_copied(first.adjacency, truth, self.second.rewired, rng))
                else:
                    second = context.graph(self.second)
            n = max(first.adjacency.shape[0], second.adjacency.shape[0])
            edges = first.adjacency.nnz + second.adjacency.nnz
            # Of A P - P B with its matrix, and what projections, searches and pictures need.
            context.reserve("matrices", 3 * 12 * n * edges + 8 * 16 * n * n)
            return GraphMatching(first, second, self.starts, truth)

    measures = (
        Metric("mismatch", "|A - P B P^T|^2 / 2 of the permutation, after a tabu search", "lower", comparable=False),
        Metric("least_mismatch", "no permutation has less, by the certified bound, rounded up for whole weights"),
        Metric("overlap", "share of the edges of A that the permutation takes to edges of B", "higher"),
        Metric("recovered", "share of the nodes taken to where a copy has them", "higher"),
    )
    listing = Listing("matching", "node", "node of the second graph")
    views = (Heatmap("the doubly stochastic matrix", "x", values="nonnegative"),)

    def __init__(self, first: Graph, second: Graph, starts: int = 5, truth: np.ndarray | None = None):
        """truth (n,): where a copy has the nodes of the first graph."""
        self.graphs, self.starts, self.truth = (first, second), starts, truth
        n = max(graph.adjacency.shape[0] for graph in self.graphs)
        self.first, self.second = (_padded(graph.adjacency, n) for graph in self.graphs)
        self.squares = 0.5 * float(sum(np.square(graph.adjacency.data).sum() for graph in self.graphs))
        whole = all((graph.adjacency.data == np.round(graph.adjacency.data)).all() for graph in self.graphs)
        self.multiples = Multiples("mismatch", 1.0, 2.0 * ROUNDING * self.squares) if whole else None
        a, b = sp.csr_array(self.first), sp.csr_array(self.second)
        eye = sp.eye_array(n)
        difference = sp.csr_array(sp.kron(a, eye) - sp.kron(eye, b.T))
        self.problem = CompositeProblem(Birkhoff(n), LeastSquares(MatrixMap(difference, (n, n)), np.zeros(n * n)))

    def round(
        self, iterate: Iterate, bound: float | None, rng: np.random.Generator, deadline: Deadline = NEVER
    ) -> Rounding:
        """matching: of each node of the first graph, that of the second, from 0; permutation (n,): the same with the
        nodes that the smaller graph was given.
        """
        x, n = iterate.point.dense(), len(self.first)
        least = -np.inf if bound is None else self._rounded_up(bound)
        best, mismatch = np.arange(n), np.inf
        for start in range(self.starts):
            shaken = x if start == 0 else x * np.exp(SPREAD * rng.standard_normal(x.shape))
            # The mismatch is what both graphs have of squares, less what they share.
            enough = least - self.squares
            places, shared = tabu_search(self.first, -self.second, _nearest(shaken), STEPS * n, rng, enough, deadline)
            if self.squares + shared < mismatch:
                best, mismatch = places, self.squares + shared
            if mismatch <= least or deadline.should_stop():
                break
        figures = {"mismatch": max(0.0, mismatch), "overlap": self._overlap(best)}
        if bound is not None:
            figures["least_mismatch"] = max(0.0, least)
        if self.truth is not None:
            figures["recovered"] = float(np.mean(best == self.truth))
        arrays = {"matching": best[: self.graphs[0].adjacency.shape[0]], "permutation": best}
        names = named_arrays(self.graphs[0].labels) | named_arrays(self.graphs[1].labels, COLUMN_IDS)
        return Rounding(figures, arrays | names)

    def claims(self) -> Sequence[Claim]:
        return (Claim("mismatch", Mismatch(self.first, self.second, "permutation"), limit=1.0),)

    def _rounded_up(self, bound: float) -> float:
        return bound if self.multiples is None else self.multiples.rounded(bound)

    def _overlap(self, places: np.ndarray) -> float:
        joined = self.first != 0.0
        return float(np.mean(self.second[np.ix_(places, places)][joined] != 0.0))


def _nearest(x: np.ndarray) -> np.ndarray:
    """The column of each row in the permutation P of the largest <X, P>."""
    # Imported here: `cgm list` looks at every template, and this library takes long to load.
    from scipy.optimize import linear_sum_assignment

    return linear_sum_assignment(-x)[1]


def _padded(adjacency: sp.csr_array, n: int) -> np.ndarray:
    """The matrix (n, n) of a graph, with nodes without edges at the end."""
    full, size = np.zeros((n, n)), adjacency.shape[0]
    full[:size, :size] = adjacency.toarray()
    return full


def _copied(adjacency: sp.csr_array, places: np.ndarray, rewired: float, rng: np.random.Generator) -> sp.csr_array:
    """The graph with node i at places[i], and a share of its edges, with their weights, at other pairs of nodes."""
    n, edges = adjacency.shape[0], sp.coo_array(sp.triu(adjacency, 1))
    (tails, heads), weights = edges.coords, edges.data
    moved = rng.permutation(weights.size)[: round(rewired * weights.size)]
    pairs = np.triu_indices(n, 1)
    free = np.flatnonzero(adjacency.toarray()[pairs] == 0.0)
    chosen = rng.permutation(free)[: moved.size]
    moved = moved[: chosen.size]
    tails, heads = tails.copy(), heads.copy()
    tails[moved], heads[moved] = pairs[0][chosen], pairs[1][chosen]
    ends = places[np.concatenate([tails, heads])], places[np.concatenate([heads, tails])]
    return sp.csr_array(sp.coo_array((np.concatenate([weights, weights]), ends), shape=(n, n)))
