"""The zero of a non-decreasing function: what a line search of a convex function looks for."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

EVALUATIONS = 200
"""The most evaluations: three steps halve the interval at least."""


def increasing_zero(function: Callable[[float], float], low: float, high: float, tolerance: float = 1e-12) -> float:
    """The zero in [low, high] of a non-decreasing function, or the end of the interval that it points to.

    Regula falsi in the version of Illinois (Dowell and Jarratt, BIT 11, 1971), which halves the value at an end that
    stays; where three steps have not made a quarter of the interval, a bisection. Ends where the interval is no wider
    than `tolerance`, or than 1e-10 of its upper end. SciPy's root finders take longer to load than many a solve.
    """
    at_high = function(high)
    if at_high <= 0.0:
        return high
    at_low = function(low)
    if at_low >= 0.0:
        return low
    side, former = 0, np.inf
    for step in range(EVALUATIONS):
        width, middle = high - low, low + 0.5 * (high - low)
        if width <= max(tolerance, 1e-10 * abs(high)):
            break
        slow = step % 3 == 0 and width > 0.25 * former
        former = width if step % 3 == 0 else former
        chord = low - at_low * width / (at_high - at_low)
        if not slow and low < chord < high:
            middle = chord
        value = function(middle)
        if value == 0.0:
            return middle
        if value < 0.0:
            low, at_low, at_high = middle, value, 0.5 * at_high if side < 0 else at_high
        else:
            high, at_high, at_low = middle, value, 0.5 * at_low if side > 0 else at_low
        side = -1 if value < 0.0 else 1
    return low + 0.5 * (high - low)
