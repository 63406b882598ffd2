"""One look at the problem from the current point: objective, infeasibilities, the direction for the oracle, and the
dual point.

With y_i a subgradient of g_i at p_i (the prox of the image, or the image itself for a plain subgradient):

    v = grad f(x) + sum_i A_i^T y_i                                     what the oracle minimises
    F* >= h(z) - <h'(z), z> - sum_i g_i*(y_i) + min over X of <v, .>    the free lower bound

with f(x) = h(M x) and z = M x. The second holds for any z and y (weak duality), so drifting images cost tightness,
never truth; where h is not quite convex it loses what the tangent at z may lie above h (`tangent_excess`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from cgm_cli.blocks.directions import (
    DenseDirection,
    Direction,
    LowerDirection,
    OuterSum,
    SingleDirection,
    SumDirection,
)
from cgm_cli.blocks.iterates import DenseIterate, HalfStep, Iterate
from cgm_cli.blocks.losses.base import Loss
from cgm_cli.blocks.losses.linear import Linear
from cgm_cli.blocks.maps.identity import Identity
from cgm_cli.blocks.penalties.base import Dual
from cgm_cli.blocks.penalties.bounds import BoxSet
from cgm_cli.blocks.problem import CompositeProblem, Term
from cgm_cli.numerics import kernels, symmetric

_EPS = float(np.finfo(float).eps)

SINGLE_RANGE = 1e-18, 1e18
"""Norms of a direction that single precision can hold, together with its products."""


@dataclass(frozen=True)
class DualPoint:
    """What a lower bound is made of: the loss's image z (None without one), one y_i per term, and the constant beside
    the minimum.

    margin: an allowance for the rounding errors of the constant and the duals.
    """

    loss_image: np.ndarray | None
    duals: tuple[np.ndarray, ...]
    constant: float
    margin: float

    def direction(self, problem: CompositeProblem) -> Direction:
        """v = M^T h'(z) + sum_i A_i^T y_i."""
        pieces = [term.map.adjoint(y) for term, y in zip(problem.terms, self.duals, strict=True)]
        if self.loss_image is not None:
            pieces.insert(0, problem.loss.map.adjoint(problem.loss.gradient(self.loss_image)))
        total = SumDirection(tuple(pieces))
        return total.symmetrised() if problem.domain.symmetric else total

    def lagrangian(self, problem: CompositeProblem, loss_image: np.ndarray | None, images: list[np.ndarray]) -> float:
        """The Lagrangian at a point x of the domain and this dual point, of which the bound is the minimum over all x;
        from M x and the A_i x, with f linearised at z.
        """
        total = sum(float(np.vdot(y, image)) for y, image in zip(self.duals, images, strict=True))
        if self.loss_image is not None:
            total += float(np.vdot(problem.loss.gradient(self.loss_image), loss_image))
        return self.constant + total

    def blended(self, other: DualPoint, share: float, loss: Loss | None, duals: tuple[np.ndarray, ...]) -> DualPoint:
        """(1 - share) self + share other, of which the duals are given; the larger of the two margins.

        Convexity bounds the conjugates of the mean by the mean of the conjugates. The part of the loss, which is
        h(z) - <h'(z), z>, is computed anew at the mean of the images.
        """
        image, rest = None, [point.constant for point in (self, other)]
        if loss is not None:
            image = (1.0 - share) * self.loss_image + share * other.loss_image
            rest = [value - _tangent(loss, point.loss_image) for value, point in zip(rest, (self, other), strict=True)]
        constant = (1.0 - share) * rest[0] + share * rest[1] + (0.0 if loss is None else _tangent(loss, image))
        return DualPoint(image, duals, constant, max(self.margin, other.margin))

    def pack(self) -> dict[str, Any]:
        """The parts by name, as arrays and plain values."""
        tree: dict[str, Any] = {"constant": self.constant, "margin": self.margin, "duals": indexed(self.duals)}
        return tree if self.loss_image is None else {**tree, "loss_image": self.loss_image}

    @classmethod
    def unpacked(cls, tree: Mapping[str, Any]) -> DualPoint:
        """What `pack` made the tree of."""
        duals = tuple(tree["duals"][key] for key in sorted(tree["duals"], key=int))
        return cls(tree.get("loss_image"), duals, tree["constant"], tree["margin"])


def indexed(arrays: Iterable[np.ndarray]) -> dict[str, np.ndarray]:
    """Arrays by their place, as text."""
    return {str(index): array for index, array in enumerate(arrays)}


