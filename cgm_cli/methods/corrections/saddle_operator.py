"""The averaged operator of primal-dual steps, and what it is iterated with.

T takes (x, y) to

    x' = P_X(x - tau (grad f(x) + A^T y))
    y' = prox of sigma g* at y + sigma A (2 x' - x),         1 / tau >= sigma |A|^2 + L_f.

Where g_i is a single point b and A_i has few rows, sigma is a matrix there, sigma |A_i|^2 (A_i A_i^T)^-1, whose prox is
y + sigma (A_i (2 x' - x) - b) as well: rows that are nearly dependent, or of very different sizes, are then as good as
orthonormal ones (Pock and Chambolle, "Diagonal preconditioning for first order primal-dual algorithms", 2011, of which
this is the full form).
"""

from __future__ import annotations

import math

import numpy as np
import scipy.linalg

from cgm_cli.blocks.problem import CompositeProblem, Term
from cgm_cli.methods.scaling import objective_size

Pair = tuple[np.ndarray, ...]
"""x, and behind it the y_i, in the units of the terms."""

SAFE = 0.99
"""Part of the largest sigma |A|^2 that is taken."""

ROWS, WORK = 600, 5e8
"""The most rows of a constraint that are made orthonormal, and operations that it may take to multiply them out."""

SMALLEST, NONE, DEPENDENT = 1e-8, 1e-13, 1e-4
"""Parts of the largest eigenvalue of A A^T, once all rows are equally long: what smaller ones are raised to; and up to
which rows are dependent: only rounding is left of one of them; and what such ones are set to, so that what rounding
makes b miss is not multiplied by much, and what contradicts itself still shows soon.
"""


class SaddleOperator:
    """T of a problem. curvature: L_f. norm: |A|, of the terms stacked with their weights. relaxation: 1 + rho, by which
    its steps may be reflected.
    """

    def __init__(self, problem: CompositeProblem):
        self._problem = problem
        self._curvature = 0.0 if problem.loss is None else problem.loss.lipschitz
        self._metrics = [_metric_of(problem, term) for term in problem.terms]
        self._norm = problem.constants()["|A|"]
        # f alone may overshoot by half of what T leaves of it (Condat 2013, Theorem 3.1): 1 + rho <= 3/2.
        self.relaxation = 2.0 if self._curvature == 0.0 else 1.5

    @property
    def is_idle(self) -> bool:
        """Whether the plain step will do: f is linear and alone, and the oracle's atom minimises it."""
        return not self._problem.terms and self._curvature == 0.0

    @property
    def usual_weight(self) -> float:
        """|y| over |x| as their sizes suggest: s / (|A| r) over r."""
        radius = self._problem.domain.radius
        return objective_size(self._problem) / (self._norm * radius**2) if self._norm * radius > 0.0 else 1.0

    def smoothing(self, weight: float) -> float:
        """1 / sigma: y' is the dual of the envelope that this makes, centred at y."""
        return 1.0 / self._steps(weight)[1]

    def apply(self, z: Pair, weight: float) -> Pair:
        """T z. weight: of y over x, sqrt(sigma / tau) where f is linear."""
        problem, (x, *duals) = self._problem, z
        tau, sigma = self._steps(weight)
        slope = np.zeros(problem.domain.shape)
        if problem.loss is not None:
            problem.loss.map.adjoint(problem.loss.gradient(problem.loss.map.forward(x))).add_to(slope)
        for term, y in zip(problem.terms, duals, strict=True):
            term.map.adjoint(y).add_to(slope)
        if problem.domain.symmetric:
            slope = 0.5 * (slope + slope.T)
        x_next = problem.domain.project(x - tau * slope)
        ahead = 2.0 * x_next - x
        images = [term.map.forward(ahead) for term in problem.terms]
        return x_next, *(m.step(y, z, sigma) for m, y, z in zip(self._metrics, duals, images, strict=True))

    def lengths(self, moves: Pair) -> tuple[float, float]:
        """Of a move, its square in x, and in y in the norm that sigma is measured in."""
        x, *duals = moves
        return _square(x), sum(m.square(y) for m, y in zip(self._metrics, duals, strict=True))

    def length(self, moves: Pair, weight: float) -> float:
        """In the norm in which T is averaged, but for its mixed part."""
        (primal, dual), (tau, sigma) = self.lengths(moves), self._steps(weight)
        return math.sqrt(primal / tau + dual / sigma)

    def _steps(self, weight: float) -> tuple[float, float]:
        """tau and sigma."""
        if self._norm == 0.0:
            return 1.0 / (self._curvature or 1.0), weight
        sigma = SAFE * weight / self._norm
        return 1.0 / (sigma * (self._norm / SAFE) ** 2 + self._curvature), sigma


class _Plain:
    """sigma is a number."""

    def __init__(self, term: Term):
        self._term = term

    def step(self, y: np.ndarray, image: np.ndarray, sigma: float) -> np.ndarray:
        """With b = 1 / sigma, the prox of sigma g* at y + sigma z is the dual of the envelope g_b at z + b y."""
        step = 1.0 / (sigma * self._term.weight)
        return self._term.penalty.smoothed(image + step * y, step).slope

    def square(self, move: np.ndarray) -> float:
        return _square(move) / self._term.weight


class _Orthonormal:
    """sigma is a matrix, in which the rows of A are orthonormal, but for their size; gram: A A^T / |A|^2."""

    def __init__(self, term: Term, target: np.ndarray, gram: np.ndarray):
        sizes = np.sqrt(np.diag(gram))
        sizes[sizes == 0.0] = 1.0
        scale = np.outer(sizes, sizes)  # first of all rows are made equally long, then orthogonal
        values, vectors = scipy.linalg.eigh(gram / scale)
        peak = values[-1]
        values = np.where(values > NONE * peak, np.maximum(values, SMALLEST * peak), DEPENDENT * peak)
        self._weight, self._target = term.weight, target
        self._gram, self._inverse = (vectors * values) @ vectors.T * scale, (vectors / values) @ vectors.T / scale

    def step(self, y: np.ndarray, image: np.ndarray, sigma: float) -> np.ndarray:
        off = (image - self._target).reshape(-1)
        return y + (sigma * self._weight) * (self._inverse @ off).reshape(y.shape)

    def square(self, move: np.ndarray) -> float:
        flat = move.reshape(-1)
        return max(0.0, float(flat @ self._gram @ flat)) / self._weight


def _metric_of(problem: CompositeProblem, term: Term) -> _Plain | _Orthonormal:
    rows, target = math.prod(term.map.out_shape), term.penalty.only_point
    if target is None or rows > ROWS or rows * term.map.work > WORK or term.map.norm == 0.0:
        return _Plain(term)
    gram = np.empty((rows, rows))
    for row in range(rows):
        unit = np.zeros(rows)
        unit[row] = 1.0
        direction = term.map.adjoint(unit.reshape(term.map.out_shape)).dense()
        if problem.domain.symmetric:
            direction = 0.5 * (direction + direction.T)
        gram[row] = term.map.forward(direction).reshape(-1) / term.map.norm**2
    return _Orthonormal(term, target, 0.5 * (gram + gram.T))


def _square(move: np.ndarray) -> float:
    return float(np.vdot(move, move))
