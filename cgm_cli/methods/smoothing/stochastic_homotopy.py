"""Smoothing that keeps pace with the variance of gradients of some rows of the objective."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from cgm_cli.blocks.problem import CompositeProblem
from cgm_cli.methods.policies import SmoothingSpec
from cgm_cli.methods.setting import Setting
from cgm_cli.methods.smoothing.by_step import ByStep


@dataclass(frozen=True)
class StochasticHomotopy(ByStep):
    """beta_k = beta0 / sqrt(k + 8) for the k-th step (Locatello et al. 2019, Algorithm 1), `pace` of them in a turn."""

    class Spec(SmoothingSpec):
        kind: Literal["stochastic-homotopy"] = "stochastic-homotopy"

        examples: ClassVar[list[dict[str, Any]]] = [{"kind": "stochastic-homotopy"}]

        def build(self, problem: CompositeProblem, setting: Setting) -> StochasticHomotopy:
            return StochasticHomotopy(setting.beta0, setting.pace)

    def at(self, step: int) -> float:
        """Of a step, which count from 1."""
        return self.beta0 / math.sqrt(step + 8)
