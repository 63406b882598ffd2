"""One look at the problem from a point: objective, infeasibilities, the direction for the oracle, the dual's scalars.

With y_i a subgradient of g_i at p_i (the prox of the image, or the image itself for a plain subgradient), what the
oracle minimises is v = grad f(x) + sum_i A_i^T y_i. Where the smoothing is centred at multipliers c_i,

    g_b(z; c) = max over y of <y, z> - g*(y) - b |y - c|^2 / 2,

the augmented Lagrangian in c; c = 0 is the Moreau envelope (paper, section 2).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from cgm_cli.blocks.directions import DenseDirection, Direction, SumDirection
from cgm_cli.blocks.losses.base import Loss
from cgm_cli.blocks.penalties.base import Dual
from cgm_cli.blocks.problem import CompositeProblem, Term
from cgm_cli.errors import NumericalError
from cgm_cli.numerics.bands import shifted

_EPS = float(np.finfo(float).eps)

Multipliers = Sequence[np.ndarray] | None
"""c_i, one per term; None: at zero."""


class Images(NamedTuple):
    """M x (None without a loss), and the A_i x, one per term."""

    loss: np.ndarray | None
    terms: list[np.ndarray]


@dataclass(frozen=True)
class Evaluation:
    """objective f(x), penalty = sum of the finite g_i, relative infeasibility by constraint, direction v, and the
    dual's scalars.

    owed: the sum of |y_i| |A_i x - p_i| over the constraints, an estimate of what F(x) owes to missing them. distance:
    from all constraint sets, the root of the sum of w_i dist(A_i x, K_i)^2. pairing: <v, x>, so that
    pairing - min <v, .> is the Frank-Wolfe gap of the smoothed problem. smoothed: its objective F_beta(x). beta: of the
    smoothing, None for subgradients. constant, margin and drift are those of DualPoint, whose duals are written out
    where the bound is worth keeping. The direction stands until the next evaluation of the same point.
    """

    objective: float
    penalty: float
    infeasibilities: dict[str, float]
    owed: float
    distance: float
    pairing: float
    smoothed: float
    direction: Direction
    constant: float
    margin: float
    drift: float
    beta: float | None

    @property
    def total(self) -> float:
        """F(x), but for the constraints."""
        return self.objective + self.penalty


def evaluate(
    problem: CompositeProblem,
    images: Images,
    beta: float | None,
    multipliers: Multipliers,
    room: Callable[[], np.ndarray],
    length: float,
) -> Evaluation:
    """At a point with these images; beta None asks for plain subgradients. room: gives an array of the shape of a point
    that a direction may be written to. length: that of the point (see `CompositeProblem.image_scale`). Non-finite
    numbers pass through, to be found.
    """
    sums = Sums(problem, beta, length)
    pieces = [] if problem.loss is None else [sums.add_loss(problem.loss, images.loss)]
    for place, term in enumerate(problem.terms):
        centre = None if multipliers is None else multipliers[place]
        pieces.append(sums.add_term(place, term, images.terms[place], centre))
    return sums.evaluation(assembled(problem, pieces, room))


@dataclass
class Sums:
    """Adds up an evaluation, term by term; those of a direction are the caller's."""

    problem: CompositeProblem
    beta: float | None
    length: float
    objective: float = 0.0
    pairing: float = 0.0
    smoothed: float = 0.0
    constant: float = 0.0
    margin: float = 0.0
    drift: float = 0.0
    owed: float = 0.0
    duals: dict[int, Dual] = field(default_factory=dict[int, Dual])

    def add_loss(self, loss: Loss, image: np.ndarray | None) -> Direction:
        """The piece of the direction that is grad f(x)."""
        assert image is not None
        self.objective = loss.value(image)
        gradient = loss.gradient(image)
        self.pairing = float(np.vdot(gradient, image))
        self.smoothed, self.constant = self.objective, self.objective - self.pairing
        steepness = loss.rounding_scale(gradient, image)
        self.margin = abs(self.objective) + steepness * float(np.linalg.norm(image))
        self.drift = steepness * loss.map.norm * self.problem.domain.radius
        piece = loss.map.adjoint(gradient)
        return piece.symmetrised() if self.problem.domain.symmetric else piece

    def add_term(self, place: int, term: Term, image: np.ndarray, centre: np.ndarray | None) -> Direction:
        """The piece of the direction that is A_i^T y_i."""
        dual = dual_of(term, image, self.beta, centre)
        assert dual.y is not None
        slope, pairing = float(np.linalg.norm(dual.y)), float(np.vdot(dual.y, image))
        step = 0.0 if self.beta is None else self.beta / term.weight
        off = slope if centre is None else float(np.linalg.norm(dual.y - centre))
        # The size of what was subtracted to get y: the image, the constants inside the term, and p = z - step y.
        size = float(np.linalg.norm(image)) + term.penalty.shift + step * (slope + off)
        fixed = term.penalty.conjugate_size(dual.y)
        rounding = size * slope if fixed is None else fixed * max(1.0, dual.y.size / 8)  # of n eps, where 8 eps follows
        self.add_dual(place, dual, pairing, slope, off, step, rounding + abs(dual.conjugate) + abs(dual.value))
        if step > 0.0:
            # Of y, by what it was subtracted from; and of A^T y alone, where any y will do.
            if term.penalty.takes_rounded_duals:
                self.drift += self.problem.reach(term, dual.y)
            else:
                self.drift += size / step * term.map.norm * self.problem.domain.radius
        return piece_of(self.problem, term, dual.y, self.beta)

    def add_dual(
        self, place: int, dual: Dual, pairing: float, slope: float, off: float, step: float, rounding: float
    ) -> None:
        """Take in the dual y of a term: pairing <y, z>, slope |y|, off |y - c|; step: its smoothing; rounding: what the
        errors of its scalars are relative to.
        """
        self.duals[place] = dual
        # g_step(z) = <z, y> - g*(y) - step |y - c|^2 / 2, the maximum that defines it; g for step 0
        self.smoothed += pairing - dual.conjugate - 0.5 * step * off**2
        self.pairing += pairing
        self.owed += slope * dual.distance
        self.margin += rounding

    def evaluation(self, direction: Direction) -> Evaluation:
        """What the sums amount to."""
        terms = self.problem.terms
        duals = [(term, self.duals[place]) for place, term in enumerate(terms)]
        return Evaluation(
            self.objective,
            float(sum(dual.value for _, dual in duals)),
            {
                term.name: dual.distance / self.problem.image_scale(term, dual.reference, self.length)
                for term, dual in duals
                if term.penalty.is_set
            },
            self.owed,
            float(np.sqrt(sum(term.weight * dual.distance**2 for term, dual in duals))),
            self.pairing,
            self.smoothed,
            direction,
            self.constant - (sum(dual.conjugate for _, dual in duals) + self.problem.tangent_excess),
            8 * _EPS * self.margin,
            8 * _EPS * self.drift,
            self.beta,
        )


