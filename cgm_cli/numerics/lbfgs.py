"""Limited-memory BFGS without bounds, with backtracking (Nocedal and Wright, "Numerical Optimization", Algorithm 7.5).

For large vectors the two-loop recursion (Algorithm 7.4) costs more than many a function: it goes over the memory four
times. Here it goes over inner products, and the memory is read once for those of a new pair and once for the result
(Chen, Wang and Zhou, "Large-scale L-BFGS using MapReduce", NIPS 2014).

SciPy's L-BFGS-B takes as many evaluations, and two to three times as long outside them: in k-means problems of 300 to
1700 points 27 to 15 % of the whole solve, against 17 to 6 % here (SciPy 1.17, benchmarks/lbfgs.md).
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

SUFFICIENT = 1e-4
"""Armijo's condition: the share of the decrease along the slope that a step has to keep."""

RANGE = 1e12
"""How many times larger or smaller than the unit a curvature may be: single precision holds squares of such numbers."""

PIECE = 1 << 14
"""Entries of a piece of a vector: with twelve rows of single precision a megabyte, less than a cache. A quarter of it
takes twice as long, four times as much no less.
"""


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
    pairs = _Pairs(memory, x.size)
    spent = 1
    small = reduction * float(np.linalg.norm(gradient))
    while spent < evaluations and float(np.linalg.norm(gradient)) > small:
        direction = pairs.descent(gradient)
        slope = float(gradient @ direction)
        if not slope < 0.0:
            return x
        # Without a memory nothing is known of the curvature: a tenth of the length of x.
        step = 1.0 if pairs.count else 0.1 * float(np.linalg.norm(x)) / float(np.linalg.norm(direction))
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
        pairs.add(moved - x, new_gradient - gradient, new_gradient)
        x, value, gradient = moved, new_value, new_gradient
    return x


class _Pairs:
    """The last steps s_i and changes y_i of the gradient, as rows of S and Y (memory, n), and their inner products with
    each other and with the gradient.

    In single precision, which is read in half of the time: they are a model of the curvature, and no more than that. It
    has a narrow range: steps are kept at length one, for the model is that of a pair times any number, and changes in a
    unit, that of the first one; a pair out of RANGE of it takes the place of all others. Products with the gradient g
    are not computed anew, but those with its change added: S g' = S g + S (g' - g), and S y is needed in any case
    (Byrd, Nocedal and Schnabel, Math. Program. 63, 1994).
    """

    def __init__(self, memory: int, size: int):
        self.count = 0  # of pairs ever taken
        self._memory = memory
        self._unit = 1.0  # of changes per length of step
        self._rows = np.zeros((2 * memory, size), dtype=np.float32)  # S over Y
        self._cross, self._square = np.zeros((memory, memory)), np.zeros((memory, memory))  # S Y^T, Y Y^T
        self._along = np.zeros(2 * memory)  # S g over Y g

    def add(self, step: np.ndarray, change: np.ndarray, gradient: np.ndarray) -> None:
        """Take a pair in place of the oldest, if the curvature along it is positive; gradient: the one after it."""
        length, size, bend = float(np.linalg.norm(step)), float(np.linalg.norm(change)), float(step @ change)
        if length == 0.0 or not bend > 1e-12 * length * size:
            if size > 0.0:
                self._along += size * self._products((change / size).astype(np.float32))[0]
            return
        if self.count and not 1.0 / RANGE <= size / length / self._unit <= RANGE:
            self._forget()
        if self.count == 0:
            # A power of two, so that nothing is rounded by it.
            self._unit = math.ldexp(1.0, math.frexp(size / length)[1])
        memory, row = self._memory, self.count % self._memory
        self.count += 1
        scale = 1.0 / (length * self._unit)
        np.multiply(step, 1.0 / length, out=self._rows[row], casting="same_kind")
        np.multiply(change, scale, out=self._rows[memory + row], casting="same_kind")
        with_step, with_change = self._products(self._rows[row], self._rows[memory + row])
        self._cross[row], self._cross[:, row] = with_step[memory:], with_change[:memory]
        self._square[row] = self._square[:, row] = with_change[memory:]
        self._along += with_change / scale
        self._along[row], self._along[memory + row] = (step @ gradient) / length, scale * (change @ gradient)

    def _forget(self) -> None:
        self.count = 0
        for kept in (self._rows, self._cross, self._square, self._along):
            kept[...] = 0.0

    def _products(self, *vectors: np.ndarray) -> list[np.ndarray]:
        """The inner products of all rows with each of the vectors, by pieces of the rows that stay in a cache."""
        found = np.zeros((len(vectors), self._rows.shape[0]))
        for first in range(0, self._rows.shape[1], PIECE):
            piece = self._rows[:, first : first + PIECE]
            for out, vector in zip(found, vectors, strict=True):
                out += piece @ vector[first : first + PIECE]
        return list(found)

    def descent(self, gradient: np.ndarray) -> np.ndarray:
        """-H g, with H the approximation of the inverse Hessian and g the gradient last noted: by the two loops,
        -scale g + delta^T S - scale alpha^T Y.
        """
        if not self.count:
            return -gradient
        memory = self._memory
        rows = [i % memory for i in range(max(0, self.count - memory), self.count)]
        cross, square = self._cross, self._square
        length = float(np.linalg.norm(gradient))
        with_steps, with_changes = np.split(-self._along / length, 2)
        alpha, delta = np.zeros(memory), np.zeros(memory)
        for i in reversed(rows):
            alpha[i] = (with_steps[i] - cross[i] @ alpha) / cross[i, i]
        newest = rows[-1]
        scale = cross[newest, newest] / square[newest, newest]
        for i in rows:
            along = scale * (with_changes[i] - square[i] @ alpha) + delta @ cross[:, i]
            delta[i] = alpha[i] - along / cross[i, i]
        model = np.concatenate([delta, -scale * alpha]).astype(np.float32) @ self._rows
        out = (-scale / self._unit) * gradient
        out += np.multiply(model, length / self._unit, dtype=float)
        return out
