"""Smoothing that vanishes with the steps of a stochastic method, of which a turn of the loop makes up many."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from cgm_cli.blocks.problem import CompositeProblem
from cgm_cli.methods.policies import SmoothingSpec
from cgm_cli.methods.setting import Setting


@dataclass(frozen=True)
class StochasticHomotopy:
    """beta_k = beta0 / sqrt(k + 8) for the k-th step (Locatello et al. 2019, Algorithm 1), `pace` of them in a turn."""

    class Spec(SmoothingSpec):
        kind: Literal["stochastic-homotopy"] = "stochastic-homotopy"

        examples: ClassVar[list[dict[str, Any]]] = [{"kind": "stochastic-homotopy"}]

        def build(self, problem: CompositeProblem, setting: Setting) -> StochasticHomotopy:
            return StochasticHomotopy(setting.beta0, setting.pace)

    beta0: float
    pace: int = 1
    vanishes: ClassVar[bool] = False

    def beta(self, k: int) -> float:
        """Of the first step of the k-th turn; before the first, that of the start."""
        return self.at(self.pace * max(0, k - 1) + 1)

    def at(self, step: int) -> float:
        """Of a step, which count from 1."""
        return self.beta0 / math.sqrt(step + 8)
