"""The solver that CVXPY calls."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from contextlib import ExitStack
from typing import Any

import cvxpy.settings as names
import numpy as np
import scipy.sparse as sp
from cvxpy.constraints.psd import SvecPSD
from cvxpy.constraints.second_order import SOC
from cvxpy.error import SolverError
from cvxpy.reductions.solution import Solution, failure_solution
from cvxpy.reductions.solvers import utilities
from cvxpy.reductions.solvers.conic_solvers.conic_solver import ConicSolver
from cvxpy.reductions.solvers.solver import expand_cones
from cvxpy.utilities.psd_utils import TriangleKind

from cgm_cli.cvxpy.cones import Cones
from cgm_cli.cvxpy.conic import Answer, Setting, Tolerances, solve_program
from cgm_cli.cvxpy.forms import Program
from cgm_cli.display.console import Progress, error_console
from cgm_cli.errors import CgmError
from cgm_cli.methods.recorder import Observer
from cgm_cli.numerics.threads import one_thread
from cgm_cli.solving.arguments import stop_of
from cgm_cli.spec.model import StopSpec
from cgm_cli.text import did_you_mean

NOTHING = 0.01
"""Part of `gap` that a gap may be where the optimum is zero, in units of the costs, or of the objective where they are
larger.
"""

OPTIONS = ("gap", "infeasibility", "time")


class CGM(ConicSolver):
    """cgm for problems of CVXPY with linear constraints, second-order cones and semidefinite ones.

    gap, infeasibility: what to stop at, relative; time: seconds at the most, or a text as in a spec; method: a preset
    ("auto"), or what stands under `solver` in a spec. All but the method, which CVXPY takes for one of its own, may be
    given to `problem.solve(solver=CGM(), ...)` as well.

    `problem.solver_stats.extra_stats` has the bound on the optimum (`bound`, in the units and the sense of the
    minimisation that CVXPY makes of the problem; `bound_side`: "below" or "above" it; `bound_is`: "certified" or not;
    `within_trace`: None, or the trace of solutions beyond which it says nothing), `gap`, `infeasibility` and `status`
    of the run.
    """

    MIP_CAPABLE = False
    SUPPORTED_CONSTRAINTS = (*ConicSolver.SUPPORTED_CONSTRAINTS, SOC, SvecPSD)
    PSD_TRIANGLE_KIND = TriangleKind.LOWER
    PSD_SQRT2_SCALING = True

    def __init__(
        self,
        gap: float = 1e-6,
        infeasibility: float = 1e-6,
        time: float | str | None = None,
        method: str | Mapping[str, Any] = "auto",
    ):
        super().__init__()
        self._method, self._options = method, {"gap": gap, "infeasibility": infeasibility, "time": time}

    def name(self) -> str:
        return "CGM"

    def import_solver(self) -> None:
        """It is here."""

    def cite(self, data: Any) -> str:
        return ""

    def can_solve(self, problem_form: Any) -> bool:
        """Raises SolverError, with the cones, for a problem that needs others than there are."""
        supported = frozenset(self.SUPPORTED_CONSTRAINTS)
        needed = problem_form.cones(quad_obj=False).copy()
        expand_cones(needed, supported)
        missing = sorted(cone.__name__ for cone in needed - supported)
        if missing:
            raise SolverError(
                f"CGM takes linear constraints, second-order and semidefinite cones, and this problem needs "
                f"{', '.join(missing)} (exponential and power cones are those of log, exp, entropies and powers)"
            )
        return super().can_solve(problem_form)

    def apply(self, problem: Any) -> tuple[dict[str, Any], dict[str, Any]]:
        """The data of a program; the constant of its objective is among them, since gaps are relative to all of it."""
        data, inverse_data = super().apply(problem)
        data[names.OFFSET] = inverse_data[names.OFFSET]
        return data, inverse_data

    def solve_via_data(
        self, data: dict[str, Any], warm_start: bool, verbose: bool, solver_opts: Any, solver_cache: Any = None
    ) -> dict[str, Any]:
        """The answer in CVXPY's words. Raises SolverError for an option that is none."""
        start = time.perf_counter()
        program, cones, held = _program(data)
        with ExitStack() as stack:
            stack.enter_context(one_thread())
            shown = [stack.enter_context(Progress("minimise", error_console()))] if verbose else []
            try:
                answer = solve_program(program, cones, self._setting(solver_opts, program, start, shown))
            except CgmError as error:
                raise SolverError(f"CGM: {error}") from error
        return {"answer": answer, "held": held, "seconds": time.perf_counter() - start}

    def invert(self, solution: dict[str, Any], inverse_data: Any) -> Solution:
        answer: Answer = solution["answer"]
        attributes = {
            names.SOLVE_TIME: solution["seconds"],
            names.NUM_ITERS: answer.steps,
            names.EXTRA_STATS: dict(answer.figures),
        }
        if answer.status not in names.SOLUTION_PRESENT or answer.x is None or answer.y is None:
            return failure_solution(answer.status, attributes)
        y = np.zeros(solution["held"].size)
        y[solution["held"]] = answer.y
        zero = inverse_data[self.DIMS].zero
        duals = {
            **utilities.get_dual_values(y[:zero], utilities.extract_dual_value, inverse_data[self.EQ_CONSTR]),
            **utilities.get_dual_values(y[zero:], utilities.extract_dual_value, inverse_data[self.NEQ_CONSTR]),
        }
        return Solution(answer.status, answer.value, {inverse_data[self.VAR_ID]: answer.x}, duals, attributes)

    def _setting(
        self, given: Mapping[str, Any] | None, program: Program, start: float, observers: Iterable[Observer]
    ) -> Setting:
        """Raises SolverError for an option that is none, ProblemError for a value that is none."""
        options = {key: value for key, value in (given or {}).items() if key != "use_quad_obj"}
        for key in options:
            if key not in OPTIONS:
                hint = did_you_mean(key, OPTIONS) or f"there are {', '.join(OPTIONS)}"
                raise SolverError(f"CGM has no option `{key}`: {hint}")
        options = self._options | options
        stop = stop_of(options)
        assert isinstance(stop, StopSpec)
        if stop.gap is None or stop.infeasibility is None:
            raise SolverError("CGM: `gap` and `infeasibility` are numbers above zero, and not None")
        least = NOTHING * stop.gap * min(1.0, float(np.abs(program.cost).max(initial=0.0)) or 1.0)
        until = None if stop.time is None else start + stop.time
        return Setting(self._method, Tolerances(stop.gap, least, stop.infeasibility), until, observers)


def _program(data: Mapping[str, Any]) -> tuple[Program, Cones, np.ndarray]:
    """The program, its cones, and which rows of CVXPY's are held: a mask. An inequality whose side is infinite says
    nothing.
    """
    dims, right = data[ConicSolver.DIMS], np.asarray(data[names.B], dtype=float)
    held = np.ones(right.size, dtype=bool)
    numbers = slice(dims.zero, dims.zero + dims.nonneg)
    held[numbers] = right[numbers] != np.inf
    if not np.isfinite(right[held]).all():
        raise SolverError("CGM: a constraint has an infinite right-hand side that no finite point meets")
    rows = sp.csr_array(data[names.A])[np.flatnonzero(held)]
    cones = Cones(int(np.count_nonzero(held[numbers])), tuple(dims.soc), tuple(dims.psd))
    cost, offset = np.asarray(data[names.C], dtype=float), float(data[names.OFFSET])
    return Program(cost, rows, right[held], dims.zero, offset), cones, held
