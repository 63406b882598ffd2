"""An additive error that shrinks with the steps."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from cgm_cli.blocks.problem import CompositeProblem
from cgm_cli.methods.oracles.base import Accuracy, AccuracySpec
from cgm_cli.methods.policies import Allowance
from cgm_cli.methods.setting import Setting


@dataclass(frozen=True)
class AdditiveAccuracy(Accuracy):
    """<v, s~> <= min <v, .> + delta (eta_k / 2) D_X^2 (L_f + |A|^2 / beta_k) (paper, equation 4.1; Theorems 4-6)."""

    class Spec(AccuracySpec):
        is_inexact: ClassVar[bool] = True
        mode: Literal["additive"] = "additive"

        examples: ClassVar[list[dict[str, Any]]] = [{"mode": "additive", "delta": 1.0}]

        def build(self, problem: CompositeProblem, setting: Setting) -> AdditiveAccuracy:
            assert self.delta is not None
            constants = problem.constants()
            sizes = constants["L_f"], constants["|A|"], constants["D_X"]
            return AdditiveAccuracy(self.delta, *sizes, self.precision, budget=self.limit, perturb=self.perturb)

    delta: float
    lipschitz: float
    norm: float
    diameter: float
    tolerance: float = 1e-9

    @property
    def additive(self) -> float:
        return self.delta

    def allowance(self, eta: float, beta: float | None, current: float) -> Allowance:
        curvature = self.lipschitz
        if self.norm > 0.0 and beta is not None:
            curvature += self.norm**2 / beta
        allowed = 0.5 * self.delta * eta * self.diameter**2 * curvature
        return lambda value: allowed
