"""From a validated spec to something that can be solved: problem, method, iterate, stopping rules."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np

from cgm_cli.blocks.iterates import DenseIterate, FactoredIterate, Iterate, SampledIterate
from cgm_cli.blocks.problem import CompositeProblem
from cgm_cli.errors import ProblemError, located
from cgm_cli.methods.loop import Observer, Outcome, Schedule, run
from cgm_cli.methods.policies import ClassicStep, FixedAccuracy, Homotopy, Method, Subgradient
from cgm_cli.methods.record import IterationRecord
from cgm_cli.methods.scaling import automatic_beta0, scaled
from cgm_cli.methods.status import Status
from cgm_cli.methods.stopping import StopRules
from cgm_cli.readers.context import BuildContext
from cgm_cli.spec.model import ComposedProblem, SolverSpec, Spec, StopSpec
from cgm_cli.templates.base import Template
from cgm_cli.templates.compose import compose

SAMPLES = 100
"""Gaussian vectors of a sampled iterate: as many as hyperplanes are usually tried."""

FACTOR_BYTES = 2 * 10**8
"""What the columns of a factored iterate may take before they are compressed."""


@dataclass(frozen=True)
class Result:
    """A finished solve. solution: the iterate in its own form and the template's arrays; duals: of the reported bound,
    by term.

    bound_is: "certified", "estimated" or "none". metrics: of the rounding. record and metrics are in the user's units
    and sense.
    """

    status: Status
    record: IterationRecord
    bound_is: str
    sense: str
    metrics: dict[str, float]
    solution: dict[str, np.ndarray]
    duals: dict[str, np.ndarray]
    message: str = ""


@dataclass(frozen=True)
class Instance:
    """A problem ready to be solved; context: what was read and reserved while building it."""

    template: Template
    problem: CompositeProblem
    method: Method
    stop: StopRules
    schedule: Schedule
    iterate: str
    seed: int
    context: BuildContext

    @property
    def sense(self) -> str:
        """ "minimise" or "maximise"."""
        return self.problem.sense

    def solve(
        self,
        observers: Iterable[Observer] = (),
        should_stop: Callable[[], Status | None] = lambda: None,
    ) -> Result:
        """Run the loop from the problem's start, then round. Raises NumericalError on non-finite numbers."""
        rng = np.random.default_rng([self.seed, 1])  # a stream of its own: rounding does not depend on the iterations
        outcome = run(
            self.problem,
            self.method,
            self.stop,
            self._start(rng),
            schedule=self.schedule,
            seed=self.seed,
            observers=observers,
            metrics=self.template.metrics,
            should_stop=should_stop,
        )
        return self._result(outcome, rng)

    def _start(self, rng: np.random.Generator) -> Iterate:
        first = self.problem.first
        if self.iterate == "dense":
            return DenseIterate(first)
        if self.iterate == "samples":
            return SampledIterate(first, SAMPLES, rng)
        return FactoredIterate(first, _columns(self.problem, self.stop.iterations), self.problem.domain.symmetric)

    def _result(self, outcome: Outcome, rng: np.random.Generator) -> Result:
        iterate, record, bound = outcome.state.iterate, outcome.record, outcome.bound
        certified = record.bound if bound is not None and bound.certified else None
        rounding = self.template.round(iterate, certified, rng)
        duals = {} if bound is None else dict(zip([t.name for t in self.problem.terms], bound.dual.duals, strict=True))
        return Result(
            outcome.status,
            record,
            "none" if bound is None else ("certified" if bound.certified else "estimated"),
            self.sense,
            {**record.metrics, **rounding.metrics},
            {**iterate.arrays(), **rounding.arrays},
            duals,
            _remark(outcome),
        )


def build(spec: Spec) -> Instance:
    """Read the data, build the problem, choose what the spec leaves open. Raises ProblemError or DataError, located."""
    context = BuildContext.for_spec(spec)
    with located("problem"):
        composed = isinstance(spec.problem, ComposedProblem)
        template = compose(spec.problem, context) if composed else spec.problem.build(context)
    problem = scaled(template.problem) if spec.solver.scaling == "auto" else template.problem
    with located("solver"):
        iterate = _iterate_kind(spec.solver, template)
        _reserve(problem, spec.solver, iterate, context)
    schedule = Schedule(
        log=spec.log.every,
        metrics=spec.log.metrics_every,
        bound=spec.bound.every,
        refresh=spec.solver.refresh,
        certify=spec.bound.certify,
    )
    method = _method(spec.solver, problem)
    return Instance(template, problem, method, _stop_rules(spec, problem), schedule, iterate, spec.seed, context)


def _method(solver: SolverSpec, problem: CompositeProblem) -> Method:
    tolerance = 0.0 if solver.oracle.mode == "exact" else solver.oracle.tolerance
    smoothing = Subgradient()
    if solver.method != "cgm":
        beta0 = solver.beta0
        smoothing = Homotopy(automatic_beta0(problem, solver.scaling == "auto") if beta0 == "auto" else beta0)
    return Method(solver.method, smoothing, ClassicStep(), FixedAccuracy(tolerance))


def _stop_rules(spec: Spec, problem: CompositeProblem) -> StopRules:
    stop: StopSpec = spec.stop
    infeasibility = stop.infeasibility
    if stop.gap is not None and infeasibility is None and problem.has_constraints:
        # A small gap at an infeasible point says nothing: the objective passes the bound on its way.
        infeasibility = stop.gap
    return StopRules(spec.solver.iterations, stop.gap, infeasibility, stop.time)


def _iterate_kind(solver: SolverSpec, template: Template) -> str:
    problem, kind = template.problem, solver.iterate
    if kind == "auto":
        kind = template.iterate
    if kind == "auto":
        return "dense" if problem.needs_array else "factored"
    if kind != "dense" and problem.needs_array:
        raise ProblemError(
            f"`iterate: {kind}` cannot serve this problem: one of its maps needs every entry of x", ("iterate",)
        )
    if kind == "samples" and not problem.domain.symmetric:
        raise ProblemError("`iterate: samples` needs a domain of positive semidefinite matrices", ("iterate",))
    return kind


def _columns(problem: CompositeProblem, iterations: int) -> int:
    """Columns of a factored iterate: one block per step if they fit, else twice the size (exact) or what fits."""
    first, side = problem.first, max(problem.domain.shape)
    width = getattr(first, "weights", np.empty(1)).size
    return int(max(4 * width, 16, min((iterations + 1) * width, 2 * side, FACTOR_BYTES // (8 * side))))


def _reserve(problem: CompositeProblem, solver: SolverSpec, iterate: str, context: BuildContext) -> None:
    domain = problem.domain
    if iterate == "dense":
        context.reserve("iterate", domain.memory)
        context.reserve("direction", domain.memory)
        if problem.needs_array:
            context.reserve("best dual variables", domain.memory)
    elif iterate == "factored":
        context.reserve("iterate", 8 * _columns(problem, solver.iterations) * sum(domain.shape))
    else:
        context.reserve("iterate", 8 * SAMPLES * domain.shape[0])
    if solver.oracle.mode == "exact" and domain.spectral:
        context.reserve("matrix to factorise", 3 * domain.memory)


def _remark(outcome: Outcome) -> str:
    if outcome.unconverged_calls:
        return f"{outcome.unconverged_calls} oracle calls ended short of their tolerance; the best vectors were used."
    return ""
