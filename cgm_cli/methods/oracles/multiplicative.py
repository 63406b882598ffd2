"""A share of the best descent."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Literal, Self

from pydantic import model_validator

from cgm_cli.blocks.problem import CompositeProblem
from cgm_cli.methods.oracles.base import Accuracy, AccuracySpec
from cgm_cli.methods.policies import Allowance
from cgm_cli.methods.setting import Setting


@dataclass(frozen=True)
class MultiplicativeAccuracy(Accuracy):
    """<v, s~ - x> <= delta <v, s - x>, 0 < delta <= 1 (paper, equation 4.2; Theorems 7-9), with current = <v, x>.

    For s~ at a distance e above the minimum that is e <= (1 - delta) / delta * <v, x - s~>.
    """

    class Spec(AccuracySpec):
        is_inexact: ClassVar[bool] = True
        mode: Literal["multiplicative"] = "multiplicative"

        examples: ClassVar[list[dict[str, Any]]] = [{"mode": "multiplicative", "delta": 0.5}]

        def build(self, problem: CompositeProblem, setting: Setting) -> MultiplicativeAccuracy:
            assert self.delta is not None
            return MultiplicativeAccuracy(self.delta, self.precision, budget=self.limit, perturb=self.perturb)

        @model_validator(mode="after")
        def _is_a_share(self) -> Self:
            if self.delta is not None and self.delta > 1.0:
                raise ValueError(f"delta is {self.delta:g}, but a multiplicative oracle guarantees a share in (0, 1]")
            return self

    delta: float
    tolerance: float = 1e-9

    @property
    def share(self) -> float:
        return self.delta

    def allowance(self, eta: float, beta: float | None, current: float) -> Allowance:
        share = (1.0 - self.delta) / self.delta
        return lambda value: share * (current - value)
