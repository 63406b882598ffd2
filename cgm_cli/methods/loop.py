"""The one loop. Everything that differs between methods is a policy (cgm_cli.methods.policies); everything that changes
is State.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Protocol

import numpy as np

from cgm_cli.blocks.domains.base import OracleAnswer, OracleRequest
from cgm_cli.blocks.iterates import Iterate
from cgm_cli.blocks.problem import CompositeProblem
from cgm_cli.errors import NumericalError, ProblemError
from cgm_cli.methods.bounds import BestBound, Bound, certify, estimate
from cgm_cli.methods.evaluation import DualPoint, Evaluation, Evaluator
from cgm_cli.methods.perturbation import perturbed
from cgm_cli.methods.policies import Method
from cgm_cli.methods.record import IterationRecord
from cgm_cli.methods.state import State
from cgm_cli.methods.status import Status
from cgm_cli.methods.stopping import StopRules
from cgm_cli.methods.theory import Theory


class Observer(Protocol):
    """Anything that wants to see the run as it goes."""

    def on_record(self, record: IterationRecord) -> None: ...


@dataclass(frozen=True)
class Schedule:
    """What is done every how many iterations: a record, the template's metrics, a bound, fresh images; and when to
    certify.
    """

    log: int = 1
    metrics: int = 10
    bound: int = 1
    refresh: int = 1000
    certify: str = "final"


@dataclass
class Outcome:
    """How a run ended: status, last record, the iterate and its state, the bound reported and its dual point."""

    status: Status
    record: IterationRecord
    state: State
    bound: Bound | None
    message: str = ""
    unconverged_calls: int = 0
    phases: Mapping[str, float] = field(default_factory=dict)

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
) -> Outcome:
    """Solve `problem` from `iterate` (which holds problem.first and is changed in place).

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
    return _Run(problem, method, stop, iterate, schedule, seed, tuple(observers), metrics, should_stop, theory).solve()


