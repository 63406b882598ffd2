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
from typing import TYPE_CHECKING

import numpy as np
import scipy.sparse as sp
from scipy.linalg.blas import daxpy

from cgm_cli.blocks.directions import SumDirection
from cgm_cli.blocks.maps.base import LinearMap
from cgm_cli.blocks.problem import CompositeProblem
from cgm_cli.methods.corrections.factors import Chart
from cgm_cli.numerics.conjugate import LineSearchResult
from cgm_cli.numerics.deadline import NEVER, Deadline
from cgm_cli.numerics.rows import Gradient, Line, line_coefficients, take_step

if TYPE_CHECKING:
    from cgm_cli.methods.state import State

_EPS, _TINY = float(np.finfo(float).eps), float(np.finfo(float).tiny)

TIE = 4.0 * _EPS
"""Values this near, relatively, count as one: the smallest steps that still shorten the gradient change no digit."""

STRAIGHT = 64.0 * _EPS
"""A line from S that comes as near to zero as this part of |S|^2 may go through it, as far as rounding errors can tell:
then all its points stand for the same point of the sphere, or for its opposite.
"""


def is_quartic(problem: CompositeProblem) -> bool:
    """Whether the objective along a segment of factors is a quartic over the square of a quadratic."""
    loss = problem.loss
    plain = loss is None or loss.cost is not None or loss.squares is not None
    return plain and all(term.penalty.only_point is not None for term in problem.terms)


def is_diagonal(problem: CompositeProblem) -> bool:
    """Whether it is a linear f over semidefinite matrices of fixed trace, whose one constraint is on the diagonal."""
    factors, loss = problem.domain.factors, problem.loss
    fixed = factors is not None and factors.symmetric and factors.fixed_trace and factors.on_whole_sphere
    return fixed and loss is not None and loss.cost is not None and [t.map.is_diagonal for t in problem.terms] == [True]


def quartic(state: State, chart: Chart, beta: float | None, flat: np.ndarray, deadline: Deadline = NEVER) -> Quartic:
    """The objective at a vector, in the form that takes the least time to move."""
    loss = state.point.problem.loss
    if loss is not None and is_diagonal(state.point.problem):
        cost = loss.map.adjoint(loss.gradient(np.zeros(()))).symmetrised().sparse()
        if cost is not None:
            return DiagonalQuartic(state, chart, beta, flat, cost, deadline)
    return Quartic(state, chart, beta, flat, deadline)


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
class _LineCoefficients:
    """What is met along a step D: <S, D> and |D|^2, with S the vector; how the derivative of <C, X> by Z changes; of
    <C, X>, and of the images of X, the coefficients of t and t^2.
    """

    sphere: tuple[float, float]
    product: np.ndarray | None
    pairings: tuple[float, float]
    images: list[tuple[np.ndarray, np.ndarray]]


