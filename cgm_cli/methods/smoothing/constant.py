"""Smoothing that stays as it is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from cgm_cli.blocks.problem import CompositeProblem
from cgm_cli.methods.policies import SmoothingSpec
from cgm_cli.methods.setting import Setting


@dataclass(frozen=True)
class Constant:
    """beta_k = beta0, at every iteration.

    For multipliers, which meet the constraints however wide it is, or for an accuracy that is fixed beforehand (Lan,
    "The complexity of large-scale convex programming under a linear optimization oracle", 2014).
    """

    class Spec(SmoothingSpec):
        kind: Literal["constant"] = "constant"

        examples: ClassVar[list[dict[str, Any]]] = [{"kind": "constant"}]

        def build(self, problem: CompositeProblem, setting: Setting) -> Constant:
            return Constant(setting.beta0)

    beta0: float
    vanishes: ClassVar[bool] = False

    def beta(self, k: int) -> float:
        return self.beta0
