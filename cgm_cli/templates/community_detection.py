"""Communities of a graph by semidefinite relaxation, and how near the best partition they are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
import scipy.sparse as sp
from pydantic import Field, model_validator

from cgm_cli.blocks.iterates import Iterate
from cgm_cli.errors import DataError, ProblemError, located
from cgm_cli.numerics.deadline import NEVER, Deadline
from cgm_cli.numerics.partitions import equally_regrouped, regrouped
from cgm_cli.readers.adjacency import Graph
from cgm_cli.readers.context import BuildContext
from cgm_cli.readers.entries import named_arrays
from cgm_cli.readers.node_labels import in_order_of_nodes
from cgm_cli.solving.rounding import Quick, Rounding, certified_ratio
from cgm_cli.spec.fields import ArrayField, ByKeys, FromFloat, GraphField, Positive, Size, TemplateSpec
from cgm_cli.spec.metrics import Metric
from cgm_cli.templates.base import Template
from cgm_cli.templates.claims import AgainstBound, Claim, Modularity, WeightWithin
from cgm_cli.templates.clustering import point_error
from cgm_cli.templates.listing import Listing
from cgm_cli.templates.partitioning import glimpsed, memory, most_tried, relaxation, rounded
from cgm_cli.templates.planted import BlockModel, Synchronisation
from cgm_cli.templates.views import CutGraph, few_edges, nodes_in_groups

Criterion = Literal["modularity", "equal-sizes", "weight"]


class CommunityDetection(Template):
    """The partition of a graph's nodes of largest modularity, or of most weight within communities, from above.

    Modularity is Q = sum over communities C of L_C / m - g (K_C / 2m)^2, with L_C the weight of the edges within C, K_C
    the sum of the degrees, m the weight of all edges, and g the `resolution` (Newman and Girvan 2004; as a semidefinite
    program Agarwal and Kempe 2008). `equal-sizes` asks for most weight within communities whose sizes differ by one at
    most: the likeliest communities of the stochastic block model (Abbe, Bandeira and Hall 2016), and of two the minimum
    bisection. `weight` is that of any sizes, for weights of both signs: correlation clustering, and of two communities
    the synchronisation of signs (Bandeira, Boumal and Voroninski 2016). The relaxation is that of
    cgm_cli.templates.partitioning; x is its Y. Rounding: Gaussian vectors of covariance Y, the best of `trials`, made
    better by annealing (cgm_cli.numerics.partitions).
    """

    class Spec(TemplateSpec):
        template: Literal["community-detection"]
        graph: Annotated[GraphField | BlockModel | Synchronisation, ByKeys()] = Field(
            description="a graph in a file, {file: edges.csv}, a matrix of weights, a stochastic block model, "
            "{nodes, communities, inside, outside}, or signs through noise, {nodes, noise}"
        )
        criterion: Criterion = Field(
            "modularity",
            description="what is maximised: modularity, or the weight within communities, of equal-sizes, or, as "
            "weight, of any, where weights have both signs",
        )
        communities: Annotated[int, Field(ge=2), FromFloat] | None = Field(
            None, description="how many there may be at most; left out: as many as it takes"
        )
        resolution: Positive = Field(1.0, description="of modularity: above 1 for smaller communities")
        labels: ArrayField | None = Field(
            None,
            description="the true community of each node, for scores; of a table with a column of `names`, by the names"
            " of the nodes",
        )
        trials: Size = Field(100, description="random partitions tried at the end")
        inequalities: Literal["none", "triangle"] = Field(
            "none",
            description="triangle: Y_ij + Y_ik <= 1 + Y_jk, and of two communities Y_ij + Y_ik + Y_jk >= -1, as well, "
            "of which those join in that Y violates: a tighter bound for graphs of up to a thousand nodes or so",
        )

        examples: ClassVar[list[dict[str, Any]]] = [
            {
                "template": "community-detection",
                "graph": {"nodes": 40, "communities": 2, "inside": 0.4, "outside": 0.1},
                "communities": 2,
                "criterion": "equal-sizes",
            },
            {
                "template": "community-detection",
                "graph": [
                    [0, 1, 1, 0, 0, 0],
                    [1, 0, 1, 0, 0, 0],
                    [1, 1, 0, 1, 0, 0],
                    [0, 0, 1, 0, 1, 1],
                    [0, 0, 0, 1, 0, 1],
                    [0, 0, 0, 1, 1, 0],
                ],
                "labels": [0, 0, 0, 1, 1, 1],
            },
            {
                "template": "community-detection",
                "graph": {"nodes": 15, "communities": 3, "inside": 0.6, "outside": 0.2},
                "inequalities": "triangle",
            },
            {
                "template": "community-detection",
                "graph": {"nodes": 10, "noise": 0.5},
                "communities": 2,
                "criterion": "weight",
            },
        ]

        @model_validator(mode="after")
        def _fits(self):
            if self.criterion == "equal-sizes" and self.communities is None:
                raise ValueError("communities of equal sizes: say how many, `communities: 2`")
            if self.resolution != 1.0 and self.criterion != "modularity":
                raise ValueError("`resolution` is that of `criterion: modularity`")
            if self.labels is not None and isinstance(self.graph, BlockModel | Synchronisation):
                raise ValueError("a random graph comes with its labels: leave `labels` out")
            return self

        def build(self, context: BuildContext) -> CommunityDetection:
            with located("graph"):
                if isinstance(self.graph, BlockModel | Synchronisation):
                    drawn = self.graph.draw(context)
                    found, labels = Graph(drawn.adjacency), drawn.labels
                else:
                    found, labels = context.graph(self.graph), None
                n = found.adjacency.shape[0]
                _check(found.adjacency, self.criterion)
            if self.labels is not None:
                with located("labels"):
                    labels = in_order_of_nodes(context, self.labels, found.labels, n)
            if self.communities is not None and self.communities > n:
                raise ProblemError(f"{self.communities} communities of {n} nodes: each needs a node", ("communities",))
            dense = 8 * n * n if self.criterion == "modularity" else 0
            context.reserve("modularity of all pairs", 3 * dense)
            triangles = self.inequalities == "triangle"
            context.reserve("bounds on all entries", memory(n, self.communities, triangles))
            with located("trials"):
                context.reserve("trials", 8 * n * most_tried(n, self.communities) * self.trials)
            return CommunityDetection(
                found.adjacency,
                self.communities,
                self.criterion,
                self.resolution,
                labels,
                self.trials,
                found.labels,
                triangles,
            )

    measures = (
        Metric("modularity", "of the communities, after annealing", "higher"),
        Metric("weight_within", "weight of the edges within communities, after annealing", "higher", comparable=False),
        Metric("communities", "how many were found"),
        Metric("certified_ratio", "the value over the certified bound: over the largest it is no less", "higher"),
        Metric("agreement", "part of the nodes whose community is the true one, matched one to one", "higher"),
        Metric("rounded_agreement", "the same before annealing", "higher"),
        Metric("recovered", "1 if every node is in its true community, else 0", "higher"),
    )

    listing = Listing("community", "node", "community")
    views = (
        CutGraph(
            "the communities",
            "community",
            "edges",
            "The {rows} nodes of the graph in {groups} communities, each on an arc; {cut} of {edges} edges go between "
            "communities, the coloured ones.",
        ),
        *nodes_in_groups("the nodes", "community", "{rows} nodes in {groups} communities", ordered="community"),
    )

    def __init__(
        self,
        adjacency: sp.csr_array,
        communities: int | None = None,
        criterion: Criterion = "modularity",
        resolution: float = 1.0,
        labels: np.ndarray | None = None,
        trials: int = 100,
        names: list[str] | None = None,
        triangles: bool = False,
    ):
        """adjacency: symmetric (n, n), the weight of edge i-j at both places, none on the diagonal. labels (n,): the
        true communities, integers from 0. names: what the nodes are called. triangles: whether Y has to meet the
        triangle inequalities, too.
        """
        self.adjacency, self.communities, self.criterion, self.resolution = (
            adjacency,
            communities,
            criterion,
            resolution,
        )
        self.labels, self.trials, self.names = labels, trials, names
        n = adjacency.shape[0]
        self.expected = np.zeros(n)
        weights = adjacency
        if criterion == "modularity":
            degrees = np.asarray(adjacency.sum(axis=1)).reshape(-1)
            self.expected = degrees * np.sqrt(resolution / degrees.sum())
            # <B, X> / 2m, and the weight within is <W, X> / 2.
            weights = (adjacency.toarray() - np.outer(self.expected, self.expected)) * (2.0 / degrees.sum())
        self.quick = Quick("modularity" if criterion == "modularity" else "weight")
        self.problem = relaxation(weights, communities, criterion == "equal-sizes", triangles)

    def quick_value(self, iterate: Iterate, rng: np.random.Generator) -> float:
        equal = self.criterion == "equal-sizes"
        return self._value(glimpsed(iterate, self.adjacency, self.communities, equal, rng))

    def round(
        self, iterate: Iterate, bound: float | None, rng: np.random.Generator, deadline: Deadline = NEVER
    ) -> Rounding:
        equal, k, n = self.criterion == "equal-sizes", self.communities, self.adjacency.shape[0]
        first = rounded(iterate, self.adjacency, self.expected, k, equal, self.trials, rng, deadline.part(0.5))
        seed = int(rng.integers(2**62))
        if equal:
            assert k is not None
            found = equally_regrouped(self.adjacency, first, k, seed, deadline)
        else:
            found = regrouped(self.adjacency, self.expected, first, k or n, seed, deadline)
        found = np.unique(found, return_inverse=True)[1].reshape(-1)
        value = self._value(found)
        metrics = {
            "modularity" if self.criterion == "modularity" else "weight_within": value,
            "communities": float(found.max() + 1),
        }
        size = 1.0 if self.criterion == "modularity" else float(abs(self.adjacency).sum())
        metrics |= certified_ratio(value, bound, size)
        if self.labels is not None:
            for name, labels in (("agreement", found), ("rounded_agreement", first)):
                metrics[name] = 1.0 - point_error(labels, self.labels, int(labels.max()) + 1)
            metrics["recovered"] = float(metrics["agreement"] == 1.0)
        arrays = {"community": found.astype(np.int32), **few_edges(self.adjacency), **named_arrays(self.names)}
        return Rounding(metrics, arrays)

    def claims(self) -> Sequence[Claim]:
        if self.criterion == "modularity":
            says = Modularity(self.adjacency, "community", self.resolution, self.communities)
            name = "modularity"
        else:
            says = WeightWithin(self.adjacency, "community", self.communities, self.criterion == "equal-sizes")
            name = "weight_within"
        return Claim(name, says, limit=1.0), Claim("certified_ratio", AgainstBound(says, "ratio"))

    def _value(self, labels: np.ndarray) -> float:
        edges = sp.coo_array(self.adjacency)
        rows, columns = edges.coords
        within = 0.5 * float(edges.data[labels[rows] == labels[columns]].sum())
        if self.criterion != "modularity":
            return within
        sums = np.bincount(labels, weights=self.expected)
        return 2.0 * within / float(self.adjacency.sum()) - float(sums @ sums) / float(self.adjacency.sum())


def _check(adjacency: sp.csr_array, criterion: Criterion) -> None:
    if adjacency.nnz == 0:
        raise DataError("the graph has no edges: no partition is better than another")
    negative = bool((adjacency.data < 0.0).any())
    if criterion == "modularity" and negative:
        raise DataError("modularity is of weights above 0, and one is negative: `criterion: weight` takes both signs")
    if criterion == "weight" and not negative:
        raise DataError(
            "no weight is negative, so that all nodes together have most weight within: ask for `criterion: "
            "modularity`, or for `equal-sizes`"
        )
