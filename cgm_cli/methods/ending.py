"""How a run ends: the stopping rules, the budget, and what is certified before the end is believed."""

from __future__ import annotations

from collections.abc import Callable

from cgm_cli.blocks.problem import CompositeProblem
from cgm_cli.methods.answers import AnswerTest
from cgm_cli.methods.budget import Budget, seconds_to_save
from cgm_cli.methods.certification import Certifier
from cgm_cli.methods.checkpoints import Checkpoints
from cgm_cli.methods.convergence import Convergence
from cgm_cli.methods.infeasibility import InfeasibilityTest
from cgm_cli.methods.record import IterationRecord
from cgm_cli.methods.state import State
from cgm_cli.methods.status import Status
from cgm_cli.methods.stopping import StopRules
from cgm_cli.methods.turn import Turn
from cgm_cli.methods.unboundedness import ray_of


class Ending:
    """request: how somebody else wants the run to end. certifies: whether there are certificates at the end. answers:
    None where the values of answers are not known to be multiples of anything.
    """

    def __init__(
        self,
        problem: CompositeProblem,
        state: State,
        stop: StopRules,
        budget: Budget,
        certifier: Certifier,
        convergence: Convergence,
        infeasibility: InfeasibilityTest,
        checkpoints: Checkpoints,
        request: Callable[[], Status | None],
        certifies: bool,
        answers: AnswerTest | None,
    ):
        self._problem, self._state, self._stop, self._budget = problem, state, stop, budget
        self._certifier, self._convergence, self._infeasibility = certifier, convergence, infeasibility
        self._checkpoints, self._request, self._certifies = checkpoints, request, certifies
        self._answers = answers

    def decide(self, turn: Turn, record: IterationRecord) -> Status | None:
        """How the run ends here, or None. A bound that decides is certified first where that is possible; a run that is
        told to leave does so at once, and is to go on later.
        """
        self._stop.refuse_hidden_gap(self._problem, record)
        if self._request() is Status.PREEMPTED:
            return Status.PREEMPTED
        if self._infeasibility.is_proven():
            return Status.INFEASIBLE
        if self._is_unbounded():
            return Status.UNBOUNDED
        if self._is_answered(record):
            return Status.CONVERGED
        if self._convergence.has_enough(turn, record):
            return Status.TARGET_REACHED
        converged = self._convergence.is_confirmed(turn, record)
        spent = self._spent(record)
        ending = Status.CONVERGED if converged else spent or self._request() or self._stagnated(record)
        if ending is None or ending is Status.PREEMPTED or not self._certifies:
            return ending
        if not (converged and self._is_proven_by_multipliers()):
            self._finish(turn, ending)
            if self._infeasibility.is_proven(at_last=not converged):
                return Status.INFEASIBLE
            if converged and not self._convergence.still_holds(turn):
                self._convergence.was_overtaken(turn)
                return spent or self._request() or (Status.TIME_LIMIT if self._budget.spent else None)
        return ending

    def _is_unbounded(self) -> bool:
        """Whether x, which only a guess keeps from going further, shows the way."""
        if not self._problem.domain.assumes_radius:
            return False
        atom = self._state.point.iterate.atom()
        return atom is not None and ray_of(self._problem, atom.dense()) is not None

    def _is_answered(self, record: IterationRecord) -> bool:
        """Whether a gap is asked for, and there is none between the bound and the answer that x is rounded to."""
        wanted = self._stop.allowed(1.0) > 0.0 and self._certifies
        return self._answers is not None and wanted and self._answers.is_proven(record)

    def _spent(self, record: IterationRecord) -> Status | None:
        """The target that is reached, or the budget that is spent."""
        limit = self._stop.reached(record, self._problem.sense_sign) or self._stop.exhausted(record)
        return limit or (Status.TIME_LIMIT if self._budget.spent else None)

    def _stagnated(self, record: IterationRecord) -> Status | None:
        self._state.progress = self._state.progress.after(record)
        if self._state.progress.ended:
            return Status.STAGNATED
        return self._stop.stagnated(self._state.progress, record.k)

    def _is_proven_by_multipliers(self) -> bool:
        """The multipliers of a descent are its best dual: once they prove the end, no other has to be looked at."""
        final = self._state.bounds.final
        return self._state.duals.is_decisive and final is not None and final.kind != "estimated"

    def _finish(self, turn: Turn, ending: Status) -> None:
        self._checkpoints.before_certificates(ending)
        self._budget.begin_ending(seconds_to_save(self._state))
        # Where there may be time for one only, the best comes first: of a descent, its own multipliers.
        self._certifier.finish(turn, turn_first=ending is Status.TIME_LIMIT and self._state.duals.is_decisive)
