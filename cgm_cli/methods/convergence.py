"""Whether the tolerances hold, or a bound is enough, and go on being so once the bound is certified."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from cgm_cli.blocks.problem import CompositeProblem
from cgm_cli.methods.budget import Budget
from cgm_cli.methods.certification import Certifier
from cgm_cli.methods.debt import Debt
from cgm_cli.methods.record import IterationRecord
from cgm_cli.methods.schedule import Schedule
from cgm_cli.methods.state import State, is_worth_another
from cgm_cli.methods.stopping import StopRules
from cgm_cli.methods.turn import Turn
from cgm_cli.methods.unboundedness import grown_to, rests_on

SLACK = 0.02
"""The part of the gap asked for that a certificate may lose where that makes it cheaper."""

SPARE = 0.5
"""The same of what a bound is more than enough by."""

GROWTH = 1e-6
"""By how much more than this, relatively, an estimate has to have grown since its certificate fell short."""


class Convergence:
    """record: makes the record of a turn, with the bound that a run would report (last) or show."""

    def __init__(
        self,
        problem: CompositeProblem,
        state: State,
        stop: StopRules,
        schedule: Schedule,
        budget: Budget,
        certifier: Certifier,
        debt: Debt,
        record: Callable[[Turn, bool], IterationRecord],
    ):
        self._problem, self._state, self._stop, self._budget = problem, state, stop, budget
        self._certifier, self._debt, self._record = certifier, debt, record
        self._certifies = schedule.certifies
        self._needs_proof = stop.allowed(1.0) > 0.0 and schedule.certifies

    def is_confirmed(self, turn: Turn, record: IterationRecord) -> bool:
        """Whether a turn, with this record, ends the run: the tolerances hold, by a bound that is certified where that
        is possible, at a point that owes little to missing its constraints, and to a radius that is but a guess.
        """
        is_last = self._state.progress.ended
        if not (is_last or is_worth_another(self._state.attempts.overtaken_at, turn.k)):
            return False
        would_hold = self._stop.converged(record) or self._stop.fails_by_debt_alone(record)
        holds = would_hold and self._owes_little(turn)
        confirmed = (holds and self._is_proven(turn, record)) or self._holds_by_proof(turn, record)
        return confirmed and not self._is_held_by_a_guess()

    def has_enough(self, turn: Turn, record: IterationRecord) -> bool:
        """Whether a turn, with this record, has a bound that is enough, certified where that is possible."""

        def is_bounded(record: IterationRecord) -> bool:
            return self._stop.is_bounded(record, self._problem.sense_sign)

        if not is_bounded(record):
            return False
        last = self._record(turn, True)
        if not self._certifies or (last.certified and is_bounded(last)):
            return True
        assert self._stop.bound is not None
        return self._stands_when_certified(turn, record, is_bounded, SPARE * abs(record.bound - self._stop.bound))

    def still_holds(self, turn: Turn) -> bool:
        """Whether the tolerances hold with what was just certified; if not, it is noted when that was."""
        return self._still(self._stop.converged, turn)

    def was_overtaken(self, turn: Turn) -> None:
        """Note that the best bound lies beyond the objective of a point that misses its constraints."""
        self._note(overtaken_at=turn.k)

    def _is_held_by_a_guess(self) -> bool:
        """Whether it is the radius that was assumed that ends both the objective and its bound."""
        problem, state = self._problem, self._state
        return rests_on(problem, state.bounds.final) is not None and (
            grown_to(problem, state.point.iterate.atom()) is not None
        )

    def _owes_little(self, turn: Turn) -> bool:
        """Whether x, mended, would still be as good; if not, it is noted when that was, not to be asked too often where
        mending takes time.
        """
        most = self._stop.debt
        if most is None or self._debt.is_settled_within(most, turn):
            return True
        if self._debt.mends:
            self.was_overtaken(turn)
        return False

    def _still(self, holds: Callable[[IterationRecord], bool], turn: Turn) -> bool:
        holding = holds(self._record(turn, True))
        if not holding:
            self._note(failed_at=turn.k)
        return holding

    def _is_proven(self, turn: Turn, record: IterationRecord) -> bool:
        """Whether the tolerances hold with the bound certified, where that is asked for."""
        allowed = self._allowed(turn)
        return not self._needs_proof or self._stands_when_certified(turn, record, self._stop.converged, allowed)

    def _stands_when_certified(
        self, turn: Turn, record: IterationRecord, holds: Callable[[IterationRecord], bool], slack: float
    ) -> bool:
        """Whether what holds of a record still does with the bound certified; tried again once the estimate has grown,
        or where a quarter more of steps was taken: an estimate that is too good does not grow. slack: what the proof
        may lose of it.
        """
        state = self._state
        held, attempts = state.bounds.estimated, state.attempts
        if held is None or record.certified:
            return True
        if held.value <= attempts.estimate and not is_worth_another(attempts.failed_at, turn.k):
            return False
        decisive = state.duals.is_decisive
        certified = self._certifier.prove(turn, slack) if decisive else self._certifier.certify_best()
        if not certified:  # out of reach for this domain: the estimate is all there is; unless time was what it lacked
            return not self._budget.ending.missed
        self._note(estimate=_grown(held.value))
        return self._still(holds, turn)

    def _holds_by_proof(self, turn: Turn, record: IterationRecord) -> bool:
        """Whether the tolerances hold with a certificate of the current dual point, though its estimate falls short.

        An estimate takes off the residual of the eigenvector, where the error of its value is only the square of that.
        So the proof is tried where the value itself would do, or is too good to be true, as it is where the oracle has
        missed an eigenvector; and again once it has grown, or a quarter more of steps was taken.
        """
        attempts, total = self._state.attempts, turn.total
        if not self._needs_proof or turn.answer.exact:
            return False
        hoped = turn.evaluation.constant + turn.answer.value
        gap = self._problem.relative(max(0.0, total - hoped), total, hoped)
        would_do = replace(record, gap=gap, bound=self._problem.sense_sign * min(total, hoped))
        out_of_reach = attempts.optimistic == np.inf
        tried = hoped <= attempts.optimistic and (out_of_reach or not is_worth_another(attempts.failed_at, turn.k))
        if tried or not self._stop.converged(would_do) or not self._owes_little(turn):
            return False
        proven = self._certifier.prove(turn, self._allowed(turn))
        if proven and self.still_holds(turn):
            return True
        self._note(optimistic=_grown(hoped) if proven else np.inf)
        return False

    def _allowed(self, turn: Turn) -> float:
        """What the certificate of the current point may lose: a small part of the gap that is asked for."""
        return SLACK * self._stop.allowed(max(self._problem.unit, abs(turn.total)))

    def _note(self, **changes: float) -> None:
        self._state.attempts = replace(self._state.attempts, **changes)


def _grown(value: float) -> float:
    return value + abs(value) * GROWTH
