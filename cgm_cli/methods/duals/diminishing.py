"""Dual ascent by steps that diminish: FW-AL, the augmented Lagrangian of one conditional-gradient step per multiplier.

Gidel, Pedregosa and Lacoste-Julien, "Frank-Wolfe splitting via augmented Lagrangian method", AISTATS 2018. For affine
constraints A x = b and the augmented Lagrangian with the penalty 1 / beta, a step of conditional gradients on x, and

    c_{t+1} = c_t + eta_t (A x_{t+1} - b),     eta_t = eta 2 / (t + 2),     t = 0, 1, ...

Over any compact convex X the augmented Lagrangian's gaps fall as 1 / t, and so does the least |A x - b|^2 so far (their
Theorem 1), if eta is small enough for an error bound of the dual whose constant nobody knows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from pydantic import Field

from cgm_cli.blocks.problem import CompositeProblem
from cgm_cli.methods.policies import DualsSpec, DualState, Move, PlainStep, Smoothing
from cgm_cli.methods.setting import Setting
from cgm_cli.spec.fields import Positive

if TYPE_CHECKING:
    from cgm_cli.methods.state import State


@dataclass(frozen=True)
class DiminishingAscent:
    """The multipliers of affine constraints follow the residual by steps of 2 eta / (t + 2), as in FW-AL.

    eta is in units of the penalty, of which no step is longer than 1, that of the method of multipliers. Steps of 2 / t
    add up so slowly that multipliers which are far away are never met: hence 10, where the theorem has at most 2.
    """

    class Spec(DualsSpec):
        kind: Literal["diminishing"] = "diminishing"
        eta: Positive = Field(10.0, description="eta, in units of the penalty 1 / beta; a step is 1 at the most")

        examples: ClassVar[list[dict[str, Any]]] = [{"kind": "diminishing"}, {"kind": "diminishing", "eta": 1.0}]

        def build(self, problem: CompositeProblem, setting: Setting) -> DiminishingAscent:
            return DiminishingAscent(self.eta)

    eta: float = 10.0
    is_centred: ClassVar[bool] = True
    follows: ClassVar[bool] = False

    def init(self, problem: CompositeProblem) -> DualState:
        return DualState()

    def extrapolate(self, state: State, plain: PlainStep) -> None:
        """No problem is solved that could be centred elsewhere."""

    def update(self, state: State, move: Move, smoothing: Smoothing) -> None:
        """At the images of the new point: t + 1 steps were taken."""
        beta = smoothing.beta(state.k + 1)
        assert beta is not None
        share = min(1.0, 2.0 * self.eta / (state.k + 1))
        state.point.move_multipliers(state.point.offsets(beta), share, beta)
