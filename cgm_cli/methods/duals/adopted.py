"""Multipliers that a correction finds together with its point."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from cgm_cli.blocks.problem import CompositeProblem
from cgm_cli.methods.policies import DualsSpec, DualState, Move, PlainStep, Smoothing
from cgm_cli.methods.setting import Setting

if TYPE_CHECKING:
    from cgm_cli.methods.state import State


@dataclass(frozen=True)
class AdoptedDuals:
    """The duals that a correction hands over with its point are the multipliers as they are: it moves both.

    The smoothing is the one that it has moved them at, so that the dual point of the bound is next to them.
    """

    class Spec(DualsSpec):
        kind: Literal["adopted"] = "adopted"

        examples: ClassVar[list[dict[str, Any]]] = [{"kind": "adopted"}]

        def build(self, problem: CompositeProblem, setting: Setting) -> AdoptedDuals:
            return AdoptedDuals()

    is_centred: ClassVar[bool] = True
    follows: ClassVar[bool] = True

    def init(self, problem: CompositeProblem) -> DualState:
        return DualState()

    def extrapolate(self, state: State, plain: PlainStep) -> None:
        """The correction does so itself."""

    def update(self, state: State, move: Move, smoothing: Smoothing) -> None:
        beta = smoothing.beta(state.k + 1)
        if move.solution is None or beta is None:
            return
        state.duals = replace(state.duals, sharpness=beta / move.solution.beta, is_decisive=move.solution.is_decisive)
        state.point.multipliers = list(move.solution.duals)
