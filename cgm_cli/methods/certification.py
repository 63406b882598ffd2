"""The bounds of a run: which is shown, which estimate is dropped, which dual point is certified, and at what price."""

from __future__ import annotations

import time
from dataclasses import replace
from functools import partial

from cgm_cli.blocks.problem import CompositeProblem
from cgm_cli.methods.best_bound import Bound, Certificate, FailureBudget, estimate, seconds_to_write
from cgm_cli.methods.budget import Budget
from cgm_cli.methods.clock import Clock
from cgm_cli.methods.dual_point import DualPoint, dual_of_minima, dual_of_the_cost
from cgm_cli.methods.evaluation import Evaluation
from cgm_cli.methods.schedule import Schedule
from cgm_cli.methods.sharp_bound import sharp_bound
from cgm_cli.methods.state import State, is_worth_another
from cgm_cli.methods.turn import Turn
from cgm_cli.numerics.deadline import OutOfTime
from cgm_cli.numerics.threads import looking

AVERAGE_EVERY = 10
"""A dual point joins the average every so many iterations: it is written out for that, which costs a few passes."""

HIDES, SMALL = 0.1, 1e-9
"""Part of the gap, and of the objective, that rounding takes off the bound of a turn from which on more digits are
taken.
"""


class Certifier:
    """Owns the bounds of a state: it is offered every turn, and certifies what it holds where somebody asks.

    Nothing is begun, and nothing is said to be proven, that does not end within the budget.
    """

    def __init__(self, problem: CompositeProblem, state: State, schedule: Schedule, budget: Budget, clock: Clock):
        self._problem, self._state, self._schedule = problem, state, schedule
        self._budget, self._clock = budget, clock
        self._chance = FailureBudget(schedule.failure, state.rng)
        self._certified_at: int | None = None  # k of the last turn whose own dual was
        self._dual_seconds = 0.0  # what it took to write out a dual point, the last time
        self._written: tuple[int, DualPoint] | None = None  # k of the last turn, and its dual point, once written out
        if problem.is_provable and state.bounds.final is None:
            least = dual_of_minima(problem) or dual_of_the_cost(problem)
            if least is not None:
                state.bounds.offer(Bound.proven(least.constant, least))

    def offer(self, turn: Turn) -> None:
        """Take in the bound of a turn, and let its dual point join the average now and then."""
        bounds, answer, found = self._state.bounds, turn.answer, turn.evaluation
        self._written = None
        self._drop_refuted_estimate(turn.total)
        if turn.k % AVERAGE_EVERY == 0 and self._join(turn) and (answer.exact or self._schedule.certify == "always"):
            bounds.certify_average(self._problem, self._chance, self._budget.ending)
        if turn.is_interrupted:
            return
        value = estimate(self._problem.domain, found, answer)
        if not answer.exact and self._schedule.certify == "always" and self.certify_turn(turn):
            return
        proven = answer.exact and self._problem.is_provable
        if proven and self._hides(found, value, turn.total) and (dual := self._own_dual(turn)) is not None:
            sharp = sharp_bound(self._problem, dual)
            value = value if sharp is None else max(value, sharp)
        if bounds.improves(value, "certified" if proven else "estimated"):
            dual = self._own_dual(turn)
            if dual is not None:
                bounds.offer(Bound.proven(value, dual) if proven else Bound(value, False, dual))

    def _hides(self, found: Evaluation, value: float, total: float) -> bool:
        """Whether rounding makes up much of a gap that is not small anyway."""
        lost = found.margin + found.drift
        return lost > max(HIDES * abs(total - value), SMALL * max(abs(total), self._problem.unit))

    def _join(self, turn: Turn) -> bool:
        """Let the dual of a turn join the average; whether there was time for it."""
        average = self._state.bounds.average
        if average.mean is None:
            dual = self._own_dual(turn)
            if dual is None:
                return False
            self._state.bounds.average = average.joined_by(lambda mean, share: dual)
            return True
        try:
            with looking(self._budget.turns.check):
                self._budget.turns.check()
                self._state.bounds.average = average.joined_by(partial(self._dual_point, turn))
        except OutOfTime:
            return False
        return True

    def _own_dual(self, turn: Turn) -> DualPoint | None:
        """That of a turn, written out once; None where there is no time for it."""
        if self._written is None or self._written[0] != turn.k:
            try:
                with looking(self._budget.ending.check):
                    self._written = turn.k, self._dual_point(turn)
            except OutOfTime:
                return None
        return self._written[1]

    def certify_best(self) -> bool:
        """Certify the averaged dual and the best estimate, and note what that took; whether no estimate is left."""
        state, began = self._state, time.perf_counter()
        held = state.bounds.estimated
        with self._clock.phase("certify"):
            state.bounds.certify(self._problem, self._chance, self._budget.ending)
        if held is not None and state.bounds.estimated is None:
            state.certificate = Certificate(held.value, time.perf_counter() - began)
        return state.bounds.estimated is None

    def certify_turn(self, turn: Turn, slack: float = 0.0) -> bool:
        """Certify the dual of the current point, where the domain can; whether it did. slack: see `certify`.

        The sloppier an oracle is, the more its own estimate falls short of this.
        """
        if not self._budget.ending.affords(self._dual_seconds or seconds_to_write(self._problem)):
            return False
        dual = self._own_dual(turn)
        if dual is None:
            return False
        found = self._state.bounds.certify_dual(self._problem, dual, self._chance, slack, self._budget.ending)
        if found:
            self._certified_at = turn.k
        return found

    def prove(self, turn: Turn, slack: float) -> bool:
        """Certify the dual of the current point, and note what that took beside the best estimate."""
        state, began = self._state, time.perf_counter()
        held = state.bounds.estimated
        with self._clock.phase("certify"):
            proven = self.certify_turn(turn, slack)
        if proven and held is not None:
            state.certificate = Certificate(held.value, time.perf_counter() - began)
        return proven

    def finish(self, turn: Turn, turn_first: bool) -> None:
        """The last certificates of a run; turn_first: where there may be time for one only, the current point's."""
        if not turn_first:
            self.certify_best()
        if not turn.answer.exact and self._certified_at != turn.k:
            with self._clock.phase("certify"):
                self.certify_turn(turn)
        if turn_first:
            self.certify_best()

    def _drop_refuted_estimate(self, total: float) -> None:
        """Drop the best estimate where this x proves it wrong: an oracle that missed an eigenvector has made it, and no
        other would ever be as good. Looked at where it passes the total, and not again before a quarter more of steps.
        """
        state = self._state
        held = state.bounds.estimated
        if held is None or held.value <= total or not is_worth_another(state.attempts.refuted_at, state.k):
            return
        state.attempts = replace(state.attempts, refuted_at=state.k)
        most = state.point.lagrangian(held.dual)
        if held.value > most + held.dual.margin + held.dual.drift + 1e-9 * max(abs(most), abs(held.value)):
            state.bounds.estimated = None

    def _dual_point(self, turn: Turn, mean: DualPoint | None = None, share: float = 1.0) -> DualPoint:
        began = time.perf_counter()
        found = self._state.point.dual_point(turn.evaluation, mean, share)
        self._dual_seconds = time.perf_counter() - began
        return found
