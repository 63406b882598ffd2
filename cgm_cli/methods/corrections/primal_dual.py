"""Primal-dual steps by projections and proxes: for vectors, and for matrices of high rank, where a projection onto the
domain costs little more than its oracle.

With f smooth and g closed, x solves the problem, and y its dual, where the averaged operator T of Chambolle and Pock
(2011; Condat 2013 and Vu 2013 beside an f) leaves both in place: cgm_cli.methods.corrections.saddle_operator.
Halpern's iteration of its reflection, anchored at z0 = (x0, y0) and begun anew from where it has come to,

    z_{k+1} = (k+1)/(k+2) (z_k + (1 + rho) (T z_k - z_k)) + 1/(k+2) z0,

converges linearly for problems that are sharp or grow quadratically, linear programs among them (Lu and Yang,
"Restarted Halpern PDHG for linear programming", 2024).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
from pydantic import Field

from cgm_cli.blocks.atoms import DenseAtom
from cgm_cli.blocks.domains.base import Lift
from cgm_cli.blocks.lifting import lifted
from cgm_cli.blocks.problem import CompositeProblem
from cgm_cli.errors import ProblemError
from cgm_cli.methods.corrections.saddle_operator import Pair, SaddleOperator
from cgm_cli.methods.policies import CorrectionSpec, Move, PlainStep, Replacing, Solution
from cgm_cli.methods.setting import Setting
from cgm_cli.numerics.deadline import Deadline
from cgm_cli.spec.fields import Size

if TYPE_CHECKING:
    from cgm_cli.methods.state import State

ENOUGH, SOME, LONG = 0.2, 0.8, 0.36
"""Begun anew: where |T z - z| has fallen to ENOUGH of what it was at the anchor; to SOME of it, and grows; or where the
epoch makes up LONG of all steps. These are the values of Lu and Yang, and of PDLP before them.
"""

IDLE, IDLE_STEPS = 0.9, 200
"""And where |T z - z| is more than IDLE of what it was at the anchor after so many steps: x or y travels at a constant
speed, which is as much too small as the weight is off.
"""

FACTOR, RANGE = 5.0, 1e8
"""What the weight changes by at the most, from one epoch to the next, and over all. An epoch in which x stays at a
vertex while y moves, or the reverse, would make it any number at all.
"""


@dataclass(frozen=True)
class PrimalDualState:
    """current, anchor: z_k and z0. weight: sqrt(sigma / tau), in the units of y over those of x, for f = 0. step: k of
    the epoch. taken: steps in all. first, last: |T z - z| at the anchor and at the last step.
    """

    current: Pair
    anchor: Pair
    weight: float
    step: int = 0
    taken: int = 0
    first: float = np.inf
    last: float = np.inf


@dataclass(frozen=True)
class PrimalDual:
    """Primal-dual steps with projections onto the domain, from one turn of the loop to the next; its oracle bounds.

    operator: T of the problem or, where the domain is the image of one that projects, of the problem lifted to that.
    lift: how. iterations: of a turn, which ends sooner where the iteration begins anew.
    """

    class Spec(CorrectionSpec):
        kind: Literal["primal-dual"] = "primal-dual"
        iterations: Size = Field(64, description="the most of a turn, each a projection and a prox of every term")

        examples: ClassVar[list[dict[str, Any]]] = [
            {"kind": "primal-dual"},
            {"kind": "primal-dual", "iterations": 10},
        ]

        def build(self, problem: CompositeProblem, setting: Setting) -> PrimalDual:
            """Raises ProblemError for domains that cannot project."""
            if not problem.domain.projected.projects:
                raise ProblemError(
                    "`correction: primal-dual` projects onto the domain, and this one cannot; `fully-corrective` "
                    "serves every domain",
                    ("correction",),
                )
            return PrimalDual(SaddleOperator(lifted(problem)), problem.domain.lift, self.iterations)

    operator: SaddleOperator
    lift: Lift | None = None
    iterations: int = 64
    needs_array: ClassVar[bool] = True
    replaces: ClassVar[Replacing] = "mostly"

    def init(self, problem: CompositeProblem) -> PrimalDualState:
        start = self.operator.start
        return PrimalDualState(start, start, self.operator.usual_weight)

    def warm_up(self, problem: CompositeProblem) -> None:
        """Nothing is compiled for it."""

    def memory(self, problem: CompositeProblem) -> int:
        """The point, its anchor, and what a step makes of them; the duals are of about that size."""
        return 8 * problem.domain.memory

    def choose(self, state: State, plain: PlainStep, deadline: Deadline) -> Move:
        problem, memory = state.point.problem, state.correction
        assert isinstance(memory, PrimalDualState)
        operator = self.operator
        if operator.is_idle:
            return Move(plain.atom, plain.eta, memory)
        found = memory.current
        for _ in range(self.iterations):
            deadline.check()
            found = operator.apply(memory.current, memory.weight)
            memory, anew = self._followed(memory, found)
            if anew:
                break
        x, *duals = found
        x = x if self.lift is None else self.lift.down(x)
        images = [term.map.forward(x) for term in problem.terms]
        solution = Solution(operator.smoothing(memory.weight), images, duals[: len(images)])
        return Move(DenseAtom(x), 1.0, memory, solution, is_elsewhere=True)

    def _followed(self, memory: PrimalDualState, found: Pair) -> tuple[PrimalDualState, bool]:
        """The state after a step, which has found T z; whether the iteration has begun anew there."""
        moves = tuple(new - old for new, old in zip(found, memory.current, strict=True))
        length = self.operator.length(moves, memory.weight)
        taken = memory.taken + 1
        if memory.step == 0:
            memory = replace(memory, first=length)
        long = memory.step > 20 and memory.step >= LONG * taken
        idle = memory.step >= IDLE_STEPS and length > IDLE * memory.first
        falls = length <= ENOUGH * memory.first or (length <= SOME * memory.first and length > memory.last)
        if memory.step > 0 and (falls or long or idle):
            return PrimalDualState(found, found, self._balanced(memory, found), taken=taken), True
        share = (memory.step + 1.0) / (memory.step + 2.0)
        current = tuple(
            share * (old + self.operator.relaxation * move) + (1.0 - share) * start
            for old, move, start in zip(memory.current, moves, memory.anchor, strict=True)
        )
        return replace(memory, current=current, step=memory.step + 1, taken=taken, last=length), False

    def _balanced(self, memory: PrimalDualState, found: Pair) -> float:
        """The weight that is nearer to what x and y have moved by since the anchor (Applegate et al. 2021, PDLP)."""
        moves = tuple(new - old for new, old in zip(found, memory.anchor, strict=True))
        primal, dual = np.sqrt(self.operator.lengths(moves))
        if not (primal > 0.0 and dual > 0.0):
            return memory.weight
        usual, weight = self.operator.usual_weight, np.sqrt(dual / primal * memory.weight)
        near = np.clip(weight, memory.weight / FACTOR, memory.weight * FACTOR)
        return float(np.clip(near, usual / RANGE, usual * RANGE))
