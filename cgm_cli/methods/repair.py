"""What it takes to mend a point that misses its constraints: how far it has to move, and what that costs.

With x a little off its constraints, F(x) is no upper bound, and what it may lie below F* is about <y*, A x - p>: the
optimal duals times the infeasibility. Duals of a run that ends early can be far below y*, and where constraints are
nearly dependent they are: |y*| is about |grad f| over the smallest singular value of A, and a run within its tolerance
has no need of them. So the question is asked of the point. Let

    d = argmin |d|  over the minimisers of  sum_i |A_i d - (p_i - A_i x)|^2 / |A_i|^2

over the entries that are active: all of an equation, of other sets those that are missed. x + d meets the constraints
as far as they can be met at once, and is projected onto X; from there, what is missed again is mended again (von
Neumann's alternating projections). A point x' that they arrive at makes F(x') an upper bound on F*, and F(x') - F(x)
what x owes.

Where X stands in the way, the last part of the residual takes most of the way: what is left of it is taken to need as
much, for each part, as what the later half of the rounds has mended. Where constraints are nearly dependent, d is many
times as long as what it mends, in units of the maps, and x + d likely to be far from X: then the most that F may change
by over a way of that length is what counts. But it may be that no x' is there: equations that nearly depend on each
other contradict each other once their data are rounded. Where that is proven, F* is infinite and nothing is owed to it;
the data are known to no more digits than x meets them to, and x is held against all that meet them as closely.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.sparse.linalg import LinearOperator, lsmr

from cgm_cli.blocks.iterates import Iterate
from cgm_cli.blocks.maps.base import LinearMap
from cgm_cli.blocks.problem import CompositeProblem, Term
from cgm_cli.methods.contradiction import least_miss
from cgm_cli.methods.corrections.rests import ROUNDED

ENTRIES = 40_000
"""Largest x that is mended, by its entries: of 200 x 200 it takes a few tenths of a second, nearly all in projections
onto X; of 1000 x 1000 it would take longer than to solve the problem.
"""

WORK = 2_000_000
"""The most operations of one product with the maps of all constraints; mending takes several hundred: a second."""

STEPS, ACCURACY, CONDITION = 100, 1e-13, 1e10
"""Of the least-squares solver: its steps and its tolerance, as tight as rounding lets them be, since what is left to
the last are the singular vectors that amplify most; and the condition from which these are rounding themselves.
"""

ROUNDS, AGAIN, MENDED = 20, 10, 1e-3
"""Of projections onto X, at the most; the steps of the solver after the first of them, which need not be exact; and the
part of the residual that may be left of it.
"""

NEGLIGIBLE = 1e-9
"""Relative infeasibility that is left as it is where it is amplified by a tenth of CONDITION: equations of which others
say nearly as much are met no more closely (`cgm_cli.methods.corrections.rests.NOTHING`).
"""

IMPOSSIBLE = 1e-6
"""Part of a residual up to which what can be mended of it is not looked at: no x would miss its constraints by less."""

AMPLIFIED, NOTICED = 30.0, 1e-3
"""From which amplification on constraints are called nearly dependent, where x owes more than this, relatively."""


@dataclass(frozen=True)
class Repair:
    """length: of the way from x to x'. cost: F(x') - F(x), 0 if that is negative; where d is AMPLIFIED, what F changes
    by over its length at the most, to first order. amplification: |d| over the residual that it mends, in units of the
    maps' norms. left: the part of the residual that is left at x', 1 where nobody went there. unmet: a relative
    infeasibility that every x has, where x has one of ROUNDED at the most, no x' is there to go to, and the cost is
    zero; 0 where none is proven.
    """

    length: float
    cost: float
    amplification: float
    left: float = 1.0
    unmet: float = 0.0

    def owed(self, price: float) -> float:
        """What x owes, where |y| counts for `price` at it: the duals alone speak where x is not mended, and of what is
        left of its residual where it is; they may be too small to speak for the rest.
        """
        return self.cost + self.left * price if self.left <= MENDED else max(price, self.cost)


NONE_NEEDED = Repair(0.0, 0.0, 0.0)


def is_mendable(problem: CompositeProblem) -> bool:
    """Whether that takes no longer than a second."""
    work = sum(term.map.work for term in problem.terms if term.penalty.is_set)
    return math.prod(problem.domain.shape) <= ENTRIES and work <= WORK


def repair(
    problem: CompositeProblem, iterate: Iterate, loss_image: np.ndarray | None, images: Sequence[np.ndarray]
) -> Repair | None:
    """The way from x, with the images M x and A_i x, onto its constraints; None where that would take too long, or x is
    not kept.
    """
    if not is_mendable(problem) or (atom := iterate.atom()) is None:
        return None
    first = _residual(problem, images)
    whole = float(np.linalg.norm(first.values))
    if whole == 0.0 or not np.isfinite(whole):
        return NONE_NEEDED
    step = first.shortest_step(STEPS)
    length = first.mended_by(step)
    if length <= IMPOSSIBLE * whole:
        return NONE_NEEDED
    x = atom.dense()
    at: list[np.ndarray] = list(images)
    amplification = float(np.linalg.norm(step)) / length
    if amplification > AMPLIFIED:
        missed = _missed(problem, images, float(np.linalg.norm(x)))
        if missed <= NEGLIGIBLE and amplification > 0.1 * CONDITION:
            return NONE_NEEDED
        if missed <= ROUNDED and (unmet := least_miss(problem)) > 0.0:
            return Repair(0.0, 0.0, amplification, unmet=unmet)
        gone = float(np.linalg.norm(step))
        return Repair(gone, gone * _steepness(problem, loss_image), amplification)
    here, ways = x, [_Way(0.0, 0.0, 1.0)]
    for _ in range(ROUNDS):
        there = problem.domain.project(here + step)
        at = [image + term.map.forward(there - here) for term, image in zip(problem.terms, at, strict=True)]
        here, missed = there, _residual(problem, at)
        step = missed.shortest_step(AGAIN)
        left = missed.mended_by(step) / length
        gone, change = float(np.linalg.norm(here - x)), _change(problem, loss_image, images, here - x)
        ways.append(_Way(gone, change, left))
        if left <= MENDED:
            break
    way = ways[-1].extended(ways[len(ways) // 2])
    return Repair(way.length, max(0.0, way.change), amplification, ways[-1].left)


def _missed(problem: CompositeProblem, images: Sequence[np.ndarray], length: float) -> float:
    """The largest relative infeasibility, of an x with this length."""
    largest = 0.0
    for term, image in zip(problem.terms, images, strict=True):
        if term.penalty.is_set:
            nearest = term.penalty.prox(image, 1.0)
            scale = problem.image_scale(term, float(np.linalg.norm(nearest)), length)
            largest = max(largest, float(np.linalg.norm(image - nearest)) / scale)
    return largest


@dataclass(frozen=True)
class _Way:
    """length: from x to where the projections have come. change: of F. left: of the residual, as a part."""

    length: float
    change: float
    left: float

    def extended(self, former: _Way) -> _Way:
        """To the end, by the slope since a former round; as it is, where nothing was mended any more."""
        mended = former.left - self.left
        if mended <= 1e-9:
            return self
        rest = self.left / mended
        length = self.length + rest * max(0.0, self.length - former.length)
        return _Way(length, self.change + rest * max(0.0, self.change - former.change), 0.0)


@dataclass(frozen=True)
class _Residual:
    """What the active entries of all constraints are missed by, over the norms of their maps."""

    shape: tuple[int, ...]
    symmetric: bool
    parts: list[_Missed]
    values: np.ndarray

    def shortest_step(self, steps: int) -> np.ndarray:
        """The d of the module's head, of the shape of x, after so many steps of the solver at the most."""
        operator = LinearOperator(
            (self.values.size, math.prod(self.shape)), matvec=self._forward, rmatvec=self._adjoint, dtype=float
        )
        found = lsmr(operator, self.values, atol=ACCURACY, btol=ACCURACY, conlim=CONDITION, maxiter=steps)[0]
        return found.reshape(self.shape)

    def mended_by(self, step: np.ndarray) -> float:
        """The length of what a step takes off the residual. Of the shortest step, it is all but what no x could meet,
        where constraints contradict each other by as little as data that was rounded.
        """
        return float(np.linalg.norm(self._forward(step)))

    def _forward(self, step: np.ndarray) -> np.ndarray:
        return np.concatenate([part.forward(step.reshape(self.shape)) for part in self.parts])

    def _adjoint(self, y: np.ndarray) -> np.ndarray:
        pieces = np.split(y, np.cumsum([part.residual.size for part in self.parts])[:-1])
        total = np.zeros(self.shape)
        for part, piece in zip(self.parts, pieces, strict=True):
            total += part.adjoint(piece, self.symmetric)
        return total.reshape(-1)