@dataclass(frozen=True)
class Evaluation:
    """objective f(x), penalty = sum of the finite g_i, relative infeasibility by constraint, direction v, and the
    dual's scalars.

    owed: the sum of |y_i| |A_i x - p_i| over the constraints, an estimate of what F(x) owes to missing them. distance:
    from all constraint sets, the root of the sum of w_i dist(A_i x, K_i)^2. pairing: <v, x>, so that
    pairing - min <v, .> is the Frank-Wolfe gap of the smoothed problem. smoothed: its objective F_beta(x). beta: of the
    smoothing, None for subgradients. constant and margin are those of DualPoint, which `Evaluator.dual_point`
    completes where the bound is worth keeping.
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
    beta: float | None


class Evaluator:
    """Evaluates a problem at an iterate and its images; owns the buffer of a dense direction.

    One constraint that bounds the entries of a dense matrix iterate (X >= 0, say) is folded into the pass that forms
    the direction, so that its dual, as large as X, is never written out: `folded`, or None.
    """

    def __init__(self, problem: CompositeProblem, iterate: Iterate):
        self._problem = problem
        self._buffer: np.ndarray | None = None
        self._single: np.ndarray | None = None
        foldable = isinstance(iterate, DenseIterate) and len(problem.domain.shape) == 2 and _has_dense_cost(problem)
        self.folded = next((term for term in problem.terms if foldable and _bounds_entries(term)), None)
        self._halved = isinstance(iterate, DenseIterate) and iterate.halved
        self._ahead: _Ahead | None = None

    def rehearse(self, rough: bool, centred: bool) -> None:
        """Load the compiled code that evaluations, rough or not and with centres or without, and steps will use."""
        if self.folded is None:
            return
        half = self._halved and not centred
        kind = np.float32 if rough and _takes_rough(self._problem.domain) else np.float64
        kernels.rehearse(kind, half, centred)
        if half:
            symmetric.rehearse(kind)

    def evaluate(
        self,
        loss_image: np.ndarray | None,
        images: list[np.ndarray],
        beta: float | None,
        centres: list[np.ndarray] | None = None,
        ascent: tuple[float, float] | None = None,
        rough: bool = False,
    ) -> Evaluation:
        """At the images of the current point; beta None asks for plain subgradients. Non-finite numbers pass through,
        to be found.

        rough: products in single precision are likely to be all that the direction is wanted for. Without centres, the
        image of the folded constraint need only be right on and below the diagonal where the iterate is halved.

        centres: dual variables c_i, one per term, that the smoothing is centred at (zero if None):
        g_b(z; c) = max over y of <y, z> - g*(y) - b |y - c|^2 / 2, the augmented Lagrangian in c. ascent: what
        `ascend` left to do for the folded constraint's centre, which is moved first, in the same pass.
        """
        problem = self._problem
        pieces: list[Direction] = []
        objective = pairing = smoothed = constant = margin = owed = 0.0
        if problem.loss is not None:
            objective = problem.loss.value(loss_image)
            gradient = problem.loss.gradient(loss_image)
            pairing = float(np.vdot(gradient, loss_image))
            smoothed, constant = objective, objective - pairing
            margin = abs(objective) + _loss_scale(problem, gradient, loss_image)
            piece = problem.loss.map.adjoint(gradient)
            pieces.append(piece.symmetrised() if problem.domain.symmetric else piece)
        duals: list[tuple[Term, Dual]] = []
        for term, image in zip(problem.terms, images, strict=True):
            if term is self.folded:
                continue
            centre = None if centres is None else centres[problem.terms.index(term)]
            dual = _dual(term, image, beta, centre)
            duals.append((term, dual))
            pieces.append(self._piece(term, dual, beta))
            slope, pairing_here = float(np.linalg.norm(dual.y)), float(np.vdot(dual.y, image))
            step = 0.0 if beta is None else beta / term.weight
            # g_step(z) = <z, y> - g*(y) - step |y|^2 / 2, the maximum that defines it (paper, section 2); g for step 0
            off = slope if centre is None else float(np.linalg.norm(dual.y - centre))
            smoothed += pairing_here - dual.conjugate - 0.5 * step * off**2
            pairing += pairing_here
            owed += slope * dual.distance
            # The size of what was subtracted to get y: the image, the constants inside the term, and p = z - step y.
            size = float(np.linalg.norm(image)) + term.penalty.shift + step * (slope + off)
            margin += size * slope + abs(dual.conjugate) + abs(dual.value)
            if step > 0.0:
                margin += size / step * term.map.norm * problem.domain.radius
        if self.folded is None:
            direction = self._assemble(pieces)
        else:
            place = problem.terms.index(self.folded)
            ahead, self._ahead = self._ahead, None
            others = [*images[:place], *images[place + 1 :]]
            if ahead is not None and (centres is not None or not ahead.stands(loss_image, others, beta, rough)):
                ahead = None
            step = beta / self.folded.weight
            centre = None if centres is None else centres[place]
            direction, dual, folded = self._fold(pieces, images[place], step, centre, ascent, rough, ahead)
            duals.insert(place, (self.folded, dual))
            pairing += folded.pairing
            owed += folded.slope * dual.distance
            smoothed += folded.pairing - dual.conjugate - 0.5 * step * folded.off**2
            size = dual.reference + dual.distance + step * (folded.slope + folded.off)
            margin += size * folded.slope + size / step * problem.domain.radius
        constant -= sum(dual.conjugate for _, dual in duals) + problem.tangent_excess
        return Evaluation(
            objective,
            float(sum(dual.value for _, dual in duals)),
            {term.name: dual.distance / max(1.0, dual.reference) for term, dual in duals if term.penalty.is_set},
            owed,
            float(np.sqrt(sum(term.weight * dual.distance**2 for term, dual in duals))),
            pairing,
            smoothed,
            direction,
            constant,
            8 * _EPS * margin,
            beta,
        )

    def take(self, step: HalfStep, images: list[np.ndarray | None], beta: float, rough: bool) -> np.ndarray | None:
        """Take the step of a halved iterate in the pass that the next `evaluate` would make over it, if it is asked for
        the same beta and rough, without centres; what M x is after the step. images: those after it, None for x itself.

        None, and nothing is done, where there is no such pass.
        """
        others = [pair for pair in zip(self._problem.terms, images, strict=True) if pair[0] is not self.folded]
        if self.folded is None or any(image is None for _, image in others):
            return None
        pieces = [self._piece(term, _dual(term, image, beta, None), beta) for term, image in others]
        cost, rows, columns, rest = _sorted([self._problem.loss.map.direction, *pieces])
        out = self._room(self._is_rough(step.x, rest, rough))
        *figures, price = self._half_pass(step, cost, rows, columns, beta / self.folded.weight, out)
        loss_image = np.array(price)
        self._ahead = _Ahead(loss_image, [image for _, image in others], beta, rough, figures)
        return loss_image

    def dual_point(
        self, evaluation: Evaluation, loss_image, images, centres=None, mean: DualPoint | None = None, share=1.0
    ) -> DualPoint:
        """The dual point of an evaluation at these images, or (1 - share) mean + share of it, in arrays of its own.

        As in `evaluate`, the image of the folded constraint need only be right on and below the diagonal.
        """
        loss, found = self._problem.loss, (evaluation.constant, evaluation.margin)
        image = None if loss is None else np.array(loss_image)
        if mean is None:
            return DualPoint(image, self.duals(images, evaluation.beta, centres), *found)
        duals = self.duals(images, evaluation.beta, centres, mean.duals, share)
        return mean.blended(DualPoint(image, (), *found), share, loss, duals)

    def duals(self, images, beta: float | None, centres=None, means=None, share=1.0) -> tuple[np.ndarray, ...]:
        """The y_i at these images, or (1 - share) mean_i + share y_i, in arrays of their own."""
        terms = self._problem.terms
        nothing = [None] * len(terms)
        found = []
        for term, image, centre, mean in zip(terms, images, centres or nothing, means or nothing, strict=True):
            if term is self.folded and centre is None:
                limits = float(term.penalty.lower), float(term.penalty.upper)
                found.append(kernels.box_mean(image, *limits, beta / term.weight, mean, share, self._halved))
            else:
                y = _slope(term, image, beta, centre)
                found.append(y if mean is None else (1.0 - share) * mean + share * y)
        return tuple(found)

    def offsets(self, images, beta: float, centres) -> list[Offset]:
        """How far the y_i at these images lie from the centres, one per term."""
        found = []
        for term, z, c in zip(self._problem.terms, images, centres, strict=True):
            if term is self.folded:
                limits = float(term.penalty.lower), float(term.penalty.upper)
                found.append(Offset(*kernels.box_offset(z, c, *limits, beta / term.weight)))
            else:
                move = _dual(term, z, beta, c).y - c
                found.append(Offset(float(np.vdot(move, move)), float(np.vdot(move, c)), float(np.vdot(c, c)), move))
        return found

    def ascend(self, centres, offsets: list[Offset], share: float, beta: float) -> tuple[float, float] | None:
        """Move the centres in place, c <- c + share (y - c), by what `offsets` found at this beta.

        That of the folded constraint is left to the next `evaluate` at the same images, which is given what this
        returns.
        """
        left = None
        for term, c, offset in zip(self._problem.terms, centres, offsets, strict=True):
            if offset.move is None:
                left = share, beta / term.weight
            else:
                c += share * offset.move
        return left

    def _assemble(self, pieces: list[Direction]) -> Direction:
        domain = self._problem.domain
        if len(pieces) == 1:
            return pieces[0]
        if domain.spectral and not any(isinstance(piece, DenseDirection) for piece in pieces):
            return SumDirection(tuple(pieces))
        out = self._room(rough=False)
        out[...] = 0.0
        for piece in pieces:
            piece.add_to(out)
        return DenseDirection(out, symmetric=domain.symmetric)

    def _fold(
        self,
        pieces: list[Direction],
        image: np.ndarray,
        step: float,
        centre: np.ndarray | None,
        ascent: tuple[float, float] | None,
        rough: bool,
        ahead: _Ahead | None = None,
    ) -> tuple[Direction, Dual, _Folded]:
        """The sum of the pieces (the cost comes first) and the dual of the folded constraint, in one pass, unless it
        was made `ahead`.
        """
        domain, penalty = self._problem.domain, self.folded.penalty
        cost, rows, columns, rest = _sorted(pieces)
        half = self._halved and centre is None
        rough = self._is_rough(image, rest, rough)
        out = self._room(rough)
        limits = float(penalty.lower), float(penalty.upper)
        if centre is None:
            if ahead is not None:
                distance, conjugate, reference, norm = ahead.figures
            elif half:
                still = HalfStep.none(image)
                distance, conjugate, reference, norm, _ = self._half_pass(still, cost, rows, columns, step, out)
            else:
                distance, conjugate, reference, norm = kernels.box_direction(
                    cost, rows, columns, image, *limits, step, out
                )
            slope = distance / step
            folded = _Folded(conjugate + distance * slope, slope, slope)
        else:
            distance, conjugate, reference, norm, *sums = kernels.centred_box_direction(
                cost, rows, columns, image, centre, *limits, step, out, ascent or (0.0, 1.0)
            )
            folded = _Folded(*sums)
        dual = Dual(None, conjugate, 0.0, distance, reference)

        def in_double() -> Direction:
            return self._fold(pieces, image, step, centre, None, False)[0]

        if rough:
            held = SINGLE_RANGE[0] <= norm <= SINGLE_RANGE[1]
            return SingleDirection(out, half, norm, in_double) if held else in_double(), dual, folded
        for piece in rest:
            piece.add_to(out)
        # The norm bounds every entry; where squares overflow, or more was added, the direction looks for itself.
        known_peak = norm if np.isfinite(norm) and not rest else None
        direction = LowerDirection(out, known_peak) if half else DenseDirection(out, domain.symmetric, known_peak)
        return direction, dual, folded

    def _half_pass(self, step: HalfStep, cost, rows, columns, beta: float, out: np.ndarray) -> tuple[float, ...]:
        limits = float(self.folded.penalty.lower), float(self.folded.penalty.upper)
        moved = step.x, step.keep, step.left, step.right
        return kernels.half_box_direction(*moved, cost, rows, columns, *limits, beta, out)

    def _is_rough(self, x: np.ndarray, rest: list[Direction], rough: bool) -> bool:
        """Whether the direction is formed in single precision: where that is wanted, of use, and nothing is added."""
        return rough and _takes_rough(self._problem.domain) and not rest and x.size >= kernels.SMALL

    def _piece(self, term: Term, dual: Dual, beta: float | None) -> Direction:
        """A_i^T y_i, symmetrised where the domain is symmetric."""
        domain, piece = self._problem.domain, term.map.adjoint(dual.y)
        # A plain subgradient may jump by the rounding errors that make x not quite symmetric.
        mirrored = beta is not None and isinstance(term.map, Identity) and term.penalty.uniform
        if isinstance(piece, DenseDirection) and mirrored:
            piece = DenseDirection(piece.array, symmetric=domain.symmetric)
        return piece.symmetrised() if domain.symmetric else piece

    def _room(self, rough: bool) -> np.ndarray:
        """The buffer of directions in single or in double precision."""
        shape = self._problem.domain.shape
        if rough:
            self._single = np.empty(shape, dtype=np.float32) if self._single is None else self._single
            return self._single
        self._buffer = np.empty(shape) if self._buffer is None else self._buffer
        return self._buffer


@dataclass(frozen=True)
class _Ahead:
    """A pass made together with the step before: what it was made at, and its sums."""

    loss_image: np.ndarray
    images: list[np.ndarray]
    beta: float
    rough: bool
    figures: list[float]

    def stands(self, loss_image: np.ndarray, images: list[np.ndarray], beta: float | None, rough: bool) -> bool:
        """Whether an evaluation at these images, of the terms that are not folded, would make the same."""
        same = loss_image is self.loss_image and (beta, rough) == (self.beta, self.rough)
        return same and all(one is other for one, other in zip(images, self.images, strict=True))


@dataclass(frozen=True)
class Offset:
    """Of a dual y and a centre c: square |y - c|^2, mixed <y - c, c>, size |c|^2; move y - c, if it was written out."""

    square: float
    mixed: float
    size: float
    move: np.ndarray | None = None

    def size_after(self, share: float) -> float:
        """|c + share (y - c)|^2."""
        return self.size + 2.0 * share * self.mixed + share**2 * self.square


def _tangent(loss: Loss, image: np.ndarray) -> float:
    """h(z) - <h'(z), z>: where the tangent of h at z meets the axis."""
    return loss.value(image) - float(np.vdot(loss.gradient(image), image))


