"""Primal-dual steps by projections and proxes: for vectors, and for matrices of high rank, where a projection onto the
domain costs little more than its oracle.

With f smooth and g closed, x solves the problem, and y its dual, where the averaged operator T of Chambolle and Pock
(2011; Condat 2013 and Vu 2013 beside an f) leaves both in place: cgm_cli.methods.corrections.saddle_operator.
Halpern's iteration of its reflection, anchored at z0 = (x0, y0) and begun anew from where it has come to,

    z_{k+1} = (k+1)/(k+2) (z_k + (1 + rho) (T z_k - z_k)) + 1/(k+2) z0,

converges linearly for problems that are sharp or grow quadratically, linear programs among them (Lu and Yang,
"Restarted Halpern PDHG for linear programming", 2024). It is begun anew, too, from a combination of the points gone
through, by `cgm_cli.methods.corrections.anderson`, where |T z - z| is smaller there: that never makes it longer.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
from pydantic import Field

from cgm_cli.blocks.atoms import DenseAtom
from cgm_cli.blocks.domains.base import Lift
from cgm_cli.blocks.lifting import lifted
from cgm_cli.blocks.problem import CompositeProblem
from cgm_cli.errors import ProblemError
from cgm_cli.methods.corrections.anderson import LARGEST, LEAST, Anderson, Trail
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

NEAR, FACTOR, RANGE = 1.4, 5.0, 1e8
"""What the weight changes by at the least, lest the trail be lost for nothing, and at the most, from one epoch to the
next, and over all. An epoch in which x stays at a vertex while y moves, or the reverse, would make it any number.
"""

EVERY, RARELY, BETTER = 10, 160, 0.9
"""After so many steps a combination of those gone through is tried, after twice as many where the last was of no use,
up to RARELY; it is taken where |T z - z| is this part of the last.
"""

SURELY, LOOKED = 0.5, 10
"""A turn ends, too, where |T z - z| has fallen to this part of what would do if gap and infeasibility fell alike; but
not before so many steps, of which a look costs two or three.
"""


@dataclass(frozen=True)
class PrimalDualState:
    """current, anchor: z_k and z0. weight: sqrt(sigma / tau), in the units of y over those of x, for f = 0. step: k of
    the epoch. taken: steps in all. first, last: |T z - z| at the anchor and at the last step. wait: steps
    between combinations, the next of which is tried when so many steps are `taken`. trail: what they are made of.
    """

    current: Pair
    anchor: Pair
    weight: float
    step: int = 0
    taken: int = 0
    first: float = np.inf
    last: float = np.inf
    wait: int = EVERY
    next_try: int = EVERY
    trail: Trail | None = None


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
    keeps_theory: ClassVar[bool] = True

    def init(self, problem: CompositeProblem) -> PrimalDualState:
        start = self.operator.start
        return PrimalDualState(start, start, self.operator.usual_weight)

    def warm_up(self, problem: CompositeProblem) -> None:
        """Nothing is compiled for it."""

    def memory(self, problem: CompositeProblem) -> int:
        """The point, its anchor, and what a step makes of them; the duals are of about that size. And the trail, with
        the copy that a turn works on, where there is one.
        """
        trail = 8 * LEAST if math.prod(problem.domain.shape) <= LARGEST else 0
        return (8 + trail) * problem.domain.memory

    def choose(self, state: State, plain: PlainStep, deadline: Deadline) -> Move:
        problem, memory = state.point.problem, state.correction
        assert isinstance(memory, PrimalDualState)
        operator = self.operator
        if operator.is_idle:
            return Move(plain.atom, plain.eta, memory)
        found, weight, gone = memory.current, memory.weight, Anderson(memory.trail)
        enough = 0.0
        for step in range(self.iterations):
            deadline.check()
            found, residual = self._applied(memory.current, weight, gone)
            enough = enough or SURELY * residual / max(plain.short, 1.0)
            memory, anew = self._followed(memory, found, residual)
            if anew or (residual <= enough and step >= LOOKED):
                break
            if memory.taken >= memory.next_try and not gone.is_empty:
                found, memory = self._ahead(memory, found, gone)
        # With another weight, T is another.
        memory = replace(memory, trail=gone.trail if memory.weight == weight else None)
        x, *duals = operator.parts(found)
        x = x if self.lift is None else self.lift.down(x)
        images = [term.map.forward(x) for term in problem.terms]
        solution = Solution(operator.smoothing(memory.weight), images, duals[: len(images)])
        return Move(DenseAtom(x), 1.0, memory, solution, is_elsewhere=True)

    def _applied(self, z: Pair, weight: float, gone: Anderson) -> tuple[Pair, float]:
        """T z, and |T z - z|."""
        found = self.operator.apply(z, weight)
        residual = self.operator.coordinates(found - z, weight)
        gone.add(found, residual)
        return found, float(np.linalg.norm(residual))

    def _ahead(self, memory: PrimalDualState, found: Pair, gone: Anderson) -> tuple[Pair, PrimalDualState]:
        """The iteration begun anew from a combination of what it has gone through, where that is as much better as it
        promises; else as it is.
        """
        combined, promised = gone.combined()
        if promised <= BETTER * memory.last:
            ahead, residual = self._applied(combined, memory.weight, gone)
            taken = memory.taken + 1
            if residual <= BETTER * memory.last:
                return ahead, PrimalDualState(ahead, ahead, memory.weight, taken=taken, next_try=taken + EVERY)
            memory = replace(memory, taken=taken)
        wait = min(2 * memory.wait, RARELY)
        return found, replace(memory, wait=wait, next_try=memory.taken + wait)

    def _followed(self, memory: PrimalDualState, found: Pair, length: float) -> tuple[PrimalDualState, bool]:
        """The state after a step, which has found T z, so far from z; whether the iteration has begun anew there."""
        taken = memory.taken + 1
        if memory.step == 0:
            memory = replace(memory, first=length)
        long = memory.step > 20 and memory.step >= LONG * taken
        idle = memory.step >= IDLE_STEPS and length > IDLE * memory.first
        falls = length <= ENOUGH * memory.first or (length <= SOME * memory.first and length > memory.last)
        if memory.step > 0 and (falls or long or idle):
            state = PrimalDualState(found, found, self._balanced(memory, found), taken=taken, next_try=taken + EVERY)
            return state, True
        share = (memory.step + 1.0) / (memory.step + 2.0)
        ahead, back = share * self.operator.relaxation, share * (1.0 - self.operator.relaxation)
        current = ahead * found + back * memory.current + (1.0 - share) * memory.anchor
        return replace(memory, current=current, step=memory.step + 1, taken=taken, last=length), False

    def _balanced(self, memory: PrimalDualState, found: Pair) -> float:
        """The weight that is nearer to what x and y have moved by since the anchor (Applegate et al. 2021, PDLP)."""
        primal, dual = self.operator.lengths(found - memory.anchor)
        if not (primal > 0.0 and dual > 0.0):
            return memory.weight
        usual, weight = self.operator.usual_weight, np.sqrt(dual / primal * memory.weight)
        if 1.0 / NEAR < weight / memory.weight < NEAR:
            return memory.weight
        near = np.clip(weight, memory.weight / FACTOR, memory.weight * FACTOR)
        return float(np.clip(near, usual / RANGE, usual * RANGE))
