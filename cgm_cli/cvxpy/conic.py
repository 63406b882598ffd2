"""Solves a program in standard form, min q^T u subject to E u = e with u in the cones, by cgm's own methods."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.sparse as sp

from cgm_cli.blocks.domains.base import Domain
from cgm_cli.blocks.domains.psd import PSDTrace
from cgm_cli.blocks.domains.psd_blocks import PSDBlocks
from cgm_cli.blocks.iterates import is_factored, written_out
from cgm_cli.blocks.losses.linear import Linear
from cgm_cli.blocks.maps.base import LinearMap
from cgm_cli.blocks.maps.matrices import Matrices
from cgm_cli.blocks.maps.matrix import MatrixMap
from cgm_cli.blocks.penalties.equals import Equals
from cgm_cli.blocks.problem import CompositeProblem, Term
from cgm_cli.cvxpy.cones import Cones
from cgm_cli.cvxpy.forms import Contradiction, Program, StandardForm, standard_form
from cgm_cli.methods.record import IterationRecord
from cgm_cli.methods.recorder import Observer
from cgm_cli.methods.status import Status
from cgm_cli.numerics.blockwise import Blocks
from cgm_cli.solving.direct import solve_problem
from cgm_cli.solving.result import Result
from cgm_cli.templates.trace_bounds import TraceLimit, trace_limit

ROOM = 2.0
"""How many times the trace that the equations allow the domain does: its bound is then never active, and all that
holds a solution has its multiplier.
"""

WIDER, NEARER, RETRIES = 100.0, 1e-3, 2
"""Where a solution is looked for again: how many times the trace of what was found is allowed, and at the most which
part of what was; and how often.
"""

UNFINISHED = ("optimal_inaccurate", "solver_error")

FACTORED_FROM = 500
"""The order beyond which a single matrix may be kept in factors, whatever its constraints are."""

EQUATIONS = "equations"

NOTHING_HOLDS = "nothing-holds"
"""The status of a program whose objective falls for ever along a direction that all constraints allow."""

DESCENT = 1e-5
"""By how much a direction of trace one has to lower the objective, relative to |q|, to be one."""

CLOSE = {"gap": 1e-3, "infeasibility": 1e-3}
"""Gap and infeasibility up to which what was not brought to its end is a solution that is not accurate."""


@dataclass(frozen=True)
class Setting:
    """method: as `cgm_cli.solve` takes it; stop: what stands under `stop` in a spec, with gap, gap_absolute and
    infeasibility.
    """

    method: str | Mapping[str, Any]
    stop: Mapping[str, Any]
    observers: Iterable[Observer] = ()


@dataclass(frozen=True)
class Answer:
    """status: of the program, in words that CVXPY has. x, y: None where there are none. value: c^T x + offset. figures:
    the bound on that, from below or above as `bound_side` says, and what it is; the gap; how the run ended. steps: that
    it took.
    """

    status: str
    x: np.ndarray | None = None
    y: np.ndarray | None = None
    value: float = np.nan
    figures: Mapping[str, Any] = field(default_factory=dict[str, Any])
    steps: int = 0


def solve_program(program: Program, cones: Cones, setting: Setting) -> Answer:
    """The solution of a program, or why there is none."""
    try:
        form = standard_form(program)
    except Contradiction as found:
        return Answer("infeasible") if found.of_constraints else _where_nothing_holds(program, cones, setting)
    if not cones.entries:
        x, y = form.solution(np.zeros(0), np.zeros(0))
        return Answer("optimal", x, y, form.constant, _figures(form.constant, "both", "certified", "exact"))
    run = _Run(form, cones)
    best = run.solved(setting)
    for _ in range(RETRIES if run.limit.expected is not None else 0):
        if best.status not in UNFINISHED:
            break
        run = run.nearer(best)
        found = run.solved(setting)
        if not found.result.active_bounds and found.status in ("optimal", best.status):
            best = found
    if best.status == NOTHING_HOLDS:
        return _where_nothing_holds(program, cones, setting)
    return best.answer(program)


def _where_nothing_holds(program: Program, cones: Cones, setting: Setting) -> Answer:
    """Of a program whose objective falls for ever, if there is a point at all."""
    anywhere = Program(np.zeros(program.cost.size), program.rows, program.right, program.zero, offset=1.0)
    found = solve_program(anywhere, cones, setting)
    statuses = {"optimal": "unbounded", "optimal_inaccurate": "unbounded", "infeasible": "infeasible"}
    return Answer(statuses.get(found.status, "infeasible_or_unbounded"), steps=found.steps)


def _figures(bound: float, side: str, kind: str, status: str, gap: float = 0.0, missed: float = 0.0) -> dict[str, Any]:
    names = ("bound", "bound_side", "bound_is", "gap", "infeasibility", "status")
    return dict(zip(names, (bound, side, kind, gap, missed, status), strict=True))


class _Run:
    """The problem for Z, and for one number more that is 1 and whose cost is the constant of the objective: gaps are
    then relative to what the user calls the objective.
    """

    def __init__(self, form: StandardForm, cones: Cones, limit: TraceLimit | None = None):
        """limit: of Z and that number; None: what is implied, or else assumed."""
        self._form, self._cones = form, cones
        self._cost = cones.embedding.T @ form.cost
        self._rows = sp.csr_array(sp.vstack([form.rows @ cones.embedding, cones.links]))
        self._right = np.concatenate([form.right, np.zeros(cones.links.shape[0])])
        self._in_factors = len(cones.sizes) == 1 and cones.sizes[0] > FACTORED_FROM
        sizes, rows, right, cost = cones.sizes, self._rows, self._right, self._cost
        if not self._in_factors:
            sizes = (*sizes, -1)
            rows, right = sp.csr_array(sp.block_diag([rows, [[1.0]]])), np.append(right, 1.0)
            cost = np.append(cost, form.sign * form.constant)
        self.limit = limit or _limit(sizes, rows, right)
        self.problem = _composed(sizes, cost, rows, right, self.limit)

    def nearer(self, found: _Solved) -> _Run:
        """The same with less room: what a bound loses where its slack cannot be definite is in proportion to it. A
        solution that does not meet the bound of the trace is one whatever that is.
        """
        expected = float(np.vdot(Blocks(self._cones.sizes).identity(), found.z)) + 1.0
        radius = min(WIDER * expected, NEARER * self.limit.radius)
        return _Run(self._form, self._cones, TraceLimit(radius, expected=min(expected, radius)))

    def solved(self, setting: Setting) -> _Solved:
        result = solve_problem(self.problem, setting.method, setting.stop, observers=setting.observers)
        z = _point(result)[: self._rows.shape[1]]
        added = self._form.constant if self._in_factors else 0.0
        return _Solved(self._form, self._cones, self._status(result, setting), result, z, added)

    def _status(self, result: Result, setting: Setting) -> str:
        """Of the program that the form stands for. Where nothing holds the objective of one, the other has no point."""
        status, record = result.status, result.record
        if not result.active_bounds and (status is Status.CONVERGED or _within(record, setting.stop)):
            return "optimal"
        if status is Status.INFEASIBLE and not self._form.is_dual:
            return "infeasible"
        if self._descends(setting):
            return "infeasible" if self._form.is_dual else NOTHING_HOLDS
        if status is Status.INFEASIBLE:
            return "unbounded"
        if status in (Status.TIME_LIMIT, Status.ITERATION_LIMIT):
            return "user_limit"
        return "optimal_inaccurate" if _within(record, {**setting.stop, **CLOSE}) else "solver_error"

    def _descends(self, setting: Setting) -> bool:
        """Whether q^T u < 0 for some u in the cones with E u = 0: then no w has q - E^T w in them."""
        size = float(np.linalg.norm(self._cost))
        if size == 0.0:
            return False
        none = np.zeros(self._right.size)
        problem = _composed(self._cones.sizes, self._cost / size, self._rows, none, TraceLimit(1.0))
        result = solve_problem(problem, setting.method, {**setting.stop, "gap_absolute": 0.1 * DESCENT})
        return result.record.total < -DESCENT


@dataclass(frozen=True)
class _Solved:
    """z: without the number that is 1. added: to the objective of the result."""

    form: StandardForm
    cones: Cones
    status: str
    result: Result
    z: np.ndarray
    added: float

    def answer(self, program: Program) -> Answer:
        form, result, record = self.form, self.result, self.result.record
        w = -result.duals[EQUATIONS][: form.right.size] if result.duals else np.zeros(form.right.size)
        x, y = form.solution(self.cones.embedding @ self.z, w)
        bound, side = form.sign * record.bound + self.added, "above" if form.is_dual else "below"
        figures = _figures(bound, side, result.bound_is, result.status.value, record.gap, record.infeasibility)
        return Answer(self.status, x, y, float(program.cost @ x) + program.offset, figures, record.k)


def _within(record: IterationRecord, stop: Mapping[str, Any]) -> bool:
    """Whether gap and infeasibility are."""
    near = record.gap <= stop["gap"] or abs(record.total - record.bound) <= stop["gap_absolute"]
    return near and record.infeasibility <= stop["infeasibility"]


def _limit(sizes: tuple[int, ...], rows: sp.csr_array, right: np.ndarray) -> TraceLimit:
    found = trace_limit(Blocks(sizes), rows, right)
    return found if found.expected is not None else TraceLimit(ROOM * found.radius)


def _composed(
    sizes: tuple[int, ...], cost: np.ndarray, rows: sp.csr_array, right: np.ndarray, limit: TraceLimit
) -> CompositeProblem:
    """min <cost, Z> subject to rows Z = right, within the trace limit."""
    target = Equals(right.shape, right)
    domain: Domain
    if len(sizes) == 1 and sizes[0] > FACTORED_FROM:
        domain = PSDTrace(sizes[0], limit.radius, limit.exact, limit.expected)
        linear: LinearMap = Matrices.of_rows(rows, domain.shape)
    else:
        domain = PSDBlocks(sizes, limit.radius, limit.exact, limit.expected)
        linear = MatrixMap(rows, domain.shape)
    terms = (Term(EQUATIONS, linear, target),) if right.size else ()
    return CompositeProblem(domain, Linear(cost.reshape(domain.shape), domain.shape), terms)


def _point(result: Result) -> np.ndarray:
    saved = result.solution
    x = written_out(saved) if is_factored(saved) else saved["x"]
    return x.reshape(-1)
