"""From a validated spec to something that can be solved: the data read, the problem built, what is open chosen."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from cgm_cli.blocks.problem import CompositeProblem
from cgm_cli.errors import ProblemError, in_range, located
from cgm_cli.methods.method import Method
from cgm_cli.methods.scaling import scaled
from cgm_cli.methods.schedule import Schedule
from cgm_cli.methods.stopping import StopRules
from cgm_cli.methods.theory import Theory
from cgm_cli.readers.context import BuildContext
from cgm_cli.solving.form import Form, choose_form
from cgm_cli.solving.presets import Chosen, chosen
from cgm_cli.solving.solve import Solve
from cgm_cli.solving.stop import stop_rules
from cgm_cli.spec.model import ComposedProblem, Spec
from cgm_cli.templates.base import Template
from cgm_cli.templates.compose import compose

PROGRAM_BYTES = 26 * 10**7
"""What Python and the libraries take by themselves: 244 MB have been seen."""


@dataclass(frozen=True)
class Instance:
    """A problem ready to be solved: `solve()` does. choice: the policies, and why they are these. context: what was
    read and reserved while building it.
    """

    template: Template
    solve: Solve
    choice: Chosen
    context: BuildContext

    @property
    def problem(self) -> CompositeProblem:
        """With the weights that are in force."""
        return self.solve.problem

    @property
    def method(self) -> Method:
        return self.solve.method

    @property
    def form(self) -> Form:
        """How x is kept."""
        return self.solve.form

    @property
    def theory(self) -> Theory | None:
        return self.solve.theory

    @property
    def rules(self) -> StopRules:
        """When the solve ends."""
        return self.solve.stop

    @property
    def sense(self) -> str:
        """ "minimise" or "maximise"."""
        return self.problem.sense


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
        problem = spec.problem
        composed = isinstance(problem, ComposedProblem)
        template: Template = compose(problem, context) if composed else problem.build(context)
    problem = scaled(template.problem) if spec.solver.scaling == "auto" else template.problem
    with located("solver"):
        choice = chosen(spec.solver, problem)
        form = choose_form(spec.solver, choice.method, problem, template, context.has_room_for, kept)
        _reserve(problem, spec, choice.method, form, context)
    schedule = Schedule(
        log=spec.log.every,
        metrics=spec.log.metrics_every,
        bound=spec.bound.every,
        refresh=spec.solver.refresh,
        certify=spec.bound.certify,
        failure=spec.bound.failure,
    )
    theory = _theory(spec, template, problem, choice)
    spacing = 0.0 if template.multiples is None else template.multiples.spacing
    stop = stop_rules(spec.stop, spec.solver.iterations, problem, spacing)
    solve = Solve(
        problem,
        choice.method,
        stop,
        form,
        schedule,
        spec.seed,
        meaning=template,
        theory=theory,
        read=tuple(dict.fromkeys(context.remarks)),  # a table may be read for two fields
    )
    return Instance(template, solve, choice, context)


def _theory(spec: Spec, template: Template, problem: CompositeProblem, choice: Chosen) -> Theory | None:
    optimum = spec.theory.optimum if spec.theory.optimum is not None else template.optimum
    dual_norm = spec.theory.dual_norm
    if dual_norm is not None:
        # The user knows the weights of the spec, the theory those in force: |y|^2 = sum |y_i|^2 / w_i in either, so
        # that the largest quotient of the two gives an upper bound, which is what the theorems need.
        pairs = zip(template.problem.terms, problem.terms, strict=True)
        dual_norm *= max((float(np.sqrt(given.weight / ours.weight)) for given, ours in pairs), default=1.0)
    least = None if optimum is None else problem.sense_sign * optimum
    return Theory.of(problem, choice.method, choice.beta0, least, dual_norm)


def _reserve(problem: CompositeProblem, spec: Spec, method: Method, form: Form, context: BuildContext) -> None:
    domain = problem.domain
    context.reserve("iterate", form.nbytes)
    if form.kind == "dense":
        if "direction" not in context.reserved:
            context.reserve("direction", domain.memory)
        if domain.spectral:
            context.reserve("direction in single precision", domain.memory // 2)
        if problem.needs_array:
            context.reserve("best and averaged dual variables", 2 * domain.memory)
            if method.duals.is_centred:
                context.reserve("multipliers", 3 * domain.memory)
    descends = form.kind == "dense" or method.correction.replaces == "always"
    if descends and method.correction.memory(problem) > 0:
        context.reserve("descent", method.correction.memory(problem))
    # A direction is as dense as x is kept, or sparse.
    proven = spec.bound.certify != "never" and min(domain.shape) <= domain.provable(form.kind == "dense")
    if proven or (domain.spectral and spec.solver.oracle.name == "exact"):
        # A part of it, the sum, what is lifted of it, and the factor.
        context.reserve("matrix to factorise", 4 * domain.memory)
