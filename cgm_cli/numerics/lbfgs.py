"""Limited-memory BFGS without bounds: a two-loop recursion and backtracking (Nocedal and Wright, "Numerical
Optimization", Algorithms 7.4 and 7.5), which for large vectors spends little beside the function itself.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

import numpy as np

SUFFICIENT = 1e-4
"""Armijo's condition: the share of the decrease along the slope that a step has to keep."""


def lbfgs(
    evaluate: Callable[[np.ndarray], tuple[float, np.ndarray]],
    start: np.ndarray,
    evaluations: int,
    reduction: float = 0.0,
    memory: int = 6,
) -> np.ndarray:
    """The best point found within `evaluations` calls of evaluate(x) -> value, gradient; x of shape (n,).

    reduction: the part of the norm of the gradient that may be left. memory: pairs of steps and changes of the gradient
    that make up the curvature. The value never grows.
    """
    x, (value, gradient) = start, evaluate(start)
    pairs: deque[tuple[np.ndarray, np.ndarray, float]] = deque(maxlen=memory)
    spent = 1
    small = reduction * float(np.linalg.norm(gradient))
    while spent < evaluations and float(np.linalg.norm(gradient)) > small:
        direction = -_inverse_times(gradient, pairs)
        slope = float(gradient @ direction)
        if not slope < 0.0:
            return x
        # Without a memory nothing is known of the curvature: a tenth of the length of x.
        step = 1.0 if pairs else 0.1 * float(np.linalg.norm(x)) / float(np.linalg.norm(direction))
        while True:
            moved = x + step * direction
            new_value, new_gradient = evaluate(moved)
            spent += 1
            if new_value <= value + SUFFICIENT * step * slope:
                break
            if spent >= evaluations:
                return x
            # The minimiser of the parabola through both values and the slope, if it is a step of sensible length.
            bend = new_value - value - step * slope
            step *= float(np.clip(-0.5 * step * slope / bend, 0.1, 0.5)) if np.isfinite(bend) else 0.1
        change = new_gradient - gradient
        taken = moved - x
        curvature = float(taken @ change)
        if curvature > 1e-12 * float(np.linalg.norm(taken)) * float(np.linalg.norm(change)):
            pairs.append((taken, change, curvature))
        x, value, gradient = moved, new_value, new_gradient
    return x


def _inverse_times(gradient: np.ndarray, pairs: deque[tuple[np.ndarray, np.ndarray, float]]) -> np.ndarray:
    """The approximation of the inverse Hessian times the gradient, in an array of its own."""
    out = gradient.copy()
    shares = []
    for taken, change, curvature in reversed(pairs):
        shares.append(float(taken @ out) / curvature)
        out -= shares[-1] * change
    if pairs:
        _, change, curvature = pairs[-1]
        out *= curvature / float(change @ change)
    for (taken, change, curvature), share in zip(pairs, reversed(shares), strict=True):
        out += (share - float(change @ out) / curvature) * taken
    return out
