"""Interior-point steps for vectors, one a turn: `cgm_cli.methods.corrections.bounded_newton` has the steps themselves.

Bounds that are far wider than solutions are leave entries all but free, and A D A^T with them without digits for the
others. So the steps begin within closer bounds, and begin again within wider ones where those were in the way.

Where rests of equations that others nearly imply (`cgm_cli.methods.corrections.rests`) contradict each other together,
by no more than rounding may have done to b, there is no point for them; steps that end far from one begin again, of the
program whose rests are loosened by that.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from cgm_cli.blocks.problem import CompositeProblem
from cgm_cli.methods.corrections.bounded_form import GATHERED, BoundedForm
from cgm_cli.methods.corrections.bounded_newton import BoundedNewton, Inner
from cgm_cli.methods.corrections.decisive import decisive_move
from cgm_cli.methods.policies import Move, PlainStep, Replacing
from cgm_cli.numerics.deadline import Deadline, seconds_of

if TYPE_CHECKING:
    from cgm_cli.methods.state import State

FALLS, TIRED = 0.9, 8
"""It has come as far as rounding lets it where errors have not fallen to this part for so many steps."""

RISES, FARTHEST = 1.5, 1e25
"""How many times larger the value of the dual has become, to be on its way to infinity; and the units of the objective
from which on it proves no more than before.
"""

NOTHING = 1e-13
"""Errors that small end the steps."""

BEYOND = 1e11
"""How many units of the objective, each 1e-8 of what it varies by over the length of x that is expected, the bound of
rows that contradict each other is.
"""

WIDER, ENOUGH = 100.0, 1e-9
"""How many times the reach of x the bounds are from zero at first, and how many times wider they are each time; and the
error from which on they need not be.
"""

FAR = 1e-6
"""What the last point misses its equations by, relative, for the steps to begin again with loosened rests."""

STEPS = 15
"""Of a solution to 1e-4 or so."""


@dataclass(frozen=True)
class BoundedState:
    """current, and the best so far, with its error, and the value of its dual, `worth`. least: of |A z - b| and of w v,
    relative. tired: steps since one of these has fallen. ended: there is no better point to be had. stage: how often
    bounds were widened. is_loosened: of the program whose rests are loosened.
    """

    current: Inner
    best: Inner
    error: float = np.inf
    worth: float = -np.inf
    least: tuple[float, float] = (np.inf, np.inf)
    tired: int = 0
    ended: bool = False
    stage: int = 0
    is_loosened: bool = False


@dataclass(frozen=True)
class BoundedInteriorPoint:
    """Interior-point steps for a problem."""

    problem: CompositeProblem
    needs_array: ClassVar[bool] = True
    replaces: ClassVar[Replacing] = "mostly"
    keeps_theory: ClassVar[bool] = True

    @cached_property
    def _exact(self) -> Stages:
        return Stages(BoundedNewton(BoundedForm(self.problem), self.problem.unit))

    @cached_property
    def _loosened(self) -> Stages:
        return Stages(BoundedNewton(BoundedForm(self.problem, is_loosened=True), self.problem.unit))

    @property
    def seconds(self) -> float:
        """What a solution takes, roughly."""
        return STEPS * seconds_of(self._exact.whole.form.work)

    def init(self, problem: CompositeProblem) -> BoundedState:
        start = self._exact.start(0)
        return BoundedState(start, start)

    def warm_up(self, problem: CompositeProblem) -> None:
        """Nothing is compiled for it."""

    def memory(self, problem: CompositeProblem) -> int:
        """A D A^T with its factor and copies, A, and a dozen vectors of the size of x."""
        form = self._exact.whole.form
        rows = form.right.size
        return 8 * (4 * rows**2 + rows * form.variables) + 12 * problem.domain.memory

    def choose(self, state: State, plain: PlainStep, deadline: Deadline) -> Move:
        memory = state.correction
        assert isinstance(memory, BoundedState)
        if not memory.ended:
            memory = self._stepped(memory, deadline)
            if memory.ended:
                memory = self._further(memory)
        newton = self._stages(memory).whole
        z = newton.mended(memory.best.z) if memory.ended else memory.best.z
        # Multipliers of what may be loosened yet are not told: they go on and on to prove what nobody asks.
        duals = newton.form.duals(memory.best.y * (not self._is_far(memory)))
        if memory.ended and newton.form.contradiction is not None:
            # It comes last: what rows contradict each other by may be less than an infeasibility that would do.
            wider = max(1.0, self.problem.domain.radius / self.problem.length)
            duals = newton.form.proof(BEYOND * wider * self.problem.unit)
        return decisive_move(self.problem, newton.form.point(z), duals, memory, memory.ended)

    def _stages(self, memory: BoundedState) -> Stages:
        return self._loosened if memory.is_loosened else self._exact

    def _is_far(self, memory: BoundedState) -> bool:
        """Whether rests are to be loosened, as the last point is far from meeting them."""
        exact = self._exact.whole
        return exact.form.has_rests and not memory.is_loosened and exact.missed(exact.mended(memory.best.z)) > FAR

    def _further(self, memory: BoundedState) -> BoundedState:
        """Within wider bounds, or of rests that are loosened; what has ended where there is neither."""
        stages = self._stages(memory)
        if memory.error > ENOUGH and memory.stage < stages.last:
            start = stages.start(memory.stage + 1)
            fresh = BoundedState(start, memory.best, memory.error, memory.worth)
            return replace(fresh, stage=memory.stage + 1, is_loosened=memory.is_loosened)
        if self._is_far(memory):
            start = self._loosened.start(0)
            return BoundedState(start, start, is_loosened=True)
        return memory

    def _stepped(self, memory: BoundedState, deadline: Deadline) -> BoundedState:
        """One step of Newton's method, or the end."""
        stages = self._stages(memory)
        newton, whole = stages.at(memory.stage), stages.whole
        try:
            with np.errstate(over="raise", invalid="raise", divide="raise"):
                found = newton.next(memory.current, deadline)
                primal, product, error, worth = whole.errors(whole.seen(found))
        except (np.linalg.LinAlgError, FloatingPointError):
            return replace(memory, ended=True)
        # Where no x meets the constraints, y goes on and on to prove it.
        if worth >= FARTHEST * self.problem.unit:
            return replace(memory, ended=True)
        proves = worth > max(0.0, RISES * memory.worth)
        falls = proves or primal < FALLS * memory.least[0] or product < FALLS * memory.least[1]
        tired = 0 if falls else memory.tired + 1
        memory = replace(
            memory,
            current=found,
            least=(min(primal, memory.least[0]), min(product, memory.least[1])),
            tired=tired,
            ended=error < NOTHING or tired >= TIRED,
        )
        if not (error < memory.error or proves):
            return memory
        return replace(memory, best=found, error=min(error, memory.error), worth=worth)


