"""A line search that is never longer than the step of the theory."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, Literal

from cgm_cli.blocks.problem import CompositeProblem
from cgm_cli.methods.policies import Segment, StepSpec
from cgm_cli.methods.setting import Setting
from cgm_cli.methods.steps.base import PlannedStep
from cgm_cli.methods.steps.line_search import minimiser


class CappedLineSearch(PlannedStep):
    """The minimiser of the smoothed objective over [0, eta_k], with the classical eta_k.

    The exact step zigzags: now and then it is several times the classical one, and the gap leaps with it. This one is
    no worse than the classical step in F_beta, which is all that Theorems 1 to 3 ask for.
    """

    class Spec(StepSpec):
        kind: Literal["capped-line-search"] = "capped-line-search"

        examples: ClassVar[list[dict[str, Any]]] = [{"kind": "capped-line-search"}]

        def build(self, problem: CompositeProblem, setting: Setting) -> CappedLineSearch:
            return CappedLineSearch(setting.share)

    def size(self, k: int, segment: Callable[[], Segment]) -> float:
        return min(self.planned(k), minimiser(segment().slope))
