"""From a validated spec to something that can be solved: problem, method, iterate, stopping rules."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from cgm_cli.blocks.domains.fantope import Fantope
from cgm_cli.blocks.domains.spectral import WRITTEN_OUT
from cgm_cli.blocks.problem import CompositeProblem
from cgm_cli.errors import NumericalError, ProblemError, in_range, located
from cgm_cli.methods.ascent import DualAscent, Multipliers
from cgm_cli.methods.bounds import Certificate
from cgm_cli.methods.corrections import FullyCorrective
from cgm_cli.methods.evaluation import Evaluator
from cgm_cli.methods.local_descent import LocalDescent
from cgm_cli.methods.loop import Observer, Outcome, Schedule, run
from cgm_cli.methods.policies import (
    AdditiveAccuracy,
    CappedLineSearch,
    ClassicStep,
    Constant,
    FixedAccuracy,
    Homotopy,
    LineSearch,
    Method,
    MultiplicativeAccuracy,
    Subgradient,
)
from cgm_cli.methods.record import IterationRecord
from cgm_cli.methods.repair import AMPLIFIED, NOTICED
from cgm_cli.methods.scaling import automatic_beta0, optimal_beta0, scaled
from cgm_cli.methods.state import State
from cgm_cli.methods.status import Leave, Status
from cgm_cli.methods.stopping import StopRules
from cgm_cli.methods.theory import Rates, Theory
from cgm_cli.readers.context import BuildContext
from cgm_cli.spec.model import ComposedProblem, OracleSpec, SolverSpec, Spec, StopSpec
from cgm_cli.templates.base import Rounding, Template
from cgm_cli.templates.compose import compose
from cgm_cli.templates.form import Form, choose_form

PROGRAM_BYTES = 24 * 10**7
"""What Python and the libraries take by themselves."""


PATIENCE = 1.0
"""The most seconds that the solution of a run may take that is told to leave at once."""

TOLERANCE = 1e-6
"""The oracle's, where the spec names none."""

STEPS = {"classic": ClassicStep, "line-search": LineSearch, "capped-line-search": CappedLineSearch}

Pack = Callable[[], dict[str, Any]]
"""Packs all that a solve needs to go on from where it is."""

Keep = Callable[[Pack, Status | None], None]
"""Called before every turn of the loop, and with how it ends before the last certificates and before the rounding."""


@dataclass(frozen=True)
class Result:
    """A finished solve. solution: the iterate in its own form and the template's arrays; duals: of the reported bound,
    by term; loss_image: M x at the point of that bound, None without a bound or an objective.

    bound_is: "certified", "probable", "estimated" or "none". certificate: of the best estimate, if one was certified.
    metrics: of the rounding. record, certificate and metrics are in the user's units and sense.
    """

    status: Status
    record: IterationRecord
    bound_is: str
    sense: str
    metrics: dict[str, float]
    solution: dict[str, np.ndarray]
    duals: dict[str, np.ndarray]
    message: str = ""
    loss_image: np.ndarray | None = None
    certificate: Certificate | None = None


