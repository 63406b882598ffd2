"""The one loop. Everything that differs between methods is a policy (cgm_cli.methods.policies); everything that changes
is State.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Protocol

import numpy as np

from cgm_cli.blocks.atoms import Atom
from cgm_cli.blocks.directions import Direction
from cgm_cli.blocks.domains.base import OracleAnswer, OracleRequest
from cgm_cli.blocks.iterates import Iterate
from cgm_cli.blocks.problem import CompositeProblem
from cgm_cli.errors import DataError, NumericalError, ProblemError
from cgm_cli.methods.bounds import FEW, Bound, Certificate, Chance, estimate
from cgm_cli.methods.budget import Budget, seconds_to_save
from cgm_cli.methods.evaluation import DualPoint, Evaluation, Evaluator
from cgm_cli.methods.perturbation import perturbed
from cgm_cli.methods.policies import Method
from cgm_cli.methods.record import IterationRecord
from cgm_cli.methods.repair import Repair, repair
from cgm_cli.methods.state import Ahead, State
from cgm_cli.methods.status import Status
from cgm_cli.methods.stopping import StopRules
from cgm_cli.methods.theory import Theory
from cgm_cli.numerics.deadline import NEVER, Deadline, OutOfTime


class Observer(Protocol):
    """Anything that wants to see the run as it goes. Of two records of the same k the second stands: the run has ended
    there.
    """

    def on_record(self, record: IterationRecord) -> None: ...


Keep = Callable[[State, Status | None], None]


@dataclass(frozen=True)
class Schedule:
    """What is done every how many iterations: a record, the template's metrics, a bound, fresh images; when to certify;
    and the probability of failure of a bound that cannot be certified (0: it stays an estimate).
    """

    log: int = 1
    metrics: int = 10
    bound: int = 1
    refresh: int = 1000
    certify: str = "final"
    failure: float = 1e-9


AVERAGE_EVERY = 10
"""A dual point joins the average every so many iterations: it is written out for that, which costs a few passes."""


SLACK = 0.02
"""The part of the gap asked for that a certificate may lose where that makes it cheaper."""


@dataclass
class Outcome:
    """How a run ended: status, last record, the bound reported and its dual point, and the state, from which the run
    could go on. certificate: None if no estimate was certified. repair: what it takes to mend x; None without
    constraints, and where x is too large. deadline: of what is still to be done.
    """

    status: Status
    record: IterationRecord
    state: State
    bound: Bound | None
    message: str = ""
    certificate: Certificate | None = None
    repair: Repair | None = None
    deadline: Deadline = NEVER

    @property
    def dual(self) -> DualPoint | None:
        return None if self.bound is None else self.bound.dual


def run(
    problem: CompositeProblem,
    method: Method,
    stop: StopRules,
    iterate: Iterate,
    *,
    schedule: Schedule = Schedule(),
    seed: int = 0,
    observers: Iterable[Observer] = (),
    metrics: Callable[[Iterate], Mapping[str, float]] | None = None,
    should_stop: Callable[[], Status | None] = lambda: None,
    theory: Theory | None = None,
    resume: Mapping[str, Any] | None = None,
    keep: Keep = lambda state, ending: None,
) -> Outcome:
    """Solve `problem` from `iterate` (which holds problem.first and is changed in place), or from `resume`: what
    `State.pack` gave. `keep` is called with the state of the start and after every step, and may pack it; and once more
    with that state, and how the run is about to end, before the last certificates, which may take long.

    The record of k describes the iterate after k steps and the bound of its own dual point, so a run of N steps
    evaluates, and asks the oracle, N + 1 times. Raises ProblemError if the method cannot take the problem,
    NumericalError on non-finite numbers.
    """
    if method.smoothing.beta(1) is None and problem.has_constraints:
        names = ", ".join(term.name for term in problem.terms if term.penalty.is_set)
        raise ProblemError(
            f"`method: {method.name}` has no way to handle a constraint ({names}); use `method: hcgm`",
            ("solver", "method"),
        )
    state = State(problem, iterate, np.random.default_rng(seed))
    if method.is_centred:
        state.centres = [np.zeros(term.map.out_shape) for term in problem.terms]
    if resume is not None:
        try:
            state.unpack(resume)
        except (KeyError, ValueError, TypeError, AttributeError) as error:
            raise DataError(f"the checkpoint does not fit this problem: {error}") from error
    return _Run(problem, method, stop, state, schedule, tuple(observers), metrics, should_stop, theory, keep).solve()


class _Run:
    def __init__(self, problem, method, stop, state, schedule, observers, metrics, should_stop, theory, keep):
        self.problem, self.method, self.stop, self.schedule = problem, method, stop, schedule
        self.observers, self.metrics, self.should_stop = observers, metrics, should_stop
        self.theory, self.state, self.keep = theory, state, keep
        self.evaluator = Evaluator(problem, state.iterate)
        self.evaluator.rehearse(method.oracle.is_loose, method.is_centred)
        if method.correction is not None:
            method.correction.rehearse(problem)
        # Loading and compiling is no part of solving: the clock starts behind it.
        self.clock = _Clock(state)
        self.requested: Status | None = None
        self.budget = Budget(stop.time, self.clock.elapsed, self._request)
        self.measured: float | None = None  # seconds that a certificate takes, roughly
        self.metric_seconds = self.dual_seconds = 0.0  # of the metrics, and of writing out a dual point, the last time
        self.begun = state.mark()  # what the turn began with
        self.broken_off = False  # after a product or two no residual says how far the smallest eigenvalue is
        self.chance = Chance(schedule.failure, state.rng)
        self.mended: tuple[int, Repair | None] = (-1, None)  # k, and what it takes to mend x there

    def solve(self) -> Outcome:
        state, clock, schedule = self.state, self.clock, self.schedule
        while True:
            clock.stamp()
            self.keep(state, None)
            self.begun = state.mark()
            turn = state.k + 1
            beta, former = self._beta(turn), self._beta(turn - 1)
            with clock.phase("evaluate"):
                at = self.method.evaluated_at(beta, state)
                rough = self.method.oracle.is_loose
                point = self.evaluator.evaluate(
                    state.loss_image, self._images(), at, state.centres, state.ascent, rough
                )
                state.ascent = None
                self._refuse_non_finite(point)
            with clock.phase("oracle"):
                answer = self._ask_oracle(point, turn, beta)
            with clock.phase("step"):
                eta = self.method.step.size(turn, lambda: state.segment(answer.atom, beta))  # noqa: B023, called at once
            out_of_budget = state.k >= self.stop.iterations
            with clock.phase("bound"):
                if state.k % schedule.bound == 0 or out_of_budget:
                    self._bound(point, answer)
            step = None
            while step is None:
                record = self._record(point, answer, beta, eta)
                self.stop.refuse_hidden_gap(self.problem, record)
                status = self._decide(point, answer, record, beta)
                if status is not None:
                    self._mend()
                if status is not None or state.k % schedule.log == 0:
                    record = self._record(point, answer, beta, eta, full=True, last=status is not None)
                    if self.theory is not None and state.k > 0:
                        known = self.theory.optimum is not None
                        smoothed = self.problem.smoothed(state.loss_image, state.images, former) if known else np.nan
                        total = point.objective + point.penalty
                        record = replace(record, theory=self.theory.columns(state.k, total, smoothed, point.distance))
                    for observer in self.observers:
                        observer.on_record(record)
                if status is not None:
                    return self._outcome(status, record)
                with clock.phase("update"):
                    step = self._step(answer.atom, eta, beta)
            with clock.phase("update"):
                atom, eta = step
                state.advance(atom, eta, self._ahead(turn + 1))
                if self.method.ascent is not None and not self.method.is_multiplied(state):
                    self.method.ascent.climb(state, self.evaluator, eta, self._beta(turn + 1))
                if state.k % schedule.refresh == 0:
                    state.refresh()

    def _outcome(self, status: Status, record: IterationRecord) -> Outcome:
        """The end: the turn whose step was not taken is undone."""
        tally = self.state.tally
        bound = tally.bounds.final
        certificate = None if tally.spent is None else Certificate(tally.spent, tally.spending)
        message = ""
        if self.budget.ending.missed and not (bound is not None and bound.certified):
            message = (
                "There was no time for a bound." if bound is None else "There was no time to certify the best bound."
            )
        self.clock.stamp()
        self.state.revert(self.begun)
        rest = self.budget.rounding()
        return Outcome(status, record, self.state, bound, message, certificate, self._mend(), rest)

    def _step(self, atom: Atom, eta: float, beta: float | None) -> tuple[Atom, float] | None:
        """The point to blend in and the step to take; None, and nothing is changed, where there was no time to find
        them: the run ends here.
        """
        if self.method.correction is None:
            return atom, eta
        before = self.state.mark()
        try:
            return self.method.correction.choose(self.state, self.evaluator, atom, eta, beta, self.budget.turns)
        except OutOfTime:
            self.state.revert(before)
            return None

    def _ahead(self, turn: int) -> Ahead | None:
        """What may take a step together with the pass of the turn's evaluation."""
        if self.method.is_centred:
            return None
        beta, rough = self.method.evaluated_at(self._beta(turn), self.state), self.method.oracle.is_loose
        return partial(self.evaluator.take, beta=beta, rough=rough)

    def _beta(self, turn: int) -> float | None:
        """The smoothing of the schedule, as much sharper as the ascent has made it."""
        beta = self.method.smoothing.beta(turn)
        return None if beta is None else beta / self.state.sharpness

    def _ask_oracle(self, point: Evaluation, turn: int, beta: float | None) -> OracleAnswer:
        policy = self.method.oracle
        allowance = policy.allowance(self.method.step.planned(turn), beta, point.pairing)
        tally = self.state.tally
        products = policy.products(turn, max(self.problem.domain.shape))
        request = OracleRequest(
            policy.tolerance, tally.warm, self.state.rng, products, allowance=allowance, leave=self._must_leave
        )
        began = time.perf_counter()
        answer = self.problem.domain.lmo(point.direction, request)
        if self.budget.limited:
            self._keep_time(point.direction, answer, time.perf_counter() - began)
        if self.method.perturb and answer.exact and allowance is not None:
            answer = perturbed(self.problem.domain, point.direction, answer, allowance, self.state.rng)
        self.broken_off = not answer.converged and self._must_leave()
        tally.warm = answer.warm
        tally.unconverged += not answer.converged and np.isinf(policy.budget)
        return answer

    def _keep_time(self, direction: Direction, answer: OracleAnswer, seconds: float) -> None:
        """Have time kept for what the run ends with: the certificate of such a direction, metrics, and files."""
        if self.measured is None:
            product, sought = seconds / max(1, answer.products), self.schedule.certify != "never" and not answer.exact
            self.measured = self.problem.domain.certificate_seconds(direction, product) if sought else 0.0
        self.budget.keep(self.measured, self.metric_seconds + seconds_to_save(self.state))

    def _must_leave(self) -> bool:
        """Whether there is no time to make an oracle's answer any better."""
        return self.budget.turns.should_stop()

    def _request(self) -> Status | None:
        """How somebody else wants the run to end; once said, it stands until they say another way."""
        self.requested = self.should_stop() or self.requested
        return self.requested

    def _bound(self, point: Evaluation, answer: OracleAnswer) -> None:
        bounds = self.state.tally.bounds
        self._doubt_estimate(point.objective + point.penalty)
        if self.state.k % AVERAGE_EVERY == 0 and self.budget.turns.left() > 0.0:
            bounds.average = bounds.average.joined_by(partial(self._dual_point, point))
            if answer.exact or self.schedule.certify == "always":
                bounds.certify_average(self.problem, self.chance, self.budget.ending)
        if self.broken_off:
            return
        value = estimate(self.problem.domain, point.direction, point.constant, point.margin, answer)
        if not answer.exact and self.schedule.certify == "always" and self._certify_here(point):
            return
        proven = answer.exact and self.problem.is_proven_convex
        if bounds.improves(value, "certified" if proven else "estimated"):
            dual = self._dual_point(point)
            bounds.offer(Bound.proven(value, dual) if proven else Bound(value, False, dual))

    def _doubt_estimate(self, total: float) -> None:
        """Drop the best estimate where this x proves it wrong: an oracle that missed an eigenvector has made it, and no
        other would ever be as good. Looked at where it passes the total, and not again before a quarter more of steps.
        """
        state, tally = self.state, self.state.tally
        held = tally.bounds.estimated
        if held is None or held.value <= total or not self._worth_another(tally.doubted_at):
            return
        tally.doubted_at = state.k
        most = held.dual.lagrangian(self.problem, state.loss_image, state.images)
        if held.value > most + held.dual.margin + 1e-9 * max(abs(most), abs(held.value)):
            tally.bounds.estimated = None

    def _dual_point(self, point: Evaluation, mean: DualPoint | None = None, share: float = 1.0) -> DualPoint:
        state, began = self.state, time.perf_counter()
        images = self._images()
        found = self.evaluator.dual_point(point, state.loss_image, images, state.centres, mean, share)
        self.dual_seconds = time.perf_counter() - began
        return found

    def _images(self) -> list[np.ndarray]:
        """The images of x as the evaluator wants them."""
        return self.state.images_with_half(None if self.method.is_centred else self.evaluator.folded)

    def _decide(
        self, point: Evaluation, answer: OracleAnswer, record: IterationRecord, beta: float | None
    ) -> Status | None:
        """How the run ends here, or None. A bound that decides is certified first where that is possible; a run that is
        told to leave does so at once, and is to go on later.
        """
        if self._request() is Status.PREEMPTED:
            return Status.PREEMPTED
        if self._proves_infeasible():
            return Status.INFEASIBLE
        ending = None
        if self._worth_another(self.state.tally.overtaken_at):
            holds = self.stop.converged(record) and self._owes_little(point)
            estimated = holds and self._stands_when_certified(point, answer, record)
            if estimated or self._holds_by_proof(point, answer, record, beta):
                ending = Status.CONVERGED
        limit = self.stop.reached(record, self.problem.sense_sign) or self.stop.exhausted(record)
        limit = limit or (Status.TIME_LIMIT if self.budget.spent else None)
        ending = ending or limit or self._request() or self._stagnated(record)
        # The multipliers of a descent are its best dual: once they prove the end, no other has to be looked at.
        final = self.state.tally.bounds.final
        proven = ending is Status.CONVERGED and self.method.is_multiplied(self.state) and final and final.certified
        if not (ending in (None, Status.PREEMPTED) or proven or self.schedule.certify == "never"):
            self._keep_begun(ending)
            self.budget.begin_ending()
            # Where there may be time for one only, the best comes first: of a descent, its own multipliers.
            here_first = ending is Status.TIME_LIMIT and self.method.is_multiplied(self.state)
            if not here_first:
                self._certify_best()
            if not answer.exact:
                with self.clock.phase("certify"):
                    self._certify_here(point)
            if here_first:
                self._certify_best()
            if self._proves_infeasible():
                return Status.INFEASIBLE
            if ending is Status.CONVERGED and not self._still_converged(point, answer, beta):
                # The best bound lies beyond the objective of a point that misses its constraints.
                self.state.tally.overtaken_at = self.state.k
                ending = limit or self._request() or (Status.TIME_LIMIT if self.budget.spent else None)
        return ending

    def _keep_begun(self, ending: Status) -> None:
        """Give away what the turn began with."""
        self.clock.stamp()
        now = self.state.mark()
        self.state.revert(self.begun)
        self.keep(self.state, ending)
        self.state.revert(now)

    def _stagnated(self, record: IterationRecord) -> Status | None:
        """STAGNATED if max(gap, infeasibility) has not fallen by a hundredth within `stop.stagnation` iterations."""
        tally, figure = self.state.tally, max(record.gap, record.infeasibility)
        if figure < 0.99 * tally.progress or np.isnan(figure):
            tally.progress, tally.progress_at = figure if np.isfinite(figure) else np.inf, record.k
        return self.stop.stagnated(record.k - tally.progress_at)

    def _certify_best(self) -> None:
        """Certify the averaged dual and the best estimate, and note what that took."""
        tally, began = self.state.tally, time.perf_counter()
        held = tally.bounds.estimated
        with self.clock.phase("certify"):
            tally.bounds.certify(self.problem, self.chance, self.budget.ending)
        if held is not None and tally.bounds.estimated is None:
            tally.spent, tally.spending = held.value, time.perf_counter() - began

    def _certify_here(self, point: Evaluation, slack: float = 0.0) -> bool:
        """Certify the dual of the current point, where the domain can; whether it did. slack: see `certify`.

        The sloppier an oracle is, the more its own estimate falls short of this.
        """
        if not self.budget.ending.affords(self.dual_seconds):
            return False
        dual = self._dual_point(point)
        return self.state.tally.bounds.certify_dual(self.problem, dual, self.chance, slack, self.budget.ending)

    def _owes_little(self, point: Evaluation) -> bool:
        """Whether x, mended, would still be as good; if not, it is noted when that was, not to be asked too often."""
        if self.stop.debt is None or not self.problem.has_constraints:
            return True
        self._mend()
        if self._owed(point) <= self.stop.debt:
            return True
        self.state.tally.overtaken_at = self.state.k
        return False

    def _mend(self) -> Repair | None:
        """What it takes to mend x, looked at once."""
        if self.mended[0] != self.state.k:
            found = None
            if self.problem.has_constraints:
                found = repair(self.problem, self.state.iterate, self.state.loss_image, self.state.images)
            self.mended = self.state.k, found
        return self.mended[1]

    def _owed(self, point: Evaluation) -> float:
        """What the total owes to infeasibility, as far as was looked, relative as the gap is."""
        looked, found = self.mended
        cost = found.cost if looked == self.state.k and found is not None else 0.0
        shown, total = self.state.tally.bounds.shown, abs(point.objective + point.penalty)
        return max(point.owed, cost) / max(1.0, total, 0.0 if shown is None else abs(shown.value))

    def _stands_when_certified(self, point, answer, record) -> bool:
        """Whether the tolerances still hold with the bound certified; tried again once the estimate has grown, or where
        a quarter more of steps was taken: an estimate that is too good does not grow.
        """
        held = self.state.tally.bounds.estimated
        if self.stop.gap is None or self.schedule.certify == "never" or held is None:
            return True
        if record.certified:
            return True
        if held.value <= self.state.tally.failed_certificate and not self._worth_another(self.state.tally.failed_at):
            return False
        if self.method.is_multiplied(self.state):
            certified = self._prove(point)
        else:
            self._certify_best()
            certified = self.state.tally.bounds.estimated is None
        if not certified:  # out of reach for this domain: the estimate is all there is; unless time was what it lacked
            return not self.budget.ending.missed
        self.state.tally.failed_certificate = held.value + abs(held.value) * 1e-6
        return self._still_converged(point, answer, None)

    def _prove(self, point: Evaluation) -> bool:
        """Certify the dual of the current point, and note what that took beside the best estimate. A small part of the
        gap that is asked for may be lost on the way.
        """
        tally, began = self.state.tally, time.perf_counter()
        slack = SLACK * self.stop.gap * max(1.0, abs(point.objective + point.penalty))
        held = tally.bounds.estimated
        with self.clock.phase("certify"):
            proven = self._certify_here(point, slack)
        if proven and held is not None:
            tally.spent, tally.spending = held.value, time.perf_counter() - began
        return proven

    def _worth_another(self, last: int | None) -> bool:
        """Whether so many steps were taken since the last attempt, a certificate or a look, if there was one, that one
        more is little beside them.
        """
        return last is None or self.state.k >= 1.25 * last + 1

    def _still_converged(self, point, answer, beta) -> bool:
        """Whether the tolerances hold with what was just certified; if not, it is noted when that was."""
        converged = self.stop.converged(self._record(point, answer, beta, 0.0, last=True))
        if not converged:
            self.state.tally.failed_at = self.state.k
        return converged

    def _holds_by_proof(self, point, answer, record, beta) -> bool:
        """Whether the tolerances hold with a certificate of the current dual point, though its estimate falls short.

        An estimate takes off the residual of the eigenvector, where the error of its value is only the square of that.
        So the proof is tried where the value itself would do, or is too good to be true, as it is where the oracle has
        missed an eigenvector; and again once it has grown, or a quarter more of steps was taken.
        """
        tally = self.state.tally
        if self.stop.gap is None or answer.exact or self.schedule.certify == "never":
            return False
        hoped, total = point.constant + answer.value, point.objective + point.penalty
        gap = max(0.0, total - hoped) / max(1.0, abs(total), abs(hoped))
        tried = hoped <= tally.failed_hope and (tally.failed_hope == np.inf or not self._worth_another(tally.failed_at))
        if tried or not self.stop.converged(replace(record, gap=gap)) or not self._owes_little(point):
            return False
        proven = self._prove(point)
        if proven and self._still_converged(point, answer, beta):
            return True
        tally.failed_hope = hoped + abs(hoped) * 1e-6 if proven else np.inf
        return False

    def _proves_infeasible(self) -> bool:
        """A certified bound above every value of the objective on the domain: no point of it meets the constraints."""
        shown, problem = self.state.tally.bounds.shown, self.problem
        if shown is None or not problem.has_constraints:
            return False
        objective = 0.0 if problem.loss is None else problem.loss.value(self.state.loss_image)
        if shown.value <= objective or shown.value <= self._attained_objective():
            return False
        if shown.value <= self._largest_objective():
            return False
        if not shown.certified and self.schedule.certify != "never" and shown.value > self.state.tally.failed_proof:
            self._certify_best()
            self.state.tally.failed_proof = shown.value + abs(shown.value) * 1e-6
        certified = self.state.tally.bounds.certified
        return certified is not None and certified.value > self._largest_objective()

    def _largest_objective(self) -> float:
        tally = self.state.tally
        if tally.ceiling is None:
            tally.ceiling = self._ceiling(partial(self.problem.domain.certified_minimum, deadline=self.budget.ending))
        return tally.ceiling

    def _attained_objective(self) -> float:
        """The ceiling with the value of an atom for the certified minimum: no more than it, and far cheaper."""
        tally = self.state.tally
        if tally.attained is None:
            rough = OracleRequest(1e-2, max_products=FEW)
            tally.attained = self._ceiling(lambda direction: self.problem.domain.lmo(direction, rough).value)
        return tally.attained

    def _ceiling(self, minimum: Callable[[Direction], float | None]) -> float:
        """At least the maximum over the domain of f and the finite g_i, from any x_k, if `minimum` is a lower bound:

        f(x) <= f(x_k) + <grad f(x_k), x - x_k> + L_f D^2 / 2 and g(A x) <= g(A x_k) + L_g |A| D.
        """
        loss, domain, image = self.problem.loss, self.problem.domain, self.state.loss_image
        parts = []
        for term, at in zip(self.problem.terms, self.state.images, strict=True):
            if not term.penalty.is_set:
                parts += [term.penalty.value(at), term.penalty.lipschitz * term.map.norm_bound * domain.diameter]
        if loss is not None:
            gradient = loss.gradient(image)
            opposite = loss.map.adjoint(-gradient)
            smallest = minimum(opposite.symmetrised() if domain.symmetric else opposite)
            if smallest is None:
                return np.inf
            parts += [loss.value(image), -float(np.vdot(gradient, image)), -smallest]
            parts.append(0.5 * loss.lipschitz_bound * domain.diameter**2)
        return sum(parts) + 64 * float(np.finfo(float).eps) * sum(map(abs, parts))

    def _refuse_non_finite(self, point: Evaluation) -> None:
        if np.isfinite(point.objective + point.constant) and np.isfinite(point.direction.peak()):
            return
        named = [("the objective", self.state.loss_image)] if self.problem.loss is not None else []
        named += [
            (f"the term `{term.name}`", image)
            for term, image in zip(self.problem.terms, self.state.images, strict=True)
        ]
        culprits = [name for name, image in named if not np.all(np.isfinite(image))]
        where = (
            " and ".join(culprits)
            or "the direction (an overflow: the smoothing may be too small for the units of the problem)"
        )
        raise NumericalError(
            f"iteration {self.state.k}: {where} is not finite; the run stops before the oracle is asked"
        )

    def _record(self, point, answer, beta, eta, full=False, last=False) -> IterationRecord:
        bounds = self.state.tally.bounds
        shown = bounds.final if last else bounds.shown
        bound = np.nan if shown is None else shown.value
        total = point.objective + point.penalty
        sign = self.problem.sense_sign
        # An oracle broken off after a product or two has told nothing of the minimum.
        found = (np.nan, np.nan) if self.broken_off else (answer.value, answer.residual)
        metrics: Mapping[str, Any] = {}
        if full and self.metrics is not None and (last or self.state.k % self.schedule.metrics == 0):
            began = time.perf_counter()
            with self.clock.phase("metrics"):
                metrics = self.metrics(self.state.iterate)
            self.metric_seconds = time.perf_counter() - began
        return IterationRecord(
            k=self.state.k,
            seconds=self.clock.elapsed(),
            objective=sign * point.objective,
            penalty=sign * point.penalty + 0.0,  # no -0.0
            total=sign * total,
            infeasibility=max(point.infeasibilities.values(), default=0.0),
            bound=sign * bound,
            certified=shown is not None and shown.certified,
            bound_failure=np.nan if shown is None else shown.failure,
            gap=abs(total - bound) / max(1.0, abs(total), abs(bound)),
            owed=self._owed(point),
            beta=beta or 0.0,
            eta=eta,
            lmo_value=found[0],
            lmo_matvecs=answer.products,
            lmo_residual=found[1],
            fw_gap=point.pairing - found[0],
            phases=self.clock.take() if full else {},
            infeasibilities=point.infeasibilities if full else {},
            metrics=metrics,
        )


class _Clock:
    """Wall time since the start of the run, earlier processes included, and by phase since it was last asked."""

    def __init__(self, state: State):
        self._state = state
        self._start = time.perf_counter() - state.seconds
        self._recent: dict[str, float] = {}

    def elapsed(self) -> float:
        return time.perf_counter() - self._start

    def stamp(self) -> None:
        """Let the state know the time."""
        self._state.seconds = self.elapsed()

    def phase(self, name: str):
        return _Phase(self, name)

    def add(self, name: str, seconds: float) -> None:
        self._recent[name] = self._recent.get(name, 0.0) + seconds

    def take(self) -> dict[str, float]:
        recent, self._recent = self._recent, {}
        return recent


class _Phase:
    def __init__(self, clock: _Clock, name: str):
        self._clock, self._name = clock, name

    def __enter__(self) -> None:
        self._began = time.perf_counter()

    def __exit__(self, *exc) -> None:
        self._clock.add(self._name, time.perf_counter() - self._began)
