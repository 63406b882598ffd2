"""Figures that templates claim of their rounded solutions, from the saved arrays."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import scipy.sparse as sp

from cgm_cli.templates.kmeans_sdp import KMeansSDP
from cgm_cli.templates.lovasz_theta import LovaszTheta
from cgm_cli.templates.max_cut import MaxCut
from cgm_cli.verify.claims import Claims
from cgm_cli.verify.precision import Total, Unchecked, extended, total


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
    return total(np.array(parts, dtype=np.longdouble))


def _independent_set(template: LovaszTheta, solution: Mapping[str, np.ndarray], claims: Claims) -> Total:
    """The number of nodes; nan if two of them are neighbours."""
    chosen = _saved(solution, "independent_set") != 0
    if chosen.shape != template.neighbours.shape[:1]:
        return Total(np.nan, 0.0)
    edges = sp.coo_array(sp.triu(template.neighbours, k=1))
    tails, heads = edges.coords
    joined = bool((chosen[tails] & chosen[heads] & (edges.data != 0.0)).any())
    return Total(np.nan, 0.0) if joined else total(chosen)


def _against_bound(value: Callable[..., Total], figure: Callable[[Any, float], Any]) -> Callable[..., Total]:
    """A figure made of a value and the claimed bound."""

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
}
