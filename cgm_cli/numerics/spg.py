"""Spectral projected gradient: minimise a smooth convex function over a set with an easy projection."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

import numpy as np

from cgm_cli.numerics.projections import safe_norm

_DECREASE = 1e-4
_MEMORY = 5

_FAR = 1e6
"""How many diameters of the set a step is long at the most, before the projection: a longer one ends nearly at the same
point of the set, and rounding errors of this one, relative to the set, are still small.
"""


def spectral_projected_gradient(
    evaluate: Callable[[np.ndarray], tuple[float, np.ndarray]],
    project: Callable[[np.ndarray], np.ndarray],
    start: np.ndarray,
    evaluations: int,
    first_step: float,
    diameter: float = np.inf,
) -> tuple[np.ndarray, float]:
    """The best point found and its value, after at most `evaluations` of evaluate(x) -> (value, gradient).

    Steps of Barzilai-Borwein length along the projection arc's chord, accepted by a non-monotone Armijo rule (Birgin,
    Martinez and Raydan, SIAM J. Optim. 10, 2000). `start` must lie in the set; any shape. first_step: one over the
    curvature, infinite where there is none, as of a linear function. diameter: of the set.
    """
    x = start
    value, gradient = evaluate(x)
    best, best_value = x, value
    recent = deque([value], maxlen=_MEMORY)
    length, spent = first_step, 1
    while spent < evaluations:
        steepness = safe_norm(gradient)
        if steepness == 0.0:
            break
        length = min(length, _FAR * diameter / steepness)
        chord = project(x - length * gradient) - x
        slope = float(np.vdot(gradient, chord))
        if not slope < 0.0:
            break
        t = 1.0
        while True:
            trial = x + t * chord
            trial_value, trial_gradient = evaluate(trial)
            spent += 1
            if trial_value <= max(recent) + _DECREASE * t * slope or spent >= evaluations:
                break
            # The minimiser of the parabola through what is known, kept within reason.
            t *= float(np.clip(-0.5 * t * slope / (trial_value - value - t * slope), 0.1, 0.5))
        move, turn = trial - x, trial_gradient - gradient
        curvature = float(np.vdot(move, turn))
        length = float(np.vdot(move, move)) / curvature if curvature > 0.0 else length * 10.0
        x, value, gradient = trial, trial_value, trial_gradient
        recent.append(value)
        if value < best_value:
            best, best_value = x, value
    return best, best_value