@dataclass(frozen=True)
class Instance:
    """A problem ready to be solved; form: how x is kept. context: what was read and reserved while building it."""

    template: Template
    problem: CompositeProblem
    method: Method
    stop: StopRules
    schedule: Schedule
    form: Form
    seed: int
    context: BuildContext
    theory: Theory | None = None

    @property
    def sense(self) -> str:
        """ "minimise" or "maximise"."""
        return self.problem.sense

    def solve(
        self,
        observers: Iterable[Observer] = (),
        should_stop: Callable[[], Status | None] = lambda: None,
        resume: Mapping[str, Any] | None = None,
        keep: Keep = lambda pack, status: None,
        rounding: Callable[[], AbstractContextManager] = nullcontext,
    ) -> Result:
        """Run the loop from the problem's start, or from `resume`, and round. Raises NumericalError on non-finite
        numbers.

        keep: called before every turn of the loop, and with how it ends before the last certificates and before the
        rounding, with a function that packs all that the solve would need to go on from there: nested mappings of
        arrays and plain values, valid until the next turn. `resume` is what such a function gave. rounding: the context
        of the rounding, in which `Leave` may be raised at any time; a run that is preempted is not rounded.
        """
        with in_range(NumericalError):
            return self._solve(observers, should_stop, resume, keep, rounding)

    def _solve(
        self,
        observers: Iterable[Observer],
        should_stop: Callable[[], Status | None],
        resume: Mapping[str, Any] | None,
        keep: Keep,
        context: Callable[[], AbstractContextManager],
    ) -> Result:
        rng = np.random.default_rng([self.seed, 1])  # a stream of its own: rounding does not depend on the iterations
        rates = Rates()
        if resume is not None:
            rates.unpack(resume["rates"], resume["state"]["k"])

        def pack(state: State) -> Callable[[], dict[str, Any]]:
            return lambda: {"state": state.pack(), "rates": rates.pack()}

        outcome = run(
            self.problem,
            self.method,
            self.stop,
            self.form.begin(self.problem, self.seed),
            schedule=self.schedule,
            seed=self.seed,
            observers=[*observers, rates],
            metrics=self.template.metrics,
            should_stop=should_stop,
            theory=self.theory,
            resume=None if resume is None else resume["state"],
            keep=lambda state, ending: keep(pack(state), ending),
        )
        keep(pack(outcome.state), outcome.status)
        return self._result(outcome, rng, rates, context)

    def _in_users_sense(self, certificate: Certificate | None) -> Certificate | None:
        sign = self.problem.sense_sign
        return None if certificate is None else replace(certificate, estimate=sign * certificate.estimate)

    def _result(
        self,
        outcome: Outcome,
        rng: np.random.Generator,
        rates: Rates,
        context: Callable[[], AbstractContextManager],
    ) -> Result:
        iterate, record, bound = outcome.state.iterate, outcome.record, outcome.bound
        certified = record.bound if bound is not None and bound.certified else None
        rounding, status = Rounding(), outcome.status
        if status is not Status.PREEMPTED:
            try:
                with context():
                    rounding = self.template.round(iterate, certified, rng, outcome.deadline)
            except Leave as request:
                rounding, status = Rounding(), request.status
        # Who is told to leave at once does not wait for a solution that takes long to recover: the checkpoint has it.
        hurried = status is Status.PREEMPTED and iterate.recovery > PATIENCE
        saved = {} if hurried else iterate.arrays()
        figures = {} if hurried else _of_the_saved(outcome, self.method)
        remarks = outcome.message, "The solution was not recovered." if hurried else _remark(outcome)
        duals = {} if bound is None else dict(zip([t.name for t in self.problem.terms], bound.dual.duals, strict=True))
        return Result(
            status,
            record,
            "none" if bound is None else bound.kind,
            self.sense,
            {**record.metrics, **rounding.metrics, **figures, **rates.slopes()},
            {**saved, **rounding.arrays},
            duals,
            " ".join(filter(None, remarks)),
            None if bound is None else bound.dual.loss_image,
            self._in_users_sense(outcome.certificate),
        )


def build(spec: Spec, file: Path | None = None, kept: str | None = None) -> Instance:
    """Read the data, build the problem, choose what the spec leaves open. Raises ProblemError or DataError, located.

    file: where the spec came from, if not from where its text was read. kept: what a former process of the run chose
    for `iterate: auto`, which is not chosen anew.
    """
    with in_range(ProblemError):
        return _build(BuildContext.for_spec(spec, file), spec, kept)


def _build(context: BuildContext, spec: Spec, kept: str | None) -> Instance:
    # First of all: what cannot fit is refused before work is spent on it.
    context.reserve("program", PROGRAM_BYTES)
    with located("problem"):
        composed = isinstance(spec.problem, ComposedProblem)
        template = compose(spec.problem, context) if composed else spec.problem.build(context)
    problem = scaled(template.problem) if spec.solver.scaling == "auto" else template.problem
    spec = spec.model_copy(update={"solver": _decided(spec.solver, problem)})
    with located("solver"):
        form = choose_form(spec.solver, template, context, kept)
        _reserve(problem, spec, form, context)
    schedule = Schedule(
        log=spec.log.every,
        metrics=spec.log.metrics_every,
        bound=spec.bound.every,
        refresh=spec.solver.refresh,
        certify=spec.bound.certify,
        failure=spec.bound.failure,
    )
    with located("solver"):
        method = _method(spec.solver, problem)
    theory = _theory(spec, template, problem, method)
    return Instance(template, problem, method, _stop_rules(spec, problem), schedule, form, spec.seed, context, theory)


def _theory(spec: Spec, template: Template, problem: CompositeProblem, method: Method) -> Theory | None:
    """What the theorems need to know; None for the method they do not cover."""
    if problem.terms and (isinstance(method.smoothing, Subgradient) or method.is_centred):
        return None
    sign = problem.sense_sign
    optimum = spec.theory.optimum if spec.theory.optimum is not None else template.optimum
    constants, oracle = problem.constants(), spec.solver.oracle
    kinds = {term.penalty.is_set for term in problem.terms}
    dual_norm = spec.theory.dual_norm
    if dual_norm is not None:
        # The user knows the weights of the spec, the theory those in force: |y|^2 = sum |y_i|^2 / w_i in either, so
        # that the largest quotient of the two gives an upper bound, which is what the theorems need.
        pairs = zip(template.problem.terms, problem.terms, strict=True)
        dual_norm *= max((np.sqrt(given.weight / scaled.weight) for given, scaled in pairs), default=1.0)
    return Theory(
        constants["L_f"],
        constants["|A|"],
        constants["D_X"],
        constants["L_g"],
        method.smoothing.beta0 if problem.terms else 1.0,
        constrained=None if len(kinds) > 1 else True in kinds,
        additive=oracle.delta if oracle.mode == "additive" else 0.0,
        share=oracle.delta if oracle.mode == "multiplicative" else None,
        optimum=None if optimum is None else sign * optimum,
        dual_norm=dual_norm,
        start_gap=None if optimum is None else problem.total(problem.first) - sign * optimum,
    )


