"""Full factorisations."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

from cgm_cli.blocks.problem import CompositeProblem
from cgm_cli.methods.oracles.base import AccuracySpec
from cgm_cli.methods.oracles.fixed import FixedAccuracy
from cgm_cli.methods.setting import Setting


class ExactOracle(FixedAccuracy):
    """Full factorisations, whose answers are exact up to rounding."""

    class Spec(AccuracySpec):
        mode: Literal["exact"] = "exact"

        examples: ClassVar[list[dict[str, Any]]] = [{"mode": "exact"}]

        def build(self, problem: CompositeProblem, setting: Setting) -> ExactOracle:
            return ExactOracle(0.0, budget=self.limit)
