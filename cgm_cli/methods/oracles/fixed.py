"""The same accuracy at every iteration."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from cgm_cli.blocks.problem import CompositeProblem
from cgm_cli.methods.oracles.base import Accuracy, AccuracySpec
from cgm_cli.methods.setting import Setting

LOOSE = 1e-5
"""Relative tolerances from which products in single precision will do: ten times their rounding errors
(cgm_cli.numerics.eigen.SINGLE_NOISE).
"""


@dataclass(frozen=True)
class FixedAccuracy(Accuracy):
    """The same relative tolerance for every oracle call; 0 asks for full factorisations."""

    class Spec(AccuracySpec):
        mode: Literal["fixed"] = "fixed"

        examples: ClassVar[list[dict[str, Any]]] = [{"mode": "fixed"}, {"mode": "fixed", "tolerance": 1e-3}]

        def build(self, problem: CompositeProblem, setting: Setting) -> FixedAccuracy:
            return FixedAccuracy(self.precision, budget=self.limit)

    tolerance: float

    @property
    def is_loose(self) -> bool:
        return self.tolerance >= LOOSE
