"""Figures that templates claim of their rounded solutions: recomputed from the saved arrays, and against the bound that
no rounded solution can pass.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.linalg
import scipy.sparse as sp

from cgm_cli.templates.kmeans_sdp import KMeansSDP
from cgm_cli.templates.lovasz_theta import LovaszTheta
from cgm_cli.templates.matrix_game import MatrixGame
from cgm_cli.templates.max_cut import MaxCut
from cgm_cli.templates.robust_pca import RobustPCA
from cgm_cli.verify.claims import Claims, plain
from cgm_cli.verify.losses import view_loss
from cgm_cli.verify.matrices import matrix_of
from cgm_cli.verify.penalties import penalty_value
from cgm_cli.verify.precision import EPS, RELATIVE, Missing, extended, is_finite, norm, product, total


@dataclass(frozen=True)
class Figure:
    """A recomputed figure, nan for arrays that are none of its kind, and how far rounding may have moved the claim: by
    the magnitudes that were added up for it, which may cancel.
    """

    value: float
    error: float = 0.0


NONE = Figure(np.nan)


def _saved(solution: Mapping[str, np.ndarray], name: str) -> np.ndarray:
    if name not in solution:
        raise Missing(f"the array `{name}` is not there")
    return solution[name]


def _cut_error(template: MaxCut, value: float) -> float:
    """Of s^T L s / 4, in which every weight takes part, cut or not."""
    return RELATIVE * float(total(template.adjacency.data).size)


def _cut(template: MaxCut, solution: Mapping[str, np.ndarray], claims: Claims) -> Figure:
    """The weights of the edges between the two sides, each edge once."""
    side = _saved(solution, "partition")
    edges = sp.coo_array(sp.triu(template.adjacency, k=1))
    if side.shape != (template.adjacency.shape[0],) or not np.isin(side, (-1, 1)).all():
        return NONE
    tails, heads = edges.coords
    value = float(total(edges.data[side[tails] != side[heads]]).value)
    return Figure(value, _cut_error(template, value))


def _clustering_error(template: KMeansSDP, value: float) -> float:
    """Of the sum of |x - m|^2 with means m that are off by rounding, d in all: 2 d times the root of it, and d^2."""
    off = (len(template.points) + 8) * EPS * float(norm(template.points))
    return RELATIVE * value + 2.0 * off * float(np.sqrt(max(value, 0.0))) + off**2


def _clustering(template: KMeansSDP, solution: Mapping[str, np.ndarray], claims: Claims) -> Figure:
    """sum over clusters C of the squared distances of all pairs in C over |C|: no mean is needed."""
    clusters = _saved(solution, "clusters")
    points = extended(template.points)
    if (
        clusters.shape != points.shape[:1]
        or not is_finite(clusters)
        or np.unique(clusters).size > template.spec.clusters
    ):
        return NONE
    parts = []
    for cluster in np.unique(clusters):
        inside = points[clusters == cluster]
        pairs = sum(((inside[i + 1 :] - inside[i]) ** 2).sum() for i in range(len(inside)))
        parts.append(pairs / len(inside))
    value = float(sum(parts))
    return Figure(value, _clustering_error(template, value))


def _independent_set(template: LovaszTheta, solution: Mapping[str, np.ndarray], claims: Claims) -> Figure:
    """The number of nodes; none if two of them are neighbours."""
    chosen = _saved(solution, "independent_set") != 0
    if chosen.shape != template.neighbours.shape[:1]:
        return NONE
    edges = sp.coo_array(sp.triu(template.neighbours, k=1))
    tails, heads = edges.coords
    joined = bool((chosen[tails] & chosen[heads] & (edges.data != 0.0)).any())
    return NONE if joined else Figure(float(chosen.sum()))


def _feasible_objective(template: RobustPCA, solution: Mapping[str, np.ndarray], claims: Claims) -> Figure:
    """The loss of the recovered image, in [0, 1], shrunk towards zero into the ball of the nuclear norm."""
    recovered, domain = _saved(solution, "recovered"), template.problem.domain
    if recovered.shape != domain.shape or not ((recovered >= 0.0) & (recovered <= 1.0)).all():
        return NONE
    size = float(scipy.linalg.svdvals(recovered).sum())
    feasible = extended(recovered) * min(1.0, domain.radius / size if size > 0.0 else 1.0)
    loss, fit = template.problem.loss, template.problem.terms[0]
    image = product(matrix_of(loss.map if loss else fit.map), feasible.reshape(-1))
    off = RELATIVE * float(norm(image))
    if loss is None:
        value = penalty_value(fit.penalty, image)
        return Figure(value.value, RELATIVE * float(value.size) + fit.penalty.lipschitz * off)
    view = view_loss(loss, image)
    return Figure(view.value.value, RELATIVE * float(view.value.size) + float(norm(view.gradient)) * off + off**2)


def _gain(template: MatrixGame, solution: Mapping[str, np.ndarray], claims: Claims) -> Figure:
    """What the maximiser's best answer to x gains."""
    x = _saved(solution, "x")
    if x.shape != template.problem.domain.shape:
        return NONE
    payoff = sp.csr_array(template.payoff)
    return Figure(product(payoff, x).max(), RELATIVE * float((abs(payoff) @ np.abs(x)).max()))


