"""Dual ascent: the multipliers follow the residual of the constraints (Yurtsever, Fercoq and Cevher, "A
conditional-gradient-based augmented Lagrangian framework", ICML 2019).

With the smoothing of a term centred at c, its dual at z is y = argmax <y, z> - g*(y) - b |y - c|^2 / 2, and b (y - c)
is the residual z - p of the augmented Lagrangian. A step of size gamma along the residual is a step towards y:

    c + gamma (z - p) = c + theta (y - c),     theta = gamma b in [0, 1]
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
from pydantic import Field

from cgm_cli.blocks.problem import CompositeProblem
from cgm_cli.methods.policies import DualsSpec, DualState, Move, PlainStep, Smoothing
from cgm_cli.methods.setting import Setting
from cgm_cli.spec.fields import Positive

if TYPE_CHECKING:
    from cgm_cli.methods.state import State


@dataclass(frozen=True)
class DualAscent:
    """The multipliers follow the residual of the constraints, as in an augmented Lagrangian.

    gamma = min(1 / beta0, eta^2 D_X^2 |A|^2 / (2 beta |residual|^2)), in the stacked norm of the weighted terms. So the
    ascent undoes no more than what the step has gained in the worst case (their equation 10, with the penalty
    1 / beta). `bound`: multipliers whose norm it would exceed are not taken; infinite by default.
    """

    class Spec(DualsSpec):
        kind: Literal["ascent"] = "ascent"
        bound: Positive | None = Field(
            None, description="the largest norm of the multipliers, in the units that `scaling` makes; left out: none"
        )

        examples: ClassVar[list[dict[str, Any]]] = [{"kind": "ascent"}, {"kind": "ascent", "bound": 10.0}]

        def build(self, problem: CompositeProblem, setting: Setting) -> DualAscent:
            return DualAscent.of(problem, setting.beta0, math.inf if self.bound is None else self.bound)

    beta0: float
    norm: float
    diameter: float
    bound: float = math.inf
    is_centred: ClassVar[bool] = True
    follows: ClassVar[bool] = False

    @classmethod
    def of(cls, problem: CompositeProblem, beta0: float, bound: float = math.inf) -> DualAscent:
        """With the constants of a problem."""
        constants = problem.constants()
        return cls(beta0, constants["|A|"], constants["D_X"], bound)

    def init(self, problem: CompositeProblem) -> DualState:
        return DualState()

    def extrapolate(self, state: State, plain: PlainStep) -> None:
        """No problem is solved that could be centred elsewhere."""

    def update(self, state: State, move: Move, smoothing: Smoothing) -> None:
        """At the images of the new point, with the smoothing of the turn to come."""
        beta = smoothing.beta(state.k + 1)
        assert beta is not None
        self.climb(state, move.eta, beta / state.duals.sharpness)

    def climb(self, state: State, eta: float, beta: float) -> None:
        """A step along the residual."""
        point, terms = state.point, state.point.problem.terms
        offsets = point.offsets(beta)
        # |residual|^2 = sum w |b (y - c)|^2 with b = beta / w
        pairs = list(zip(terms, offsets, strict=True))
        residual = beta * float(np.sqrt(sum(offset.square / term.weight for term, offset in pairs)))
        if residual == 0.0:
            return
        reach = eta * self.diameter * self.norm / residual
        gain = 0.5 * reach * reach / beta  # infinite for a residual of rounding errors alone
        theta = min(1.0 / self.beta0, gain) * beta
        size = np.sqrt(sum(max(0.0, offset.size_after(theta)) / term.weight for term, offset in pairs))
        if size <= self.bound:
            point.move_multipliers(offsets, theta, beta)