def _residual(problem: CompositeProblem, images: Sequence[np.ndarray]) -> _Residual:
    parts = [
        _Missed.of(term, image)
        for term, image in zip(problem.terms, images, strict=True)
        if term.penalty.is_set and term.map.norm > 0.0
    ]
    values = np.concatenate([part.residual for part in parts]) if parts else np.zeros(0)
    return _Residual(problem.domain.shape, problem.domain.symmetric, parts, values)


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
    loss, own = problem.loss, 0.0
    if loss is not None:
        assert loss_image is not None
        own = loss.map.adjoint(loss.gradient(loss_image)).size()
    return own + sum(t.penalty.lipschitz * t.map.norm for t in problem.terms if not t.penalty.is_set)


def _change(
    problem: CompositeProblem, loss_image: np.ndarray | None, images: Sequence[np.ndarray], step: np.ndarray
) -> float:
    """F(x + step) - F(x), but for the constraints."""
    loss, change = problem.loss, 0.0
    if loss is not None:
        assert loss_image is not None
        change += loss.value(loss_image + loss.map.forward(step)) - loss.value(loss_image)
    for term, image in zip(problem.terms, images, strict=True):
        if not term.penalty.is_set:
            change += term.penalty.value(image + term.map.forward(step)) - term.penalty.value(image)
    return change
