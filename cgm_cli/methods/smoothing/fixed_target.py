"""Smoothing for an accuracy that is fixed beforehand."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from pydantic import Field

from cgm_cli.blocks.problem import CompositeProblem
from cgm_cli.errors import ProblemError
from cgm_cli.methods.policies import SmoothingSpec
from cgm_cli.methods.scaling import objective_size
from cgm_cli.methods.setting import Setting
from cgm_cli.spec.fields import Positive

ACCURACY = 1e-2
"""Where nobody says how good a solution is to be."""


@dataclass(frozen=True)
class FixedTarget:
    """beta_k = eps / L_g^2 for a target eps, at every iteration; for finite penalties.

    F_beta <= F <= F_beta + beta L_g^2 / 2 (Nesterov, "Smooth minimization of non-smooth functions", 2005, section 2),
    and the classic step leaves F_beta - min F_beta <= 2 (L_f + |A|^2 / beta) D_X^2 / (k + 1) after k steps, so that
    F - F* <= eps from k + 1 = 4 (L_f + |A|^2 L_g^2 / eps) D_X^2 / eps on: of order 1 / eps^2, as Theorem 4 of Lan, "The
    complexity of large-scale convex programming under a linear optimization oracle", 2014, has it. Below eps nothing is
    promised.
    """

    class Spec(SmoothingSpec):
        kind: Literal["fixed-target"] = "fixed-target"
        accuracy: Positive = Field(
            ACCURACY, description="eps, relative to the size of the objective, which `scaling` brings to 1"
        )

        examples: ClassVar[list[dict[str, Any]]] = [{"kind": "fixed-target"}, {"kind": "fixed-target", "accuracy": 0.1}]

        def build(self, problem: CompositeProblem, setting: Setting) -> FixedTarget:
            """Raises ProblemError where a constraint leaves no L_g."""
            sets = ", ".join(term.name for term in problem.terms if term.penalty.is_set)
            if sets:
                raise ProblemError(
                    "`smoothing: fixed-target` is as wide as a target allows where duals are bounded, and those of a "
                    f"constraint are not ({sets}): leave it out",
                    ("smoothing",),
                )
            lipschitz = problem.constants()["L_g"]
            if lipschitz == 0.0:
                return FixedTarget(setting.beta0)
            return FixedTarget(self.accuracy * objective_size(problem) / lipschitz**2)

    width: float
    vanishes: ClassVar[bool] = False

    def beta(self, k: int) -> float:
        return self.width
