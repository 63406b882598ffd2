"""x in factors, and X >= 0 among its constraints, whose multipliers a correction hands over, in single precision:
neither x nor the direction is written out. What is to be known of the entries of x is summed tile by tile.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from cgm_cli.blocks.atoms import Atom
from cgm_cli.blocks.directions import Direction, SumDirection
from cgm_cli.blocks.iterates import Iterate
from cgm_cli.blocks.maps.base import LinearMap
from cgm_cli.blocks.penalties.base import Dual
from cgm_cli.blocks.problem import CompositeProblem, Term
from cgm_cli.blocks.single_matrix import SingleMatrix
from cgm_cli.methods.dual_point import DualPoint
from cgm_cli.methods.evaluation import Evaluation, Images, Sums
from cgm_cli.methods.point import ImagePoint
from cgm_cli.numerics.bands import CACHED, by_slabs
from cgm_cli.numerics.folded import tiles
from cgm_cli.numerics.symmetric import Multiply
from cgm_cli.numerics.threads import share


def place_of_nonnegative(problem: CompositeProblem) -> int | None:
    """The place of the constraint X >= 0; None without one."""
    terms = enumerate(problem.terms)
    return next((i for i, t in terms if t.map.is_identity and t.penalty.entry_bounds == (0.0, np.inf)), None)


class FactoredBoxPoint(ImagePoint):
    """x = U diag(w) U^T, with the multipliers y <= 0 (n, n) of X >= 0, symmetric to the bit, as the dual of that term:
    any such y is one, and what it pairs with is zero.

    The array of the multipliers is replaced and never written to, so that dual points may share it.
    """

    def __init__(self, problem: CompositeProblem, iterate: Iterate, place: int):
        self._place = place
        super().__init__(problem, iterate, centred=True)
        assert self.multipliers is not None
        self.multipliers[place] = np.zeros(problem.domain.shape, dtype=np.float32)

    @property
    def box(self) -> Term:
        return self.problem.terms[self._place]

    def evaluate(self, beta: float | None) -> Evaluation:
        problem, place, sums = self.problem, self._place, Sums(self.problem, beta, self.length)
        assert problem.loss is not None and beta is not None
        pieces = [sums.add_loss(problem.loss, self.loss_image)]
        for other, term in enumerate(problem.terms):
            if other != place:
                pieces.append(sums.add_term(other, term, self._own(self._images[other]), self._centre(other)))
        y = self._multipliers_of_box
        found = _sums_over(self.iterate.point, y)
        dual = Dual(None, 0.0, 0.0, found.distance, found.size)
        sums.add_dual(place, dual, found.pairing, found.slope, 0.0, beta / self.box.weight, 0.0)
        return sums.evaluation(_Beside((*pieces, SingleMatrix(y))))

    def lagrangian(self, dual: DualPoint) -> float:
        duals = list(dual.duals)
        y, duals[self._place] = duals[self._place], np.zeros(0)
        rest = replace(dual, duals=tuple(duals)).lagrangian(self.problem, self.loss_image, self._images_beside_box)
        return rest + _sums_over(self.iterate.point, y).pairing

    @property
    def _multipliers_of_box(self) -> np.ndarray:
        y = self._centre(self._place)
        assert y is not None
        return y

    def _own(self, image: np.ndarray | None) -> np.ndarray:
        """Of X >= 0, x written out: for those who ask for all of it."""
        return self.iterate.point.dense() if image is None else image

    def _image(self, linear: LinearMap, atom: Atom) -> np.ndarray | None:
        is_box = linear is self.problem.terms[self._place].map
        return None if is_box else np.array(linear.forward_atom(atom), dtype=float)

    def _images_for_duals(self) -> Images:
        return Images(self.loss_image, self._images_beside_box)

    @property
    def _images_beside_box(self) -> list[np.ndarray]:
        """All but that of the box, which is x."""
        nothing = np.zeros(0)
        return [nothing if image is None else image for image in self._images]

    def _dual(
        self, place: int, image: np.ndarray, beta: float | None, mean: np.ndarray | None, share: float
    ) -> np.ndarray:
        y = self._multipliers_of_box
        if place != self._place:
            return super()._dual(place, image, beta, mean, share)
        if mean is None:
            return y
        out, kept, added = np.empty_like(y), np.float32(1.0 - share), np.float32(share)

        def blend(rows: slice) -> None:
            np.add(kept * mean[rows], added * y[rows], out=out[rows])

        by_slabs(blend, y.shape, CACHED)
        return out


@dataclass(frozen=True)
class _Beside(SumDirection):
    """Pieces of which the last one, a matrix, takes nearly all the time of a product."""

    def single_precision(self, peak: float, columns: int) -> Multiply | None:
        *others, matrix = self.pieces
        single = matrix.single_precision(peak, columns)
        if single is None:
            return None
        rest: Direction = SumDirection(tuple(others))
        return lambda block: single(block) + rest.matmat(block) / peak


@dataclass(frozen=True)
class _Sums:
    """distance |min(x, 0)|, size |max(x, 0)|, pairing <y, x>, slope |y|."""

    distance: float
    size: float
    pairing: float
    slope: float


def _sums_over(x: Atom, y: np.ndarray) -> _Sums:
    """Of a symmetric x, and y (n, n) in single precision, as are the entries of x."""
    factors = x.low_rank
    assert factors is not None
    left, right = (factors.left * factors.weights).astype(np.float32), factors.right.astype(np.float32)
    spans = tiles(len(y))
    sums = np.zeros((len(spans), 4))

    def work(place: int) -> None:
        rows, columns = spans[place]
        entries, duals = left[rows] @ right[columns].T, y[rows, columns]
        below = np.minimum(entries, np.float32(0.0))
        twice = 1.0 if rows == columns else 2.0
        squares = [np.vdot(below, below), np.vdot(entries, entries), np.vdot(duals, entries), np.vdot(duals, duals)]
        sums[place] = twice * np.array(squares, dtype=float)

    share(work, [(place,) for place in range(len(spans))])
    missed, whole, pairing, slope = sums.sum(axis=0).tolist()
    return _Sums(missed**0.5, max(0.0, whole - missed) ** 0.5, pairing, slope**0.5)
