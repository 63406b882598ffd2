"""Maximum cut: the Goemans-Williamson relaxation, solved without ever writing X out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
import scipy.sparse as sp
from pydantic import Field, model_validator

from cgm_cli.blocks.domains.psd import PSDTrace
from cgm_cli.blocks.iterates import Iterate, SampledIterate
from cgm_cli.blocks.losses.linear import Linear
from cgm_cli.blocks.maps.diagonal import Diagonal
from cgm_cli.blocks.penalties.equals import Equals
from cgm_cli.blocks.problem import CompositeProblem, Term
from cgm_cli.errors import DataError, ProblemError, located
from cgm_cli.numerics.annealing import annealed
from cgm_cli.numerics.deadline import NEVER, Deadline
from cgm_cli.readers.adjacency import Graph
from cgm_cli.readers.context import BuildContext
from cgm_cli.readers.entries import named_arrays
from cgm_cli.solving.rounding import Quick, Rounding, certified_ratio
from cgm_cli.spec.fields import ByKeys, GraphField, Size, StrictModel, TemplateSpec
from cgm_cli.spec.metrics import Metric
from cgm_cli.templates.base import Template
from cgm_cli.templates.claims import AgainstBound, Claim, CutWeight
from cgm_cli.templates.gaussian import gaussian_samples
from cgm_cli.templates.listing import Listing
from cgm_cli.templates.triangles import CutTriangles
from cgm_cli.templates.views import CutGraph, few_edges, nodes_in_groups

FEW_PAIRS = 10**7
"""Up to so many pairs of nodes are shuffled as a whole."""


class RandomGraph(StrictModel):
    """A graph drawn from the seed of the spec: `edges` distinct pairs of `nodes`, weight 1 (or +-1)."""

    nodes: Size = Field(description="number of nodes")
    edges: Size = Field(description="number of edges")
    signed: bool = Field(False, description="weights +1 or -1 at random instead of 1")

    @model_validator(mode="after")
    def _fits(self) -> RandomGraph:
        most = self.nodes * (self.nodes - 1) // 2
        if self.edges > most:
            raise ValueError(f"{self.edges} edges do not fit between {self.nodes} nodes: at most {most}")
        return self

    def draw(self, context: BuildContext) -> sp.csr_array:
        """The symmetric adjacency matrix. Raises ProblemError if it does not fit into memory, before it is drawn."""
        pairs = self.nodes * (self.nodes - 1) // 2
        context.reserve("graph", 32 * self.nodes + 150 * self.edges + 8 * min(pairs, FEW_PAIRS))
        return random_graph(self, context.seed)


class MaxCut(Template):
    """max 1/4 <L, X> subject to diag X = 1, X positive semidefinite (so tr X = n), with L the Laplacian of the graph.

    Goemans and Williamson, J. ACM 42, 1995. For signs s, X = s s^T is feasible with 1/4 <L, X> the weight of the cut,
    so the optimum bounds every cut from above. Rounding: the signs of Gaussian vectors of covariance X (random
    hyperplanes), the best of `hyperplanes` of them, made larger by annealing (`cgm_cli.numerics.annealing`).
    """

    takes_samples = True
    quick = Quick("cut")

    class Spec(TemplateSpec):
        template: Literal["max-cut"]
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
            {"template": "max-cut", "graph": {"nodes": 100, "edges": 400}},
            {"template": "max-cut", "graph": {"file": "maxcut/G1.txt"}},
            {"template": "max-cut", "graph": {"nodes": 10, "edges": 30}, "inequalities": "triangle"},
        ]

        def build(self, context: BuildContext) -> MaxCut:
            with located("graph"):
                graph = self.graph
                drawn = isinstance(graph, RandomGraph)
                found = Graph(graph.draw(context)) if drawn else context.graph(graph)
                adjacency = found.adjacency
                if adjacency.nnz == 0:
                    raise DataError("the graph has no edges: every cut is empty")
            with located("hyperplanes"):
                # Samples and signs, for each node and hyperplane, and the products with them.
                context.reserve("hyperplanes", 8 * 4 * adjacency.shape[0] * self.hyperplanes)
            return MaxCut(adjacency, self.hyperplanes, found.labels, self.inequalities == "triangle")

    measures = (
        Metric("cut", "weight of the cut, after annealing", "higher", comparable=False),
        Metric("hyperplane_cut", "weight of the best cut by a hyperplane, before that", "higher", comparable=False),
        Metric("certified_ratio", "the cut over the certified bound: over the largest cut it is no less", "higher"),
    )

    listing = Listing("partition", "node", "side")
    views = (
        CutGraph(
            "the edges that are cut",
            "partition",
            "edges",
            "The {rows} nodes of the graph, {sizes[0]} on the left and {sizes[1]} on the right; {cut} of {edges} edges "
            "are cut, the coloured ones.",
        ),
        *nodes_in_groups(
            "the cut",
            "partition",
            "{rows} nodes, {sizes[1]} on one side of the cut and {sizes[0]} on the other",
            ordered="side",
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
        n = adjacency.shape[0]
        self.hyperplanes, self.labels = hyperplanes, labels
        self.adjacency = adjacency
        degrees: np.ndarray = np.asarray(adjacency.sum(axis=1)).reshape(-1)
        laplacian = sp.csr_array(sp.diags_array(degrees) - adjacency)
        self.laplacian = laplacian
        terms = [Term("diagonal", Diagonal((n, n)), Equals((n,), np.ones(n)))]
        if triangles and n > 2:
            family = CutTriangles(n)
            terms.append(Term.of_family("triangles", family, family.first))
        self.problem = CompositeProblem(
            PSDTrace(n, float(n), fixed_trace=True),
            Linear(sp.csr_array(laplacian * -0.25), (n, n)),
            tuple(terms),
            sense="maximise",
        )

    def quick_value(self, iterate: Iterate, rng: np.random.Generator) -> float:
        """By the signs of X g, with g Gaussian: of the covariance X^2, which weighs what X has most of."""
        if isinstance(iterate, SampledIterate):
            sample = iterate.arrays()["samples"][:, 0]
        else:
            sample = iterate.point.times(rng.standard_normal(self.adjacency.shape[0]))
        signs: np.ndarray = np.where(sample >= 0, 1.0, -1.0)
        return float(0.25 * signs @ (self.laplacian @ signs))

    def round(
        self, iterate: Iterate, bound: float | None, rng: np.random.Generator, deadline: Deadline = NEVER
    ) -> Rounding:
        best, best_cut = np.empty(0), -np.inf
        for samples in gaussian_samples(iterate, self.hyperplanes, rng):
            signs = np.where(samples >= 0, 1.0, -1.0)
            cuts = 0.25 * np.einsum("ij,ij->j", signs, self.laplacian @ signs)
            first = int(np.argmax(cuts))
            if cuts[first] > best_cut:
                best, best_cut = signs[:, first], float(cuts[first])
            if deadline.should_stop():
                break
        best = annealed(self.adjacency, best, int(rng.integers(2**62)), deadline)
        cut = float(0.25 * best @ (self.laplacian @ best))
        metrics: dict[str, float] = {"cut": cut, "hyperplane_cut": best_cut}
        metrics |= certified_ratio(cut, bound, float(abs(self.adjacency).sum()))
        arrays = {"partition": best.astype(np.int8), **few_edges(self.adjacency), **named_arrays(self.labels)}
        return Rounding(metrics, arrays)

    def claims(self) -> Sequence[Claim]:
        cut = CutWeight(self.adjacency, "partition")
        return (
            Claim("cut", cut, limit=1.0),
            Claim("hyperplane_cut", CutWeight(self.adjacency, None), limit=1.0, ends_at="cut"),
            Claim("certified_ratio", AgainstBound(cut, "ratio")),
        )


def random_graph(spec: RandomGraph, seed: int) -> sp.csr_array:
    """A random simple graph with exactly the given number of edges. Raises ProblemError if its pairs of nodes are too
    many to be numbered.
    """
    n = spec.nodes
    most = n * (n - 1) // 2
    if most >= 2**62:
        raise ProblemError(f"a random graph of {n} nodes is too large: its pairs of nodes cannot be numbered")
    rng = np.random.default_rng([seed, 2])
    few = most <= FEW_PAIRS
    chosen = rng.choice(most, size=spec.edges, replace=False) if few else _distinct(rng, most, spec.edges)
    # Pair number c counts the pairs (i, j), i < j, row by row of the lower triangle: c = j (j - 1) / 2 + i.
    j = ((1 + np.sqrt(1 + 8.0 * chosen)) / 2).astype(np.int64)
    j -= j * (j - 1) // 2 > chosen
    j += (j + 1) * j // 2 <= chosen
    i = chosen - j * (j - 1) // 2
    weights = rng.choice([-1.0, 1.0], size=spec.edges) if spec.signed else np.ones(spec.edges)
    rows, columns = np.concatenate([i, j]), np.concatenate([j, i])
    return sp.csr_array((np.concatenate([weights, weights]), (rows, columns)), shape=(n, n))


def _distinct(rng: np.random.Generator, most: int, count: int) -> np.ndarray:
    """`count` distinct numbers below `most`, without a permutation of all of them."""
    if 2 * count > most:
        # The last few of nearly all would be met by chance only after ages.
        left = np.ones(most, dtype=bool)
        left[_distinct(rng, most, most - count)] = False
        return np.flatnonzero(left)
    chosen = np.unique(rng.integers(0, most, size=count))
    while chosen.size < count:
        chosen = np.unique(np.concatenate([chosen, rng.integers(0, most, size=count - chosen.size)]))
    return chosen
