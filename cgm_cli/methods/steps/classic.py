"""The step of the theory."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from cgm_cli.blocks.problem import CompositeProblem
from cgm_cli.methods.policies import Segment
from cgm_cli.methods.setting import Setting
from cgm_cli.spec.fields import PolicySpec


@dataclass(frozen=True)
class ClassicStep:
    """eta_k = 2 / (delta (k - 1) + 2), which is 2 / (k + 1) for delta = 1 (paper, Algorithms 1 and 2; Theorem 7)."""

    class Spec(PolicySpec):
        kind: Literal["classic"] = "classic"

        examples: ClassVar[list[dict[str, Any]]] = [{"kind": "classic"}]

        def build(self, problem: CompositeProblem, setting: Setting) -> ClassicStep:
            return ClassicStep(setting.share)

    delta: float = 1.0

    def planned(self, k: int) -> float:
        return 2.0 / (self.delta * (k - 1) + 2.0)

    def size(self, k: int, segment: Callable[[], Segment]) -> float:
        return self.planned(k)