class _Run:
    def __init__(self, problem, method, stop, iterate, schedule, seed, observers, metrics, should_stop, theory):
        self.problem, self.method, self.stop, self.schedule = problem, method, stop, schedule
        self.observers, self.metrics, self.should_stop = observers, metrics, should_stop
        self.theory = theory
        self.state = State(problem, iterate, np.random.default_rng(seed))
        self.evaluator = Evaluator(problem, iterate)
        self.best = BestBound()
        self.unconverged = 0
        self.failed_certificate = -np.inf  # the estimate whose certificate last fell short of the tolerance
        self.failed_proof = -np.inf  # the estimate whose certificate last proved nothing about feasibility
        self.clock = _Clock()

    def solve(self) -> Outcome:
        state, clock, schedule = self.state, self.clock, self.schedule
        while True:
            turn = state.k + 1
            beta = self.method.smoothing.beta(turn)
            former = self.method.smoothing.beta(turn - 1)
            with clock.phase("evaluate"):
                point = self.evaluator.evaluate(state.loss_image, state.images, beta)
                self._refuse_non_finite(point)
            with clock.phase("oracle"):
                answer = self._ask_oracle(point, turn, beta)
            with clock.phase("step"):
                eta = self.method.step.size(turn, lambda: state.segment(answer.atom, beta))  # noqa: B023, called at once
            out_of_budget = state.k >= self.stop.iterations
            with clock.phase("bound"):
                if state.k % schedule.bound == 0 or out_of_budget:
                    self._bound(point, answer, beta)
            record = self._record(point, answer, beta, eta)
            status = self._decide(point, answer, record, beta)
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
                return Outcome(
                    status,
                    record,
                    state,
                    self.best.final,
                    unconverged_calls=self.unconverged,
                    phases=dict(clock.totals),
                )
            with clock.phase("update"):
                atom = answer.atom
                if self.method.correction is not None:
                    atom, eta = self.method.correction.choose(state, self.evaluator, atom, eta, beta)
                state.advance(atom, eta)
                if state.k % schedule.refresh == 0:
                    state.refresh()

    def _ask_oracle(self, point: Evaluation, turn: int, beta: float | None) -> OracleAnswer:
        policy = self.method.oracle
        allowance = policy.allowance(self.method.step.planned(turn), beta, point.pairing)
        request = OracleRequest(policy.tolerance, self.state.warm, self.state.rng, allowance=allowance)
        answer = self.problem.domain.lmo(point.direction, request)
        if self.method.perturb and answer.exact and allowance is not None:
            answer = perturbed(self.problem.domain, point.direction, answer, allowance, self.state.rng)
        self.state.warm = answer.warm
        self.state.matvecs += answer.products
        self.unconverged += not answer.converged
        return answer

    def _bound(self, point: Evaluation, answer: OracleAnswer, beta: float | None) -> None:
        value = estimate(self.problem.domain, point.direction, point.constant, point.margin, answer)
        if not answer.exact and self.schedule.certify == "always" and self._certify_here(point, beta):
            return
        if self.best.improves(value, answer.exact):
            dual = self.evaluator.dual_point(point, self.state.loss_image, self.state.images, beta)
            self.best.offer(Bound(value, answer.exact, dual))

    def _decide(
        self, point: Evaluation, answer: OracleAnswer, record: IterationRecord, beta: float | None
    ) -> Status | None:
        """How the run ends here, or None. A bound that decides is certified first where that is possible."""
        if self._proves_infeasible():
            return Status.INFEASIBLE
        ending = None
        if self.stop.converged(record) and self._stands_when_certified(point, answer, record):
            ending = Status.CONVERGED
        ending = ending or self.stop.exhausted(record) or self.should_stop()
        if ending is not None and self.schedule.certify != "never":
            with self.clock.phase("certify"):
                self.best.certify(self.problem)
                if not answer.exact:
                    self._certify_here(point, beta)
            if self._proves_infeasible():
                return Status.INFEASIBLE
        return ending

    def _certify_here(self, point: Evaluation, beta: float | None) -> bool:
        """Certify the dual of the current point, where the domain can; whether it did.

        The sloppier an oracle is, the more its own estimate falls short of this.
        """
        dual = self.evaluator.dual_point(point, self.state.loss_image, self.state.images, beta)
        value = certify(self.problem, dual)
        if value is not None:
            self.best.offer(Bound(value, True, dual))
        return value is not None

    def _stands_when_certified(self, point, answer, record) -> bool:
        """Whether the tolerances still hold with the bound certified; tried again only once the estimate has grown."""
        held = self.best.estimated
        if self.stop.gap is None or self.schedule.certify == "never" or held is None:
            return True
        if record.certified:
            return True
        if held.value <= self.failed_certificate:
            return False
        with self.clock.phase("certify"):
            self.best.certify(self.problem)
        if self.best.estimated is not None:  # out of reach for this domain: the estimate is all there is
            return True
        self.failed_certificate = held.value + abs(held.value) * 1e-6
        return self.stop.converged(self._record(point, answer, None, 0.0))

    def _proves_infeasible(self) -> bool:
        """A certified bound above every value of the objective on the domain: no point of it meets the constraints."""
        shown, problem = self.best.shown, self.problem
        if shown is None or not problem.has_constraints:
            return False
        objective = 0.0 if problem.loss is None else problem.loss.value(self.state.loss_image)
        if shown.value <= objective or shown.value <= self._largest_objective:
            return False
        if not shown.certified and self.schedule.certify != "never" and shown.value > self.failed_proof:
            with self.clock.phase("certify"):
                self.best.certify(problem)
            self.failed_proof = shown.value + abs(shown.value) * 1e-6
        certified = self.best.certified
        return certified is not None and certified.value > self._largest_objective

    @cached_property
    def _largest_objective(self) -> float:
        """At least the maximum over the domain of f and the finite g_i, from any x_k:

        f(x) <= f(x_k) + <grad f(x_k), x - x_k> + L_f D^2 / 2 and g(A x) <= g(A x_k) + L_g |A| D.
        """
        loss, domain, image = self.problem.loss, self.problem.domain, self.state.loss_image
        parts = []
        for term, at in zip(self.problem.terms, self.state.images, strict=True):
            if not term.penalty.is_set:
                parts += [term.penalty.value(at), term.penalty.lipschitz * term.map.norm * domain.diameter]
        if loss is not None:
            gradient = loss.gradient(image)
            opposite = loss.map.adjoint(-gradient)
            smallest = domain.certified_minimum(opposite.symmetrised() if domain.symmetric else opposite)
            if smallest is None:
                return np.inf
            parts += [loss.value(image), -float(np.vdot(gradient, image)), -smallest]
            parts.append(0.5 * loss.lipschitz * domain.diameter**2)
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
        shown = (self.best.final if last else self.best.shown) if self.best else None
        bound = np.nan if shown is None else shown.value
        total = point.objective + point.penalty
        sign = self.problem.sense_sign
        metrics: Mapping[str, Any] = {}
        if full and self.metrics is not None and (last or self.state.k % self.schedule.metrics == 0):
            with self.clock.phase("metrics"):
                metrics = self.metrics(self.state.iterate)
        return IterationRecord(
            k=self.state.k,
            seconds=self.clock.elapsed(),
            objective=sign * point.objective,
            penalty=sign * point.penalty + 0.0,  # no -0.0
            total=sign * total,
            infeasibility=max(point.infeasibilities.values(), default=0.0),
            bound=sign * bound,
            certified=shown is not None and shown.certified,
            gap=abs(total - bound) / max(1.0, abs(total), abs(bound)),
            beta=beta or 0.0,
            eta=eta,
            lmo_value=answer.value,
            lmo_matvecs=answer.products,
            lmo_residual=answer.residual,
            fw_gap=point.pairing - answer.value,
            phases=self.clock.take() if full else {},
            infeasibilities=point.infeasibilities if full else {},
            metrics=metrics,
        )


class _Clock:
    """Wall time since the start, and by phase: in all, and since it was last asked."""

    def __init__(self):
        self._start = time.perf_counter()
        self.totals: dict[str, float] = {}
        self._recent: dict[str, float] = {}

    def elapsed(self) -> float:
        return time.perf_counter() - self._start

    def phase(self, name: str):
        return _Phase(self, name)

    def add(self, name: str, seconds: float) -> None:
        self.totals[name] = self.totals.get(name, 0.0) + seconds
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
