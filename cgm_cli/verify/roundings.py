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
from cgm_cli.verify.precision import EPS, RELATIVE, Missing, extended, norm, product, total


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


def _cut(template: MaxCut, solution: Mapping[str, np.ndarray], claims: Claims) -> Figure:
    """The weights of the edges between the two sides, each edge once. Rounding is that of s^T L s / 4, in which every
    weight takes part, cut or not.
    """
    side = _saved(solution, "partition")
    edges = sp.coo_array(sp.triu(template.adjacency, k=1))
    if side.shape != (template.adjacency.shape[0],) or not np.isin(side, (-1, 1)).all():
        return NONE
    tails, heads = edges.coords
    cut = total(edges.data[side[tails] != side[heads]])
    return Figure(cut.value, RELATIVE * float(total(edges.data).size))


def _clustering(template: KMeansSDP, solution: Mapping[str, np.ndarray], claims: Claims) -> Figure:
    """sum over clusters C of the squared distances of all pairs in C over |C|: no mean is needed.

    The claim is the sum of |x - m|^2 with means m that are off by rounding, d in all: by 2 d times the root of it, and
    d^2.
    """
    clusters = _saved(solution, "clusters")
    points = extended(template.points)
    if clusters.shape != points.shape[:1] or np.unique(clusters).size > template.spec.clusters:
        return NONE
    parts = []
    for cluster in np.unique(clusters):
        inside = points[clusters == cluster]
        pairs = sum(((inside[i + 1 :] - inside[i]) ** 2).sum() for i in range(len(inside)))
        parts.append(pairs / len(inside))
    value = float(sum(parts))
    off = (len(points) + 8) * EPS * float(norm(points))
    return Figure(value, RELATIVE * value + 2.0 * off * np.sqrt(value) + off**2)


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


def _against_bound(
    value: Callable[..., Figure], figure: Callable[[Any, float], Any], slope: Callable[[float], float]
) -> Callable[..., Figure]:
    """A figure made of a value and the claimed bound, which is a certified one. slope: by how much it changes with the
    value, at the most.
    """

    def formula(template: Any, solution: Mapping[str, np.ndarray], claims: Claims) -> Figure:
        bound = claims.certified
        if bound is None:
            raise Missing("there is no certified bound to compare with")
        base = value(template, solution, claims)
        steep = slope(bound)
        found = figure(base.value, bound)
        return Figure(found, steep * (base.error + RELATIVE * abs(base.value)) + RELATIVE * abs(found))

    return formula


def _ratio(value: Any, bound: float) -> Any:
    return value / bound if bound > 0.0 else np.nan


def _percent(value: Any, bound: float) -> Any:
    """How far a clustering's value is above half the bound at most, in percent."""
    return 100.0 * max(0.0, value / (0.5 * bound) - 1.0) if bound > 0.0 else np.nan


def _feasible_gap(value: Any, bound: float) -> Any:
    """How far that is above the bound, relative to the larger of the two."""
    return (value - bound) / max(1.0, abs(value), abs(bound))


_PER_BOUND = {
    "ratio": lambda bound: 1.0 / abs(bound),
    "percent": lambda bound: 200.0 / abs(bound),
    "gap": lambda bound: 2.0 / max(1.0, abs(bound)),
    "difference": lambda bound: 1.0,
}

ROUNDINGS: dict[type, dict[str, Callable[..., Figure]]] = {
    MaxCut: {"cut": _cut, "certified_ratio": _against_bound(_cut, _ratio, _PER_BOUND["ratio"])},
    KMeansSDP: {
        "kmeans_value": _clustering,
        "certified_percent": _against_bound(_clustering, _percent, _PER_BOUND["percent"]),
        "kmeanspp_certified_percent": _against_bound(_claimed("kmeanspp_value"), _percent, _PER_BOUND["percent"]),
    },
    LovaszTheta: {"independent_set": _independent_set},
    RobustPCA: {
        "feasible_objective": _feasible_objective,
        "feasible_gap": _against_bound(_feasible_objective, _feasible_gap, _PER_BOUND["gap"]),
    },
    MatrixGame: {"exploitability": _against_bound(_gain, lambda value, bound: value - bound, _PER_BOUND["difference"])},
}
"""By template and name: the figure that the saved arrays give. Raises Missing where they are not there."""


BEYOND: dict[type, dict[str, float]] = {
    MaxCut: {"cut": 1.0, "hyperplane_cut": 1.0},
    KMeansSDP: {"kmeans_value": 0.5, "kmeanspp_value": 0.5},
    LovaszTheta: {"independent_set": 1.0},
    RobustPCA: {"feasible_objective": 1.0},
}
"""By template and name: the part of the bound that no figure of a feasible point can pass."""


NO_MORE: dict[type, dict[str, str]] = {MaxCut: {"hyperplane_cut": "cut"}}
"""By template and name: the figure that a search from this one has ended at, which is no less."""


def contradiction(template: object, name: str, claims: Claims, sign: float, error: float = 0.0) -> str:
    """Why a figure cannot be what it is claimed to be, beside the certified bound and the other figures, or nothing.

    sign: 1 for a minimisation, -1 for a maximisation. error: of rounding in the figure.
    """
    value, bound = plain(claims.metrics.get(name)), claims.certified
    part = BEYOND.get(type(template), {}).get(name)
    if value is not None and None not in (bound, part):
        if sign * value < sign * part * bound - RELATIVE * (abs(value) + abs(part * bound)) - error:
            return f"it lies beyond {part * bound:.10g}, which the certified bound excludes"
    end = NO_MORE.get(type(template), {}).get(name)
    most = plain(claims.metrics.get(end)) if end else None
    if None not in (value, most) and value > most + RELATIVE * (abs(value) + abs(most)) + error:
        return f"it is more than `{end}`, which was found from there"
    return ""