class Stages:
    """The steps within bounds that widen: x is kept near zero at first, and in the last stage anywhere it may be."""

    def __init__(self, whole: BoundedNewton):
        self.whole = whole
        widths = (whole.form.upper - whole.form.lower)[: whole.form.variables]
        excess = float(widths.max()) / (WIDER * whole.reach)
        self.last = max(0, math.ceil(math.log(excess, WIDER))) if excess > 1.0 else 0
        self._made: dict[int, BoundedNewton] = {self.last: whole}

    def at(self, stage: int) -> BoundedNewton:
        if stage not in self._made:
            form = self.whole.form.within(self.whole.centre, self.whole.reach * WIDER ** (stage + 1))
            self._made[stage] = BoundedNewton(form, self.whole.unit)
        return self._made[stage]

    def start(self, stage: int) -> Inner:
        """What a stage begins at, the later, the farther inside its bounds."""
        return self.at(stage).start(self.whole.reach * WIDER**stage)


def least_seconds(problem: CompositeProblem) -> float:
    """What the steps for a problem over a polyhedron take at the least, roughly, where no row is implied by others. It
    is known at once, while `BoundedInteriorPoint.seconds` writes the rows out and compares them, which takes long where
    they are many. For A D A^T, a sparse A of N entries in n columns takes N^2 / n products or more (Cauchy-Schwarz).
    """
    maps = [term.map for term in problem.terms if not term.map.is_identity]
    rows, size = sum(math.prod(linear.out_shape) for linear in maps), math.prod(problem.domain.shape)
    products = min(float(rows) ** 2 * size, GATHERED * float(sum(linear.work for linear in maps)) ** 2 / size)
    return STEPS * seconds_of(float(rows) ** 3 / 3.0 + products)
