"""Constraint sets: the nearest point, and the support function, max of <y, .> over the set."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from cgm_cli.blocks.penalties.balls import L1BallSet, L2BallSet
from cgm_cli.blocks.penalties.base import Penalty
from cgm_cli.blocks.penalties.box import BoxSet, Nonnegative
from cgm_cli.blocks.penalties.equals import Equals
from cgm_cli.blocks.penalties.simplex import SimplexSet
from cgm_cli.verify.precision import Total, entry, extended, norm, total


@dataclass(frozen=True)
class SetFormulas:
    """nearest(set, z): the projection. support(set, y): the maximum of <y, .>, finite for the y of `polar`.

    polar(set, y): the nearest y at which the support function is finite; y itself for bounded sets. set: of the class
    that the table has them for.
    """

    nearest: Callable[[Any, np.ndarray], np.ndarray]
    support: Callable[[Any, np.ndarray], Total]
    polar: Callable[[Any, np.ndarray], np.ndarray] = lambda _, y: y


def formulas_of(constraint: Penalty) -> SetFormulas:
    """The formulas of a set. Raises Unchecked for a kind without an entry."""
    return entry(SETS, constraint, "a set")


def simplex(z: np.ndarray, radius: float, at_most: bool = False) -> np.ndarray:
    """The projection of each row of z onto {p >= 0, sum p = r} (or <= r): max(z - t, 0) with the t that gives the sum.

    t = (the sum of the j largest - r) / j for the last j that leaves its own entry positive.
    """
    z = extended(z)
    # The largest entry becomes 0, so that r is not lost beside it.
    below = z - z.max(axis=-1, keepdims=True)
    ordered = -np.sort(-below, axis=-1)
    counts = np.arange(1, z.shape[-1] + 1)
    thresholds = (np.cumsum(ordered, axis=-1) - radius) / counts
    last = z.shape[-1] - 1 - np.argmax((ordered > thresholds)[..., ::-1], axis=-1)[..., None]
    out = np.maximum(below - np.take_along_axis(thresholds, last, axis=-1), 0.0)
    if at_most:
        positive = np.maximum(z, 0.0)
        out = np.where(positive.sum(axis=-1, keepdims=True) <= radius, positive, out)
    return out


def l1_ball(z: np.ndarray, radius: float) -> np.ndarray:
    """The projection onto {sum |p_i| <= r}: signs stay, magnitudes go to the simplex of at most r."""
    flat = extended(z).reshape(-1)
    return (np.sign(flat) * simplex(np.abs(flat), radius, at_most=True)).reshape(np.shape(z))


def l2_ball(z: np.ndarray, radius: float) -> np.ndarray:
    """The projection onto {|p| <= r}."""
    length = norm(z)
    return extended(z) if length <= radius else extended(z) * (radius / length)


def _runs(constraint: SimplexSet, z: np.ndarray) -> np.ndarray:
    return z.reshape(-1, constraint.length or z.size)


def _simplex_support(constraint: SimplexSet, y: np.ndarray) -> Total:
    heights = _runs(constraint, y).max(axis=1)
    return total(constraint.radius * (np.maximum(heights, 0.0) if constraint.at_most else heights))


def _box_support(constraint: BoxSet, y: np.ndarray) -> Total:
    """sum of u_i y_i where y_i > 0 and l_i y_i where y_i < 0; an infinite bound meets y_i = 0 only."""
    lower, upper = (np.broadcast_to(extended(side), y.shape) for side in (constraint.lower, constraint.upper))
    used = np.where(y > 0.0, upper, np.where(y < 0.0, lower, 0.0))
    return total(used * y)


def _box_polar(constraint: BoxSet, y: np.ndarray) -> np.ndarray:
    y = np.where(np.isinf(constraint.upper), np.minimum(y, 0.0), y)
    return np.where(np.isinf(constraint.lower), np.maximum(y, 0.0), y)


_BOX = SetFormulas(lambda k, z: np.minimum(np.maximum(z, k.lower), k.upper), _box_support, _box_polar)

SETS: dict[type, SetFormulas] = {
    Equals: SetFormulas(lambda k, z: extended(k.target), lambda k, y: total(y * extended(k.target))),
    BoxSet: _BOX,
    Nonnegative: _BOX,
    L1BallSet: SetFormulas(
        lambda k, z: l1_ball(z, k.radius), lambda k, y: total(k.radius * np.abs(y).max(initial=0.0))
    ),
    L2BallSet: SetFormulas(lambda k, z: l2_ball(z, k.radius), lambda k, y: total(k.radius * norm(y))),
    SimplexSet: SetFormulas(lambda k, z: simplex(_runs(k, z), k.radius, k.at_most).reshape(z.shape), _simplex_support),
}
