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
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.linalg.blas import daxpy

from cgm_cli.blocks.directions import SumDirection
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

    Carried along are, of the factor Z in the vector and as long as that is: q (`_excess`), the derivative of <C, X> by
    Z (`_product`, in one row; None without a linear f), <C, X> (`_pairing`) and the images of X = Z Z^T.
    """

    def __init__(self, state: State, chart: Chart, beta: float, flat: np.ndarray):
        problem = state.problem
        self._chart = chart
        self._cost: Callable[[np.ndarray], np.ndarray] | None = None
        self._squares = []
        if isinstance(problem.loss, Linear):
            self._cost = chart.puller(problem.loss.map.adjoint(problem.loss.gradient(np.zeros(()))))
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
        self._product = None if self._cost is None else self._cost(factor).reshape(-1)
        self._pairing = 0.0 if self._product is None else 0.5 * float(factor.reshape(-1) @ self._product)
        self._images = [square.map.forward_atom(chart.lift(factor)) for square in self._squares]
        self.value = self._value(self._excess, self._pairing, self._images)
        self.gradient = self._gradient()

    def move(self, direction: np.ndarray) -> bool:
        """To flat + t direction for the t > 0 where F_beta is least; False, and nothing is changed, if rounding errors
        hide it.
        """
        chart = self._chart
        square = float(direction @ direction) / chart.radius**2
        # In units of it, the step is as long as the vector is: then coefficients of one polynomial are of one size.
        unit = math.sqrt(self._excess / square)
        powers = np.array([1.0, unit, unit**2])
        sphere = powers * (self._excess, 2.0 * float(self.flat @ direction) / chart.radius**2, square)
        factor, step = chart.columns(self.flat), chart.columns(direction)
        pairings, product = np.zeros(3), None
        if self._cost is not None:
            product, along = self._cost(step).reshape(-1), step.reshape(-1)
            pairings[:] = self._pairing, float(along @ self._product), 0.5 * float(along @ product)
            pairings *= powers
        numerator = np.convolve(pairings, sphere)
        images = []
        for part, square in zip(self._images, self._squares, strict=True):
            parts = (
                part,
                unit * chart.mixed(square.map, factor, step),
                unit**2 * square.map.forward_atom(chart.lift(step)),
            )
            images.append(parts)
            gaps = [part - scale * square.target for part, scale in zip(parts, sphere, strict=True)]
            numerator += 0.5 * square.factor * _squared(*gaps)
        found = _least(numerator, sphere)
        if found is None:
            return False
        excess, pairing = (float(at[0] + found * (at[1] + found * at[2])) for at in (sphere, pairings))
        images = [a + found * (m + found * s) for a, m, s in images]
        value = self._value(excess, pairing, images)
        if not value <= self.value:
            return False
        self._excess, self._pairing, self._images, self.value = excess, pairing, images, value
        daxpy(direction, self.flat, a=found * unit)
        if product is not None:
            daxpy(product, self._product, a=found * unit)
        self.gradient = self._gradient()
        return True

    def _value(self, excess: float, pairing: float, images: list[np.ndarray]) -> float:
        value = pairing / excess
        for square, image in zip(self._squares, images, strict=True):
            gap = image / excess - square.target
            value += 0.5 * square.factor * float(np.vdot(gap, gap))
        return value

    def _gradient(self) -> np.ndarray:
        """shrink^2 (H - flat shrink^2 <Z, H> / rho^2), with shrink^2 = 1 / q and H = d<V, X> / dZ at Z, V the direction
        at the point of the sphere; <Z, H> is twice the pairing of V with Z Z^T.
        """
        chart, slopes, pairing = self._chart, [], self._pairing
        for square, image in zip(self._squares, self._images, strict=True):
            slopes.append(square.factor * (image / self._excess - square.target))
            pairing += float(np.vdot(slopes[-1], image))
        shrink = 1.0 / self._excess
        radial = 2.0 * pairing * (shrink / chart.radius) ** 2
        pieces = [square.map.adjoint(slope) for square, slope in zip(self._squares, slopes, strict=True)]
        if pieces:
            direction = pieces[0] if len(pieces) == 1 else SumDirection(tuple(pieces))
            out = chart.combined(direction, shrink, self.flat, -radial)
        else:
            out = -radial * self.flat
        if self._product is not None:
            daxpy(self._product, out[: self._product.size], a=shrink)
        return out


# Polynomials are their coefficients, that of the constant first.


def _squared(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> np.ndarray:
    """|a + t b + t^2 c|^2."""
    middle = np.vdot(b, b) + 2.0 * np.vdot(a, c)
    return np.array([np.vdot(a, a), 2.0 * np.vdot(a, b), middle, 2.0 * np.vdot(b, c), np.vdot(c, c)])


def _least(quartic: np.ndarray, quadratic: np.ndarray) -> float | None:
    """The t > 0 where quartic / quadratic^2 is least, if it is smaller there than at 0."""
    (a, b, c, d, e), (f, g, h) = quartic.tolist(), quadratic.tolist()
    # p' q - 2 p q', of which the coefficient of degree five is zero.
    slope = [
        2.0 * e * g - d * h,
        4.0 * e * f + d * g - 2.0 * c * h,
        3.0 * (d * f - b * h),
        2.0 * c * f - b * g - 4.0 * a * h,
        b * f - 2.0 * a * g,
    ]
    if not all(map(math.isfinite, slope)):
        return None

    def value(t: float) -> float:
        return (a + t * (b + t * (c + t * (d + t * e)))) / (f + t * (g + t * h)) ** 2

    best = min((t for t in np.roots(slope).real.tolist() if t > 0.0), key=value, default=0.0)
    return best if value(best) < value(0.0) else None
