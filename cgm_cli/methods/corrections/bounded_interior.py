"""Interior-point steps for vectors, one a turn: `cgm_cli.methods.corrections.bounded_newton` has the steps themselves.

Where rests of equations that others nearly imply (`cgm_cli.methods.corrections.rests`) contradict each other together,
by no more than rounding may have done to b, there is no point for them; steps that end far from one begin again, of the
program whose rests are loosened by that.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from cgm_cli.blocks.problem import CompositeProblem
from cgm_cli.methods.corrections.bounded_form import BoundedForm
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
"""How many units of the objective, each 1e-8 of what it varies by, the bound of rows that contradict each other is."""

FAR = 1e-6
"""What the last point misses its equations by, relative, for the steps to begin again with loosened rests."""

STEPS = 15
"""Of a solution to 1e-4 or so."""


@dataclass(frozen=True)
class BoundedState:
    """current, and the best so far, with its error, and the value of its dual, `worth`. least: of |A z - b| and of w v.
    tired: steps since one of these has fallen. ended: there is no better point to be had. is_loosened: of the program
    whose rests are loosened.
    """

    current: Inner
    best: Inner
    error: float = np.inf
    worth: float = -np.inf
    least: tuple[float, float] = (np.inf, np.inf)
    tired: int = 0
    ended: bool = False
    is_loosened: bool = False


@dataclass(frozen=True)
class BoundedInteriorPoint:
    """Interior-point steps for a problem."""

    problem: CompositeProblem
    needs_array: ClassVar[bool] = True
    replaces: ClassVar[Replacing] = "mostly"
    keeps_theory: ClassVar[bool] = True

    @cached_property
    def _exact(self) -> BoundedNewton:
        return BoundedNewton(BoundedForm(self.problem), self.problem.unit)

    @cached_property
    def _loosened(self) -> BoundedNewton:
        return BoundedNewton(BoundedForm(self.problem, is_loosened=True), self.problem.unit)

    @property
    def seconds(self) -> float:
        """What a solution takes, roughly."""
        return STEPS * seconds_of(self._exact.form.work)

    def init(self, problem: CompositeProblem) -> BoundedState:
        start = self._exact.start()
        return BoundedState(start, start)

    def warm_up(self, problem: CompositeProblem) -> None:
        """Nothing is compiled for it."""

    def memory(self, problem: CompositeProblem) -> int:
        """A D A^T with its factor and copies, A, and a dozen vectors of the size of x."""
        form = self._exact.form
        rows = form.right.size
        return 8 * (4 * rows**2 + rows * form.variables) + 12 * problem.domain.memory

    def choose(self, state: State, plain: PlainStep, deadline: Deadline) -> Move:
        memory = state.correction
        assert isinstance(memory, BoundedState)
        if not memory.ended:
            memory = self._stepped(memory, deadline)
            if memory.ended and self._is_far(memory):
                start = self._loosened.start()
                memory = BoundedState(start, start, is_loosened=True)
        newton = self._newton(memory)
        z = newton.mended(memory.best.z) if memory.ended else memory.best.z
        duals = newton.form.duals(memory.best.y * (not self._is_far(memory)))
        if memory.ended and newton.form.contradiction is not None:
            # It comes last: what rows contradict each other by may be less than an infeasibility that would do.
            duals = newton.form.proof(BEYOND * self.problem.unit)
        return decisive_move(self.problem, newton.form.point(z), duals, memory, memory.ended)

    def _newton(self, memory: BoundedState) -> BoundedNewton:
        return self._loosened if memory.is_loosened else self._exact

    def _is_far(self, memory: BoundedState) -> bool:
        """Whether rests are to be loosened, as the last point is far from meeting them."""
        exact = self._exact
        return exact.form.has_rests and not memory.is_loosened and exact.missed(exact.mended(memory.best.z)) > FAR

    def _stepped(self, memory: BoundedState, deadline: Deadline) -> BoundedState:
        """One step of Newton's method, or the end."""
        newton = self._newton(memory)
        try:
            with np.errstate(over="raise", invalid="raise", divide="raise"):
                found = newton.next(memory.current, deadline)
                primal, product, error, worth = newton.errors(found)
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
