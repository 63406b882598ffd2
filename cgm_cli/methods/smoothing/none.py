"""No smoothing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from cgm_cli.blocks.problem import CompositeProblem
from cgm_cli.methods.policies import SmoothingSpec
from cgm_cli.methods.setting import Setting


@dataclass(frozen=True)
class Subgradient:
    """No smoothing: a subgradient stands for the gradient of a non-smooth term (paper, section 5.3: this fails)."""

    class Spec(SmoothingSpec):
        kind: Literal["none"] = "none"

        examples: ClassVar[list[dict[str, Any]]] = [{"kind": "none"}]

        def build(self, problem: CompositeProblem, setting: Setting) -> Subgradient:
            return Subgradient()

    vanishes: ClassVar[bool] = False

    def beta(self, k: int) -> None:
        return None
