"""A dense cost and bounds on the entries of a large dense x, X >= 0 say, in one pass: the constraint's dual, as large
as x, is formed, added to the direction and forgotten, entry by entry. A step, the evaluation after it and the move of
the multipliers share that pass where they can.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

import numpy as np

from cgm_cli.blocks.atoms import Atom
from cgm_cli.blocks.directions import DenseDirection, Direction, LowerDirection, SingleDirection
from cgm_cli.blocks.iterates import DenseIterate, Iterate
from cgm_cli.blocks.penalties.base import Dual
from cgm_cli.blocks.problem import CompositeProblem, Term
from cgm_cli.methods.evaluation import Evaluation, Images, Sums, dual_of, piece_of
from cgm_cli.methods.factored_box import FactoredBoxPoint, place_of_nonnegative
from cgm_cli.methods.point import ImagePoint, Offset, Point
from cgm_cli.numerics import box_passes, symmetric
from cgm_cli.numerics.bands import ONE_THREAD_ENTRIES
from cgm_cli.numerics.box_passes import Ascent, BoxSums, LinearPart, SmoothedBox
from cgm_cli.numerics.compiled import pays
from cgm_cli.numerics.kernels import RankOneStep

SINGLE_RANGE = 1e-18, 1e18
"""Norms of a direction that single precision can hold, together with its products."""


def point_at(problem: CompositeProblem, iterate: Iterate, centred: bool = False, single: bool = False) -> Point:
    """The point that a run starts from, of the kind that takes fewest passes. single: products in single precision are
    likely to be all that directions are wanted for.
    """
    place = _box_of(problem, iterate)
    in_factors = None if iterate.is_dense or not centred else place_of_nonnegative(problem)
    if in_factors is not None:
        return FactoredBoxPoint(problem, iterate, in_factors)
    if place is None or not pays(1, 0):
        return ImagePoint(problem, iterate, centred)
    return FusedBoxPoint(problem, iterate, place, centred, single)


def _box_of(problem: CompositeProblem, iterate: Iterate) -> int | None:
    """The place of the first constraint that bounds the entries, where there is one, and a dense cost beside it."""
    cost = None if problem.loss is None else problem.loss.cost
    if cost is None or not (cost.is_dense and iterate.is_dense and len(problem.domain.shape) == 2):
        return None
    terms = enumerate(problem.terms)
    return next((i for i, t in terms if t.map.is_identity and t.penalty.entry_bounds is not None), None)


@dataclass(frozen=True)
class _Sides:
    """The pieces of a direction beside the box: the cost with the sum of all a_i + b_j, and the rest."""

    linear: LinearPart
    rest: list[Direction]

    @classmethod
    def of(cls, pieces: list[Direction]) -> _Sides:
        """Of pieces of which the cost is the first."""
        cost, *others = pieces
        rows, columns = np.zeros(cost.shape[0]), np.zeros(cost.shape[1])
        rest: list[Direction] = []
        for piece in others:
            if piece.outer_sum is None:
                rest.append(piece)
            else:
                rows, columns = rows + piece.outer_sum[0], columns + piece.outer_sum[1]
        return cls(LinearPart(cost.dense(), rows, columns), rest)


@dataclass(frozen=True)
class _Ahead:
    """The sums of a pass that was made together with the step before, and the beta that it was made at."""

    beta: float
    sums: BoxSums


class FusedBoxPoint(ImagePoint):
    """x with a dense cost and the box at `place` among the terms. Without multipliers, of a halved iterate only what is
    on and below the diagonal is looked at.
    """

    def __init__(self, problem: CompositeProblem, iterate: Iterate, place: int, centred: bool, single: bool):
        super().__init__(problem, iterate, centred)
        self._place = place
        bounds = problem.terms[place].penalty.entry_bounds
        assert bounds is not None
        self._bounds = bounds
        self._is_cone = all(end == 0.0 or np.isinf(end) for end in bounds)
        self._single = single and problem.domain.takes_single_precision
        self._single_buffer: np.ndarray | None = None
        self._ahead: _Ahead | None = None
        self._pending: tuple[float, float] | None = None  # share and step of a move of the box's multiplier

    @property
    def box(self) -> Term:
        return self.problem.terms[self._place]

    @property
    def _array(self) -> DenseIterate:
        return cast(DenseIterate, self.iterate)

    @property
    def _halves(self) -> bool:
        """Whether one half of a symmetric x is enough."""
        return self.iterate.halved and self.multipliers is None

    def warm_up(self) -> None:
        kind = np.float32 if self._single else np.float64
        box_passes.warm_up(kind, self._halves, self.multipliers is not None)
        if self._halves:
            symmetric.warm_up(kind)

    def evaluate(self, beta: float | None) -> Evaluation:
        assert beta is not None
        ahead, self._ahead = self._ahead, None
        if ahead is not None and ahead.beta != beta:
            ahead = None
        pending, self._pending = self._pending, None
        return self._evaluate(self._images_for_duals(), beta, self._single, pending, ahead)

    def evaluate_at(self, images: Images, beta: float | None) -> Evaluation:
        assert beta is not None
        self._ahead = None  # its direction lies where this one is written to
        self._settle()
        return self._evaluate(images, beta, False)

    def step(self, atom: Atom, eta: float, upcoming: float | None = None) -> None:
        self._ahead = None
        self._settle()
        super().step(atom, eta, upcoming)

    def refresh(self) -> None:
        self._ahead = None
        super().refresh()

    def move_multipliers(self, offsets: list[Offset], share: float, beta: float) -> None:
        super().move_multipliers(offsets, share, beta)
        # That of the box is moved by the next evaluation of x, in passing.
        self._settle()
        self._pending = share, beta / self.box.weight

    def _settle(self) -> None:
        """Move the multiplier of the box by what is pending, where no evaluation of x does it in passing."""
        pending, self._pending = self._pending, None
        if pending is None:
            return
        (share, step), c = pending, self._centre(self._place)
        assert c is not None
        y = self.box.penalty.smoothed(self._array.array + step * c, step).y
        assert y is not None
        c += share * (y - c)

    def pack(self) -> dict[str, Any]:
        tree = super().pack()
        return tree if self._pending is None else tree | {"pending": np.array(self._pending)}

    def unpack(self, tree: Mapping[str, Any]) -> None:
        super().unpack(tree)
        self._ahead, self._pending = None, None
        if "pending" in tree:
            share, step = tree["pending"]
            self._pending = float(share), float(step)

    def _images_for_duals(self) -> Images:
        if not self._halves:
            return self.images
        half = [self._array.lower if i == self._place else self._own(image) for i, image in enumerate(self._images)]
        return Images(self.loss_image, half)

    def _evaluate(
        self,
        images: Images,
        beta: float,
        single: bool,
        pending: tuple[float, float] | None = None,
        ahead: _Ahead | None = None,
    ) -> Evaluation:
        problem, place, term = self.problem, self._place, self.box
        assert problem.loss is not None
        sums = Sums(problem, beta, self.length)
        pieces = [sums.add_loss(problem.loss, images.loss)]
        for other, each in enumerate(problem.terms):
            if other != place:
                pieces.append(sums.add_term(other, each, images.terms[other], self._centre(other)))
        step = beta / term.weight
        direction, found = self._fused(pieces, images.terms[place], step, single, pending, ahead)
        dual = Dual(None, found.conjugate, 0.0, found.distance, found.size)
        size = found.size + found.distance + step * (found.slope + found.off)
        # <y, q> is zero to the last bit where all finite bounds are.
        fixed = 0.0 if self._is_cone else size * found.slope
        rounding = fixed + size / step * problem.domain.radius
        sums.add_dual(place, dual, found.pairing, found.slope, found.off, step, rounding)
        return sums.evaluation(direction)

    def _fused(
        self,
        pieces: list[Direction],
        image: np.ndarray,
        step: float,
        single: bool,
        pending: tuple[float, float] | None = None,
        ahead: _Ahead | None = None,
    ) -> tuple[Direction, BoxSums]:
        """The direction, of whose pieces the cost comes first, and the sums of the box's dual."""
        sides = _Sides.of(pieces)
        single = self._fits_single(single, image, sides.rest)
        out = self._room_in(single)
        found = self._pass(sides, image, step, out, pending, ahead)
        half = self._halves
        if single:
            held = SINGLE_RANGE[0] <= found.norm <= SINGLE_RANGE[1]

            def in_double() -> Direction:
                return self._fused(pieces, image, step, False)[0]

            return SingleDirection(out, half, found.norm, in_double) if held else in_double(), found
        for piece in sides.rest:
            piece.add_to(out)
        # The norm bounds every entry; where squares overflow, or more was added, the direction looks for itself.
        peak = found.norm if np.isfinite(found.norm) and not sides.rest else None
        direction = LowerDirection(out, peak) if half else DenseDirection(out, self.problem.domain.symmetric, peak)
        return direction, found

    def _pass(
        self,
        sides: _Sides,
        image: np.ndarray,
        step: float,
        out: np.ndarray,
        pending: tuple[float, float] | None,
        ahead: _Ahead | None,
    ) -> BoxSums:
        """Over x, unless it was made ahead; a pending move of the multiplier is made on the way."""
        centre = self._centre(self._place)
        box = SmoothedBox.of(*self._bounds, step)
        if centre is not None:
            ascent = None if pending is None else Ascent(*pending)
            return box_passes.centred_box_direction(sides.linear, image, centre, box, out, ascent)
        if ahead is not None:
            return ahead.sums
        if self._halves:
            return box_passes.half_box_direction(RankOneStep.none(image), sides.linear, box, out)[0]
        return box_passes.box_direction(sides.linear, image, box, out)

    def _priced_step(
        self, atom: Atom, eta: float, cost: DenseDirection, images: list[np.ndarray | None], upcoming: float | None
    ) -> np.ndarray:
        ahead = None if upcoming is None else self._step_ahead(atom, eta, cost, images, upcoming)
        return super()._priced_step(atom, eta, cost, images, upcoming) if ahead is None else ahead

    def _step_ahead(
        self, atom: Atom, eta: float, cost: DenseDirection, images: list[np.ndarray | None], beta: float
    ) -> np.ndarray | None:
        """The step in the pass that the next evaluation, at beta, would make over x; <C, x> after it. None, and nothing
        is done, where there is no such pass.
        """
        others = [pair for i, pair in enumerate(zip(self.problem.terms, images, strict=True)) if i != self._place]
        if not self._halves or not cost.symmetric or any(image is None for _, image in others):
            return None
        begun = self._array.begin(atom, eta)
        if begun is None:
            return None
        pieces: list[Direction] = [cost]
        for term, image in others:
            y = dual_of(term, cast(np.ndarray, image), beta, None).y
            pieces.append(piece_of(self.problem, term, cast(np.ndarray, y), beta))
        sides = _Sides.of(pieces)
        out = self._room_in(self._fits_single(self._single, begun.x, sides.rest))
        box = SmoothedBox.of(*self._bounds, beta / self.box.weight)
        sums, price = box_passes.half_box_direction(begun, sides.linear, box, out)
        self._ahead = _Ahead(beta, sums)
        return np.array(price)

    def _dual(
        self, place: int, image: np.ndarray, beta: float | None, mean: np.ndarray | None, share: float
    ) -> np.ndarray:
        if place != self._place:
            return super()._dual(place, image, beta, mean, share)
        assert beta is not None
        box = SmoothedBox.of(*self._bounds, beta / self.box.weight)
        return box_passes.box_mean(image, box, self._centre(place), mean, share, self._halves)

    def _offset(self, place: int, image: np.ndarray, beta: float) -> Offset:
        if place != self._place:
            return super()._offset(place, image, beta)
        centre = self._centre(place)
        assert centre is not None
        return Offset(*box_passes.box_offset(image, centre, SmoothedBox.of(*self._bounds, beta / self.box.weight)))

    def _fits_single(self, wanted: bool, x: np.ndarray, rest: list[Direction]) -> bool:
        """Whether the direction is formed in single precision: where that is wanted, of use, and nothing is added."""
        return wanted and not rest and x.size >= ONE_THREAD_ENTRIES

    def _room_in(self, single: bool) -> np.ndarray:
        """The buffer of directions in single or in double precision."""
        if not single:
            return self._room()
        if self._single_buffer is None:
            self._single_buffer = np.empty(self.problem.domain.shape, dtype=np.float32)
        return self._single_buffer
