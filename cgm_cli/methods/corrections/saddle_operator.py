"""The averaged operator of primal-dual steps, and what it is iterated with.

T takes (x, y) to

    x' = P_X(x - tau C (grad f(x) + A^T y))
    y' = prox of sigma N g* at y + sigma N A (2 x' - x),         1 / tau >= sigma |A|^2 + L_f,

with C, N and the norms of `cgm_cli.methods.corrections.metrics`. Least squares may take part as one more g_i, behind
the others, in place of f: `cgm_cli.methods.corrections.squares`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cached_property
from itertools import accumulate

import numpy as np
import scipy.sparse as sp

from cgm_cli.blocks.maps.base import LinearMap
from cgm_cli.blocks.problem import CompositeProblem, Term
from cgm_cli.methods.corrections.metrics import DualMetric, PrimalMetric, dual_metric, sparse_rows
from cgm_cli.methods.corrections.squares import Squares, SquaresMetric, posed

Pair = np.ndarray
"""x, and behind it the y_i, in the units of the terms, and that of f where it is one of them: all entries, (d,)."""

SAFE = 0.99
"""Part of the largest sigma |A|^2 that is taken."""


WIDE = 1e3
"""How many times wider than 1 / sigma a smoothing is that leaves the duals where the steps have led them, to this part
of a step: one with the same sigma for all rows may be as long as the largest of them allow, and rounding of A x is
multiplied by it.
"""


class SaddleOperator:
    """T of a problem. curvature: L_f. norm: |A|, of the terms stacked with their weights. relaxation: 1 + rho, by which
    its steps may be reflected.
    """

    def __init__(self, problem: CompositeProblem):
        self.problem, self._posed = problem, posed(problem)
        self._primal = PrimalMetric(self._posed)
        self._duals = [self._metric(term) for term in self._posed.terms]
        self._curvature = self._primal.curvature(self._posed.loss)
        self._norm = self._posed.constants()["|A|"]
        self._adjoints = [_adjoint(term.map) for term in self._posed.terms]
        self._shapes = [problem.domain.shape, *(term.map.out_shape for term in self._posed.terms)]
        self._ends = list(accumulate(math.prod(shape) for shape in self._shapes))
        # f alone may overshoot by half of what T leaves of it (Condat 2013, Theorem 3.1): 1 + rho <= 3/2.
        self.relaxation = 2.0 if self._curvature == 0.0 else 1.5

    def _metric(self, term: Term) -> DualMetric:
        penalty = term.penalty
        if isinstance(penalty, Squares):
            return SquaresMetric(self._primal, term, penalty.target)
        return dual_metric(self._primal, term)

    @property
    def start(self) -> Pair:
        """The point that a run starts from; no duals, but for that of f."""
        start = np.zeros(self._ends[-1])
        x, *duals = self.parts(start)
        x[...] = self.problem.first.dense()
        if self._posed is not self.problem:
            last = self._posed.terms[-1]
            duals[-1][...] = last.penalty.subgradient(last.map.forward(x))
        return start

    def parts(self, z: Pair) -> list[np.ndarray]:
        """x and the y_i, each in its shape: views."""
        begun = zip([0, *self._ends], self._ends, self._shapes, strict=False)
        return [z[first:end].reshape(shape) for first, end, shape in begun]

    @property
    def is_idle(self) -> bool:
        """Whether the plain step will do: f is linear and alone, and the oracle's atom minimises it."""
        return not self.problem.terms and self._curvature == 0.0

    @cached_property
    def usual_weight(self) -> float:
        """|y| over |x| as their sizes suggest: s / (|A| r) over r, with s the size of the objective over the domain."""
        size, radius = self._primal.objective_size(self.problem), self._primal.radius
        return size / (self._norm * radius**2) if self._norm * radius > 0.0 else 1.0

    def smoothing(self, weight: float) -> float:
        """So wide, by 1 / sigma, that the dual of an envelope that is centred at y is y."""
        return WIDE / self._steps(weight)[1]

    def apply(self, z: Pair, weight: float) -> Pair:
        """T z. weight: of y over x, sqrt(sigma / tau) where f is linear."""
        problem, (x, *duals) = self._posed, self.parts(z)
        tau, sigma = self._steps(weight)
        slope = np.zeros(problem.domain.shape)
        if problem.loss is not None:
            problem.loss.map.adjoint(problem.loss.gradient(problem.loss.map.forward(x))).add_to(slope)
        for adjoint, y in zip(self._adjoints, duals, strict=True):
            adjoint(y, slope)
        found = np.empty(z.size)
        x_next, *duals_next = self.parts(found)
        x_next[...] = problem.domain.project(x - tau * self._primal.times(slope))
        ahead = 2.0 * x_next - x
        for term, metric, y, y_next in zip(problem.terms, self._duals, duals, duals_next, strict=True):
            y_next[...] = metric.step(y, term.map.forward(ahead), sigma)
        return found

    def coordinates(self, moves: Pair, weight: float) -> np.ndarray:
        """A vector as long as a move is in the norm in which T is averaged, but for its mixed part; that of x first."""
        tau, sigma = self._steps(weight)
        found = self._coordinates(moves)
        size = self._ends[0]
        found[:size] *= 1.0 / math.sqrt(tau)
        found[size:] *= 1.0 / math.sqrt(sigma)
        return found

    def lengths(self, moves: Pair) -> tuple[float, float]:
        """Of a move, that of x, and that of y in the norm that sigma is measured in."""
        found, size = self._coordinates(moves), self._ends[0]
        return float(np.linalg.norm(found[:size])), float(np.linalg.norm(found[size:]))

    def _coordinates(self, moves: Pair) -> np.ndarray:
        """That of x in its norm, and behind it those of the y_i in theirs."""
        x, *duals = self.parts(moves)
        parts = [metric.coordinates(y) for metric, y in zip(self._duals, duals, strict=True)]
        return np.concatenate([self._primal.coordinates(x), *parts])

    def _steps(self, weight: float) -> tuple[float, float]:
        """tau and sigma."""
        if self._norm == 0.0:
            return 1.0 / (self._curvature or 1.0), weight
        sigma = SAFE * weight / self._norm
        return 1.0 / (sigma * (self._norm / SAFE) ** 2 + self._curvature), sigma


def _adjoint(linear: LinearMap) -> Callable[[np.ndarray, np.ndarray], None]:
    """What adds A^T y to an array. Sparse rows are transposed once: a direction would be made of them at every step."""
    rows = sparse_rows(linear)
    if rows is None:
        return lambda y, out: linear.adjoint(y).add_to(out)
    columns = sp.csr_array(rows.T)

    def add(y: np.ndarray, out: np.ndarray) -> None:
        out += (columns @ y.reshape(-1)).reshape(out.shape)

    return add
