"""Limited-memory BFGS without bounds, with backtracking or exact line searches (Nocedal and Wright, "Numerical
Optimization", Algorithm 7.5).

For large vectors the two-loop recursion (Algorithm 7.4) costs more than many a function: it goes over the memory four
times. Here it goes over inner products, and the memory is read once for those and once for the result (Chen, Wang and
Zhou, "Large-scale L-BFGS using MapReduce", NIPS 2014).
"""

from __future__ import annotations

import math
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
    ahead: Callable[[np.ndarray, np.ndarray], np.ndarray | None] | None = None,
) -> np.ndarray:
    """The best point found within `evaluations` calls of evaluate(x) -> value, gradient; x of shape (n,).

    reduction: the part of the norm of the gradient that may be left. memory: pairs of steps and changes of the gradient
    that make up the curvature. ahead(x, d): the best of the points x + t d, t > 0, or None where it cannot tell; with
    it, steps are exact line searches. The value never grows.
    """
    x, (value, gradient) = start, evaluate(start)
    pairs = _Pairs(memory, x.size)
    spent = 1
    small = reduction * float(np.linalg.norm(gradient))
    while spent < evaluations and float(np.linalg.norm(gradient)) > small:
        direction = pairs.inverse_times(-gradient)
        slope = float(gradient @ direction)
        if not slope < 0.0:
            return x
        best = None if ahead is None else ahead(x, direction)
        # Without a memory nothing is known of the curvature: a tenth of the length of x.
        step = 1.0 if pairs.count else 0.1 * float(np.linalg.norm(x)) / float(np.linalg.norm(direction))
        while True:
            moved = x + step * direction if best is None else best
            new_value, new_gradient = evaluate(moved)
            spent += 1
            if new_value <= value + (SUFFICIENT * step * slope if best is None else 0.0):
                break
            # From the best point on, rounding errors hide what could still be gained.
            if spent >= evaluations or best is not None:
                return x
            # The minimiser of the parabola through both values and the slope, if it is a step of sensible length.
            bend = new_value - value - step * slope
            step *= float(np.clip(-0.5 * step * slope / bend, 0.1, 0.5)) if np.isfinite(bend) else 0.1
        pairs.add(moved - x, new_gradient - gradient)
        x, value, gradient = moved, new_value, new_gradient
    return x


class _Pairs:
    """The last steps s_i and changes y_i of the gradient, as rows of S and Y (memory, n), and their inner products.

    In single precision, which is read in half of the time: they are a model of the curvature, and no more than that. It
    has a narrow range: steps are kept at length one, for the model is that of a pair times any number, and changes in a
    unit, that of the first one.
    """

    def __init__(self, memory: int, size: int):
        self.count = 0  # of pairs ever taken
        self._unit = 1.0  # of changes per length of step
        self._steps, self._changes = (np.zeros((memory, size), dtype=np.float32) for _ in range(2))
        self._cross, self._square = np.zeros((memory, memory)), np.zeros((memory, memory))  # S Y^T, Y Y^T

    def add(self, step: np.ndarray, change: np.ndarray) -> None:
        """Take a pair in place of the oldest, if the curvature along it is positive."""
        length = float(np.linalg.norm(step))
        if not float(step @ change) > 1e-12 * length * float(np.linalg.norm(change)):
            return
        row = self.count % self._steps.shape[0]
        if self.count == 0:
            # A power of two, so that nothing is rounded by it.
            self._unit = math.ldexp(1.0, math.frexp(float(np.linalg.norm(change)) / length)[1])
        self.count += 1
        np.multiply(step, 1.0 / length, out=self._steps[row], casting="same_kind")
        np.multiply(change, 1.0 / (length * self._unit), out=self._changes[row], casting="same_kind")
        step, change = self._steps[row], self._changes[row]
        self._cross[row], self._cross[:, row] = self._changes @ step, self._steps @ change
        self._square[row] = self._square[:, row] = self._changes @ change

    def inverse_times(self, vector: np.ndarray) -> np.ndarray:
        """The approximation of the inverse Hessian times v: scale v + delta^T S - scale alpha^T Y, by the two loops."""
        if not self.count:
            return vector
        memory = self._steps.shape[0]
        rows = [i % memory for i in range(max(0, self.count - memory), self.count)]
        cross, square = self._cross, self._square
        length = float(np.linalg.norm(vector))
        unit = (vector / length).astype(np.float32)
        with_steps, with_changes = (self._steps @ unit).astype(float), (self._changes @ unit).astype(float)
        alpha, delta = np.zeros(memory), np.zeros(memory)
        for i in reversed(rows):
            alpha[i] = (with_steps[i] - cross[i] @ alpha) / cross[i, i]
        newest = rows[-1]
        scale = cross[newest, newest] / square[newest, newest]
        for i in rows:
            along = scale * (with_changes[i] - square[i] @ alpha) + delta @ cross[:, i]
            delta[i] = alpha[i] - along / cross[i, i]
        model = delta.astype(np.float32) @ self._steps
        model -= (scale * alpha).astype(np.float32) @ self._changes
        out = (scale / self._unit) * vector
        out += np.multiply(model, length / self._unit, dtype=float)
        return out
