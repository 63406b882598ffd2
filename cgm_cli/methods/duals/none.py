"""No multipliers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from cgm_cli.blocks.problem import CompositeProblem
from cgm_cli.methods.policies import DualsSpec, DualState, Move, PlainStep, Smoothing
from cgm_cli.methods.setting import Setting

if TYPE_CHECKING:
    from cgm_cli.methods.state import State


@dataclass(frozen=True)
class NoMultipliers:
    """The smoothing stays centred at zero."""

    class Spec(DualsSpec):
        kind: Literal["none"] = "none"

        examples: ClassVar[list[dict[str, Any]]] = [{"kind": "none"}]

        def build(self, problem: CompositeProblem, setting: Setting) -> NoMultipliers:
            return NoMultipliers()

    is_centred: ClassVar[bool] = False
    follows: ClassVar[bool] = False

    def init(self, problem: CompositeProblem) -> DualState:
        return DualState()

    def extrapolate(self, state: State, plain: PlainStep) -> None:
        """There is nothing to move."""

    def update(self, state: State, move: Move, smoothing: Smoothing) -> None:
        """There is nothing to move."""
