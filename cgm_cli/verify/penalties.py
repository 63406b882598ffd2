"""Penalties and constraints: values, distances, and the conjugates g* that the lower bound needs.

Where g* is finite only on a set (the dual ball of a norm), a dual that rounding has put beside it is moved back: weak
duality holds for every y, so the bound of the moved one is as good a proof.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from cgm_cli.blocks.penalties.base import Penalty
from cgm_cli.blocks.penalties.epsilon_insensitive import EpsilonInsensitive
from cgm_cli.blocks.penalties.group_norm import GroupNorm
from cgm_cli.blocks.penalties.hinge import Hinge
from cgm_cli.blocks.penalties.huber import Huber
from cgm_cli.blocks.penalties.in_domain import InDomain
from cgm_cli.blocks.penalties.maximum import MaxCoordinate
from cgm_cli.blocks.penalties.norms import L1Norm, L2Norm, LinfNorm
from cgm_cli.blocks.penalties.quantile import Quantile
from cgm_cli.blocks.penalties.shifted import Shifted
from cgm_cli.blocks.penalties.support_of_set import SupportOfSet
from cgm_cli.verify.minimum import minimum_over
from cgm_cli.verify.precision import ZERO, Total, entry, extended, norm, total
from cgm_cli.verify.sets import SETS, formulas_of, l1_ball, l2_ball, simplex


@dataclass(frozen=True)
class PenaltyFormulas:
    """value(g, z). dual(g, y): the nearest y where g* is finite. conjugate(g, y): g* there. g: of the class that the
    table has them for.
    """

    value: Callable[[Any, np.ndarray], Total]
    dual: Callable[[Any, np.ndarray], np.ndarray]
    conjugate: Callable[[Any, np.ndarray], Total] = lambda g, y: ZERO


def penalty_value(penalty: Penalty, z: np.ndarray) -> Total:
    """g(z) of a finite g. Raises Unchecked for a kind without an entry."""
    if isinstance(penalty, Shifted):
        return penalty_value(penalty.inner, extended(z) - extended(penalty.offset))
    return entry(PENALTIES, penalty, "a penalty").value(penalty, extended(z))


def nearest(constraint: Penalty, z: np.ndarray) -> np.ndarray:
    """The projection of z onto a constraint set. Raises Unchecked for a kind without an entry."""
    if isinstance(constraint, Shifted):
        offset = extended(constraint.offset)
        return offset + nearest(constraint.inner, extended(z) - offset)
    return formulas_of(constraint).nearest(constraint, extended(z))


def conjugate(penalty: Penalty, y: np.ndarray) -> tuple[np.ndarray, Total]:
    """The nearest dual to y at which g* is finite, and g* there. Raises Unchecked for a kind without an entry."""
    y = extended(y)
    if isinstance(penalty, Shifted):
        moved, value = conjugate(penalty.inner, y)
        return moved, value + total(moved * extended(penalty.offset))
    if type(penalty) in SETS:
        formulas = formulas_of(penalty)
        moved = formulas.polar(penalty, y)
        return moved, formulas.support(penalty, moved)
    formulas = entry(PENALTIES, penalty, "a penalty")
    moved = formulas.dual(penalty, y)
    return moved, formulas.conjugate(penalty, moved)


def _group_norms(penalty: GroupNorm, z: np.ndarray) -> np.ndarray:
    """|z_G| of every group: its entries side by side, and the sum of their squares."""
    order = np.argsort(penalty.groups.labels, kind="stable")
    starts = np.searchsorted(penalty.groups.labels[order], np.arange(penalty.groups.count))
    flat = z.reshape(-1)[order]
    peak = np.abs(flat).max()
    scale = peak if peak > 0.0 else 1.0
    return scale * np.sqrt(np.add.reduceat(np.square(flat / scale), starts))


def _group_dual(penalty: GroupNorm, y: np.ndarray) -> np.ndarray:
    norms = _group_norms(penalty, y)
    shrink = np.where(norms > penalty.scale, penalty.scale / np.where(norms > 0.0, norms, 1.0), 1.0)
    return (y.reshape(-1) * shrink[penalty.groups.labels]).reshape(y.shape)


def _flat_simplex(penalty: MaxCoordinate, y: np.ndarray) -> np.ndarray:
    return simplex(y.reshape(-1), penalty.scale).reshape(y.shape)


def _support_value(penalty: SupportOfSet, z: np.ndarray) -> Total:
    value = formulas_of(penalty.set).support(penalty.set, z)
    return Total(penalty.scale * value.value, penalty.scale * value.size)


def _huber_value(penalty: Huber, z: np.ndarray) -> Total:
    """As an infimal convolution: h(t) = min over p of |p| + (t - p)^2 / (2 d), at the t shrunk by d."""
    rest = np.minimum(np.maximum(z, -penalty.delta), penalty.delta)
    return total(penalty.scale * np.abs(z - rest), penalty.scale * 0.5 * rest * (rest / penalty.delta))


def _in_domain(penalty: InDomain, y: np.ndarray) -> Total:
    """max of <y, s + c> over s in S. A problem is posed without such a term, by a block of variables and an equation;
    this is what the pair of them amounts to.
    """
    smallest, _ = minimum_over(penalty.domain, -y)
    return -smallest + total(y * extended(penalty.offset))


PENALTIES: dict[type, PenaltyFormulas] = {
    L1Norm: PenaltyFormulas(
        lambda g, z: total(g.scale * g.weights * np.abs(z)),
        lambda g, y: np.minimum(np.maximum(y, -g.scale * g.weights), g.scale * g.weights),
    ),
    L2Norm: PenaltyFormulas(lambda g, z: total(g.scale * norm(z)), lambda g, y: l2_ball(y, g.scale)),
    LinfNorm: PenaltyFormulas(lambda g, z: total(g.scale * np.abs(z).max()), lambda g, y: l1_ball(y, g.scale)),
    MaxCoordinate: PenaltyFormulas(lambda g, z: total(g.scale * z.max()), _flat_simplex),
    GroupNorm: PenaltyFormulas(lambda g, z: total(g.scale * _group_norms(g, z)), _group_dual),
    # With w = -b y in [0, c], g*(y) = -sum w.
    Hinge: PenaltyFormulas(
        lambda g, z: total(g.factor * np.maximum(0.0, 1.0 - g.labels * z)),
        lambda g, y: -g.labels * np.minimum(np.maximum(-g.labels * y, 0.0), g.factor),
        lambda g, y: total(g.labels * y),
    ),
    # With |y_i| <= c, g*(y) = d |y|^2 / (2 c).
    Huber: PenaltyFormulas(
        _huber_value,
        lambda g, y: np.minimum(np.maximum(y, -g.scale), g.scale),
        lambda g, y: total(0.5 * g.delta * y * (y / g.scale)),
    ),
    # The distance to the box of size e: with |y_i| <= c, g* is the support function of the box.
    EpsilonInsensitive: PenaltyFormulas(
        lambda g, z: total(g.factor * np.abs(z - np.minimum(np.maximum(z, -g.epsilon), g.epsilon))),
        lambda g, y: np.minimum(np.maximum(y, -g.factor), g.factor),
        lambda g, y: total(np.maximum(g.epsilon * y, -g.epsilon * y)),
    ),
    Quantile: PenaltyFormulas(
        # An absolute value, tilted: max(-q t, (1 - q) t) = |t| / 2 + (1/2 - q) t.
        lambda g, z: total(g.scale * 0.5 * np.abs(z), g.scale * 0.5 * (g.above - g.below) * z),
        lambda g, y: np.minimum(np.maximum(y, -g.scale * g.below), g.scale * g.above),
    ),
    SupportOfSet: PenaltyFormulas(
        _support_value, lambda g, y: g.scale * formulas_of(g.set).nearest(g.set, y / g.scale)
    ),
    InDomain: PenaltyFormulas(lambda g, z: ZERO, lambda g, y: y, _in_domain),
}
