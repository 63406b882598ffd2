"""The step of the theory."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, Literal

from cgm_cli.blocks.problem import CompositeProblem
from cgm_cli.methods.policies import Segment, StepSpec
from cgm_cli.methods.setting import Setting
from cgm_cli.methods.steps.base import PlannedStep


class ClassicStep(PlannedStep):
    """eta_k = 2 / (delta (k - 1) + 2), which is 2 / (k + 1) for delta = 1 (paper, Algorithms 1 and 2; Theorem 7)."""

    class Spec(StepSpec):
        kind: Literal["classic"] = "classic"

        examples: ClassVar[list[dict[str, Any]]] = [{"kind": "classic"}]

        def build(self, problem: CompositeProblem, setting: Setting) -> ClassicStep:
            return ClassicStep(setting.share)

    def size(self, k: int, segment: Callable[[], Segment]) -> float:
        return self.planned(k)
