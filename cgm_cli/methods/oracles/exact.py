"""Full factorisations."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

from cgm_cli.blocks.problem import CompositeProblem
from cgm_cli.methods.oracles.base import Accuracy, AccuracySpec
from cgm_cli.methods.setting import Setting


class ExactOracle(Accuracy):
    """Full factorisations, whose answers are exact up to rounding."""

    class Spec(AccuracySpec):
        mode: Literal["exact"] = "exact"

        examples: ClassVar[list[dict[str, Any]]] = [{"mode": "exact"}]

        def build(self, problem: CompositeProblem, setting: Setting) -> ExactOracle:
            return ExactOracle(budget=self.limit)

    @property
    def tolerance(self) -> float:
        return 0.0
