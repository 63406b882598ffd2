"""Smoothing that vanishes."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from cgm_cli.blocks.problem import CompositeProblem
from cgm_cli.methods.policies import SmoothingSpec
from cgm_cli.methods.setting import Setting


@dataclass(frozen=True)
class Homotopy:
    """beta_k = beta0 / sqrt(delta k + 1) (paper, Algorithm 2; Theorem 7 for a multiplicative oracle of delta < 1)."""

    class Spec(SmoothingSpec):
        kind: Literal["homotopy"] = "homotopy"

        examples: ClassVar[list[dict[str, Any]]] = [{"kind": "homotopy"}]

        def build(self, problem: CompositeProblem, setting: Setting) -> Homotopy:
            return Homotopy(setting.beta0, setting.share)

    beta0: float
    delta: float = 1.0
    vanishes: ClassVar[bool] = True

    def beta(self, k: int) -> float:
        return self.beta0 / math.sqrt(self.delta * k + 1)
