"""The step that is best along the segment."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, Literal

from cgm_cli.blocks.problem import CompositeProblem
from cgm_cli.methods.policies import Segment, StepSpec
from cgm_cli.methods.setting import Setting
from cgm_cli.methods.steps.base import PlannedStep
from cgm_cli.numerics.roots import increasing_zero


class LineSearch(PlannedStep):
    """The minimiser of the smoothed objective along the segment to the atom (paper, remark after Theorem 3)."""

    class Spec(StepSpec):
        kind: Literal["line-search"] = "line-search"

        examples: ClassVar[list[dict[str, Any]]] = [{"kind": "line-search"}]

        def build(self, problem: CompositeProblem, setting: Setting) -> LineSearch:
            return LineSearch(setting.share)

    def size(self, k: int, segment: Callable[[], Segment]) -> float:
        return minimiser(segment().slope)


def minimiser(slope: Callable[[float], float]) -> float:
    """The zero in [0, 1] of a non-decreasing slope, or the end of the interval that it points to."""
    return increasing_zero(slope, 0.0, 1.0)
