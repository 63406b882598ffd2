"""The one loop, which reads like the paper's Algorithm 2. What differs between methods is a policy
(cgm_cli.methods.policies); what changes is State; what the bounds are worth, and when it ends, have rooms of their own.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from typing import Any

import numpy as np

from cgm_cli.blocks.iterates import Iterate
from cgm_cli.blocks.problem import CompositeProblem
from cgm_cli.errors import DataError, NumericalError
from cgm_cli.methods.answers import Answers, AnswerTest
from cgm_cli.methods.budget import Budget, Request, seconds_to_save
from cgm_cli.methods.certification import Certifier
from cgm_cli.methods.checkpoints import Checkpoints, OnCheckpoint
from cgm_cli.methods.clock import Clock
from cgm_cli.methods.convergence import Convergence
from cgm_cli.methods.debt import Debt
from cgm_cli.methods.ending import Ending
from cgm_cli.methods.evaluation import Evaluation, refuse_non_finite
from cgm_cli.methods.fused_box import point_at
from cgm_cli.methods.in_hand import InHand
from cgm_cli.methods.infeasibility import InfeasibilityTest
from cgm_cli.methods.method import Method
from cgm_cli.methods.oracle_calls import OracleCalls
from cgm_cli.methods.outcome import Outcome
from cgm_cli.methods.policies import Move, PlainStep
from cgm_cli.methods.record import IterationRecord
from cgm_cli.methods.recorder import Metrics, Observer, Recorder
from cgm_cli.methods.schedule import Schedule
from cgm_cli.methods.state import State
from cgm_cli.methods.status import Status
from cgm_cli.methods.stopping import StopRules
from cgm_cli.methods.theory import Theory
from cgm_cli.methods.turn import Turn
from cgm_cli.numerics.deadline import OutOfTime
from cgm_cli.numerics.threads import looking


def run(
    problem: CompositeProblem,
    method: Method,
    stop: StopRules,
    iterate: Iterate,
    *,
    schedule: Schedule | None = None,
    seed: int = 0,
    observers: Iterable[Observer] = (),
    metrics: Metrics | None = None,
    should_stop: Callable[[], Status | None] = lambda: None,
    theory: Theory | None = None,
    answers: Answers | None = None,
    in_hand: InHand | None = None,
    resume: Mapping[str, Any] | None = None,
    on_checkpoint: OnCheckpoint = lambda state, ending: None,
    began: float | None = None,
    beginning: Callable[[], AbstractContextManager[Any]] = nullcontext,
) -> Outcome:
    """Solve `problem` from `iterate` (which holds problem.first and is changed in place), or from `resume`: what
    `State.pack` gave. `answers`: by which a run may end as converged that has not met its tolerances;
    `in_hand`: those that its records tell of.
    `on_checkpoint` is called with the state of the start and after every step, and may pack it; and once more with that
    state, and how the run is about to end, before the last certificates, which may take long. `began`: when the run
    did, by time.perf_counter, its data yet to be read: what has passed since counts towards its limit of time, and is
    no part of the seconds of its records. `beginning`: the context of what comes before the first call of the oracle,
    in which nobody asks whether to leave: what is raised there passes through.

    The record of k describes the iterate after k steps and the bound of its own dual point, so a run of N steps
    evaluates, and asks the oracle, N + 1 times. Raises ProblemError if the method cannot take the problem,
    NumericalError on non-finite numbers.
    """
    method.refuse(problem)
    with beginning():
        point = point_at(problem, iterate, method.duals.is_centred, method.oracle.is_loose)
        rng = np.random.default_rng(seed)
        state = State(point, rng, method.correction.init(problem), method.duals.init(problem))
    if resume is not None:
        try:
            state.unpack(resume)
        except (KeyError, ValueError, TypeError, AttributeError) as error:
            raise DataError(f"the checkpoint does not fit this problem: {error}") from error
    before = 0.0 if began is None else time.perf_counter() - began
    # To compile code, which happens once on a machine, is part of neither.
    point.warm_up()
    method.correction.warm_up(problem)
    loop = _Loop(problem, method, stop, state, schedule or Schedule(), should_stop, on_checkpoint, before, beginning)
    return loop.solve(loop.recorder(observers, metrics, theory, in_hand), answers)


class _Loop:
    def __init__(
        self,
        problem: CompositeProblem,
        method: Method,
        stop: StopRules,
        state: State,
        schedule: Schedule,
        should_stop: Callable[[], Status | None],
        on_checkpoint: OnCheckpoint,
        before: float,
        beginning: Callable[[], AbstractContextManager[Any]],
    ):
        self.problem, self.method, self.stop, self.state, self.schedule = problem, method, stop, state, schedule
        self.clock = Clock(state.seconds)
        self.request = Request(should_stop)
        self.budget = Budget(stop.time, lambda: before + self.clock.elapsed(), self.request)
        self.checkpoints = Checkpoints(state, self.clock, on_checkpoint)
        self.certifier = Certifier(problem, state, schedule, self.budget, self.clock)
        self.debt = Debt(problem, state)
        self.oracle = OracleCalls(problem, method, state, self.budget, schedule.certifies)
        self.context = beginning  # of evaluations: of the first, which writes to memory that is new, and no other

    def recorder(
        self, observers: Iterable[Observer], metrics: Metrics | None, theory: Theory | None, in_hand: InHand | None
    ) -> Recorder:
        return Recorder(
            self.problem, self.state, self.schedule, self.clock, self.debt, observers, metrics, theory, in_hand
        )

    def solve(self, recorder: Recorder, answers: Answers | None) -> Outcome:
        ending = self._ending(recorder, answers)
        while True:
            self.checkpoints.begin_turn()
            evaluation = self._evaluate()
            turn = self._ask_oracle(evaluation, recorder.metric_seconds)
            self._bound(turn)
            record = recorder.record(turn)
            status, move = ending.decide(turn, record), None
            if status is None:
                recorder.tell_now_and_then(turn)
                move = self._choose(turn, self.stop.short_by(record))
            if move is None:
                # Where there was no time for a move, the run ends here after all.
                status = status or ending.decide(turn, recorder.record(turn)) or Status.TIME_LIMIT
                self.debt.mend()
                return self._outcome(status, recorder.tell(turn, last=True))
            self._step(move)

    def _evaluate(self) -> Evaluation:
        state = self.state
        with self.clock.phase("evaluate"), self.context():
            found = state.point.evaluate(self.method.evaluated_at(state, state.k + 1))
            refuse_non_finite(self.problem, found, lambda: state.point.images, state.k)
        self.context = nullcontext
        return found

    def _ask_oracle(self, evaluation: Evaluation, metric_seconds: float) -> Turn:
        """For an atom, and plan the step towards it."""
        state, method, number = self.state, self.method, self.state.k + 1
        beta = method.beta(state, number)
        with self.clock.phase("oracle"):
            after = metric_seconds + seconds_to_save(state) if self.budget.limited else 0.0
            answer = self.oracle.ask(evaluation, number, beta, after)
            interrupted = not answer.converged and self.budget.turns.should_stop()
        with self.clock.phase("step"):
            eta = method.step.size(number, lambda: state.point.segment(answer.atom, beta))
        return Turn(state.k, beta, method.beta(state, number - 1), evaluation, answer, eta, interrupted)

    def _bound(self, turn: Turn) -> None:
        with self.clock.phase("bound"):
            if turn.k % self.schedule.bound == 0 or turn.k >= self.stop.iterations:
                self.certifier.offer(turn)

    def _choose(self, turn: Turn, short: float) -> Move | None:
        """The move of the turn; None, and nothing is changed, where there was no time to find it."""
        before = self.state.snapshot()
        try:
            with self.clock.phase("update"), looking(self.budget.turns.check):
                direction = turn.evaluation.direction
                plain = PlainStep(turn.number, turn.answer.atom, turn.eta, turn.beta, direction, short, turn.gap)
                self.method.duals.extrapolate(self.state, plain)
                return self.method.correction.choose(self.state, plain, self.budget.turns)
        except OutOfTime:
            self.state.restore(before)
            return None

    def _step(self, move: Move) -> None:
        state, method = self.state, self.method
        with self.clock.phase("update"):
            # Where the multipliers move after the step, what is evaluated next is not known yet.
            upcoming = None if method.duals.is_centred else method.evaluated_at(state, state.k + 2)
            try:
                state.point.step(move.atom, move.eta, upcoming)
            except NumericalError as error:
                raise NumericalError(f"iteration {state.k + 1}: {error}") from error
            state.k += 1
            state.correction = move.memory
            state.progress = replace(state.progress, ended=move.is_last)
            if move.is_elsewhere:
                state.oracle = state.oracle.elsewhere()
            method.duals.update(state, move, method.smoothing)
            if state.k % self.schedule.refresh == 0:
                state.point.refresh()

    def _ending(self, recorder: Recorder, answers: Answers | None) -> Ending:
        state, budget = self.state, self.budget
        convergence = Convergence(
            self.problem, state, self.stop, self.schedule, budget, self.certifier, self.debt, recorder.record
        )
        tolerance, certifies = self.stop.infeasibility or 0.0, self.schedule.certifies
        infeasibility = InfeasibilityTest(self.problem, state, self.certifier, tolerance, certifies, budget.ending)
        rooms = self.certifier, convergence, infeasibility, self.checkpoints
        test = answers and AnswerTest(answers, self.problem, state, self.certifier, budget, self.clock)
        return Ending(self.problem, state, self.stop, budget, *rooms, self.request, certifies, test)

    def _outcome(self, status: Status, record: IterationRecord) -> Outcome:
        state, budget, messages = self.state, self.budget, list[str]()
        bound, certificate = state.bounds.final, state.certificate
        if budget.ending.missed and (bound is None or not bound.certified):
            messages.append(f"There was no time {'for a bound' if bound is None else 'to certify the best bound'}.")
        if status is Status.CONVERGED and not self.stop.converged(record):
            messages.append("The answer is proven to be the best: no other value lies between it and the bound.")
        if status not in (Status.CONVERGED, Status.INFEASIBLE) and self.stop.fails_by_debt_alone(record):
            messages.append(
                "Gap and infeasibility are within what was asked for, and `owed` is not: the objective of an x that "
                f"meets its constraints may be worse by {record.owed:.1e} of it, where {self.stop.debt:.1e} is allowed."
            )
        self.checkpoints.undo_turn()
        rest = budget.rounding()
        return Outcome(status, record, state, bound, " ".join(messages), certificate, self.debt.mend(), rest)
