"""What the objective owes to infeasibility: a point that misses its constraints may look better than it is."""

from __future__ import annotations

import numpy as np

from cgm_cli.blocks.problem import CompositeProblem
from cgm_cli.methods.repair import Repair, is_mendable, repair
from cgm_cli.methods.state import State
from cgm_cli.methods.turn import Turn


class Debt:
    """An estimate from the duals at every turn (`Evaluation.owed`); and from mending x, where somebody has asked.
    mends: whether there are constraints, and x is small enough for that.
    """

    def __init__(self, problem: CompositeProblem, state: State):
        self._problem, self._state = problem, state
        self.mends = problem.has_constraints and is_mendable(problem)
        self._mended: tuple[int, Repair | None] = (-1, None)  # k, and what it takes to mend x there
        self._price = -1, 0.0  # and what missing the constraints counts for there, by the duals

    def mend(self) -> Repair | None:
        """What it takes to mend x, looked at once; None without constraints, and where x is too large."""
        state = self._state
        if self._mended[0] != state.k:
            found = None
            if self.mends:
                images = state.point.images
                found = repair(self._problem, state.point.iterate, images.loss, images.terms)
            self._mended = state.k, found
        return self._mended[1]

    def relative(self, turn: Turn) -> float:
        """What the total owes, as far as was looked, relative as the gap is."""
        looked, found = self._mended
        owed = turn.evaluation.owed
        if looked == turn.k and found is not None:
            owed = found.owed(self._priced(turn))
        shown = self._state.bounds.shown
        return self._problem.relative(owed, turn.total, 0.0 if shown is None else shown.value)

    def _priced(self, turn: Turn) -> float:
        """The sum of |y_j| |(A x - p)_j| over the entries of the constraints, of an x that can be mended: no more than
        by whole terms, and far less where rows are in units of their own.
        """
        if self._price[0] != turn.k:
            point, problem = self._state.point, self._problem
            images, total = point.images, 0.0
            duals = point.duals_at(images, turn.evaluation.beta)
            for term, y, image in zip(problem.terms, duals, images.terms, strict=True):
                if term.penalty.is_set:
                    total += float(np.vdot(np.abs(y), np.abs(image - term.penalty.prox(image, 1.0))))
            self._price = turn.k, min(total, turn.evaluation.owed)
        return self._price[1]

    def is_settled_within(self, most: float, turn: Turn) -> bool:
        """Whether x, mended, would still be as good, but for this part."""
        if not self._problem.has_constraints:
            return True
        self.mend()
        return self.relative(turn) <= most
