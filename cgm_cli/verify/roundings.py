"""Figures that templates claim of their rounded solutions, from the saved arrays."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import scipy.linalg
import scipy.sparse as sp

from cgm_cli.templates.kmeans_sdp import KMeansSDP
from cgm_cli.templates.lovasz_theta import LovaszTheta
from cgm_cli.templates.matrix_game import MatrixGame
from cgm_cli.templates.max_cut import MaxCut
from cgm_cli.templates.robust_pca import RobustPCA
from cgm_cli.verify.claims import Claims
from cgm_cli.verify.losses import view_loss
from cgm_cli.verify.matrices import matrix_of
from cgm_cli.verify.penalties import penalty_value
from cgm_cli.verify.precision import EPS, Total, Unchecked, extended, product, total


def _saved(solution: Mapping[str, np.ndarray], name: str) -> np.ndarray:
    if name not in solution:
        raise Unchecked(f"the array `{name}` was not saved")
    return solution[name]


def _cut(template: MaxCut, solution: Mapping[str, np.ndarray], claims: Claims) -> Total:
    """The weights of the edges between the two sides, each edge once; nan for anything but two sides."""
    side = _saved(solution, "partition")
    edges = sp.coo_array(sp.triu(template.adjacency, k=1))
    if side.shape != (template.adjacency.shape[0],) or not np.isin(side, (-1, 1)).all():
        return Total(np.nan, 0.0)
    tails, heads = edges.coords
    return total(edges.data[side[tails] != side[heads]])


def _clustering(template: KMeansSDP, solution: Mapping[str, np.ndarray], claims: Claims) -> Total:
    """sum over clusters C of the squared distances of all pairs in C over |C|: no mean is needed."""
    clusters = _saved(solution, "clusters")
    points = extended(template.points)
    if clusters.shape != points.shape[:1] or np.unique(clusters).size > template.spec.clusters:
        return Total(np.nan, 0.0)
    parts = []
    for cluster in np.unique(clusters):
        inside = points[clusters == cluster]
        pairs = sum(((inside[i + 1 :] - inside[i]) ** 2).sum() for i in range(len(inside)))
        parts.append(pairs / len(inside))
    found = total(np.array(parts, dtype=np.longdouble))
    # The mean of equal points may miss them by a rounding error, whose square is then claimed.
    return Total(found.value, found.size + EPS * float(np.square(points).sum()))


def _independent_set(template: LovaszTheta, solution: Mapping[str, np.ndarray], claims: Claims) -> Total:
    """The number of nodes; nan if two of them are neighbours."""
    chosen = _saved(solution, "independent_set") != 0
    if chosen.shape != template.neighbours.shape[:1]:
        return Total(np.nan, 0.0)
    edges = sp.coo_array(sp.triu(template.neighbours, k=1))
    tails, heads = edges.coords
    joined = bool((chosen[tails] & chosen[heads] & (edges.data != 0.0)).any())
    return Total(np.nan, 0.0) if joined else total(chosen)


def _feasible_objective(template: RobustPCA, solution: Mapping[str, np.ndarray], claims: Claims) -> Total:
    """The loss of the recovered image, in [0, 1], shrunk towards zero into the ball of the nuclear norm."""
    recovered, domain = _saved(solution, "recovered"), template.problem.domain
    if recovered.shape != domain.shape or not ((recovered >= 0.0) & (recovered <= 1.0)).all():
        return Total(np.nan, 0.0)
    size = float(scipy.linalg.svdvals(recovered).sum())
    feasible = extended(recovered) * min(1.0, domain.radius / size if size > 0.0 else 1.0)
    loss, fit = template.problem.loss, template.problem.terms[0]
    image = product(matrix_of(loss.map if loss else fit.map), feasible.reshape(-1))
    return view_loss(loss, image).value if loss else penalty_value(fit.penalty, image)


def _feasible_gap(value: Any, bound: float) -> Any:
    """How far that is above the bound, relative to the larger of the two."""
    return (value - bound) / max(1.0, abs(value), abs(bound))


def _gain(template: MatrixGame, solution: Mapping[str, np.ndarray], claims: Claims) -> Total:
    """What the maximiser's best answer to x gains."""
    x = _saved(solution, "x")
    if x.shape != template.problem.domain.shape:
        return Total(np.nan, 0.0)
    return total(product(sp.csr_array(template.payoff), x).max())


def _against_bound(value: Callable[..., Total], figure: Callable[[Any, float], Any]) -> Callable[..., Total]:
    """A figure made of a value and the claimed bound, which is a certified one."""

    def formula(template: Any, solution: Mapping[str, np.ndarray], claims: Claims) -> Total:
        bound = claims.number("bound")
        if bound is None:
            raise Unchecked("there is no bound to compare with")
        found = figure(value(template, solution, claims).value, bound)
        return Total(found, 1.0 + abs(found))

    return formula


def _percent(value: Any, bound: float) -> Any:
    """How far a clustering's value is above half the bound at most, in percent."""
    return 100.0 * max(0.0, value / (0.5 * bound) - 1.0)


ROUNDINGS: dict[type, dict[str, Callable[..., Total]]] = {
    MaxCut: {"cut": _cut, "certified_ratio": _against_bound(_cut, lambda value, bound: value / bound)},
    KMeansSDP: {"kmeans_value": _clustering, "certified_percent": _against_bound(_clustering, _percent)},
    LovaszTheta: {"independent_set": _independent_set},
    RobustPCA: {
        "feasible_objective": _feasible_objective,
        "feasible_gap": _against_bound(_feasible_objective, _feasible_gap),
    },
    MatrixGame: {"exploitability": _against_bound(_gain, lambda value, bound: value - bound)},
}
