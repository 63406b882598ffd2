"""The factors of the points of a spectral domain, and the smoothed objective as a function of them.

Stack Z = R, or Z = [U; W]. The nuclear norm of X is the least |Z|_F^2 over its factors R, or half of it over (U, W), so
that the set of X whose nuclear norm is at most r (or whose trace is r) is the image of a ball (a sphere) of Z. Both are
spheres once a ball has one more coordinate, its slack, and the sphere is gone round by Z = rho S / |S|. With
G = dF/dZ, the derivative by S is rho / |S| (G - Z <Z, G> / rho^2).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import scipy.linalg
from scipy.linalg.blas import daxpy

from cgm_cli.blocks.atoms import LowRankAtom
from cgm_cli.blocks.directions import Direction
from cgm_cli.blocks.domains.factorable import Factorable
from cgm_cli.methods.evaluation import Images, evaluate
from cgm_cli.numerics.deadline import NEVER, Deadline
from cgm_cli.numerics.tiles import FactoredBox

if TYPE_CHECKING:
    from cgm_cli.methods.state import State

Smoothed = Callable[[np.ndarray], tuple[float, np.ndarray]]


class Chart:
    """The sphere of radius rho that the factors of a spectral domain's points lie on, slack included.

    What is known of every point, K K^T, has no columns in them: they are those of X - K K^T, orthogonal to K.
    """

    def __init__(self, domain: Factorable):
        self.known, self.domain = domain.known, domain.rest
        self._rows = domain.shape[0]
        self._height = self._rows if domain.symmetric else sum(domain.shape)
        self.radius = float(np.sqrt(self.domain.trace if domain.symmetric else 2.0 * self.domain.trace))

    def noise(self, rng: np.random.Generator, columns: int) -> np.ndarray:
        """A random factor; where there is slack, half of rho^2 is left to it."""
        factor = self.orthogonal(rng.standard_normal((self._height, columns)))
        share = 1.0 if self.domain.fixed_trace else np.sqrt(0.5)
        return factor * (share * self.radius / np.linalg.norm(factor))

    def flat(self, factor: np.ndarray) -> np.ndarray:
        """A point of the sphere, as one vector: the factor, and the slack after it."""
        if self.domain.fixed_trace:
            return factor.reshape(-1)
        # A slack of zero stays zero under descent.
        left = max(self.radius**2 - float(np.vdot(factor, factor)), 1e-6 * self.radius**2)
        return np.append(factor.reshape(-1), np.sqrt(left))

    def is_zero(self, flat: np.ndarray) -> bool:
        """Whether a vector has no columns: all of it is slack, and there is nothing to descend on."""
        return self._factor_of(flat).size == 0

    def project_out_known(self, flat: np.ndarray) -> np.ndarray:
        """A vector without what rounding errors have put along what is known: descent would make it grow."""
        if self.known is None:
            return flat
        out = flat.copy()
        self._factor_of(out)[:] = self.orthogonal(self._factor_of(flat).reshape(self._height, -1)).reshape(-1)
        return out

    def on_sphere(self, flat: np.ndarray) -> tuple[np.ndarray, float]:
        """The factor at a vector of any length, and rho / length."""
        shrink = self.shrink(flat)
        return shrink * self.columns(flat), shrink

    def shrink(self, flat: np.ndarray) -> float:
        """rho / the length of a vector."""
        return self.radius / float(np.linalg.norm(flat))

    def columns(self, flat: np.ndarray) -> np.ndarray:
        """The factor in a vector, as long as it is."""
        return self._factor_of(flat).reshape(self._height, -1)

    def tangent(self, flat: np.ndarray, shrink: float, gradient: np.ndarray, scale: float = 1.0) -> np.ndarray:
        """The derivative by the vector, from that by the factor, scale * gradient."""
        gradient = gradient.reshape(-1)
        radial = float(self._factor_of(flat) @ gradient) / self.radius**2
        out = flat * (-radial * shrink**3 * scale)
        daxpy(gradient, self._factor_of(out), a=shrink * scale)
        return out

    def _factor_of(self, flat: np.ndarray) -> np.ndarray:
        return flat if self.domain.fixed_trace else flat[:-1]

    def orthogonal(self, factor: np.ndarray) -> np.ndarray:
        """The part of the columns that is orthogonal to what is known."""
        return factor if self.known is None else factor - self.known @ (self.known.T @ factor)

    def whole(self, factor: np.ndarray) -> np.ndarray:
        """The columns of all of X: those that are known come first."""
        return factor if self.known is None else np.hstack([self.known, factor])

    def restrict(self, gradient: np.ndarray) -> np.ndarray:
        """Of a derivative by all columns, that by those of a factor."""
        return gradient if self.known is None else self.orthogonal(gradient[:, self.known.shape[1] :])

    def lift(self, factor: np.ndarray) -> LowRankAtom:
        """X of all its columns."""
        ones = np.ones(factor.shape[1])
        if self.domain.symmetric:
            return LowRankAtom.symmetric(factor, ones)
        return LowRankAtom(factor[: self._rows], ones, factor[self._rows :])

    def factor_gradient(self, direction: Direction, factor: np.ndarray) -> np.ndarray:
        """d<V, X> / dZ by all columns: 2 V R for a symmetric V, or [V W; V^T U]."""
        if self.domain.symmetric:
            out = direction.matmat(factor)
            out *= 2.0
            return out
        left, right = factor[: self._rows], factor[self._rows :]
        return np.vstack([direction.matmat(right), direction.rmatmat(left)])

    def factor_gradients(self, direction: Direction) -> Callable[[np.ndarray], np.ndarray]:
        """Z -> d<V, X> / dZ for any V, for many factors."""
        if self.domain.symmetric:
            return direction.symmetrised().scaled(2.0).matmat
        return partial(self.factor_gradient, direction)

    def combined(self, direction: Direction, scale: float, flat: np.ndarray, shift: float) -> np.ndarray:
        """scale * factor_gradient(V, Z) + shift * flat, for any V and the factor in a vector."""
        if self.domain.symmetric:
            direction = direction.symmetrised()
        out = shift * flat
        daxpy(self.factor_gradient(direction, self.columns(flat)).reshape(-1), self._factor_of(out), a=scale)
        return out

    def factor(self, atom: LowRankAtom) -> np.ndarray:
        """A factor of an atom of orthonormal columns: each gets the root of its weight."""
        root = np.sqrt(np.abs(atom.weights))
        if self.domain.symmetric:
            columns = self.orthogonal(atom.left * root)
            # What was known is zero now, or what rounding has left of it.
            return columns[:, np.square(columns).sum(axis=0) > 1e-20 * self.radius**2]
        return np.vstack([atom.left * root * np.sign(atom.weights), atom.right * root])

    def retract(self, factor: np.ndarray) -> tuple[LowRankAtom | None, np.ndarray]:
        """The point of the domain with the singular vectors of a factor, strongest first, and with its values as far as
        may be, or None if they are too few; and the same factor, its columns in this order.
        """
        if factor.shape[1] == 0:
            return self.lift(factor), factor
        left, left_triangle = scipy.linalg.qr(factor[: self._rows], mode="economic")
        if self.domain.symmetric:
            values, rows = scipy.linalg.eigh(left_triangle @ left_triangle.T)
            values, rows = values[::-1], rows[:, ::-1]
            right, columns = left, rows
        else:
            right, right_triangle = scipy.linalg.qr(factor[self._rows :], mode="economic")
            rows, values, transposed = np.linalg.svd(left_triangle @ right_triangle.T)
            columns = transposed.T
        kept = int(np.sum(values > 1e-10 * values[0]))
        values = values[:kept]
        vectors = across = np.asfortranarray(left @ rows[:, :kept])
        if not self.domain.symmetric:
            across = np.asfortranarray(right @ columns[:, :kept])
        ordered = np.sqrt(values) * (vectors if self.domain.symmetric else np.vstack([vectors, across]))
        weights = self.domain.admitted(values)
        if weights is None:
            return None, ordered
        if self.known is not None:
            vectors = across = np.hstack([self.known, self.orthogonal(vectors)])
            weights = np.append(np.ones(self.known.shape[1]), weights)
        return LowRankAtom(vectors, weights, across), ordered

    def excess(self, factor: np.ndarray) -> float:
        """The part of its trace that the point of a factor with orthogonal columns has to lose to lie in the domain; 1
        where it has too few.
        """
        values = np.square(factor).sum(axis=0)
        admitted = self.domain.admitted(values)
        if admitted is None:
            return 1.0
        return float(np.maximum(values - admitted, 0.0).sum() / max(values.sum(), np.finfo(float).tiny))


def on_sphere(chart: Chart, smoothed: Smoothed) -> Smoothed:
    """The same as a function of vectors that point to points of the sphere."""

    def evaluate(flat: np.ndarray) -> tuple[float, np.ndarray]:
        flat = chart.project_out_known(flat)
        if not flat.any():  # which points nowhere
            return np.inf, np.full_like(flat, np.nan)
        factor, shrink = chart.on_sphere(flat)
        value, gradient = smoothed(factor)
        return value, chart.tangent(flat, shrink, gradient)

    return evaluate


def objective(state: State, chart: Chart, beta: float | None, deadline: Deadline = NEVER) -> Smoothed:
    """Z -> F_beta, but for a constant, and its derivative by Z. Once the deadline has come, it raises OutOfTime."""
    if state.point.box is not None and chart.domain.symmetric:
        return by_tiles(state, chart, beta, deadline)
    return deadline.checked(by_images(state, chart, beta))


def by_images(state: State, chart: Chart, beta: float | None) -> Smoothed:
    """From the images of X.

    A linear objective costs no product of its own: <C, X> = <V, X> - sum <y_i, A_i X>, and <V, X> = <G, Z> / 2.
    """
    point, problem = state.point, state.point.problem
    loss = problem.loss
    linear = loss is not None and loss.cost is not None

    def smoothed(factor: np.ndarray) -> tuple[float, np.ndarray]:
        columns = chart.whole(factor)
        atom = chart.lift(columns)
        images = [term.map.forward_atom(atom) for term in problem.terms]
        loss_image = None if loss is None else np.zeros(()) if linear else loss.map.forward_atom(atom)
        found = point.evaluate_at(Images(loss_image, images), beta)
        gradient = chart.factor_gradient(found.direction, columns)
        value = found.smoothed
        if linear:
            value += 0.5 * float(np.vdot(gradient, columns)) - found.pairing
        return value, chart.restrict(gradient)

    return smoothed


def by_tiles(state: State, chart: Chart, beta: float | None, deadline: Deadline = NEVER) -> Smoothed:
    """Of a dense cost and bounds on the entries of X = R R^T, without X; the other terms by their images."""
    point, problem, box = state.point, state.point.problem, state.point.box
    assert box is not None and problem.loss is not None and beta is not None
    bounds = box.penalty.entry_bounds
    assert bounds is not None
    place, step = problem.terms.index(box), beta / box.weight
    centre = None if point.multipliers is None else point.multipliers[place]
    cost = problem.loss.map.adjoint(problem.loss.gradient(np.zeros(()))).symmetrised().dense()
    tiles = FactoredBox(cost, centre, *bounds, step, deadline.check)
    others = [i for i in range(len(problem.terms)) if i != place]
    rest = multipliers = None
    if others:
        rest = replace(problem, loss=None, terms=tuple(problem.terms[i] for i in others))
        multipliers = None if point.multipliers is None else [point.multipliers[i] for i in others]

    def smoothed(factor: np.ndarray) -> tuple[float, np.ndarray]:
        columns = chart.whole(factor)
        product, squares, linear = tiles(columns)
        # The envelope at z with the centre c is step |y|^2 / 2 - step |c|^2 / 2.
        value, gradient = linear + 0.5 * step * squares, 2.0 * product
        if rest is not None:
            atom = chart.lift(columns)
            images = Images(None, [term.map.forward_atom(atom) for term in rest.terms])
            found = evaluate(
                rest, images, beta, multipliers, lambda: np.empty(problem.domain.shape), problem.domain.radius
            )
            value += found.smoothed
            gradient += chart.factor_gradient(found.direction, columns)
        return value, chart.restrict(gradient)

    return smoothed
