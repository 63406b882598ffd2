"""The inexact augmented Lagrangian: multipliers move where conditional gradients have nearly solved their problem.

Liu, Liu and Ma, "On the nonergodic convergence rate of an inexact augmented Lagrangian framework for composite convex
programming", Mathematics of Operations Research 44, 2019. For affine constraints A x = b, the j-th problem is to
minimise the augmented Lagrangian over X until its Frank-Wolfe gap is at most eps_j; then c <- c + (A x - b) / beta.
With eps_j summable, residual and objective after j problems are O(1 / sqrt(j)), at the last point and not only at the
mean; a problem takes O(1 / eps_j) steps of conditional gradients, which for eps_j = eps_1 / j^2 are O(j^2).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
from pydantic import Field

from cgm_cli.blocks.problem import CompositeProblem
from cgm_cli.methods.policies import DualsSpec, DualState, Move, PlainStep, Smoothing
from cgm_cli.methods.setting import Setting
from cgm_cli.spec.fields import Positive

if TYPE_CHECKING:
    from cgm_cli.methods.state import State


@dataclass(frozen=True)
class InexactState(DualState):
    """first: the gap at the start, which eps_1 is measured by; None before that. solved: problems so far."""

    first: float | None = None
    solved: int = 0


@dataclass(frozen=True)
class InexactMultipliers:
    """The multipliers of affine constraints become the duals of x whenever its gap has come to eps_j = eps_1 / j^2.

    share: eps_1 over the gap of the start.
    """

    class Spec(DualsSpec):
        kind: Literal["inexact"] = "inexact"
        share: Positive = Field(1.0, description="eps_1 in parts of the gap of the start")

        examples: ClassVar[list[dict[str, Any]]] = [{"kind": "inexact"}, {"kind": "inexact", "share": 0.1}]

        def build(self, problem: CompositeProblem, setting: Setting) -> InexactMultipliers:
            return InexactMultipliers(self.share)

    share: float = 1.0
    is_centred: ClassVar[bool] = True
    follows: ClassVar[bool] = False

    def init(self, problem: CompositeProblem) -> InexactState:
        return InexactState()

    def extrapolate(self, state: State, plain: PlainStep) -> None:
        """x is the solution of the j-th problem, and the plain step the first one of the next, if its gap is small."""
        memory, point = state.duals, state.point
        assert isinstance(memory, InexactState) and plain.beta is not None
        first = max(plain.gap, 0.0) if memory.first is None else memory.first
        solved = memory.solved + (plain.gap <= self.share * first / (memory.solved + 1) ** 2)
        if solved > memory.solved:
            point.multipliers = [np.array(y) for y in point.duals_at(point.images, plain.beta)]
        state.duals = replace(memory, first=first, solved=solved)

    def update(self, state: State, move: Move, smoothing: Smoothing) -> None:
        """They stay for the length of a problem."""
