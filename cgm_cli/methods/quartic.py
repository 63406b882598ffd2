"""The smoothed objective on the sphere of factors where it is a quartic along every segment: exact line searches.

With Z(t) = S + t D, q(t) = |Z(t)|^2 / rho^2 and a_i(t) the image of Z(t) Z(t)^T, whose entries are quadratics in t, the
images along the segment are a_i(t) / q(t) (cgm_cli.methods.factors). If f is linear or least squares, and every g_i the
indicator of a point e_i, then

    F_beta(t) = l(t) / q(t) + sum_i kappa_i |a_i(t) - q(t) e_i|^2 / (2 q(t)^2),

a quartic over the square of a quadratic, up to a constant. Six inner products per term make up its coefficients, and
its stationary points are the roots of a polynomial of degree four. What the images and C Z are at the minimiser follows
without another product.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.linalg.blas import daxpy

from cgm_cli.blocks.directions import Direction, SumDirection
from cgm_cli.blocks.losses.least_squares import LeastSquares
from cgm_cli.blocks.losses.linear import Linear
from cgm_cli.blocks.maps.base import LinearMap
from cgm_cli.blocks.penalties.equals import Equals
from cgm_cli.blocks.problem import CompositeProblem
from cgm_cli.methods.factors import Chart
from cgm_cli.methods.state import State


def is_quartic(problem: CompositeProblem) -> bool:
    """Whether the objective along a segment of factors is a quartic over the square of a quadratic."""
    plain = problem.loss is None or isinstance(problem.loss, Linear | LeastSquares)
    return plain and all(isinstance(term.penalty, Equals) for term in problem.terms)


def image_size(problem: CompositeProblem) -> int:
    """How many numbers its coefficients are made of, in a dozen passes: those of all images."""
    maps = [term.map for term in problem.terms] + ([] if problem.loss is None else [problem.loss.map])
    return sum(math.prod(linear.out_shape) for linear in maps)


@dataclass(frozen=True)
class _Square:
    """factor |A x - target|^2 / 2."""

    map: LinearMap
    factor: float
    target: np.ndarray


class Quartic:
    """A vector `flat`, and F_beta, but for a constant, at the point of the sphere that it points to: value, gradient.

    Carried along are, of the factor Z in the vector and as long as that is: q (`_excess`), C Z (`_product`, as
    `Chart.pull` has it, in one row; None without a linear f), <Z, C Z> (`_pairing`) and the images of Z Z^T.
    """

    def __init__(self, state: State, chart: Chart, beta: float, flat: np.ndarray):
        problem = state.problem
        self._chart, self._symmetric = chart, problem.domain.symmetric
        self._cost: Direction | None = None
        self._squares = []
        if isinstance(problem.loss, Linear):
            cost = problem.loss.map.adjoint(problem.loss.gradient(np.zeros(())))
            self._cost = cost.symmetrised() if self._symmetric else cost
        elif problem.loss is not None:
            self._squares.append(_Square(problem.loss.map, 1.0, problem.loss.target))
        centres = [0.0] * len(problem.terms) if state.centres is None else state.centres
        for term, centre in zip(problem.terms, centres, strict=True):
            # <c, z - b> + |z - b|^2 / (2 s) is |z - (b - s c)|^2 / (2 s), but for a constant.
            step = beta / term.weight
            self._squares.append(_Square(term.map, 1.0 / step, term.penalty.target - step * centre))
        self.flat = flat.copy()
        factor = chart.columns(self.flat)
        self._excess = float(flat @ flat) / chart.radius**2
        self._product = None if self._cost is None else chart.pull(self._cost, factor).reshape(-1)
        self._pairing = 0.0 if self._product is None else float(factor.reshape(-1) @ self._product)
        self._images = self._images_of(factor)
        self.value = self._value(self._excess, self._pairing, self._images)
        self.gradient = self._gradient()

    def move(self, direction: np.ndarray) -> bool:
        """To flat + t direction for the t > 0 where F_beta is least; False, and nothing is changed, if rounding errors
        hide it.
        """
        chart = self._chart
        # As long as the vector is: then coefficients of one polynomial are of one size.
        step = direction * (math.sqrt(self._excess) * chart.radius / float(np.linalg.norm(direction)))
        sphere = np.array([self._excess, 2.0 * float(self.flat @ step) / chart.radius**2, self._excess])
        factor, move = chart.columns(self.flat), chart.columns(step)
        pairings, product = np.zeros(3), None
        if self._cost is not None:
            product, along = chart.pull(self._cost, move).reshape(-1), move.reshape(-1)
            pairings[:] = self._pairing, 2.0 * float(along @ self._product), float(along @ product)
        numerator = 0.5 * np.convolve(pairings, sphere)
        moves, both = self._images_of(move), self._images_of(factor + move)
        mixed = [b - a - m for a, m, b in zip(self._images, moves, both, strict=True)]
        for square, *parts in zip(self._squares, self._images, mixed, moves, strict=True):
            gaps = [part - scale * square.target for part, scale in zip(parts, sphere, strict=True)]
            numerator += 0.5 * square.factor * _squared(*gaps)
        found = _least(numerator, sphere)
        if found is None:
            return False
        powers = found ** np.arange(3)
        excess, pairing = float(powers @ sphere), float(powers @ pairings)
        images = [a + found * (m + found * s) for a, m, s in zip(self._images, mixed, moves, strict=True)]
        value = self._value(excess, pairing, images)
        if not value <= self.value:
            return False
        self._excess, self._pairing, self._images, self.value = excess, pairing, images, value
        daxpy(step, self.flat, a=found)
        if product is not None:
            daxpy(product, self._product, a=found)
        self.gradient = self._gradient()
        return True

    def _value(self, excess: float, pairing: float, images: list[np.ndarray]) -> float:
        value = 0.5 * pairing / excess
        for square, image in zip(self._squares, images, strict=True):
            gap = image / excess - square.target
            value += 0.5 * square.factor * float(np.vdot(gap, gap))
        return value

    def _gradient(self) -> np.ndarray:
        chart, total = self._chart, self._product
        pieces = [
            square.map.adjoint(square.factor * (image / self._excess - square.target))
            for square, image in zip(self._squares, self._images, strict=True)
        ]
        if pieces:
            direction = SumDirection(tuple(pieces))
            direction = direction.symmetrised() if self._symmetric else direction
            total = chart.pull(direction, chart.columns(self.flat)).reshape(-1)
            if self._product is not None:
                total += self._product
        # At the point of the sphere, the derivative by the factor is that many times as long.
        shrink = 1.0 / math.sqrt(self._excess)
        return chart.tangent(self.flat, shrink, total, shrink)

    def _images_of(self, factor: np.ndarray) -> list[np.ndarray]:
        atom = self._chart.lift(factor)
        return [square.map.forward_atom(atom) for square in self._squares]


# Polynomials are their coefficients, that of the constant first.


def _squared(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> np.ndarray:
    """|a + t b + t^2 c|^2."""
    middle = np.vdot(b, b) + 2.0 * np.vdot(a, c)
    return np.array([np.vdot(a, a), 2.0 * np.vdot(a, b), middle, 2.0 * np.vdot(b, c), np.vdot(c, c)])


def _least(quartic: np.ndarray, quadratic: np.ndarray) -> float | None:
    """The t > 0 where quartic / quadratic^2 is least, if it is smaller there than at 0."""
    powers = np.arange(1, 5)
    slope = np.convolve(powers * quartic[1:], quadratic) - 2.0 * np.convolve(quartic, powers[:2] * quadratic[1:])
    if not np.all(np.isfinite(slope)):
        return None
    # Those of degree five cancel.
    candidates = np.roots(slope[4::-1]).real
    candidates = np.append(candidates[candidates > 0.0], 0.0)
    values = np.polyval(quartic[::-1], candidates) / np.polyval(quadratic[::-1], candidates) ** 2
    best = int(np.argmin(values))
    return float(candidates[best]) if values[best] < values[-1] else None
