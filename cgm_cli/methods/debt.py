"""What the objective owes to infeasibility: a point that misses its constraints may look better than it is."""

from __future__ import annotations

from cgm_cli.blocks.problem import CompositeProblem
from cgm_cli.methods.repair import Repair, is_mendable, repair
from cgm_cli.methods.state import State
from cgm_cli.methods.turn import Turn


class Debt:
    """An estimate from the duals at every turn (`Evaluation.owed`); and from mending x, where somebody has asked."""

    def __init__(self, problem: CompositeProblem, state: State):
        self._problem, self._state = problem, state
        self._mended: tuple[int, Repair | None] = (-1, None)  # k, and what it takes to mend x there

    def mend(self) -> Repair | None:
        """What it takes to mend x, looked at once; None without constraints, and where x is too large."""
        state = self._state
        if self._mended[0] != state.k:
            found = None
            if self._problem.has_constraints and is_mendable(self._problem):
                images = state.point.images
                found = repair(self._problem, state.point.iterate, images.loss, images.terms)
            self._mended = state.k, found
        return self._mended[1]

    def relative(self, turn: Turn) -> float:
        """What the total owes, as far as was looked, relative as the gap is."""
        looked, found = self._mended
        cost = found.cost if looked == turn.k and found is not None else 0.0
        shown = self._state.bounds.shown
        return self._problem.relative(
            max(turn.evaluation.owed, cost), turn.total, 0.0 if shown is None else shown.value
        )

    def is_settled_within(self, most: float, turn: Turn) -> bool:
        """Whether x, mended, would still be as good, but for this part."""
        if not self._problem.has_constraints:
            return True
        self.mend()
        return self.relative(turn) <= most