class Quartic:
    """A vector `flat`, and F_beta, but for a constant, at the point of the sphere that it points to: value, gradient.

    Carried along are, of the factor Z in the vector and as long as that is: q (`_excess`), the derivative of <C, X> by
    Z (`_product`, in one row; None without a linear f), <C, X> (`_pairing`) and the images of X = Z Z^T. After the
    deadline it moves no more, and raises OutOfTime.
    """

    def __init__(self, state: State, chart: Chart, beta: float | None, flat: np.ndarray, deadline: Deadline = NEVER):
        problem, multipliers = state.point.problem, state.point.multipliers
        self._deadline = deadline
        self._chart = chart
        self._cost: Callable[[np.ndarray], np.ndarray] | None = None
        self._squares: list[_Square] = []
        loss = problem.loss
        if loss is not None and loss.cost is not None:
            self._cost = chart.factor_gradients(loss.map.adjoint(loss.gradient(np.zeros(()))))
        elif loss is not None and loss.squares is not None:
            self._squares.append(_Square(loss.map, 1.0, loss.squares))
        for place, term in enumerate(problem.terms):
            # <c, z - b> + |z - b|^2 / (2 s) is |z - (b - s c)|^2 / (2 s), but for a constant.
            target, centre = term.penalty.only_point, 0.0 if multipliers is None else multipliers[place]
            assert beta is not None and target is not None
            step = beta / term.weight
            self._squares.append(_Square(term.map, 1.0 / step, target - step * centre))
        self.flat = flat.copy()
        factor = chart.columns(self.flat)
        self._excess = float(flat @ flat) / chart.radius**2
        self._product = None if self._cost is None else self._cost(factor).reshape(-1)
        self._pairing = 0.0 if self._product is None else 0.5 * float(factor.reshape(-1) @ self._product)
        self._images = [square.map.forward_atom(chart.lift(factor)) for square in self._squares]
        self.value = self._value(self._excess, self._pairing, self._images)
        self.gradient = self._gradient()

    def move(self, direction: np.ndarray) -> LineSearchResult | None:
        """To flat + t direction for the t > 0 where F_beta is least; None, and nothing is changed, if rounding errors
        hide it.
        """
        self._deadline.check()
        ahead = self._line_coefficients(direction)
        if ahead is None:
            return None
        cross, square = (part / self._chart.radius**2 for part in ahead.sphere)
        # In units of it, the step is as long as the vector is: then coefficients of one polynomial are of one size.
        if not square > _TINY * self._excess:
            return None
        unit = math.sqrt(self._excess / square)
        powers = np.array([1.0, unit, unit**2])
        sphere = powers * (self._excess, 2.0 * cross, square)
        pairings = powers * (self._pairing, *ahead.pairings)
        numerator = np.convolve(pairings, sphere)
        images = [
            (part, unit * mixed, unit**2 * moved)
            for part, (mixed, moved) in zip(self._images, ahead.images, strict=True)
        ]
        for parts, each in zip(images, self._squares, strict=True):
            a, b, c = (part - scale * each.target for part, scale in zip(parts, sphere, strict=True))
            numerator += 0.5 * each.factor * _squared(a, b, c)
        found = _least(numerator, sphere)
        if found is None:
            return None
        excess, pairing = (float(at[0] + found * (at[1] + found * at[2])) for at in (sphere, pairings))
        images = [a + found * (m + found * s) for a, m, s in images]
        value = self._value(excess, pairing, images)
        if not value <= self.value + TIE * abs(self.value):
            return None
        self._excess, self._pairing, self._images, self.value = excess, pairing, images, value
        return self._take_step(found * unit, direction, ahead.product)

    def _line_coefficients(self, direction: np.ndarray) -> _LineCoefficients | None:
        """None for a direction so short that the square of its length vanishes."""
        chart, lift = self._chart, self._chart.lift
        factor, step = chart.columns(self.flat), chart.columns(direction)
        pairings, product = (0.0, 0.0), None
        if self._cost is not None and self._product is not None:
            product, along = self._cost(step).reshape(-1), step.reshape(-1)
            pairings = float(along @ self._product), 0.5 * float(along @ product)
        sphere = float(self.flat @ direction), float(direction @ direction)
        if sphere[1] == 0.0:
            return None
        # As long as the factor, or one of the images would be lost in the rounding of the sum.
        unit = math.sqrt(self._excess / sphere[1]) * chart.radius
        ahead = lift(factor + unit * step)
        images: list[tuple[np.ndarray, np.ndarray]] = []
        for square, image in zip(self._squares, self._images, strict=True):
            moved = square.map.forward_atom(lift(step))
            both = square.map.forward_atom(ahead)
            images.append(((both - image - unit**2 * moved) / unit, moved))
        return _LineCoefficients(sphere, product, pairings, images)

    def _take_step(self, t: float, direction: np.ndarray, product: np.ndarray | None) -> LineSearchResult:
        daxpy(direction, self.flat, a=t)
        if product is not None and self._product is not None:
            daxpy(product, self._product, a=t)
        former, self.gradient = self.gradient, self._gradient()
        return LineSearchResult(*(float(self.gradient @ other) for other in (self.gradient, former, direction)))

    def multipliers(self) -> list[np.ndarray] | None:
        """Better ones than the duals of a point that is not quite the solution, where the constraints have such."""
        return None

    def _value(self, excess: float, pairing: float, images: list[np.ndarray]) -> float:
        value = pairing / excess
        for square, image in zip(self._squares, images, strict=True):
            gap = image / excess - square.target
            value += 0.5 * square.factor * float(np.vdot(gap, gap))
        return value

    def _slopes(self) -> tuple[list[np.ndarray], float, float]:
        """w_i, s and r of the gradient, which is s d<V, X> / dZ - r flat with V = C + sum A_i^T w_i at the point of the
        sphere. It is tangential to the sphere, and <Z, d<V, X> / dZ> = 2 <V, Z Z^T>.
        """
        slopes: list[np.ndarray] = []
        pairing = self._pairing
        for square, image in zip(self._squares, self._images, strict=True):
            slopes.append(square.factor * (image / self._excess - square.target))
            pairing += float(np.vdot(slopes[-1], image))
        scale = 1.0 / self._excess
        return slopes, scale, 2.0 * pairing * (scale / self._chart.radius) ** 2

    def _gradient(self) -> np.ndarray:
        slopes, scale, radial = self._slopes()
        pieces = [square.map.adjoint(slope) for square, slope in zip(self._squares, slopes, strict=True)]
        if pieces:
            direction = pieces[0] if len(pieces) == 1 else SumDirection(tuple(pieces))
            out = self._chart.combined(direction, scale, self.flat, -radial)
        else:
            out = -radial * self.flat
        if self._product is not None:
            daxpy(self._product, out[: self._product.size], a=scale)
        return out


