"""The saddle point of x and y, both by conditional gradients: SP-FW.

Gidel, Jebara and Lacoste-Julien, "Frank-Wolfe algorithms for saddle point problems", AISTATS 2017. Of

    min over x in X, max over y in Y = dom g* of   f(x) + <A x, y> - g*(y)

both players step towards their best responses to each other, s_x and s_y, a subgradient of g at A x, at the same time:

    (x, y) <- (x, y) + gamma_t (s_x - x, s_y - y),     gamma_t = 2 / (t + 2),     t = 0, 1, ...

s_y is found by linear minimisation where g* is linear on Y, as for norms, maxima and support functions. Y has to be
bounded, which rules constraints out. Rates are proven for strongly convex f and g*, where the saddle point lies inside
of X and Y, or these are polytopes or strongly convex and the coupling is weak. A matrix game is fictitious play but for
the step: whether it has a rate of 1 / sqrt(t), as it shows (Karlin's conjecture), is open.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np

from cgm_cli.blocks.problem import CompositeProblem
from cgm_cli.methods.policies import DualsSpec, DualState, Move, PlainStep, Smoothing
from cgm_cli.methods.setting import Setting

if TYPE_CHECKING:
    from cgm_cli.methods.state import State


@dataclass(frozen=True)
class ResponseState(DualState):
    """responses: of y to the x that the turn began with, one per term."""

    is_decisive: bool = True
    responses: tuple[np.ndarray, ...] = ()


@dataclass(frozen=True)
class BestResponse:
    """The duals of finite penalties step towards a subgradient at A x, by the step of x: saddle-point Frank-Wolfe.

    They are what the oracle and the bound are given; no smoothing takes part.
    """

    class Spec(DualsSpec):
        kind: Literal["best-response"] = "best-response"

        examples: ClassVar[list[dict[str, Any]]] = [{"kind": "best-response"}]

        def build(self, problem: CompositeProblem, setting: Setting) -> BestResponse:
            return BestResponse()

    is_centred: ClassVar[bool] = True
    follows: ClassVar[bool] = False

    def init(self, problem: CompositeProblem) -> ResponseState:
        return ResponseState()

    def extrapolate(self, state: State, plain: PlainStep) -> None:
        """y responds to the same x as the oracle's atom responds to y."""
        memory, point = state.duals, state.point
        assert isinstance(memory, ResponseState)
        pairs = zip(point.problem.terms, point.images.terms, strict=True)
        state.duals = replace(memory, responses=tuple(term.penalty.subgradient(image) for term, image in pairs))

    def update(self, state: State, move: Move, smoothing: Smoothing) -> None:
        memory, held = state.duals, state.point.multipliers
        assert isinstance(memory, ResponseState) and held is not None
        pairs = zip(held, memory.responses, strict=True)
        state.point.multipliers = [(1.0 - move.eta) * y + move.eta * response for y, response in pairs]
        state.duals = replace(memory, responses=())