def _loss_scale(problem: CompositeProblem, gradient: np.ndarray, image: np.ndarray) -> float:
    """What rounding errors of <h'(z), z> and of h'(z), which meets every point of the domain, are relative to."""
    norm, size = problem.loss.map.norm, float(np.linalg.norm(image))
    curvature = problem.loss.lipschitz / norm**2 if norm > 0.0 else 0.0
    return (float(np.linalg.norm(gradient)) + curvature * size) * (size + norm * problem.domain.radius)


@dataclass(frozen=True)
class _Folded:
    """Of the folded constraint's dual y: pairing <y, z>, slope |y|, off |y - c| from the centre."""

    pairing: float
    slope: float
    off: float


def _dual(term: Term, image: np.ndarray, beta: float | None, centre: np.ndarray | None) -> Dual:
    if beta is None:
        return term.penalty.linearised(image)
    step = beta / term.weight
    plain = term.penalty.smoothed(image, step)
    if centre is None:
        return plain
    # max over y of <y, z> - g*(y) - b |y - c|^2 / 2 is attained where the envelope of g has its dual at z + b c; how
    # far z itself lies from the set is told by the plain one.
    shifted = term.penalty.smoothed(image + step * centre, step)
    return Dual(shifted.y, shifted.conjugate, plain.value, plain.distance, plain.reference)