def refuse_non_finite(problem: CompositeProblem, found: Evaluation, at: Callable[[], Images], k: int) -> None:
    """Raise NumericalError, in words that name the culprit, where the evaluation after k steps is not finite; at: gives
    the images.
    """
    if np.isfinite(found.objective + found.constant) and np.isfinite(found.direction.peak()):
        return
    images = at()
    named = [] if images.loss is None else [("the objective", images.loss)]
    named += [(f"the term `{term.name}`", image) for term, image in zip(problem.terms, images.terms, strict=True)]
    culprits = [name for name, image in named if not np.all(np.isfinite(image))]
    overflow = "the direction (an overflow: the smoothing may be too small for the units of the problem)"
    where = " and ".join(culprits) or overflow
    raise NumericalError(f"iteration {k}: {where} is not finite; the run stops before the oracle is asked")


def assembled(problem: CompositeProblem, pieces: list[Direction], room: Callable[[], np.ndarray]) -> Direction:
    """The sum of the pieces: written out where one of them is, or where the oracle has no use for products."""
    domain = problem.domain
    if len(pieces) == 1:
        return pieces[0]
    if domain.spectral and not any(piece.is_dense for piece in pieces):
        return SumDirection(tuple(pieces))
    out = room()
    out[...] = 0.0
    for piece in pieces:
        piece.add_to(out)
    return DenseDirection(out, symmetric=domain.symmetric)


def piece_of(problem: CompositeProblem, term: Term, y: np.ndarray, beta: float | None) -> Direction:
    """A_i^T y_i, symmetrised where the domain is symmetric."""
    # A plain subgradient may jump by the rounding errors that make x not quite symmetric.
    if beta is not None and term.map.is_identity and term.penalty.uniform:
        piece: Direction = DenseDirection(y, symmetric=problem.domain.symmetric)
    else:
        piece = term.map.adjoint(y)
    return piece.symmetrised() if problem.domain.symmetric else piece


def dual_of(term: Term, image: np.ndarray, beta: float | None, centre: np.ndarray | None) -> Dual:
    """A term seen from its image."""
    if beta is None:
        return term.penalty.linearised(image)
    step = beta / term.weight
    plain = term.penalty.smoothed(image, step)
    if centre is None:
        return plain
    # max over y of <y, z> - g*(y) - b |y - c|^2 / 2 is attained where the envelope of g has its dual at z + b c; how
    # far z itself lies from the set is told by the plain one.
    centred = term.penalty.smoothed(shifted(image, step, centre), step)
    return Dual(centred.y, centred.conjugate, plain.value, plain.distance, plain.reference)


def slope_of(term: Term, image: np.ndarray, beta: float | None, centre: np.ndarray | None) -> np.ndarray:
    """The y of `dual_of` alone."""
    if beta is None or centre is None:
        dual = dual_of(term, image, beta, centre)
    else:
        step = beta / term.weight
        dual = term.penalty.smoothed(shifted(image, step, centre), step)
    assert dual.y is not None
    return dual.y
