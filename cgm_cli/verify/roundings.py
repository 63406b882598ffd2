"""Figures that templates claim of their rounded solutions: recomputed from the saved arrays, and against the bound that
no rounded solution can pass.

There is a formula here for every kind of statement (cgm_cli.templates.claims), and nothing of the code that rounds.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.linalg
import scipy.sparse as sp

from cgm_cli.blocks.problem import CompositeProblem
from cgm_cli.templates.claims import (
    AgainstBound,
    AssignmentBound,
    AssignmentValue,
    Claim,
    ClusteringCost,
    ClusteringMeets,
    CorrelationDistance,
    CutWeight,
    DistanceBound,
    ExplainedVariance,
    FeasibleObjective,
    IndependentSet,
    LargestEntry,
    Mismatch,
    Modularity,
    Reported,
    Statement,
    WeightWithin,
)
from cgm_cli.verify.claims import Claims, plain
from cgm_cli.verify.losses import view_loss
from cgm_cli.verify.matrices import matrix_of
from cgm_cli.verify.membership import violation
from cgm_cli.verify.penalties import nearest, penalty_value
from cgm_cli.verify.point import SavedPoint
from cgm_cli.verify.precision import (
    EPS,
    RELATIVE,
    Missing,
    Unchecked,
    entry,
    extended,
    is_finite,
    norm,
    product,
    total,
)


@dataclass(frozen=True)
class Figure:
    """A recomputed figure, nan for arrays that are none of its kind, and how far rounding may have moved the claim: by
    the magnitudes that were added up for it, which may cancel.
    """

    value: float
    error: float = 0.0


NONE = Figure(np.nan)


@dataclass(frozen=True)
class Saved:
    """What figures are recomputed from: the saved arrays, and what the run claims beside them."""

    solution: Mapping[str, np.ndarray]
    claims: Claims

    def array(self, name: str | None) -> np.ndarray:
        """Raises Unchecked for what no run saves, Missing for what this one should have."""
        if name is None:
            raise Unchecked("a figure of the template, of arrays that are not saved")
        if name not in self.solution:
            raise Missing(f"the array `{name}` is not there")
        return self.solution[name]


def recomputed(statement: Statement, saved: Saved) -> Figure:
    """The figure that the statement speaks of. Raises Unchecked where there is no formula, or nothing to put into it,
    and Missing where an array that it stands on is not there.
    """
    return entry(FORMULAS, statement, "a claim").value(statement, saved)


def contradiction(claim: Claim, claims: Claims, sign: float) -> str:
    """Why a figure cannot be what it is claimed to be, beside the certified bound and the other figures; or nothing.

    sign: 1 for a minimisation, -1 for a maximisation.
    """
    value = plain(claims.metrics.get(claim.metric))
    if value is None or type(claim.says) not in FORMULAS:
        return ""
    error = FORMULAS[type(claim.says)].error(claim.says, value)
    if claims.certified is not None and claim.limit is not None:
        most = claim.limit * claims.certified
        if sign * value < sign * most - error - RELATIVE * (abs(value) + abs(most)):
            return f"it lies beyond {most:.10g}, which the certified bound excludes"
    end = plain(claims.metrics.get(claim.ends_at)) if claim.ends_at else None
    if end is not None and sign * value < sign * end - error - RELATIVE * (abs(value) + abs(end)):
        return f"it is better than `{claim.ends_at}`, which was found from there"
    return ""


def _cut_error(cut: CutWeight, value: float) -> float:
    """Of s^T L s / 4, in which every weight takes part, cut or not."""
    return RELATIVE * float(total(cut.adjacency.data).size)


def _cut(cut: CutWeight, saved: Saved) -> Figure:
    """The weights of the edges between the two sides, each edge once."""
    side = saved.array(cut.signs)
    edges = sp.coo_array(sp.triu(cut.adjacency, k=1))
    if side.shape != (cut.adjacency.shape[0],) or not np.isin(side, (-1, 1)).all():
        return NONE
    if cut.balanced and abs(int(side.sum(dtype=int))) > 1:
        return NONE
    tails, heads = edges.coords
    value = float(total(edges.data[side[tails] != side[heads]]).value)
    return Figure(value, _cut_error(cut, value))


def _communities(saved: Saved, name: str, nodes: int, most: int | None, equal: bool = False) -> np.ndarray | None:
    """The saved labels, from 0; None for what is no such partition."""
    labels = saved.array(name)
    if labels.shape != (nodes,) or not is_finite(labels):
        return None
    _, found, sizes = np.unique(labels, return_inverse=True, return_counts=True)
    if most is not None and sizes.size > most:
        return None
    return None if equal and (sizes.size < (most or 0) or np.ptp(sizes) > 1) else found.reshape(-1)


def _weight_within(within: WeightWithin, saved: Saved) -> Figure:
    """The weights of the edges with both ends in one community, each edge once."""
    labels = _communities(saved, within.labels, within.adjacency.shape[0], within.most, within.equal)
    if labels is None:
        return NONE
    edges = sp.coo_array(sp.triu(within.adjacency, k=1))
    tails, heads = edges.coords
    value = total(edges.data[labels[tails] == labels[heads]])
    return Figure(float(value.value), RELATIVE * float(value.size))


def _modularity(modularity: Modularity, saved: Saved) -> Figure:
    """Community by community, from the matrix of weights between communities."""
    labels = _communities(saved, modularity.labels, modularity.adjacency.shape[0], modularity.most)
    if labels is None:
        return NONE
    member = sp.csr_array((np.ones(labels.size), (labels, np.arange(labels.size))))
    between = (member @ modularity.adjacency @ member.T).toarray()
    shares = between / between.sum()
    value = float(shares.trace() - modularity.resolution * np.square(shares.sum(axis=1)).sum())
    return Figure(value, RELATIVE * (1.0 + modularity.resolution))


def _clustering_error(clustering: ClusteringCost, value: float) -> float:
    """Of the sum of |x - m|^2 with means m that are off by rounding, d in all: 2 d times the root of it, and d^2."""
    off = (len(clustering.points) + 8) * EPS * float(norm(clustering.points))
    return RELATIVE * value + 2.0 * off * float(np.sqrt(max(value, 0.0))) + off**2


def _clustering(clustering: ClusteringCost, saved: Saved) -> Figure:
    """sum over clusters C of the squared distances of all pairs in C over |C|: no mean is needed."""
    labels = saved.array(clustering.labels)
    points = extended(clustering.points)
    if labels.shape != points.shape[:1] or not is_finite(labels) or np.unique(labels).size > clustering.clusters:
        return NONE
    parts = []
    for label in np.unique(labels):
        inside = points[labels == label]
        pairs = sum(((inside[i + 1 :] - inside[i]) ** 2).sum() for i in range(len(inside)))
        parts.append(pairs / len(inside))
    value = float(sum(parts))
    return Figure(value, _clustering_error(clustering, value))


def _clustering_meets(meets: ClusteringMeets, saved: Saved) -> Figure:
    labels = saved.solution.get(meets.labels)
    if labels is None:
        return Figure(0.0)
    counts = np.unique(labels, return_counts=True)[1]
    holds = counts.size == meets.clusters and counts.min() >= meets.smallest and counts.max() <= meets.largest
    holds = holds and all(labels[i] == labels[j] for i, j in meets.together)
    return Figure(float(holds and all(labels[i] != labels[j] for i, j in meets.apart)))


def _independent_set(independent: IndependentSet, saved: Saved) -> Figure:
    """The number of nodes, or what they weigh; none if two of them are neighbours."""
    chosen = saved.array(independent.chosen) != 0
    if chosen.shape != independent.adjacency.shape[:1]:
        return NONE
    edges = sp.coo_array(sp.triu(independent.adjacency, k=1))
    tails, heads = edges.coords
    joined = bool((chosen[tails] & chosen[heads] & (edges.data != 0.0)).any())
    if joined or independent.weights is None:
        return NONE if joined else Figure(float(chosen.sum()))
    value = total(independent.weights[chosen]).value
    return Figure(float(value), RELATIVE * float(value))


def _feasible_objective(feasible: FeasibleObjective, saved: Saved) -> Figure:
    """f and the finite g_i at the point; none if it is outside of the domain, or misses a constraint."""
    problem, array = feasible.problem, saved.array(feasible.array)
    radii, shape = feasible.nuclear_radii, problem.domain.shape
    fits = array.shape == shape if len(radii) < 2 else array.ndim == 2 and (array.size,) == shape
    if not fits or not is_finite(array):
        return NONE
    planes = [extended(array[..., place :: len(radii)]) for place in range(len(radii))] or [extended(array)]
    points = [_one_after_the_other(planes, shape)]
    if radii:
        sizes = [float(scipy.linalg.svdvals(plane.astype(float)).sum()) for plane in planes]
        factors = [min(1.0, radius / size) if size > 0.0 else 1.0 for radius, size in zip(radii, sizes, strict=True)]
        shrunk = [factor * plane for factor, plane in zip(factors, planes, strict=True)]
        points.append(_one_after_the_other(shrunk, shape))
    point = points[-1]
    outside = violation(problem.domain, SavedPoint(shape, np.asarray(point, dtype=float), None))
    if outside > RELATIVE * problem.domain.radius or not all(_meets(problem, each) for each in points):
        return NONE
    value = error = 0.0
    if problem.loss is not None:
        image = product(matrix_of(problem.loss.map), point.reshape(-1)).reshape(problem.loss.map.out_shape)
        view, off = view_loss(problem.loss, image), RELATIVE * float(norm(image))
        value += view.value.value
        error += RELATIVE * float(view.value.size) + float(norm(view.gradient)) * off + off**2
    for term in problem.terms:
        if not term.penalty.is_set:
            image = product(matrix_of(term.map), point.reshape(-1)).reshape(term.map.out_shape)
            found = penalty_value(term.penalty, image)
            value += found.value
            error += RELATIVE * float(found.size) + term.penalty.lipschitz * RELATIVE * float(norm(image))
    return Figure(problem.sense_sign * float(value), error)


def _one_after_the_other(planes: list[np.ndarray], shape: tuple[int, ...]) -> np.ndarray:
    return np.concatenate([plane.reshape(-1) for plane in planes]).reshape(shape)


def _meets(problem: CompositeProblem, point: np.ndarray) -> bool:
    """Whether a point meets every constraint, but for rounding."""
    for term in problem.terms:
        if term.penalty.is_set:
            image = product(matrix_of(term.map), point.reshape(-1)).reshape(term.map.out_shape)
            if norm(image - nearest(term.penalty, image)) > RELATIVE * norm(image):
                return False
    return True


def _largest_entry(largest: LargestEntry, saved: Saved) -> Figure:
    matrix, vector = sp.csr_array(largest.matrix), saved.array(largest.vector)
    if vector.shape != matrix.shape[1:]:
        return NONE
    return Figure(product(matrix, vector).max(), RELATIVE * float((abs(matrix) @ np.abs(vector)).max()))


def _assignment(assignment: AssignmentValue, saved: Saved) -> Figure:
    """The sum over all entries of A that are not zero, each times the one of B that it is placed on."""
    places, n = saved.array(assignment.places), assignment.flow.shape[0]
    if places.ndim != 1 or not is_finite(places) or not np.array_equal(np.sort(places), np.arange(n)):
        return NONE
    places = places.astype(int)
    i, j = np.nonzero(assignment.flow)
    value = total(extended(assignment.flow[i, j]) * assignment.distance[places[i], places[j]])
    return Figure(float(value.value), RELATIVE * float(value.size))


def _mismatch(mismatch: Mismatch, saved: Saved) -> Figure:
    """Entry by entry, the permutation written out as a matrix P: |A - P B P^T|^2 / 2."""
    places, n = saved.array(mismatch.places), len(mismatch.first)
    if places.ndim != 1 or not is_finite(places) or not np.array_equal(np.sort(places), np.arange(n)):
        return NONE
    permutation = np.zeros((n, n))
    permutation[np.arange(n), places.astype(int)] = 1.0
    gaps = mismatch.first - permutation @ mismatch.second @ permutation.T
    value = total(0.5 * extended(gaps) ** 2)
    # The template adds up what both graphs have, and takes off what they share.
    size = float(np.square(mismatch.first).sum() + np.square(mismatch.second).sum())
    return Figure(float(value.value), RELATIVE * size)


def _assignment_bound(bound: AssignmentBound, saved: Saved) -> Figure:
    """By Python's whole numbers; where a sum of values may not be exact, as it is."""
    if saved.claims.certified is None:
        raise Missing("there is no certified bound to round up")
    certified, matrices = saved.claims.certified, (bound.flow, bound.distance)
    largest = float(np.abs(bound.flow).sum() * np.abs(bound.distance).max())
    if largest >= 2.0**53 or not all(float(each).is_integer() for matrix in matrices for each in matrix.flat):
        return Figure(certified)
    step = math.prod(math.gcd(*(int(each) for each in matrix.flat)) for matrix in matrices)
    symmetric = all((matrix == matrix.T).all() for matrix in matrices)
    step *= 2 if symmetric and any((matrix.diagonal() == 0.0).all() for matrix in matrices) else 1
    return Figure(float(step * math.ceil((certified - bound.slack) / step)) if step else certified)


