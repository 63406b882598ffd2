"""The method of multipliers (Hestenes; Powell; both 1969) for a correction that nearly solves its problem: the duals of
its solution are the next multipliers.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np

from cgm_cli.blocks.problem import CompositeProblem
from cgm_cli.methods.duals.ascent import DualAscent
from cgm_cli.methods.policies import DualsSpec, DualState, Move, PlainStep, Smoothing, Solution
from cgm_cli.methods.setting import Setting

if TYPE_CHECKING:
    from cgm_cli.methods.state import State


@dataclass(frozen=True)
class MultiplierState(DualState):
    """former: the multipliers before the last problem. residual: of its solution. age: of the momentum; its size."""

    is_decisive: bool = True
    former: tuple[np.ndarray, ...] = ()
    residual: float = np.inf
    age: float = 1.0
    momentum: float = 0.0


@dataclass(frozen=True)
class MethodOfMultipliers:
    """The duals y of the correction's solution are the next multipliers.

    The next problem is centred beyond them, by Nesterov's momentum, since the method is a proximal point method of the
    dual (Guler, "New proximal point algorithms for convex minimization", SIAM J. Optim. 2, 1992); where the residual
    has grown, momentum begins anew. Where the residual is more than `loose` of the image, the smoothing is halved for
    good, and quartered where it is four times that, to 1 / `sharpest` at least: a sharper one makes the multipliers
    converge faster, and its problem harder to solve (Bertsekas, "Constrained optimization and Lagrange multiplier
    methods", section 2.2). Where multipliers are known that fit the solution better than its duals, they take their
    place, and the smoothing is halved, too, where the residual is more than `slow` of the last one, and once more.

    ascent: what moves the multipliers once the correction has given way, while the smoothing vanishes.
    """

    class Spec(DualsSpec):
        kind: Literal["multipliers"] = "multipliers"

        examples: ClassVar[list[dict[str, Any]]] = [{"kind": "multipliers"}]

        def build(self, problem: CompositeProblem, setting: Setting) -> MethodOfMultipliers:
            return MethodOfMultipliers(DualAscent.of(problem, setting.beta0))

    ascent: DualAscent
    loose: float = 0.05
    slow: float = 0.25
    sharpest: float = 256.0
    is_centred: ClassVar[bool] = True
    follows: ClassVar[bool] = True

    def init(self, problem: CompositeProblem) -> MultiplierState:
        return MultiplierState()

    def extrapolate(self, state: State, plain: PlainStep) -> None:
        memory, held = state.duals, state.point.multipliers
        assert isinstance(memory, MultiplierState) and held is not None
        if not memory.is_decisive:
            return
        if memory.momentum > 0.0:
            pairs = zip(held, memory.former, strict=True)
            state.point.multipliers = [y + memory.momentum * (y - before) for y, before in pairs]
        state.duals = replace(memory, former=tuple(held))

    def update(self, state: State, move: Move, smoothing: Smoothing) -> None:
        if move.solution is not None:
            self.follow(state, move.solution)
        if not move.gave_way:
            return
        sharpness = state.duals.sharpness if move.solution is not None else float(np.sqrt(state.k + 1.0))
        state.duals = replace(state.duals, is_decisive=False, sharpness=sharpness)
        self.ascent.update(state, move, smoothing)

    def follow(self, state: State, solution: Solution) -> None:
        """Move the multipliers to the duals of a solution, or to those that fit it better."""
        problem, memory, held = state.point.problem, state.duals, state.point.multipliers
        assert isinstance(memory, MultiplierState) and held is not None
        squares, looseness, radius = 0.0, 0.0, problem.domain.radius
        for term, z, y, c in zip(problem.terms, solution.images, solution.duals, held, strict=True):
            apart = solution.beta / term.weight * float(np.linalg.norm(y - c))
            squares += term.weight * apart**2
            # Images may be zero, but none is larger than |A| times the radius.
            size = max(min(1.0, term.map.norm * radius), float(np.linalg.norm(z)))
            looseness = max(looseness, apart / size if size > 0.0 else 0.0)
        residual, fitted = float(np.sqrt(squares)), solution.fitted
        age, sharpness = memory.age, memory.sharpness
        if looseness > self.loose or (fitted is not None and residual > self.slow * memory.residual):
            sharpness = min(
                sharpness * (2.0 if looseness <= 4.0 * self.loose else 4.0),
                self.sharpest if fitted is None else 2.0 * self.sharpest,
            )
        if looseness > self.loose or residual > memory.residual:
            age = 1.0
        older = 0.5 * (1.0 + float(np.sqrt(1.0 + 4.0 * age**2)))
        state.duals = replace(memory, sharpness=sharpness, residual=residual, age=older, momentum=(age - 1.0) / older)
        state.point.multipliers = list(solution.duals if fitted is None else fitted)
