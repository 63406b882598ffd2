"""Solves a problem that somebody has in hand, built of blocks in Python, without a spec and without a run folder."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from cgm_cli.blocks.problem import CompositeProblem
from cgm_cli.errors import ProblemError, in_range
from cgm_cli.methods.method import Method
from cgm_cli.methods.recorder import Observer
from cgm_cli.methods.scaling import scaled
from cgm_cli.methods.schedule import Schedule
from cgm_cli.methods.status import Status
from cgm_cli.methods.stopping import StopRules
from cgm_cli.readers.memory import available_memory
from cgm_cli.solving.arguments import seed_of, solver_of, stop_of
from cgm_cli.solving.form import choose_form
from cgm_cli.solving.presets import chosen
from cgm_cli.solving.result import Result
from cgm_cli.solving.solve import Solve
from cgm_cli.solving.stop import stop_rules
from cgm_cli.spec.model import StopSpec


class _Anything:
    """No metrics and no rounding: any form of x will do."""

    iterate = "auto"
    takes_samples = True


def solve_problem(
    problem: CompositeProblem,
    method: str | Mapping[str, Any] | Method = "auto",
    stop: Mapping[str, Any] | StopRules | None = None,
    *,
    schedule: Schedule | None = None,
    seed: int = 0,
    observers: Iterable[Observer] = (),
    should_stop: Callable[[], Status | None] = lambda: None,
) -> Result:
    """Solve a problem. method: a preset, or what stands under `solver` in a spec, or a Method, which is taken as it is
    (the problem is then not scaled). stop: what stands under `stop` in a spec, or StopRules; without it, a gap and an
    infeasibility of 1e-4.

    Raises ProblemError where the method cannot take the problem, or a key or a value is none; TypeError for an argument
    of another type; NumericalError on non-finite numbers.
    """
    solver, seed = solver_of(method), seed_of(seed)
    given = stop_of(stop)
    with in_range(ProblemError):
        if isinstance(method, Method):
            policies = method
        else:
            problem = scaled(problem) if solver.scaling == "auto" else problem
            policies = chosen(solver, problem).method
        rules = given if isinstance(given, StopRules) else stop_rules(given or StopSpec(), solver.iterations, problem)
        form = choose_form(solver, policies, problem, _Anything(), _has_room_for)
        plan = schedule or Schedule(refresh=solver.refresh)
    return Solve(problem, policies, rules, form, plan, seed)(observers, should_stop)


def _has_room_for(nbytes: int) -> bool:
    available = available_memory()
    return available is None or nbytes <= available
