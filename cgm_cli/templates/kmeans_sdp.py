"""k-means clustering by semidefinite relaxation (Peng and Wei, SIAM J. Optim. 18, 2007), with a certificate of its
quality.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
import scipy.sparse as sp
from pydantic import Field, model_validator

from cgm_cli.blocks.domains.base import Domain
from cgm_cli.blocks.domains.certificates import LIMITS
from cgm_cli.blocks.domains.fantope import Fantope
from cgm_cli.blocks.domains.fantope_face import FantopeFace
from cgm_cli.blocks.domains.psd import PSDTrace
from cgm_cli.blocks.fitting import named
from cgm_cli.blocks.iterates import DenseIterate, Iterate
from cgm_cli.blocks.losses.linear import Linear
from cgm_cli.blocks.maps.identity import Identity
from cgm_cli.blocks.maps.inner_product import Cost
from cgm_cli.blocks.maps.matrix import MatrixMap
from cgm_cli.blocks.maps.row_sums import RowSums
from cgm_cli.blocks.penalties.box import Nonnegative
from cgm_cli.blocks.penalties.equals import Equals
from cgm_cli.blocks.problem import CompositeProblem, Term
from cgm_cli.errors import DataError, ProblemError, located
from cgm_cli.numerics.deadline import NEVER, Deadline
from cgm_cli.readers.context import BuildContext
from cgm_cli.readers.entries import named_arrays
from cgm_cli.solving.rounding import Quick, Rounding
from cgm_cli.spec.fields import ArrayField, ByKeys, FromFloat, Positive, Size, StrictModel, TemplateSpec
from cgm_cli.spec.metrics import Metric
from cgm_cli.templates.base import Template
from cgm_cli.templates.claims import AgainstBound, Claim, ClusteringCost, ClusteringMeets, Reported
from cgm_cli.templates.clustering import (
    KMEANS_BYTES,
    distances_in_factors,
    kmeans,
    kmeans_value,
    link_and_pick,
    load_kmeans,
    misclassification,
    partition_matrix,
    point_error,
    polished,
    searched,
    spread_and_assign,
    squared_distances,
)
from cgm_cli.templates.digits import DIGITS, digit_features
from cgm_cli.templates.linked_points import LinkedPoints
from cgm_cli.templates.listing import Listing
from cgm_cli.templates.side_information import SideInformation, pairs_of
from cgm_cli.templates.triangles import ClusteringTriangles
from cgm_cli.templates.views import Heatmap, Scatter, X
from cgm_cli.text import counted

LEAN, FIRST = 8000, 3
"""Points from which on neither their distances nor X are formed: of so many, ten matrices of doubles are 5 GB; and the
runs of k-means whose best clustering the run then starts from.
"""


PROVEN = 20_000
"""Points up to which the bound of those is certified, by one factorisation: there is memory for it where nothing else
is of that size.
"""


class Weights(StrictModel):
    """How strongly each constraint is smoothed: with beta / weight."""

    rows: Positive = Field(default=1.0, description="weight of X 1 = 1")
    nonnegative: Positive = Field(default=1.0, description="weight of X >= 0")
    triangles: Positive = Field(default=10.0, description="weight of the triangle inequalities, if there are any")


class DigitsData(StrictModel):
    """The embedded data set: softmax features of scikit-learn's digits."""

    dataset: Literal["digits"] = Field(description="the digits that scikit-learn ships")
    count: Annotated[int, Field(ge=20, le=DIGITS - 97), FromFloat] = Field(
        1000, description="how many digits to cluster; the rest train the features"
    )


def _scores(prefix: str, clustering: str) -> tuple[Metric, Metric]:
    """Against the labels: what `misclassification` and `point_error` say of a clustering."""
    return (
        Metric(
            f"{prefix}misclassification",
            f"1 - the mean share of a cluster that has the label it is matched with, of {clustering}",
            "lower",
        ),
        Metric(f"{prefix}point_error", f"fraction of the points with another label, of {clustering}", "lower"),
    )