def _explained_variance(explained: ExplainedVariance, saved: Saved) -> Figure:
    """The sum over all pairs of variables; none of a vector that is too long, too short, or not sparse enough."""
    vector, covariance = saved.array(explained.vector), explained.covariance
    if vector.shape != covariance.shape[1:] or not is_finite(vector):
        return NONE
    inside = np.flatnonzero(vector)
    x = extended(vector[inside])
    too_many = explained.most is not None and inside.size > explained.most
    if too_many or abs(float(norm(x)) - 1.0) > RELATIVE:
        return NONE
    variance = total(np.outer(x, x) * covariance[np.ix_(inside, inside)])
    price = explained.penalty * float(np.abs(x).sum()) ** 2
    error = RELATIVE * (float(variance.size) + price)
    return Figure((float(variance.value) - price) / explained.whole, error / abs(explained.whole))


def _correlation_distance(distance: CorrelationDistance, saved: Saved) -> Figure:
    """Entry by entry; none of what is no correlation matrix."""
    array = saved.array(distance.array)
    if array.shape != distance.target.shape or not is_finite(array):
        return NONE
    least = float(scipy.linalg.eigvalsh(array, subset_by_index=(0, 0))[0])
    if (array != array.T).any() or (array.diagonal() != 1.0).any() or least < -RELATIVE * len(array):
        return NONE
    value = float(norm(distance.weights * (extended(array) - distance.target)))
    return Figure(value, RELATIVE * float(norm(distance.weights * (np.abs(array) + np.abs(distance.target)))))


