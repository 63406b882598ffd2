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


@dataclass(frozen=True)
class _Point:
    """Of a vector on the way: itself, rho / its length, and of its factor Z, as long as it is, C Z (as `Chart.pull` has
    it; None without a linear f) and the images of Z Z^T.
    """

    flat: np.ndarray
    shrink: float
    product: np.ndarray | None
    images: list[np.ndarray]


class Quartic:
    """flat -> F_beta, but for a constant, and its derivative, at the point of the sphere that the vector points to."""

    def __init__(self, state: State, chart: Chart, beta: float):
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
        self._at: _Point | None = None
        self._ahead: _Point | None = None

    def __call__(self, flat: np.ndarray) -> tuple[float, np.ndarray]:
        self._at = self._known(flat)
        chart, shrink = self._chart, self._at.shrink
        factor = shrink * chart.columns(flat)
        value, gradient, pieces = 0.0, np.zeros(()), []
        if self._cost is not None:
            gradient = shrink * self._at.product
            value += 0.5 * float(np.vdot(factor, gradient))
        for square, image in zip(self._squares, self._at.images, strict=True):
            gap = shrink**2 * image - square.target
            value += 0.5 * square.factor * float(np.vdot(gap, gap))
            pieces.append(square.map.adjoint(square.factor * gap))
        if pieces:
            direction = SumDirection(tuple(pieces))
            gradient = gradient + chart.pull(direction.symmetrised() if self._symmetric else direction, factor)
        return value, chart.tangent(flat, shrink, gradient)

    def ahead(self, flat: np.ndarray, direction: np.ndarray) -> np.ndarray | None:
        """flat + t direction for the t > 0 where F_beta is least; None if rounding errors hide it."""
        at, chart = self._known(flat), self._chart
        # As long as the vector is: then coefficients of one polynomial are of one size.
        step = direction * (np.linalg.norm(flat) / np.linalg.norm(direction))
        factor, move = chart.columns(flat), chart.columns(step)
        sphere = np.array([flat @ flat, 2.0 * (flat @ step), step @ step]) / chart.radius**2
        moves, both = self._images(move), self._images(factor + move)
        mixed = [b - a - m for a, m, b in zip(at.images, moves, both, strict=True)]
        numerator = np.zeros(5)
        product = None
        if self._cost is not None:
            product = chart.pull(self._cost, move)
            pairings = np.vdot(factor, at.product), 2.0 * np.vdot(move, at.product), np.vdot(move, product)
            numerator += 0.5 * np.convolve(pairings, sphere)
        for square, *parts in zip(self._squares, at.images, mixed, moves, strict=True):
            gaps = [part - scale * square.target for part, scale in zip(parts, sphere, strict=True)]
            numerator += 0.5 * square.factor * _squared(*gaps)
        found = _least(numerator, sphere)
        if found is None:
            return None
        moved = flat + found * step
        self._ahead = _Point(
            moved,
            chart.shrink(moved),
            None if product is None else at.product + found * product,
            [a + found * (m + found * s) for a, m, s in zip(at.images, mixed, moves, strict=True)],
        )
        return moved

    def _known(self, flat: np.ndarray) -> _Point:
        for point in (self._at, self._ahead):
            if point is not None and point.flat is flat:
                return point
        factor = self._chart.columns(flat)
        product = None if self._cost is None else self._chart.pull(self._cost, factor)
        return _Point(flat, self._chart.shrink(flat), product, self._images(factor))

    def _images(self, factor: np.ndarray) -> list[np.ndarray]:
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
