"""The stopping rules of a spec."""

from __future__ import annotations

from cgm_cli.blocks.problem import CompositeProblem
from cgm_cli.errors import ProblemError
from cgm_cli.methods.stopping import StopRules
from cgm_cli.spec.model import TOLERANCE, StopSpec


def stop_rules(stop: StopSpec, iterations: int, problem: CompositeProblem, spacing: float = 0.0) -> StopRules:
    """Beside constraints, a gap is a tolerance for the infeasibility as well (an absolute one asks for 1e-4): the
    objective of a point that misses them passes the bound on its way. Raises ProblemError for a target objective that
    may be passed so.
    """
    infeasibility = stop.infeasibility
    asks_for_gap = stop.gap is not None or stop.gap_absolute is not None
    if asks_for_gap and infeasibility is None and problem.has_constraints:
        infeasibility = TOLERANCE if stop.gap is None else stop.gap
    if stop.objective is not None and infeasibility is None and problem.has_constraints:
        raise ProblemError(
            "beside constraints a target objective needs a tolerance `stop.infeasibility`", ("stop", "objective")
        )
    return StopRules(
        iterations,
        stop.gap,
        infeasibility,
        stop.time,
        stop.objective,
        stop.stagnation,
        stop.gap_absolute,
        spacing,
    )