def _method(solver: SolverSpec, problem: CompositeProblem) -> Method:
    share = solver.oracle.delta if solver.oracle.mode == "multiplicative" else 1.0
    smoothing = Subgradient()
    correction = _correction(solver, problem)
    descent = isinstance(correction, LocalDescent)
    multiplied = descent and correction.multipliers is not None
    if solver.method != "cgm":
        beta0 = solver.beta0
        if beta0 == "auto":
            beta0 = automatic_beta0(problem, solver.scaling == "auto", ascent=solver.method == "cgal", descent=descent)
        elif beta0 == "optimal":
            beta0 = optimal_beta0(problem)
            if beta0 is None:
                raise ProblemError(
                    "there is no optimal beta0: Theorem 2 asks for finite penalties, and for no constraint", ("beta0",)
                )
        smoothing = Constant(beta0) if multiplied else Homotopy(beta0, share)
    elif problem.terms and (solver.step, solver.correction, solver.oracle.mode == "additive") != (
        "classic",
        "none",
        False,
    ):
        raise ProblemError(
            "`method: cgm` does not smooth its terms, which line search, corrections and additive oracles build on",
            ("method",),
        )
    step = STEPS[solver.step](share)
    ascent = None
    if solver.method == "cgal" and problem.terms and not (multiplied and solver.dual_bound is not None):
        constants = problem.constants()
        largest = np.inf if solver.dual_bound is None else solver.dual_bound
        ascent = DualAscent(smoothing.beta0, constants["|A|"], constants["D_X"], largest)
    elif solver.dual_bound is not None:
        raise ProblemError("`dual_bound` is for `method: cgal` without local descent", ("dual_bound",))
    accuracy = _accuracy(solver.oracle, problem)
    return Method(solver.method, smoothing, step, accuracy, solver.oracle.perturb, correction, ascent)


def _decided(solver: SolverSpec, problem: CompositeProblem) -> SolverSpec:
    """The solver of the spec; of `method: auto`, one that suits the problem."""
    if solver.method != "auto":
        return solver
    domain = problem.domain
    # The fantope is smaller than the sphere that the factors of its points lie on.
    descends = domain.spectral and not isinstance(domain, Fantope) and solver.step == "classic"
    if descends and solver.correction == "none" and solver.iterate != "samples":
        update: dict[str, Any] = {"method": "cgal", "correction": "local-descent"}
        if solver.oracle.tolerance is None:
            # Descent makes up for an atom that is not the best; the bound is certified in the end.
            update["oracle"] = solver.oracle.model_copy(update={"tolerance": 1e-3})
        return solver.model_copy(update=update)
    if solver.correction != "none" or solver.step != "classic" or solver.iterate == "samples" or not problem.terms:
        return solver.model_copy(update={"method": "cgal" if problem.terms else "hcgm"})
    return solver.model_copy(update={"method": "cgal", "correction": "fully-corrective"})


def _correction(solver: SolverSpec, problem: CompositeProblem) -> FullyCorrective | LocalDescent | None:
    if solver.correction == "fully-corrective":
        return FullyCorrective()
    if solver.correction == "local-descent":
        if not problem.domain.spectral:
            raise ProblemError(
                "`correction: local-descent` needs points that are matrices of low rank: a domain `psd`, `fantope`, "
                "`fantope-face` or `nuclear-ball`; `fully-corrective` serves every domain",
                ("correction",),
            )
        return LocalDescent(multipliers=Multipliers() if solver.method == "cgal" and problem.terms else None)
    return None


def _accuracy(
    oracle: OracleSpec, problem: CompositeProblem
) -> FixedAccuracy | AdditiveAccuracy | MultiplicativeAccuracy:
    budget = np.inf if oracle.budget is None else oracle.budget
    tolerance = TOLERANCE if oracle.tolerance is None else oracle.tolerance
    if oracle.mode == "additive":
        constants = problem.constants()
        sizes = constants["L_f"], constants["|A|"], constants["D_X"]
        return AdditiveAccuracy(oracle.delta, *sizes, tolerance, budget=budget)
    if oracle.mode == "multiplicative":
        return MultiplicativeAccuracy(oracle.delta, tolerance, budget=budget)
    return FixedAccuracy(0.0 if oracle.mode == "exact" else tolerance, budget=budget)


