"""Interior-point steps, for linear problems over cones that are small enough: every turn is one step of Newton's method
towards a point of the central path, X S = mu I, nearer to its end.

The direction is that of Helmberg, Rendl, Vanderbei and Wolkowicz (1996), Kojima, Shindoh and Hara (1997) and Monteiro
(1997), with Mehrotra's predictor and corrector and from an infeasible start. With R_p = b - A(X), R_d = C - A^*(y) - S
and X' = sigma mu S^-1 - X (less dX_a dS_a S^-1 of the predictor),

    M dy = R_p - A(X' - X R_d S^-1),    dS = R_d - A^*(dy),    dX = X' - X dS S^-1 (its symmetric part),

and free numbers border the first (`cgm_cli.methods.corrections.normal_equations`).

What is inside the cone is a point of X, and its dual slack is positive definite, which proves the bound of y without
any radius. The number of steps does not grow with the conditioning of the data, nor much with their size; what one
takes grows with the cube of the order and of the number of constraints (`cgm_cli.methods.corrections.schur`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np

from cgm_cli.blocks.problem import CompositeProblem
from cgm_cli.errors import ProblemError
from cgm_cli.methods.corrections.bounded_interior import BoundedInteriorPoint
from cgm_cli.methods.corrections.bounded_program import is_bounded
from cgm_cli.methods.corrections.conic_form import ConicForm, Redundant, is_conic
from cgm_cli.methods.corrections.decisive import decisive_move
from cgm_cli.methods.corrections.normal_equations import BorderedEquations, NormalEquations
from cgm_cli.methods.corrections.schur import SchurComplement
from cgm_cli.methods.policies import CorrectionSpec, Move, PlainStep, Replacing
from cgm_cli.methods.setting import Setting
from cgm_cli.numerics.blockwise import Factor
from cgm_cli.numerics.deadline import Deadline, seconds_of
from cgm_cli.numerics.projections import safe_norm

if TYPE_CHECKING:
    from cgm_cli.methods.state import State

INSIDE = 0.95
"""The part of the way to the boundary of the cone that is gone at the most."""

FAR = 10.0
"""How many times what the data suggest X and S are larger at the start (CSDP; Borchers 1999)."""

SMALLEST_STEP, FALLS, LOST, TIRED = 1e-7, 0.99, 1e3, 6
"""It has come as far as rounding lets it: where neither X nor y moves by so much; where nothing falls to this part of
what it was, and the errors are so many times what they were at the best, or this goes on for so many steps.
"""

STEPS, PRODUCTS = 12, 20.0
"""Of a solution to 1e-4 or so; and products of matrices, of the order of X, that take as long as one, M apart."""

NOTHING = 1e-14
"""Part of S that its rounding is about: where the dual residual is no more than that, it is taken for none. Errors that
small end the steps.
"""

EPS = float(np.finfo(float).eps)

ZERO = 1e-8
"""Part of |c| |x| below which an optimum is zero."""

KEPT, TWICE = 12, 2.0
"""How many duals with a definite slack are remembered; and how many times further than to the boundary of the cone
others are moved towards them.
"""

BEYOND = 1e6
"""How many times the largest objective, in units of the data, the bound of rows that contradict each other is at
first.
"""

RISES, SAME = 1.5, 1e-6
"""How many times larger b y has become, to be on its way to infinity; and what the slack may be off by beside it."""


@dataclass(frozen=True)
class Iterate:
    """x: the point of the cone, slacks included; y, and its slack s; free: the free numbers. In units in which b and c
    are of size one.
    """

    x: np.ndarray
    y: np.ndarray
    s: np.ndarray
    free: np.ndarray


@dataclass(frozen=True)
class Inside:
    """y (k, m), the least eigenvalues of their slacks (k,), which are positive, and b y (k,)."""

    y: np.ndarray
    least: np.ndarray
    worth: np.ndarray

    def with_one_more(self, y: np.ndarray, least: float, worth: float) -> Inside:
        return Inside(
            np.concatenate([self.y, y[None]])[-KEPT:],
            np.append(self.least, least)[-KEPT:],
            np.append(self.worth, worth)[-KEPT:],
        )

    def moved_in(self, y: np.ndarray, least: float, worth: float) -> tuple[np.ndarray, float]:
        """A point and its b y: between a y whose slack has this eigenvalue below zero and one of these, where the slack
        of the mean, whose least eigenvalue is at least the mean of theirs, is definite again, and b y has lost least.
        """
        shares = np.minimum(1.0, TWICE * least / (least - self.least))
        left = (1.0 - shares) * worth + shares * self.worth
        best = int(np.argmax(left))
        return (1.0 - shares[best]) * y + shares[best] * self.y[best], float(left[best])


@dataclass(frozen=True)
class InteriorState:
    """current, and the best so far, with its error, its worth, and the least eigenvalue of its slack, `bottom`. least:
    of |A x - b|, of what the dual misses, and of x s. tired: steps since these have fallen. ended: there is no better
    point to be had. inside: the last y whose slack was positive definite.
    """

    current: Iterate
    best: Iterate
    inside: Inside
    error: float = np.inf
    worth: float = -np.inf
    bottom: float = -np.inf
    least: tuple[float, float, float] = (np.inf, np.inf, np.inf)
    tired: int = 0
    ended: bool = False


@dataclass(frozen=True)
class Errors:
    """primal: |A x - b|; dual: |c - A^T y - s|; product: x s, which c x - b y comes to; gap: the same, relative; worth:
    b y. All in units of the data.
    """

    primal: float
    dual: float
    product: float
    gap: float
    worth: float

    @property
    def largest(self) -> float:
        return max(self.primal, self.dual, self.gap)


@dataclass(frozen=True)
class InteriorPoint:
    """Interior-point steps for a problem."""

    problem: CompositeProblem

    class Spec(CorrectionSpec):
        kind: Literal["interior-point"] = "interior-point"

        examples: ClassVar[list[dict[str, Any]]] = [{"kind": "interior-point"}]

        def build(self, problem: CompositeProblem, setting: Setting) -> InteriorPoint | BoundedInteriorPoint:
            """Raises ProblemError for what is neither a linear problem over a cone nor one over a polyhedron."""
            steps = steps_for(problem)
            if steps is None:
                raise ProblemError(
                    "`correction: interior-point` takes linear objectives over `psd` and `psd-blocks`, and linear "
                    "objectives and least squares over boxes, simplices, polytopes and their products, with "
                    "equations, bounds and penalties of finitely many faces (`max`, `l1`, `hinge`, ...) on entries of "
                    "maps whose matrices are given",
                    ("correction",),
                )
            return steps

    needs_array: ClassVar[bool] = True
    replaces: ClassVar[Replacing] = "mostly"
    keeps_theory: ClassVar[bool] = True

    @cached_property
    def _form(self) -> ConicForm:
        return ConicForm(self.problem)

    @cached_property
    def _schur(self) -> SchurComplement:
        return SchurComplement(self._form.blocks, self._form.rows)

    @cached_property
    def _sizes(self) -> tuple[float, float]:
        right = np.abs(self._form.right)
        own = right[:-1] if self._form.has_trace_row and right.size > 1 else right
        costs = np.linalg.norm(self._form.cost), np.linalg.norm(self._form.free_cost)
        return float(own.max(initial=0.0)) or 1.0, float(np.hypot(*costs)) or 1.0

    @property
    def redundant(self) -> list[Redundant]:
        """The equations that are left out, because others imply them."""
        return self._form.redundant

    @property
    def seconds(self) -> float:
        """What a solution takes, roughly."""
        form = self._form
        cubes = sum(stack.count * float(stack.n) ** 3 for stack in form.blocks.stacks)
        return STEPS * seconds_of(PRODUCTS * 2.0 * cubes + self._schur.work)

    def init(self, problem: CompositeProblem) -> InteriorState:
        start, none = self._start(), np.zeros(0)
        return InteriorState(start, start, Inside(np.zeros((0, start.y.size)), none, none))

    def warm_up(self, problem: CompositeProblem) -> None:
        """Nothing is compiled for it."""

    def memory(self, problem: CompositeProblem) -> int:
        """M with its factor and copies, and a dozen matrices of the size of x."""
        rows = 1 + sum(int(np.prod(term.map.out_shape)) for term in problem.terms)
        return 4 * 8 * rows**2 + 12 * problem.domain.memory

    def choose(self, state: State, plain: PlainStep, deadline: Deadline) -> Move:
        memory = state.correction
        assert isinstance(memory, InteriorState)
        if not memory.ended:
            memory = self._stepped(memory, deadline)
        best, (size, cost) = memory.best, self._sizes
        x = self._form.point(size * best.x, size * best.free)
        duals = self._form.duals(cost * self._proving(memory))
        return decisive_move(self.problem, x, duals, memory, memory.ended)

    def _proving(self, memory: InteriorState) -> np.ndarray:
        """The best y or, where rounding has made its slack indefinite, one next to it, if that is worth more: what is
        lost by a trace bound that is far too large is that many times an eigenvalue.
        """
        y, inside = memory.best.y, memory.inside
        if memory.bottom >= 0.0 or not inside.least.size:
            return y
        moved, worth = inside.moved_in(y, memory.bottom, memory.worth)
        lost = self._form.cone.trace / self._sizes[0] * memory.bottom
        return moved if worth >= memory.worth + lost else y

    def _least(self, y: np.ndarray) -> float:
        """The smallest eigenvalue of the slack of y, but for what the trace bound adds to it, less its rounding; and of
        that of free numbers, which has to be zero, where it is not.
        """
        form, (_, cost) = self._form, self._sizes
        if form.has_trace_row and not form.cone.fixed:
            y = np.append(y[:-1], 0.0)
        slack = (form.cost / cost - form.rows.T @ y)[: form.variables]
        bottom, rounding = form.inner.bottom(slack), form.inner.order * EPS * safe_norm(slack)
        missed = np.abs(self._free_slack(y))
        off = missed[missed > NOTHING * (np.abs(form.free_cost) / cost + abs(form.free.T) @ np.abs(y))]
        return float(np.min(-off, initial=bottom.value - bottom.error - rounding))

    def _free_slack(self, y: np.ndarray) -> np.ndarray:
        """d - B^T y."""
        return self._form.free_cost / self._sizes[1] - self._form.free.T @ y

    def _start(self) -> Iterate:
        form, (size, _) = self._form, self._sizes
        identity, trace = form.blocks.identity(), form.cone.trace / size
        slacks = np.zeros(form.blocks.entries)
        if form.cone.fixed:
            width = trace / form.inner.order
        else:
            width = min(FAR * form.blocks.order, 0.5 * trace / form.inner.order)
        x, s = width * identity, 2.0 * FAR * identity
        if not form.cone.fixed:
            slacks[-1] = trace - width * form.inner.order - width
            s[-1] *= width / (width + slacks[-1])  # its product with that of x is that of the others
        y = np.zeros(form.right.size)
        if form.contradiction is not None:
            # So far that the bound of y is beyond every objective there is.
            y = BEYOND * (1.0 + trace) / float(form.contradiction @ form.right / size) * form.contradiction
        return Iterate(x + slacks, y, s, np.zeros(form.free_cost.size))

    def _stepped(self, memory: InteriorState, deadline: Deadline) -> InteriorState:
        """One step of Newton's method, or the end."""
        try:
            with np.errstate(over="raise", invalid="raise"):
                found = self._newton(memory.current, deadline)
        except (np.linalg.LinAlgError, FloatingPointError):
            found = None
        if found is None:
            return replace(memory, ended=True)
        errors = self._errors(found)
        error, worth = errors.largest, errors.worth
        # Where no x meets the constraints, y goes on and on to prove it, and no error falls.
        proves = worth > max(1.0, RISES * memory.worth) and errors.dual <= SAME * worth
        now, relative = (errors.primal, errors.dual, errors.product), (errors.primal, errors.dual, errors.gap)
        falls = any(
            one < FALLS * former and part > NOTHING
            for one, former, part in zip(now, memory.least, relative, strict=True)
        )
        tired = 0 if falls or proves else memory.tired + 1
        lost = not falls and error > LOST * memory.error
        memory = replace(
            memory,
            current=found,
            least=tuple(map(min, now, memory.least)),
            tired=tired,
            ended=not np.isfinite(error) or error < NOTHING or lost or tired >= TIRED,
        )
        if not (error < memory.error or proves):
            return memory
        inside, bottom = memory.inside, self._least(found.y)
        if bottom > 0.0:
            inside = inside.with_one_more(found.y, bottom, worth)
        return replace(memory, best=found, inside=inside, error=min(error, memory.error), worth=worth, bottom=bottom)

    def _errors(self, at: Iterate) -> Errors:
        form, (size, cost) = self._form, self._sizes
        right, prices = form.right / size, form.cost / cost
        missed = right - form.rows @ at.x - form.free @ at.free
        if form.has_trace_row:  # apart: beside a trace that is but a guess on the safe side every other is small
            primal = max(_relative(missed[:-1], right[:-1]), _relative(missed[-1:], right[-1:]))
        else:
            primal = _relative(missed, right)
        dual = float(np.linalg.norm(np.append(prices - form.rows.T @ at.y - at.s, self._free_slack(at.y))))
        worth, price = float(right @ at.y), float(prices @ at.x + form.free_cost @ at.free / cost)
        product = float(at.x @ at.s)
        # Beside an optimum of zero, of any size that the data have.
        size = max(abs(price), abs(worth), ZERO * (1.0 + float(np.linalg.norm(at.x[: form.variables]))))
        return Errors(primal, dual, product, product / size, worth)

    def _newton(self, at: Iterate, deadline: Deadline) -> Iterate | None:
        """The next iterate; None where there is no step. Raises LinAlgError where rounding is too large for one."""
        form, (size, cost) = self._form, self._sizes
        blocks, rows = form.blocks, form.rows
        primal = form.right / size - rows @ at.x - form.free @ at.free
        dual, free = form.cost / cost - rows.T @ at.y - at.s, self._free_slack(at.y)
        mu = float(at.x @ at.s) / blocks.order
        x_factor, s_factor = blocks.factor(at.x), blocks.factor(at.s)
        inverse = s_factor.inverse()
        deadline.check()
        matrix = self._schur.at(at.x, inverse)
        system = BorderedEquations(matrix, form.free) if free.size else NormalEquations(matrix)
        deadline.check()

        def between(move: np.ndarray) -> np.ndarray:
            """The symmetric part of X D S^-1."""
            return blocks.symmetric(blocks.product(blocks.product(at.x, move), inverse))

        if np.linalg.norm(dual) <= NOTHING * (1.0 + np.linalg.norm(at.s)):
            dual = blocks.numbers_alone(dual)  # products with S^-1 would make much of what is left in matrices
        missed = between(dual) if dual.any() else dual

        def towards(target: np.ndarray) -> Iterate:
            """The direction whose dX + X dS S^-1 is the target."""
            right = primal - rows @ (target - missed)
            dy, u = (system.solve(right), free) if isinstance(system, NormalEquations) else system.solve(right, free)
            ds = dual - rows.T @ dy
            return Iterate(target - between(ds), dy, ds, u)

        first = towards(-at.x)
        along, up = _lengths(x_factor, s_factor, first)
        deadline.check()
        left = float((at.x + along * first.x) @ (at.s + up * first.s)) / blocks.order
        centring = min(1.0, max(1e-6, (max(0.0, left) / mu) ** (3 if min(along, up) > 0.3 else 1)))
        second = blocks.symmetric(blocks.product(blocks.product(first.x, first.s), inverse))
        move = towards(centring * mu * inverse - at.x - second)
        along, up = _lengths(x_factor, s_factor, move)
        if max(along, up) < SMALLEST_STEP:
            return None
        return Iterate(at.x + along * move.x, at.y + up * move.y, at.s + up * move.s, at.free + along * move.free)


def steps_for(problem: CompositeProblem) -> InteriorPoint | BoundedInteriorPoint | None:
    """Interior-point steps of the kind that a problem is for; None where there are none."""
    if is_conic(problem):
        return InteriorPoint(problem)
    return BoundedInteriorPoint(problem) if is_bounded(problem) else None


def _relative(missed: np.ndarray, right: np.ndarray) -> float:
    return float(np.linalg.norm(missed)) / (1.0 + float(np.linalg.norm(right)))


def _lengths(x: Factor, s: Factor, move: Iterate) -> tuple[float, float]:
    """Of the steps of X, and of y and S."""
    return min(1.0, INSIDE * x.longest_step(move.x)), min(1.0, INSIDE * s.longest_step(move.s))
