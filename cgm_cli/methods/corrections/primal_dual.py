"""Primal-dual steps by projections and proxes: for vectors, and for matrices of high rank, where a projection onto the
domain costs little more than its oracle.

With f smooth and g closed, x solves the problem, and y its dual, where the averaged operator T leaves both in place
(Chambolle and Pock 2011 for f = 0; Condat 2013; Vu 2013):

    x' = P_X(x - tau (grad f(x) + A^T y))
    y' = prox of sigma g* at y + sigma A (2 x' - x),         1 / tau >= sigma |A|^2 + L_f

Halpern's iteration of its reflection, anchored at z0 = (x0, y0) and begun anew from where it has come to,

    z_{k+1} = (k+1)/(k+2) (z_k + (1 + rho) (T z_k - z_k)) + 1/(k+2) z0,

converges linearly for problems that are sharp or grow quadratically, linear programs among them (Lu and Yang,
"Restarted Halpern PDHG for linear programming", 2024). |A|: of the terms stacked with the weights of the problem.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
from pydantic import Field

from cgm_cli.blocks.atoms import DenseAtom
from cgm_cli.blocks.problem import CompositeProblem
from cgm_cli.errors import ProblemError
from cgm_cli.methods.policies import CorrectionSpec, Move, PlainStep, Solution
from cgm_cli.methods.scaling import objective_size
from cgm_cli.methods.setting import Setting
from cgm_cli.numerics.deadline import Deadline
from cgm_cli.spec.fields import Size

if TYPE_CHECKING:
    from cgm_cli.methods.state import State

Pair = tuple[np.ndarray, ...]
"""x, and behind it the y_i, in the units of the terms."""

ENOUGH, SOME, LONG = 0.2, 0.8, 0.36
"""Begun anew: where |T z - z| has fallen to ENOUGH of what it was at the anchor; to SOME of it, and grows; or where the
epoch makes up LONG of all steps. These are the values of Lu and Yang, and of PDLP before them.
"""

SAFE = 0.99
"""Part of the largest sigma |A|^2 that is taken."""


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

    iterations: of a turn, which ends sooner where the iteration begins anew.
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
            if not problem.domain.projects:
                raise ProblemError(
                    "`correction: primal-dual` projects onto the domain, and this one cannot; `fully-corrective` "
                    "serves every domain",
                    ("correction",),
                )
            return PrimalDual(self.iterations)

    iterations: int = 64
    needs_array: ClassVar[bool] = True

    def init(self, problem: CompositeProblem) -> PrimalDualState:
        x = np.array(problem.first.dense(), dtype=float)
        start = (x, *(np.zeros(term.map.out_shape) for term in problem.terms))
        return PrimalDualState(start, start, _Operator(problem).usual_weight)

    def warm_up(self, problem: CompositeProblem) -> None:
        """Nothing is compiled for it."""

    def memory(self, problem: CompositeProblem) -> int:
        """The point, its anchor, and what a step makes of them; the duals are of about that size."""
        return 8 * problem.domain.memory

    def choose(self, state: State, plain: PlainStep, deadline: Deadline) -> Move:
        problem, memory = state.point.problem, state.correction
        assert isinstance(memory, PrimalDualState)
        operator = _Operator(problem)
        if operator.is_idle:
            return Move(plain.atom, plain.eta, memory)
        found = memory.current
        for _ in range(self.iterations):
            deadline.check()
            found = operator.apply(memory.current, memory.weight)
            memory, anew = operator.followed(memory, found)
            if anew:
                break
        x, *duals = found
        images = [term.map.forward(x) for term in problem.terms]
        solution = Solution(operator.smoothing(memory.weight), images, duals)
        return Move(DenseAtom(x), 1.0, memory, solution, is_elsewhere=True)


class _Operator:
    """T, and what of the iteration depends on its constants alone."""

    def __init__(self, problem: CompositeProblem):
        self._problem = problem
        self._curvature = 0.0 if problem.loss is None else problem.loss.lipschitz
        self._weights = [term.weight for term in problem.terms]
        self._norm = problem.constants()["|A|"]
        # f alone may overshoot by half of what T leaves of it (Condat 2013, Theorem 3.1): 1 + rho <= 3/2.
        self._relaxation = 2.0 if self._curvature == 0.0 else 1.5

    @property
    def is_idle(self) -> bool:
        """Whether the plain step will do: f is linear and alone, and the oracle's atom minimises it."""
        return not self._problem.terms and self._curvature == 0.0

    @property
    def usual_weight(self) -> float:
        """|y| over |x| as their sizes suggest: s / (|A| r) over r."""
        radius = self._problem.domain.radius
        return objective_size(self._problem) / (self._norm * radius**2) if self._norm * radius > 0.0 else 1.0

    def smoothing(self, weight: float) -> float:
        """1 / sigma: y' is the dual of the envelope that this makes, centred at y."""
        return 1.0 / self._steps(weight)[1]

    def apply(self, z: Pair, weight: float) -> Pair:
        """T z."""
        problem, (x, *duals) = self._problem, z
        tau, sigma = self._steps(weight)
        slope = np.zeros(problem.domain.shape)
        if problem.loss is not None:
            problem.loss.map.adjoint(problem.loss.gradient(problem.loss.map.forward(x))).add_to(slope)
        for term, y in zip(problem.terms, duals, strict=True):
            term.map.adjoint(y).add_to(slope)
        if problem.domain.symmetric:
            slope = 0.5 * (slope + slope.T)
        x_next = problem.domain.project(x - tau * slope)
        ahead = 2.0 * x_next - x
        found = [x_next]
        for term, y in zip(problem.terms, duals, strict=True):
            # With b = 1 / sigma, prox of sigma g* at y + sigma z is the dual of the envelope g_b at z + b y.
            step = 1.0 / (sigma * term.weight)
            found.append(term.penalty.smoothed(term.map.forward(ahead) + step * y, step).slope)
        return tuple(found)

    def followed(self, memory: PrimalDualState, found: Pair) -> tuple[PrimalDualState, bool]:
        """The state after a step, which has found T z; whether the iteration has begun anew there."""
        moves = [new - old for new, old in zip(found, memory.current, strict=True)]
        tau, sigma = self._steps(memory.weight)
        length = float(np.sqrt(_square(moves[0]) / tau + self._dual_square(moves[1:]) / sigma))
        taken = memory.taken + 1
        if memory.step == 0:
            memory = replace(memory, first=length)
        long = memory.step > 20 and memory.step >= LONG * taken
        grows = length > memory.last
        if memory.step > 0 and (length <= ENOUGH * memory.first or (length <= SOME * memory.first and grows) or long):
            return PrimalDualState(found, found, self._balanced(memory, found), taken=taken), True
        share = (memory.step + 1.0) / (memory.step + 2.0)
        current = tuple(
            share * (old + self._relaxation * move) + (1.0 - share) * start
            for old, move, start in zip(memory.current, moves, memory.anchor, strict=True)
        )
        return replace(memory, current=current, step=memory.step + 1, taken=taken, last=length), False

    def _steps(self, weight: float) -> tuple[float, float]:
        """tau and sigma."""
        if self._norm == 0.0:
            return 1.0 / (self._curvature or 1.0), weight
        sigma = SAFE * weight / self._norm
        return 1.0 / (sigma * (self._norm / SAFE) ** 2 + self._curvature), sigma

    def _balanced(self, memory: PrimalDualState, found: Pair) -> float:
        """The weight that is nearer to what x and y have moved by since the anchor (Applegate et al. 2021, PDLP)."""
        moves = [new - old for new, old in zip(found, memory.anchor, strict=True)]
        primal, dual = np.sqrt(_square(moves[0])), np.sqrt(self._dual_square(moves[1:]))
        if not (primal > 0.0 and dual > 0.0):
            return memory.weight
        return float(np.exp(0.5 * np.log(dual / primal) + 0.5 * np.log(memory.weight)))

    def _dual_square(self, moves: list[np.ndarray]) -> float:
        return sum(_square(move) / weight for move, weight in zip(moves, self._weights, strict=True))


def _square(move: np.ndarray) -> float:
    return float(np.vdot(move, move))