def _stop_rules(spec: Spec, problem: CompositeProblem) -> StopRules:
    stop: StopSpec = spec.stop
    infeasibility = stop.infeasibility
    if stop.gap is not None and infeasibility is None and problem.has_constraints:
        # A small gap at an infeasible point says nothing: the objective passes the bound on its way.
        infeasibility = stop.gap
    if stop.objective is not None and infeasibility is None and problem.has_constraints:
        # Where constraints may be missed, an objective may be passed on the way.
        raise ProblemError(
            "beside constraints a target objective needs a tolerance `stop.infeasibility`", ("stop", "objective")
        )
    return StopRules(spec.solver.iterations, stop.gap, infeasibility, stop.time, stop.objective, stop.stagnation)


def _reserve(problem: CompositeProblem, spec: Spec, form: Form, context: BuildContext) -> None:
    domain, solver = problem.domain, spec.solver
    context.reserve("iterate", form.nbytes)
    if form.kind == "dense":
        if "direction" not in context.reserved:
            context.reserve("direction", domain.memory)
        if domain.spectral:
            context.reserve("direction in single precision", domain.memory // 2)
        if problem.needs_array:
            context.reserve("best and averaged dual variables", 2 * domain.memory)
            if solver.method == "cgal":
                context.reserve("multipliers", 3 * domain.memory)
            if solver.correction == "local-descent":
                # The image it leads to, beside all that is kept lest it is broken off.
                context.reserve("descent", 2 * domain.memory)
    # A direction is as dense as x is kept, or sparse.
    largest = WRITTEN_OUT if form.kind != "dense" else domain.provable if domain.spectral else 0
    proven = domain.spectral and spec.bound.certify != "never" and min(domain.shape) <= largest
    if proven or (domain.spectral and solver.oracle.mode == "exact"):
        # A part of it, the sum, what is lifted of it, and the factor.
        context.reserve("matrix to factorise", 4 * domain.memory)


def _of_the_saved(outcome: Outcome, method: Method) -> dict[str, float]:
    """Objective and infeasibilities of the x that is saved, in the user's sense, where it was recovered from a sketch,
    or cut: the images of the records are those of the whole x. truncation: see `Iterate`.
    """
    state = outcome.state
    problem, iterate, atom = state.problem, state.iterate, state.iterate.atom()
    if atom is None or (iterate.exact and iterate.truncation == 0.0):
        return {}
    beta = method.smoothing.beta(state.k + 1)
    point = Evaluator(problem, iterate).evaluate(*state.images_of(atom), beta, state.centres)
    figures = {"saved_objective": problem.sense_sign * (point.objective + point.penalty)}
    if problem.has_constraints:
        figures["saved_infeasibility"] = max(point.infeasibilities.values())
    if len(point.infeasibilities) > 1:
        figures |= {f"saved_infeasibility_{name}": value for name, value in point.infeasibilities.items()}
    return figures | {"truncation": iterate.truncation}


def _remark(outcome: Outcome) -> str:
    """What a reader of the summary might stumble over."""
    record, remarks, unconverged = outcome.record, [], outcome.state.tally.unconverged
    if unconverged:
        remarks.append(f"{unconverged} oracle calls ended short of their tolerance; their best vectors were used.")
    problem = outcome.state.problem
    looked_at = not outcome.deadline.should_stop() and _unmoved(problem, problem.sense_sign * record.objective)
    if looked_at and problem.is_constant():
        every = "every point of it that meets the constraints" if problem.has_constraints else "every point of it"
        remarks.append(f"The objective is constant on the domain: {every} is optimal.")
    found = outcome.repair
    if found is not None and found.amplification > AMPLIFIED and record.owed > NOTICED:
        remarks.append(
            f"The constraints are nearly dependent: x misses them by {record.infeasibility:.1e}, but to meet them it "
            f"has to move by {found.length:.2g}, which may change the objective by {found.cost:.2g}. Ask for "
            "a smaller `stop.infeasibility`, or leave out what the other constraints nearly say."
        )
    beyond = outcome.bound is not None and problem.sense_sign * (record.total - record.bound) < 0.0
    if beyond and record.infeasibility > 0.0:
        remarks.append("The objective lies beyond the bound, as it may: x misses its constraints.")
    return " ".join(remarks)


def _unmoved(problem: CompositeProblem, objective: float) -> bool:
    """Whether f at the end is what it was at the start: only then is it worth asking whether it is constant."""
    start = 0.0 if problem.loss is None else problem.loss.value(problem.loss.map.forward_atom(problem.first))
    return abs(objective - start) <= 1e-9 * max(abs(objective), abs(start))