class KMeansSDP(Template):
    """min <D, X> subject to X 1 = 1, X >= 0, X positive semidefinite, tr X = k; D: squared distances of n points.

    For a clustering, X = sum_C 1_C 1_C^T / |C| is feasible and 1/2 <D, X> is its k-means value, so half a lower bound
    on the SDP is a lower bound on the value of every clustering. Every feasible X has row sums 1 and entries >= 0,
    hence eigenvalues in [0, 1]: the fantope {0 <= X <= I, tr X = k} gives the same optimum as {X >= 0, tr X <= k}, and
    being smaller, far better bounds. Its face where X 1 = 1 is smaller still: every point meets the row sums, and their
    multipliers, which make the problem badly conditioned, are no longer needed.
    """

    class Spec(TemplateSpec):
        template: Literal["kmeans-sdp"]
        clusters: Size = Field(description="k, the number of clusters")
        points: Annotated[DigitsData | ArrayField, ByKeys()] = Field(
            description="the points, one per row, or {dataset: digits, count: 1000}"
        )
        labels: ArrayField | None = Field(
            None, description="the true label of each point, or a one-hot row per point; for scores"
        )
        domain: Literal["fantope-face", "fantope", "trace"] = Field(
            "fantope-face",
            description="fantope-face (rows sum to one), fantope (eigenvalues in [0, 1]), or trace (the paper's)",
        )
        must_link: ArrayField | None = Field(
            None,
            description="pairs of points, numbered from 0, that are in one cluster: two numbers a row. Points that are "
            "linked have one row of x",
        )
        cannot_link: ArrayField | None = Field(None, description="pairs of points that are not in one cluster")
        min_size: Size | None = Field(None, description="the fewest points of a cluster")
        max_size: Size | None = Field(None, description="the most points of a cluster")
        inequalities: Literal["none", "triangle"] = Field(
            "none",
            description="triangle: X_ij + X_ik <= X_ii + X_jk and X_ij <= X_ii as well, of which those join in that X "
            "violates: a tighter bound, which takes ten times as long",
        )
        weights: Weights = Field(default_factory=Weights)
        linking: Positive = Field(0.1, description="distance below which denoised points are linked")
        restarts: Annotated[int, Field(gt=0, le=100_000), FromFloat] = Field(
            100, description="greedy k-means++ restarts of the clustering beside it"
        )
        examples: ClassVar[list[dict[str, Any]]] = [
            {"template": "kmeans-sdp", "clusters": 10, "points": {"dataset": "digits", "count": 300}},
            {"template": "kmeans-sdp", "clusters": 2, "points": [[0.0], [0.1], [1.0], [1.1]], "labels": [0, 0, 1, 1]},
            {
                "template": "kmeans-sdp",
                "clusters": 2,
                "points": [[0.0], [0.3], [0.5], [1.0]],
                "inequalities": "triangle",
            },
            {
                "template": "kmeans-sdp",
                "clusters": 2,
                "points": [[0.0], [0.1], [0.5], [1.0]],
                "must_link": [[0, 3]],
                "cannot_link": [[1, 3]],
                "min_size": 2,
            },
        ]

        @model_validator(mode="after")
        def _labels_once(self):
            if isinstance(self.points, DigitsData) and self.labels is not None:
                raise ValueError("the digits come with their labels: leave `labels` out")
            return self

        def build(self, context: BuildContext) -> KMeansSDP:
            if isinstance(self.points, DigitsData):
                (points, labels), names = digit_features(self.points.count), None
            elif self.labels is None:
                with located("points"):
                    points, labels = _as_points(context.array(self.points)), None
                names = context.row_names
            else:
                points, labels = context.labelled(self.points, self.labels)
                names = context.row_names
                with located("points"):
                    points = _as_points(points)
                labels = _as_labels(labels)
                if labels.size != points.shape[0]:
                    raise ProblemError(
                        f"{counted(labels.size, 'label')} of {counted(points.shape[0], 'point')}: each needs one",
                        ("labels",),
                    )
            n = points.shape[0]
            if self.clusters > n:
                raise ProblemError(
                    f"{counted(self.clusters, 'cluster')} of {counted(n, 'point')}: "
                    f"there must be a point for every cluster",
                    ("clusters",),
                )
            known = self._known(context, n)
            if not self._is_lean(n, known):
                context.reserve("distances", 8 * (n if known is None else known.sizes.size) ** 2)
            context.reserve("scikit-learn", KMEANS_BYTES)
            load_kmeans()
            return KMeansSDP(points, labels, self, context.seed, names, known, self._is_lean(n, known))

        def _is_lean(self, n: int, known: SideInformation | None) -> bool:
            """Whether the distances are not formed, nor anything else of that size in double precision."""
            plain = self.domain == "fantope-face" and self.inequalities == "none" and known is None
            return plain and n >= LEAN and 1 < self.clusters < n

        def _known(self, context: BuildContext, n: int) -> SideInformation | None:
            """What is known of the clusters of n points; None where nothing is. Raises ProblemError."""
            pairs = list[np.ndarray]()
            for name, given in (("must_link", self.must_link), ("cannot_link", self.cannot_link)):
                with located(name):
                    pairs.append(pairs_of(None if given is None else context.array(given), n))
            if not any(each.size for each in pairs) and self.min_size is None and self.max_size is None:
                return None
            together, apart = pairs
            known = SideInformation(n, self.clusters, together, apart, self.min_size or 1, self.max_size or n)
            known.refuse()
            return known

    iterate = "dense"
    quick = Quick("clustering", part=0.5)
    measures = (
        Metric(
            "kmeans_value",
            "sum of squared distances to the means, of the best clustering found",
            "lower",
            comparable=False,
        ),
        Metric(
            "kmeanspp_value", "the same of scikit-learn's k-means (greedy k-means++) alone", "lower", comparable=False
        ),
        Metric(
            "constraints_met",
            "1 where a clustering was found that meets what is asked of it, else 0",
            "higher",
            comparable=False,
        ),
        Metric("certified_percent", "`kmeans_value` is at most so many percent above that of any clustering", "lower"),
        Metric("kmeanspp_certified_percent", "`kmeanspp_value`, in the same way", "lower"),
        *_scores("", "the best clustering found"),
        *_scores("linked_", "the clustering by links, without k-means"),
        *_scores("kmeanspp_", "scikit-learn's k-means alone"),
    )

    listing = Listing("clusters", "point", "cluster")
    views = (
        Heatmap(
            "X, the points as they come", X, "The {rows} x {columns} matrix X in the order of the data.", "nonnegative"
        ),
        Heatmap(
            "X, ordered by cluster",
            X,
            "The same matrix with the points ordered by cluster: {groups} blocks where clusters are clear.",
            "nonnegative",
            order=("clusters",),
        ),
        Scatter(
            "the denoised points",
            "denoised",
            "clusters",
            "{rows} denoised points in their plane of largest spread, by cluster.",
        ),
    )

    def __init__(
        self,
        points: np.ndarray,
        labels: np.ndarray | None,
        spec: KMeansSDP.Spec,
        seed: int,
        names: list[str] | None = None,
        known: SideInformation | None = None,
        is_lean: bool = False,
    ):
        """points (n, d), labels (n,) integers from 0 or None. names: of the points. known: of the clusters. is_lean:
        the distances are kept in factors, and so is X.
        """
        self.names, self.known, self.linked = names, known, None
        self.points, self.labels, self.spec, self.seed = points, labels, spec, seed
        tight = spec.inequalities == "triangle"
        if is_lean:
            self.iterate = "auto"
            labels = kmeans(points, spec.clusters, FIRST, seed)
            self.problem = relaxation_in_factors(points, labels, spec.clusters, spec.weights)
            return
        if known is not None and known.together.size:
            self.linked = LinkedPoints(points, known.parts)
        roots = None if self.linked is None else self.linked.roots
        costs = squared_distances(points) if self.linked is None else self.linked.costs()
        problem = relaxation(costs, spec.clusters, spec.domain, spec.weights, tight, roots)
        self.problem = problem if known is None else replace(problem, terms=(*problem.terms, *known.terms()))

    def metrics(self, iterate: Iterate) -> Mapping[str, float]:
        """Both errors of the linked clustering, while the run goes on; the final rounding looks harder."""
        if self.labels is None:
            return {}
        assigned = link_and_pick(self._denoised(iterate), self.spec.clusters, self.spec.linking)
        return {"linked_misclassification": misclassification(assigned, self.labels, self.spec.clusters)}

    def quick_value(self, iterate: Iterate, rng: np.random.Generator) -> float:
        k = self.spec.clusters
        labels = spread_and_assign(self._denoised(iterate), k, rng)
        is_answer = self.known is None or self.known.holds(labels)
        return kmeans_value(self.points, labels, k) if is_answer else np.nan

    def round(
        self, iterate: Iterate, bound: float | None, rng: np.random.Generator, deadline: Deadline = NEVER
    ) -> Rounding:
        k, denoised = self.spec.clusters, self._denoised(iterate)
        linked = link_and_pick(denoised, k, self.spec.linking)
        rounded = kmeans(denoised, k, self.spec.restarts, self.seed, deadline.part(0.5))
        plain = kmeans(self.points, k, self.spec.restarts, self.seed, deadline)
        found = [rounded, plain, *(polished(self.points, each, k, deadline) for each in (rounded, linked, plain))]
        if self.known is not None:
            return self._constrained(found, denoised, bound, deadline)
        nearest = min(found, key=lambda labels: kmeans_value(self.points, labels, k))
        assigned = searched(self.points, nearest, k, self.seed, deadline)
        value = kmeans_value(self.points, assigned, k)
        metrics = {"kmeans_value": value, "kmeanspp_value": kmeans_value(self.points, plain, k)}
        if self.labels is not None:
            for prefix, labels in (("", assigned), ("linked_", linked), ("kmeanspp_", plain)):
                metrics[f"{prefix}misclassification"] = misclassification(labels, self.labels, k)
                metrics[f"{prefix}point_error"] = point_error(labels, self.labels, k)
        if bound is not None and bound > 0:
            metrics["certified_percent"] = 100.0 * max(0.0, value / (0.5 * bound) - 1.0)
            metrics["kmeanspp_certified_percent"] = 100.0 * max(0.0, metrics["kmeanspp_value"] / (0.5 * bound) - 1.0)
        arrays = {"clusters": assigned, "linked_clusters": linked, "denoised": denoised}
        return Rounding(metrics, {**arrays, **named_arrays(self.names)})

    def _constrained(
        self, found: Sequence[np.ndarray], denoised: np.ndarray, bound: float | None, deadline: Deadline
    ) -> Rounding:
        """The best clustering that meets what is known, from those that may not; without one, that none was found."""
        assert self.known is not None
        k, best, least = self.spec.clusters, None, np.inf
        for labels in {each.tobytes(): each for each in found}.values():
            if best is not None and deadline.should_stop():
                break
            met = self.known.clustering(self.points, labels, deadline)
            if met is not None and kmeans_value(self.points, met, k) < least:
                best, least = met, kmeans_value(self.points, met, k)
        if best is None:
            return Rounding({"constraints_met": 0.0})
        metrics = {"kmeans_value": least, "constraints_met": 1.0}
        if self.labels is not None:
            metrics["misclassification"] = misclassification(best, self.labels, k)
            metrics["point_error"] = point_error(best, self.labels, k)
        if bound is not None and bound > 0:
            metrics["certified_percent"] = 100.0 * max(0.0, least / (0.5 * bound) - 1.0)
        parts = {} if self.linked is None else {"parts": self.linked.parts}
        return Rounding(metrics, {"clusters": best, "denoised": denoised, **parts, **named_arrays(self.names)})

    def claims(self) -> Sequence[Claim]:
        """Half the optimum of the relaxation is no more than the value of any clustering."""
        k = self.spec.clusters
        ours, plain = ClusteringCost(self.points, k, "clusters"), ClusteringCost(self.points, k, None)
        if (known := self.known) is not None:
            meets = ClusteringMeets(k, known.together, known.apart, known.smallest, known.largest, "clusters")
            return (
                Claim("kmeans_value", ours, limit=0.5),
                Claim("constraints_met", meets),
                Claim("certified_percent", AgainstBound(ours, "percent", part=0.5)),
            )
        return (
            Claim("kmeans_value", ours, limit=0.5),
            Claim("kmeanspp_value", plain, limit=0.5, ends_at="kmeans_value"),
            Claim("certified_percent", AgainstBound(ours, "percent", part=0.5)),
            Claim("kmeanspp_certified_percent", AgainstBound(Reported("kmeanspp_value"), "percent", part=0.5)),
        )

    def _denoised(self, iterate: Iterate) -> np.ndarray:
        """X P (n, d): row i is the mean of the points that X puts together with point i."""
        if (linked := self.linked) is not None:
            return linked.denoised(iterate.point.times(linked.roots[:, None] * linked.means))
        if isinstance(iterate, DenseIterate):
            return iterate.array @ self.points
        return iterate.point.times(self.points)


