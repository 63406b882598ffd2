"""What it takes to mend a point that misses its constraints: how far it has to move, and what that costs.

With x a little off its constraints, F(x) is no upper bound, and what it may lie below F* is about <y*, A x - p>: the
optimal duals times the infeasibility. Duals of a run that ends early can be far below y*, and where constraints are
nearly dependent they are: |y*| is about |grad f| over the smallest singular value of A, and a run within its tolerance
has no need of them. So the question is asked of the point. Let

    d = argmin |d|  over the minimisers of  sum_i |A_i d - (p_i - A_i x)|^2 / |A_i|^2

over the entries that are active: all of an equation, of other sets those that are missed. If x + d lies in X, then
F(x + d) is an upper bound on F*, and F(x + d) - F(x) is what x owes; where it does not, it is an estimate of the same
size. |A_i| |d| over the residual says by how much A amplifies what is missed. Where that is much, d is long, x + d is
likely to be far from X, and the way from x into X and onto the constraints is another one, of that length at least:
then the most that F can change by over that length is what counts.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.sparse.linalg import LinearOperator, lsmr

from cgm_cli.blocks.maps.base import LinearMap
from cgm_cli.blocks.problem import CompositeProblem, Term

ENTRIES = 250_000
"""Largest x that is repaired, by its entries: of 1000 x 1000, with 30 steps, it would take as long as to solve it."""

STEPS, ACCURACY = 50, 1e-6
"""Of the least-squares solver; what it has not found by then lies along singular vectors that amplify even more."""

AMPLIFIED, NOTICED = 30.0, 1e-3
"""From which amplification on constraints are called nearly dependent, where x owes more than this, relatively."""


@dataclass(frozen=True)
class Repair:
    """length: |d|. cost: F(x + d) - F(x), 0 if that is negative; of a d that is AMPLIFIED, what F changes by at the
    most, to first order. amplification: |d| over the residual that it mends, in units of the maps' norms.
    """

    length: float
    cost: float
    amplification: float


NONE_NEEDED = Repair(0.0, 0.0, 0.0)


def repair(problem: CompositeProblem, loss_image: np.ndarray | None, images: Sequence[np.ndarray]) -> Repair | None:
    """The shortest way from a point with the images M x and A_i x onto its constraints; None where x is too large."""
    size = math.prod(problem.domain.shape)
    if size > ENTRIES:
        return None
    missed = [
        _Missed.of(term, image)
        for term, image in zip(problem.terms, images, strict=True)
        if term.penalty.is_set and term.map.norm > 0.0
    ]
    residual = np.concatenate([part.residual for part in missed]) if missed else np.zeros(0)
    length = float(np.linalg.norm(residual))
    if length == 0.0 or not np.isfinite(length):
        return NONE_NEEDED

    def forward(step: np.ndarray) -> np.ndarray:
        return np.concatenate([part.forward(step.reshape(problem.domain.shape)) for part in missed])

    def adjoint(y: np.ndarray) -> np.ndarray:
        pieces = np.split(y, np.cumsum([part.residual.size for part in missed])[:-1])
        symmetric = problem.domain.symmetric
        total = sum(part.adjoint(piece, symmetric) for part, piece in zip(missed, pieces, strict=True))
        return total.reshape(-1)

    operator = LinearOperator((residual.size, size), matvec=forward, rmatvec=adjoint)
    step = lsmr(operator, residual, atol=ACCURACY, btol=ACCURACY, maxiter=STEPS)[0].reshape(problem.domain.shape)
    moved = float(np.linalg.norm(step))
    steep = moved > AMPLIFIED * length
    cost = moved * _steepness(problem, loss_image) if steep else _change(problem, loss_image, images, step)
    return Repair(moved, max(0.0, cost), moved / length)


@dataclass(frozen=True)
class _Missed:
    """One constraint's active entries. scale: 1 / |A_i|. residual: what they are missed by, times the scale."""

    scale: float
    map: LinearMap
    active: np.ndarray
    residual: np.ndarray

    @classmethod
    def of(cls, term: Term, image: np.ndarray) -> _Missed:
        step = term.penalty.prox(image, 1.0) - image
        # An offset leaves rounding errors where nothing is missed.
        active = np.abs(step) >= 1e-9 * np.abs(step).max(initial=0.0)
        if term.penalty.is_point:
            active[...] = True
        return cls(1.0 / term.map.norm, term.map, active, step[active] / term.map.norm)

    def forward(self, step: np.ndarray) -> np.ndarray:
        return self.scale * self.map.forward(step)[self.active]

    def adjoint(self, y: np.ndarray, symmetric: bool) -> np.ndarray:
        whole = np.zeros(self.active.shape)
        whole[self.active] = self.scale * y
        direction = self.map.adjoint(whole)
        return (direction.symmetrised() if symmetric else direction).dense()


def _steepness(problem: CompositeProblem, loss_image: np.ndarray | None) -> float:
    """At least the length of every subgradient of F at a point, but for the constraints."""
    loss = problem.loss
    own = 0.0 if loss is None else loss.map.adjoint(loss.gradient(loss_image)).size()
    return own + sum(t.penalty.lipschitz * t.map.norm for t in problem.terms if not t.penalty.is_set)


def _change(
    problem: CompositeProblem, loss_image: np.ndarray | None, images: Sequence[np.ndarray], step: np.ndarray
) -> float:
    """F(x + step) - F(x), but for the constraints."""
    loss, change = problem.loss, 0.0
    if loss is not None:
        change += loss.value(loss_image + loss.map.forward(step)) - loss.value(loss_image)
    for term, image in zip(problem.terms, images, strict=True):
        if not term.penalty.is_set:
            change += term.penalty.value(image + term.map.forward(step)) - term.penalty.value(image)
    return change
