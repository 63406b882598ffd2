"""Minimum bisection: the nodes of a graph in two halves with as little as possible between them, and a bound below."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
import scipy.sparse as sp
from pydantic import Field

from cgm_cli.blocks.iterates import Iterate
from cgm_cli.blocks.losses.linear import Linear
from cgm_cli.blocks.problem import CompositeProblem
from cgm_cli.errors import DataError, ProblemError, located
from cgm_cli.numerics.deadline import NEVER, Deadline
from cgm_cli.numerics.partitions import equally_regrouped
from cgm_cli.readers.adjacency import Graph
from cgm_cli.readers.context import BuildContext
from cgm_cli.readers.entries import named_arrays
from cgm_cli.solving.rounding import Quick, Rounding
from cgm_cli.spec.fields import ByKeys, GraphField, Size, TemplateSpec
from cgm_cli.spec.metrics import Metric
from cgm_cli.templates.base import Template
from cgm_cli.templates.claims import AgainstBound, Claim, CutWeight
from cgm_cli.templates.listing import Listing
from cgm_cli.templates.max_cut import RandomGraph
from cgm_cli.templates.partitioning import glimpsed, relaxation, rounded
from cgm_cli.templates.views import CutGraph, few_edges, nodes_in_groups


class MinimumBisection(Template):
    """min 1/4 <L, X> subject to diag X = 1, X 1 = 0, X positive semidefinite, with L the Laplacian of the graph.

    Frieze and Jerrum, Algorithmica 18, 1997. For signs s, half of them +1, X = s s^T is feasible with 1/4 <L, X> the
    weight of the edges between the halves, so the optimum bounds all of these from below. Of an odd number of nodes one
    side has one more, and <1 1^T, X> = 1. Rounding: random hyperplanes, the best of `hyperplanes` of them, and
    annealing (`cgm_cli.numerics.partitions`).
    """

    class Spec(TemplateSpec):
        template: Literal["minimum-bisection"]
        graph: Annotated[GraphField | RandomGraph, ByKeys()] = Field(
            description="a graph in a file, {file: edges.csv}, a matrix of weights, or {nodes, edges} of a random one"
        )
        hyperplanes: Size = Field(100, description="random hyperplanes tried at the end")
        inequalities: Literal["none", "triangle"] = Field(
            "none",
            description="triangle: X_ij + X_ik + X_jk >= -1 and X_jk - X_ij - X_ik >= -1 as well, of which those join "
            "in that X violates: a tighter bound for graphs of up to a thousand nodes or so, X written out",
        )

        examples: ClassVar[list[dict[str, Any]]] = [
            {"template": "minimum-bisection", "graph": {"nodes": 50, "edges": 150}},
            {"template": "minimum-bisection", "graph": [[0, 2, 0], [2, 0, 1], [0, 1, 0]], "hyperplanes": 5},
            {"template": "minimum-bisection", "graph": {"nodes": 12, "edges": 36}, "inequalities": "triangle"},
        ]

        def build(self, context: BuildContext) -> MinimumBisection:
            with located("graph"):
                graph = self.graph
                found = Graph(graph.draw(context)) if isinstance(graph, RandomGraph) else context.graph(graph)
                nodes = found.adjacency.shape[0]
                if found.adjacency.nnz == 0:
                    raise DataError("the graph has no edges: there is nothing between any halves")
                if nodes < 2:
                    raise ProblemError("the graph has one node, and two halves need two")
            with located("hyperplanes"):
                context.reserve("hyperplanes", 8 * 2 * 4 * nodes * self.hyperplanes)
            return MinimumBisection(found.adjacency, self.hyperplanes, found.labels, self.inequalities == "triangle")

    quick = Quick("cut")
    measures = (
        Metric("cut", "weight of the edges between the halves, after annealing", "lower", comparable=False),
        Metric("hyperplane_cut", "the same of the best halves by a hyperplane, before that", "lower", comparable=False),
        Metric("certified_difference", "the cut less the certified bound", "lower", comparable=False),
    )

    listing = Listing("partition", "node", "side")
    views = (
        CutGraph(
            "the edges between the halves",
            "partition",
            "edges",
            "The {rows} nodes of the graph, {sizes[0]} on the left and {sizes[1]} on the right; {cut} of {edges} edges "
            "go between them, the coloured ones.",
        ),
        *nodes_in_groups(
            "the halves", "partition", "{rows} nodes, {sizes[0]} in one half and {sizes[1]} in the other", "side"
        ),
    )

    def __init__(
        self,
        adjacency: sp.csr_array,
        hyperplanes: int = 100,
        labels: list[str] | None = None,
        triangles: bool = False,
    ):
        """adjacency: symmetric (n, n), the weight of edge i-j at both places. labels: what the nodes are called.
        triangles: whether X has to meet the triangle inequalities, too.
        """
        self.adjacency, self.hyperplanes, self.labels = adjacency, hyperplanes, labels
        n = adjacency.shape[0]
        degrees: np.ndarray = np.asarray(adjacency.sum(axis=1)).reshape(-1)
        self.laplacian = sp.csr_array(sp.diags_array(degrees) - adjacency)
        whole = relaxation(adjacency, 2, equal=True, triangles=triangles)
        self.problem = CompositeProblem(whole.domain, Linear(sp.csr_array(0.25 * self.laplacian), (n, n)), whole.terms)

    def quick_value(self, iterate: Iterate, rng: np.random.Generator) -> float:
        return self._cut(glimpsed(iterate, self.adjacency, 2, True, rng))

    def round(
        self, iterate: Iterate, bound: float | None, rng: np.random.Generator, deadline: Deadline = NEVER
    ) -> Rounding:
        nothing = np.zeros(self.adjacency.shape[0])
        first = rounded(iterate, self.adjacency, nothing, 2, True, self.hyperplanes, rng, deadline.part(0.5))
        found = equally_regrouped(self.adjacency, first, 2, int(rng.integers(2**62)), deadline)
        cut, hyperplane_cut = self._cut(found), self._cut(first)
        metrics = {"cut": cut, "hyperplane_cut": hyperplane_cut}
        if bound is not None:
            metrics["certified_difference"] = cut - bound
        arrays = {
            "partition": (2 * found - 1).astype(np.int8),
            **few_edges(self.adjacency),
            **named_arrays(self.labels),
        }
        return Rounding(metrics, arrays)

    def claims(self) -> Sequence[Claim]:
        cut = CutWeight(self.adjacency, "partition", balanced=True)
        return (
            Claim("cut", cut, limit=1.0),
            Claim("hyperplane_cut", CutWeight(self.adjacency, None), limit=1.0, ends_at="cut"),
            Claim("certified_difference", AgainstBound(cut, "difference")),
        )

    def _cut(self, labels: np.ndarray) -> float:
        signs: np.ndarray = 2.0 * labels - 1.0
        return float(0.25 * signs @ (self.laplacian @ signs))