def _claimed(name: str) -> Callable[..., Figure]:
    """A figure as it is claimed, for those that are made of it."""

    def formula(template: Any, solution: Mapping[str, np.ndarray], claims: Claims) -> Figure:
        value = plain(claims.metrics.get(name))
        if value is None:
            raise Missing(f"no `{name}` is claimed")
        return Figure(value)

    return formula


def _against_bound(value: Callable[..., Figure], figure: Callable[[Any, float], Any]) -> Callable[..., Figure]:
    """A figure made of a value and the claimed bound, which is a certified one."""

    def formula(template: Any, solution: Mapping[str, np.ndarray], claims: Claims) -> Figure:
        bound = claims.certified
        if bound is None:
            raise Missing("there is no certified bound to compare with")
        base = value(template, solution, claims)
        off = base.error + RELATIVE * (abs(base.value) + abs(bound))
        found, above, below = (float(figure(base.value + shift, bound)) for shift in (0.0, off, -off))
        return Figure(found, max(abs(above - found), abs(found - below)) + RELATIVE * abs(found))

    return formula


def _ratio(value: Any, bound: float) -> Any:
    return value / bound if bound > 0.0 else np.nan


def _percent(value: Any, bound: float) -> Any:
    """How far a clustering's value is above half the bound at most, in percent."""
    return 100.0 * max(0.0, value / (0.5 * bound) - 1.0) if bound > 0.0 else np.nan


def _feasible_gap(value: Any, bound: float) -> Any:
    """How far that is above the bound, relative to the larger of the two."""
    return (value - bound) / max(1.0, abs(value), abs(bound))


ROUNDINGS: dict[type, dict[str, Callable[..., Figure]]] = {
    MaxCut: {"cut": _cut, "certified_ratio": _against_bound(_cut, _ratio)},
    KMeansSDP: {
        "kmeans_value": _clustering,
        "certified_percent": _against_bound(_clustering, _percent),
        "kmeanspp_certified_percent": _against_bound(_claimed("kmeanspp_value"), _percent),
    },
    LovaszTheta: {"independent_set": _independent_set},
    RobustPCA: {
        "feasible_objective": _feasible_objective,
        "feasible_gap": _against_bound(_feasible_objective, _feasible_gap),
    },
    MatrixGame: {"exploitability": _against_bound(_gain, lambda value, bound: value - bound)},
}
"""By template and name: the figure that the saved arrays give. Raises Missing where they are not there."""


@dataclass(frozen=True)
class Limit:
    """What a figure of a feasible point cannot pass: a part of the bound, which is one on that figure. end: the figure
    that a search which began with this one has ended at: it is no less. error: of rounding in the figure.
    """

    part: float
    error: Callable[[Any, float], float] = lambda template, value: 0.0
    end: str | None = None


LIMITS: dict[type, dict[str, Limit]] = {
    MaxCut: {"cut": Limit(1.0, _cut_error), "hyperplane_cut": Limit(1.0, _cut_error, "cut")},
    KMeansSDP: {"kmeans_value": Limit(0.5, _clustering_error), "kmeanspp_value": Limit(0.5, _clustering_error)},
    LovaszTheta: {"independent_set": Limit(1.0)},
    RobustPCA: {"feasible_objective": Limit(1.0)},
}
"""By template and name."""


def contradiction(template: object, name: str, claims: Claims, sign: float) -> str:
    """Why a figure cannot be what it is claimed to be, beside the certified bound and the other figures; or nothing.

    sign: 1 for a minimisation, -1 for a maximisation.
    """
    value, limit = plain(claims.metrics.get(name)), LIMITS.get(type(template), {}).get(name)
    if value is None or limit is None:
        return ""
    error = limit.error(template, value)
    if claims.certified is not None:
        most = limit.part * claims.certified
        if sign * value < sign * most - error - RELATIVE * (abs(value) + abs(most)):
            return f"it lies beyond {most:.10g}, which the certified bound excludes"
    end = plain(claims.metrics.get(limit.end)) if limit.end else None
    if end is not None and value > end + error + RELATIVE * (abs(value) + abs(end)):
        return f"it is more than `{limit.end}`, which was found from there"
    return ""