def relaxation_in_factors(
    points: np.ndarray, labels: np.ndarray, clusters: int, weights: Weights | None = None
) -> CompositeProblem:
    """The relaxation for points (n, d), whose distances are not formed; it starts at a clustering, labels (n,), if that
    has all of the clusters, two or more.
    """
    names, own = np.unique(labels, return_inverse=True)
    start = partition_matrix(own.reshape(-1), clusters) if names.size == clusters else None
    problem = relaxation(distances_in_factors(points), clusters, weights=weights)
    domain = problem.domain
    assert isinstance(domain, FantopeFace)
    return replace(problem, domain=domain.within(replace(LIMITS, dense=PROVEN)), start=start)


def relaxation(
    cost: Cost,
    clusters: int,
    domain: str = "fantope-face",
    weights: Weights | None = None,
    triangles: bool = False,
    roots: np.ndarray | None = None,
) -> CompositeProblem:
    """min <cost, X> subject to X 1 = 1, X >= 0, X positive semidefinite, tr X = k; cost (n, n), symmetric. triangles:
    whether X has to meet the triangle inequalities, too, which are looked for in a cost that is an array. roots s (n,):
    of points that are linked, whose matrix is to meet X s = s (see cgm_cli.templates.linked_points).
    """
    n, weights = cost.shape[0], weights or Weights()
    place = _domain(domain, np.ones(n) if roots is None else roots, clusters)
    terms = [Term("nonnegative", Identity((n, n)), Nonnegative((n, n)), weights.nonnegative)]
    if roots is None:
        terms.insert(0, Term("rows", RowSums((n, n)), Equals((n,), np.ones(n)), weights.rows))
    elif not isinstance(place, FantopeFace):  # all over which they hold
        sums = MatrixMap(sp.csr_array(sp.kron(sp.eye_array(n), roots[None, :])), (n, n))
        terms.insert(0, Term("rows", sums, Equals((n,), roots), weights.rows))
    if triangles and n > 2:
        assert isinstance(cost, np.ndarray)
        family = ClusteringTriangles(cost, roots)
        terms.append(Term.of_family("triangles", family, family.first, weights.triangles))
    return CompositeProblem(place, Linear(cost, (n, n)), tuple(terms))


def _domain(kind: str, roots: np.ndarray, k: int) -> Domain:
    """Of matrices that are to meet X s = s, s the roots of sizes."""
    n = roots.size
    if kind == "trace":
        return PSDTrace(n, float(k), fixed_trace=False)
    if k == 1:  # the fantope of rank one; its face is a single point
        return PSDTrace(n, 1.0, fixed_trace=True)
    return Fantope(n, k) if kind == "fantope" else FantopeFace(roots / np.sqrt(np.square(roots).sum()), k)


def _as_points(array: np.ndarray) -> np.ndarray:
    if array.ndim == 1:
        return array[:, None]
    if array.ndim != 2 or array.size == 0:
        raise DataError(f"the points must be a matrix with one point per row, not {named(array.shape)}")
    return array


def _as_labels(array: np.ndarray) -> np.ndarray:
    """Integers from 0 from labels of any numbering, or from one-hot rows."""
    if array.ndim == 2 and 1 not in array.shape:
        array = array.argmax(axis=1)
    return np.unique(array.reshape(-1), return_inverse=True)[1].reshape(-1)
