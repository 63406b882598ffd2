"""Solves a program in standard form, min q^T u subject to E u = e with u in the cones, by cgm's own methods."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
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

DESCENT = 1e-5
"""By how much a direction of trace one has to lower the objective, relative to |q|, to be one."""

WIDER, NEARER, RETRIES = 100.0, 1e-3, 2
"""Where a solution is looked for again: how many times the trace of what was found is allowed, and at the most which
part of what was; and how often.
"""

BEYOND = 1e3
"""How many times the trace that was assumed is allowed where equations contradict themselves: then they really do."""

LEAST_TIME = 0.01
"""Seconds that every run is given."""

FACTORED_FROM = 500
"""The order beyond which a single matrix may be kept in factors, whatever its constraints are."""

EQUATIONS = "equations"

NOTHING_HOLDS = "nothing-holds"
"""The status of a program whose objective falls for ever along a direction that all constraints allow."""

UNFINISHED, FOUND = ("optimal_inaccurate", "solver_error"), ("optimal", "optimal_inaccurate", "user_limit")


@dataclass(frozen=True)
class Tolerances:
    """gap: relative, or absolute; either will do."""

    gap: float
    gap_absolute: float
    infeasibility: float

    def hold(self, record: IterationRecord) -> bool:
        near = record.gap <= self.gap or abs(record.total - record.bound) <= self.gap_absolute
        return near and record.infeasibility <= self.infeasibility


CLOSE = Tolerances(gap=1e-3, gap_absolute=0.0, infeasibility=1e-3)
"""What was not brought to its end, and is a solution that is not accurate."""


@dataclass(frozen=True)
class Setting:
    """method: as `cgm_cli.solve` takes it; until: the value of `time.perf_counter` at which there is no time left."""

    method: str | Mapping[str, Any]
    tolerances: Tolerances
    until: float | None = None
    observers: Iterable[Observer] = ()

    def solved(self, problem: CompositeProblem) -> Result:
        return solve_problem(problem, self.method, self._stop(self.tolerances), observers=self.observers)

    def falls(self, problem: CompositeProblem) -> bool:
        """Whether the least value of a problem, which is not above zero, is below it, by DESCENT at the least: at a
        point that meets the constraints, as its value says nothing at any other.
        """
        last = _Last()
        stop = self._stop(replace(self.tolerances, gap_absolute=0.1 * DESCENT))
        result = solve_problem(problem, self.method, stop, observers=[last], should_stop=last.is_decided)
        is_point = result.record.infeasibility <= self.tolerances.infeasibility
        return is_point and last.is_decided() is None and result.record.total < -DESCENT

    def _stop(self, tolerances: Tolerances) -> dict[str, Any]:
        limit = {} if self.until is None else {"time": max(LEAST_TIME, self.until - time.perf_counter())}
        return {**vars(tolerances), **limit}


class _Last:
    """Remembers the last record, to stop where its bound says that nothing falls."""

    def __init__(self) -> None:
        self._record: IterationRecord | None = None

    def on_record(self, record: IterationRecord) -> None:
        self._record = record

    def is_decided(self) -> Status | None:
        record = self._record
        return Status.STOPPED if record is not None and record.certified and record.bound > -DESCENT else None


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
    if not run.implied:
        best = _confirmed(best, setting) if best.result.status is Status.INFEASIBLE else _refined(best, setting)
    if best.status == NOTHING_HOLDS:
        return _where_nothing_holds(program, cones, setting)
    return best.answer(program)


def _confirmed(best: _Solved, setting: Setting) -> _Solved:
    """What contradicts itself where the trace is bounded, and where it may be far larger as well."""
    if best.run.form.is_dual and best.status == "infeasible":  # a direction proves it
        return best
    found = best.run.within(BEYOND * best.run.limit.radius).solved(setting)
    if found.status == "optimal" or found.result.status is Status.INFEASIBLE:
        return found
    return replace(best, status=f"{best.status}_inaccurate")


def _refined(best: _Solved, setting: Setting) -> _Solved:
    """Solved again with less room, where that has come to no end: what a bound loses where its slack cannot be definite
    is in proportion to it. A solution that does not meet the bound of the trace is one whatever that is.
    """
    run = best.run
    for _ in range(RETRIES):
        if best.status not in UNFINISHED:
            break
        run = run.within(min(WIDER * run.trace_of(best.z), NEARER * run.limit.radius))
        found = run.solved(setting)
        if not found.result.active_bounds and found.status in ("optimal", "optimal_inaccurate"):
            best = found
    return best


def _where_nothing_holds(program: Program, cones: Cones, setting: Setting) -> Answer:
    """Of a program whose objective falls for ever, if there is a point at all."""
    anywhere = Program(np.zeros(program.cost.size), program.rows, program.right, program.zero, offset=1.0)
    found = solve_program(anywhere, cones, setting)
    if found.status in ("infeasible", "infeasible_inaccurate"):
        return found
    return Answer("unbounded" if found.status in FOUND[:2] else "infeasible_or_unbounded", steps=found.steps)


def _figures(
    bound: float, side: str, kind: str, status: str, trace: float | None = None, gap: float = 0.0, missed: float = 0.0
) -> dict[str, Any]:
    names = ("bound", "bound_side", "bound_is", "status", "within_trace", "gap", "infeasibility")
    return dict(zip(names, (bound, side, kind, status, trace, gap, missed), strict=True))


class _Run:
    """The problem for Z, and for one number more that is 1 and whose cost is the constant of the objective: gaps are
    then relative to what the user calls the objective.
    """

    def __init__(self, form: StandardForm, cones: Cones, limit: TraceLimit | None = None):
        """limit: of Z and that number; None: what is implied, or else assumed."""
        self.form, self.cones = form, cones
        sizes, self._cost = cones.sizes, cones.embedding.T @ form.cost
        self._rows = sp.csr_array(sp.vstack([form.rows @ cones.embedding, cones.links]))
        self._right = np.concatenate([form.right, np.zeros(cones.links.shape[0])])
        self.in_factors = len(sizes) == 1 and sizes[0] > FACTORED_FROM
        if not self.in_factors:
            sizes = (*sizes, -1)
            self._rows = sp.csr_array(sp.block_diag([self._rows, [[1.0]]]))
            self._right = np.append(self._right, 1.0)
            self._cost = np.append(self._cost, form.sign * form.constant)
        self._blocks = Blocks(sizes)
        self.limit = limit or _limit(self._blocks, self._rows, self._right)
        self._problem = _composed(sizes, self._cost, self._rows, self._right, self.limit)

    def within(self, radius: float) -> _Run:
        """The same with another bound of the trace."""
        assert self.limit.expected is not None
        return _Run(self.form, self.cones, TraceLimit(radius, expected=min(self.limit.expected, radius)))

    def trace_of(self, z: np.ndarray) -> float:
        return float(np.vdot(self._blocks.identity(), z))

    def solved(self, setting: Setting) -> _Solved:
        result = setting.solved(self._problem)
        return _Solved(self, self._status(result, setting), result, _point(result), self._multipliers(result))

    def _status(self, result: Result, setting: Setting) -> str:
        """Of the program that the form stands for. Where nothing holds the objective of one, the other has no point."""
        status, record = result.status, result.record
        if not result.active_bounds and (status is Status.CONVERGED or setting.tolerances.hold(record)):
            return "optimal"
        if status in (Status.TIME_LIMIT, Status.ITERATION_LIMIT):
            return "user_limit"
        if status is Status.INFEASIBLE and not self.form.is_dual:
            return "infeasible"
        if not result.active_bounds and result.bound_is == "certified" and CLOSE.hold(record):
            return "optimal_inaccurate"
        if self._descends(setting):
            return "infeasible" if self.form.is_dual else NOTHING_HOLDS
        if status is Status.INFEASIBLE:
            return "unbounded"
        return "optimal_inaccurate" if setting.tolerances.hold(record) or CLOSE.hold(record) else "solver_error"

    def _descends(self, setting: Setting) -> bool:
        """Whether q^T u < 0 for some u in the cones with E u = 0: then no w has q - E^T w in them."""
        cost = self._cost if self.in_factors else np.append(self._cost[:-1], 0.0)
        size = float(np.linalg.norm(cost))
        if size == 0.0:
            return False
        none = np.zeros(self._right.size)
        problem = _composed(self._blocks.sizes, cost / size, self._rows, none, TraceLimit(1.0))
        return setting.falls(problem)

    @property
    def implied(self) -> bool:
        """Whether the bound of the trace follows from the equations."""
        return self.limit.expected is None

    def within_trace(self, w: np.ndarray) -> float | None:
        """The trace beyond which the bound of these multipliers says nothing."""
        bottom = self._blocks.bottom(self._cost - self._rows.T @ w)
        return None if self.implied or bottom.value - bottom.error >= 0.0 else self.limit.radius

    def _multipliers(self, result: Result) -> np.ndarray:
        return -result.duals[EQUATIONS] if result.duals else np.zeros(self._right.size)


@dataclass(frozen=True)
class _Solved:
    """z, w: point and multipliers of the run."""

    run: _Run
    status: str
    result: Result
    z: np.ndarray
    w: np.ndarray

    def answer(self, program: Program) -> Answer:
        form, cones, result, record = self.run.form, self.run.cones, self.result, self.result.record
        x, y = form.solution(cones.embedding @ self.z[: cones.embedding.shape[1]], self.w[: form.right.size])
        has_bound = self.status in FOUND
        figures = _figures(
            form.sign * record.bound + (form.constant if self.run.in_factors else 0.0) if has_bound else np.nan,
            "above" if form.is_dual else "below",
            result.bound_is if has_bound else "none",
            result.status.value,
            self.run.within_trace(self.w),
            record.gap,
            record.infeasibility,
        )
        return Answer(self.status, x, y, float(program.cost @ x) + program.offset, figures, record.k)


def _limit(blocks: Blocks, rows: sp.csr_array, right: np.ndarray) -> TraceLimit:
    found = trace_limit(blocks, rows, right, right)
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
