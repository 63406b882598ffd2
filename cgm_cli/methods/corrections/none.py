"""The plain step."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from cgm_cli.blocks.problem import CompositeProblem
from cgm_cli.methods.policies import CorrectionSpec, Move, PlainStep, Replacing
from cgm_cli.methods.setting import Setting
from cgm_cli.numerics.deadline import Deadline

if TYPE_CHECKING:
    from cgm_cli.methods.state import State


@dataclass(frozen=True)
class NoCorrection:
    """The plain step towards the oracle's atom."""

    class Spec(CorrectionSpec):
        kind: Literal["none"] = "none"

        examples: ClassVar[list[dict[str, Any]]] = [{"kind": "none"}]

        def build(self, problem: CompositeProblem, setting: Setting) -> NoCorrection:
            return NoCorrection()

    needs_array: ClassVar[bool] = False
    replaces: ClassVar[Replacing] = "never"
    keeps_theory: ClassVar[bool] = True

    def init(self, problem: CompositeProblem) -> None:
        """It remembers nothing."""

    def warm_up(self, problem: CompositeProblem) -> None:
        """Nothing is compiled for it."""

    def memory(self, problem: CompositeProblem) -> int:
        return 0

    def choose(self, state: State, plain: PlainStep, deadline: Deadline) -> Move:
        return Move(plain.atom, plain.eta)