def _distance_bound(bound: DistanceBound, saved: Saved) -> Figure:
    if saved.claims.certified is None:
        raise Missing("there is no certified bound to take the root of")
    return Figure(math.sqrt(2.0 * max(saved.claims.certified, 0.0)))


def _reported(reported: Reported, saved: Saved) -> Figure:
    value = plain(saved.claims.metrics.get(reported.metric))
    if value is None:
        raise Missing(f"no `{reported.metric}` is claimed")
    return Figure(value)


def _against_bound(against: AgainstBound, saved: Saved) -> Figure:
    if saved.claims.certified is None:
        raise Missing("there is no certified bound to compare with")
    certified = saved.claims.certified if against.bound is None else recomputed(against.bound, saved).value
    bound, formula = against.part * certified, COMPARISONS[against.how]
    base = recomputed(against.of, saved)
    off = base.error + RELATIVE * (abs(base.value) + abs(bound))
    found, above, below = (float(formula(base.value + shift, bound, against.unit)) for shift in (0.0, off, -off))
    return Figure(found, max(abs(above - found), abs(found - below)) + RELATIVE * abs(found))


COMPARISONS: dict[str, Callable[[Any, float, float], Any]] = {
    "ratio": lambda value, bound, unit: value / bound if bound > 0.0 else np.nan,
    "percent": lambda value, bound, unit: 100.0 * max(0.0, value / bound - 1.0) if bound > 0.0 else np.nan,
    "relative": lambda value, bound, unit: (value - bound) / (max(unit, abs(value), abs(bound)) or 1.0),
    "difference": lambda value, bound, unit: value - bound,
}


@dataclass(frozen=True)
class Formula:
    """value: of a statement, from what was saved. error: how far rounding may have moved a claim of that value, where
    the arrays do not tell.
    """

    value: Callable[[Any, Saved], Figure]
    error: Callable[[Any, float], float] = lambda statement, value: 0.0


FORMULAS: dict[type, Formula] = {
    CutWeight: Formula(_cut, _cut_error),
    WeightWithin: Formula(_weight_within),
    Modularity: Formula(_modularity, lambda modularity, value: RELATIVE * (1.0 + modularity.resolution)),
    ClusteringCost: Formula(_clustering, _clustering_error),
    ClusteringMeets: Formula(_clustering_meets),
    IndependentSet: Formula(_independent_set),
    FeasibleObjective: Formula(_feasible_objective),
    LargestEntry: Formula(_largest_entry),
    AssignmentValue: Formula(_assignment),
    Mismatch: Formula(_mismatch),
    AssignmentBound: Formula(_assignment_bound),
    ExplainedVariance: Formula(_explained_variance),
    CorrelationDistance: Formula(_correlation_distance),
    DistanceBound: Formula(_distance_bound),
    Reported: Formula(_reported),
    AgainstBound: Formula(_against_bound),
}
"""By the kind of the statement."""