class DiagonalQuartic(Quartic):
    """The same where the one constraint is of the diagonal and C is sparse, in two passes over all that is carried
    along.
    """

    def __init__(
        self,
        state: State,
        chart: Chart,
        beta: float | None,
        flat: np.ndarray,
        cost: sp.csr_array,
        deadline: Deadline = NEVER,
    ):
        super().__init__(state, chart, beta, flat, deadline)
        self._matrix = 2.0 * cost

    @property
    def _priced(self) -> np.ndarray:
        """The derivative of <C, X>, which there is."""
        assert self._product is not None
        return self._product

    def _line_coefficients(self, direction: np.ndarray) -> _LineCoefficients:
        columns = self._chart.columns
        step = columns(direction)
        product = np.empty_like(step)
        arrays = columns(self.flat), step, columns(self._priced), product
        across, along, mixed, squares = line_coefficients(self._matrix, *arrays)
        images = [(2.0 * mixed, squares)]
        return _LineCoefficients((float(mixed.sum()), float(squares.sum())), product, (across, 0.5 * along), images)

    def _take_step(self, t: float, direction: np.ndarray, product: np.ndarray | None) -> LineSearchResult:
        assert product is not None
        columns, (slopes, scale, radial) = self._chart.columns, self._slopes()
        former, self.gradient = self.gradient, np.empty_like(self.flat)
        diagonal = 2.0 * scale * slopes[0] - radial
        line = Line(t, columns(direction), product)
        arrays = (columns(each) for each in (self.flat, self._priced, former, self.gradient))
        return take_step(line, Gradient(scale, diagonal), *arrays)

    def multipliers(self) -> list[np.ndarray]:
        """The y for which |(C + Diag(y)) R| is least: y_i = -<r_i, (C R)_i> / |r_i|^2. The farther a point is from the
        solution, the more its duals miss them. They have the mean of the duals: with a fixed trace it does not matter.
        """
        columns = self._chart.columns
        weights = np.maximum(self._images[0], np.finfo(float).tiny)
        found = -0.5 * np.einsum("ij,ij->i", columns(self.flat), columns(self._priced)) / weights
        return [found - np.mean(found - self._slopes()[0][0])]


# Polynomials are their coefficients, that of the constant first.


def _squared(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> np.ndarray:
    """|a + t b + t^2 c|^2."""
    middle = np.vdot(b, b) + 2.0 * np.vdot(a, c)
    return np.array([np.vdot(a, a), 2.0 * np.vdot(a, b), middle, 2.0 * np.vdot(b, c), np.vdot(c, c)])


def _least(quartic: np.ndarray, quadratic: np.ndarray) -> float | None:
    """The t > 0 where quartic / quadratic^2 is least, if it is smaller there than at 0. None, too, for a quadratic that
    is zero somewhere, but for rounding errors.
    """
    a, b, c, d, e = map(float, quartic)
    f, g, h = map(float, quadratic)
    if h > 0.0 and not f - 0.25 * g * g / h > STRAIGHT * f:
        return None
    # p' q - 2 p q', of which the coefficient of degree five is zero.
    slope = [
        2.0 * e * g - d * h,
        4.0 * e * f + d * g - 2.0 * c * h,
        3.0 * (d * f - b * h),
        2.0 * c * f - b * g - 4.0 * a * h,
        b * f - 2.0 * a * g,
    ]
    peak = max(map(abs, slope))
    if not (peak > 0.0 and math.isfinite(peak) and all(map(math.isfinite, slope))):
        return None
    # A root that a smaller leading coefficient makes is so far away that the line has come to its end.
    slope = [part / peak if abs(part) > _EPS**2 * peak else 0.0 for part in slope]

    def value(t: float) -> float:
        square = f + t * (g + t * h)
        return (a + t * (b + t * (c + t * (d + t * e)))) / (square * square)

    best = min((t for t in np.roots(slope).real.tolist() if t > 0.0), key=value, default=0.0)
    return best if best > 0.0 and value(best) <= value(0.0) + TIE * abs(value(0.0)) else None
