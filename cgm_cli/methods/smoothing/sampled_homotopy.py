"""Smoothing that vanishes so slowly that gradients of single constraints keep their variance at bay."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from cgm_cli.blocks.problem import CompositeProblem
from cgm_cli.methods.policies import SmoothingSpec
from cgm_cli.methods.setting import Setting
from cgm_cli.methods.smoothing.by_step import ByStep


@dataclass(frozen=True)
class SampledHomotopy(ByStep):
    """beta_k = beta0 / (k + 1)^(1/6) for the k-th step (Vladarean et al. 2020, H-1SFW), `pace` of them in a turn."""

    class Spec(SmoothingSpec):
        kind: Literal["sampled-homotopy"] = "sampled-homotopy"

        examples: ClassVar[list[dict[str, Any]]] = [{"kind": "sampled-homotopy"}]

        def build(self, problem: CompositeProblem, setting: Setting) -> SampledHomotopy:
            return SampledHomotopy(setting.beta0, setting.pace)

    def at(self, step: int) -> float:
        """Of a step, which count from 1."""
        return self.beta0 / (step + 1) ** (1 / 6)
