"""Solves a program in standard form, min q^T u subject to E u = e with u in the cones, by cgm's own methods."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from cgm_cli.blocks.iterates import is_factored, written_out
from cgm_cli.blocks.problem import CompositeProblem
from cgm_cli.cvxpy.cones import Cones
from cgm_cli.cvxpy.forms import Contradiction, Program, StandardForm, standard_form
from cgm_cli.methods.recorder import Observer
from cgm_cli.methods.status import Status
from cgm_cli.numerics.blockwise import Blocks
from cgm_cli.solving.direct import solve_problem
from cgm_cli.solving.result import Result
from cgm_cli.templates.standard_sdp import Affine, StandardSDP
from cgm_cli.templates.trace_bounds import TraceLimit, trace_limit

ROOM = 2.0
"""How many times the trace that the equations allow the domain does: its bound is then never active, and all that
holds a solution has its multiplier.
"""

DESCENT = 1e-5
"""By how much a direction of trace one has to lower the objective, relative to |q|, to be one."""

CLOSE = 1e-3
"""Gap and infeasibility up to which what was not brought to its end is a solution that is not accurate."""


@dataclass(frozen=True)
class Setting:
    """method: as `cgm_cli.solve` takes it; stop: what stands under `stop` in a spec."""

    method: str | Mapping[str, Any]
    stop: Mapping[str, Any]
    observers: Iterable[Observer] = ()


@dataclass(frozen=True)
class Answer:
    """status: of the program, in words that CVXPY has. x, y: None where there are none. result: of the run, None where
    none was needed; sign and constant turn its objective into that of the program.
    """

    status: str
    x: np.ndarray | None = None
    y: np.ndarray | None = None
    result: Result | None = None
    sign: float = 1.0
    constant: float = 0.0

    @property
    def figures(self) -> dict[str, Any]:
        """bound: on the optimum, from below or above as `bound_side` says; what it is; the gap; how the run ended."""
        if self.result is None:
            return {"bound": self.constant, "bound_side": "both", "bound_is": "certified", "gap": 0.0, "status": "exact"}
        record = self.result.record
        return {
            "bound": self.sign * record.bound + self.constant,
            "bound_side": "below" if self.sign > 0.0 else "above",
            "bound_is": self.result.bound_is,
            "gap": record.gap,
            "infeasibility": record.infeasibility,
            "status": self.result.status.value,
        }


def solve_program(program: Program, cones: Cones, setting: Setting) -> Answer:
    """The solution of a program, or why there is none."""
    try:
        form = standard_form(program)
    except Contradiction as found:
        if found.of_constraints:
            return Answer("infeasible")
        held = solve_program(replace(program, cost=np.zeros(program.cost.size)), cones, setting)
        return Answer("unbounded" if held.status == "optimal" else held.status, result=held.result)
    if not cones.entries:
        x, y = form.solution(np.zeros(0), np.zeros(0))
        return Answer("optimal", x, y, None, form.sign, form.constant)
    result = solve_problem(_problem(form, cones), setting.method, setting.stop, observers=setting.observers)
    status = _status(form, cones, result, setting)
    u = cones.embedding @ _point(result)
    w = -result.duals["equalities"] if "equalities" in result.duals else np.zeros(form.right.size)
    return Answer(status, *form.solution(u, w), result, form.sign, form.constant)


def _problem(form: StandardForm, cones: Cones) -> CompositeProblem:
    rows = sp.csr_array(form.rows @ cones.embedding)
    found = trace_limit(Blocks(cones.sizes), rows, form.right)
    limit = found if found.expected is not None else TraceLimit(ROOM * found.radius)
    return _composed(cones, cones.embedding.T @ form.cost, rows, form.right, limit)


def _composed(
    cones: Cones, cost: np.ndarray, rows: sp.csr_array, right: np.ndarray, limit: TraceLimit
) -> CompositeProblem:
    sizes = cones.sizes
    if len(sizes) == 1 and sizes[0] > 0:
        cost = cost.reshape(sizes[0], sizes[0])
    return StandardSDP(sizes, cost, Affine(rows, right, right), limit).problem


def _point(result: Result) -> np.ndarray:
    saved = result.solution
    x = written_out(saved) if is_factored(saved) else saved["x"]
    return x.reshape(-1)


def _status(form: StandardForm, cones: Cones, result: Result, setting: Setting) -> str:
    """Of the program that the form stands for. Where nothing holds the objective of one, the other is infeasible."""
    status, record = result.status, result.record
    if status is Status.INFEASIBLE:
        if not form.is_dual:
            return "infeasible"
        return "infeasible" if _descends(form, cones, setting) else "unbounded"
    if status is Status.CONVERGED and not result.active_bounds:
        return "optimal"
    if _descends(form, cones, setting):
        if form.is_dual:
            return "infeasible"
        return "unbounded" if record.infeasibility <= CLOSE else "infeasible_or_unbounded"
    if status in (Status.TIME_LIMIT, Status.ITERATION_LIMIT):
        return "user_limit"
    return "optimal_inaccurate" if max(record.gap, record.infeasibility) <= CLOSE else "solver_error"


def _descends(form: StandardForm, cones: Cones, setting: Setting) -> bool:
    """Whether q^T u < 0 for some u in the cones with E u = 0: then no w has q - E^T w in them."""
    size = float(np.linalg.norm(form.cost))
    if size == 0.0:
        return False
    rows = sp.csr_array(form.rows @ cones.embedding)
    cost = cones.embedding.T @ form.cost / size
    problem = _composed(cones, cost, rows, np.zeros(rows.shape[0]), TraceLimit(1.0))
    stop = {**setting.stop, "gap_absolute": 0.1 * DESCENT}
    result = solve_problem(problem, setting.method, stop)
    return result.record.total < -DESCENT