def _slope(term: Term, image: np.ndarray, beta: float | None, centre: np.ndarray | None) -> np.ndarray:
    """The y of `_dual` alone."""
    if beta is None or centre is None:
        return _dual(term, image, beta, centre).y
    step = beta / term.weight
    return term.penalty.smoothed(image + step * centre, step).y


def _sorted(pieces: list[Direction]) -> tuple[np.ndarray, np.ndarray, np.ndarray, list[Direction]]:
    """The cost, which comes first, as an array; the sum of all a_i + b_j, as two vectors; the other pieces."""
    cost, *others = pieces
    rows, columns, rest = np.zeros(cost.shape[0]), np.zeros(cost.shape[1]), []
    for piece in others:
        if isinstance(piece, OuterSum):
            rows, columns = rows + piece.rows, columns + piece.columns
        else:
            rest.append(piece)
    return cost.dense(), rows, columns, rest


def _takes_rough(domain) -> bool:
    return domain.spectral and domain.takes_rough


def _bounds_entries(term: Term) -> bool:
    return isinstance(term.map, Identity) and isinstance(term.penalty, BoxSet) and term.penalty.uniform


def _has_dense_cost(problem: CompositeProblem) -> bool:
    return isinstance(problem.loss, Linear) and not problem.loss.is_sparse
