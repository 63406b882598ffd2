"""Stochastic steps of small variance: SVRF.

Hazan and Luo, "Variance-reduced and projection-free stochastic optimization", ICML 2016, Algorithm 1. With f a sum over
rows, from an atom w_0 of the oracle, the t-th epoch begins at x_0 = w_{t-1}, whose whole gradient it takes, and makes
N_t = 2^(t+3) - 2 steps

    g_k = grad f(w_{t-1}) + grad f_B(x_{k-1}) - grad f_B(w_{t-1})
    x_k = x_{k-1} + 2 / (k + 1) (s_k - x_{k-1}),     s_k the oracle's atom at g_k

each by 96 (k + 1) rows, drawn anew: these agree ever better where x_{k-1} nears w. Then w_t = x_{N_t}, and
E f(w_t) - f* <= L D^2 / 2^(t+1), where m times the function of each row of f has an L-Lipschitz gradient (their Theorem
1), m the rows: 1 / k in oracle calls, by fewer rows than as many whole gradients. A turn of the loop is a part of an
epoch, and its own oracle call bounds.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal, cast

import numpy as np
from pydantic import Field

from cgm_cli.blocks.atoms import DenseAtom
from cgm_cli.blocks.directions import DenseDirection
from cgm_cli.blocks.domains.base import OracleRequest, WarmStart
from cgm_cli.blocks.iterates import DenseIterate
from cgm_cli.blocks.problem import CompositeProblem
from cgm_cli.errors import ProblemError
from cgm_cli.methods.corrections.row_batches import TOLERANCE, Batches, drawn
from cgm_cli.methods.policies import CorrectionSpec, Move, PlainStep, Replacing
from cgm_cli.methods.setting import Setting
from cgm_cli.numerics.deadline import Deadline
from cgm_cli.spec.fields import Size

if TYPE_CHECKING:
    from cgm_cli.methods.state import State


@dataclass(frozen=True)
class EpochState:
    """epoch: t; 0 before w_0. step: k, those that were taken of it. anchor: w_{t-1}, and gradient: that of f there,
    both of the shape of x; None before the first step of the first epoch. warm: what the oracle wants back.
    """

    epoch: int = 0
    step: int = 0
    anchor: np.ndarray | None = None
    gradient: np.ndarray | None = None
    warm: WarmStart | None = None


def steps_of(epoch: int) -> int:
    """N_t."""
    return 2 ** (epoch + 3) - 2


@dataclass(frozen=True)
class VarianceReduced:
    """Stochastic steps by differences of gradients of some rows to those at a point whose whole gradient is known."""

    class Spec(CorrectionSpec):
        kind: Literal["variance-reduced"] = "variance-reduced"
        rows: Size = Field(
            96,
            description="of the objective: the k-th step of an epoch draws so many times k + 1; all, if those are more",
        )
        steps: Size = Field(20, description="the most steps of a turn, each with an oracle call; its own call bounds")

        examples: ClassVar[list[dict[str, Any]]] = [
            {"kind": "variance-reduced"},
            {"kind": "variance-reduced", "rows": 1, "steps": 5},
        ]

        def build(self, problem: CompositeProblem, setting: Setting) -> VarianceReduced:
            """Raises ProblemError where the objective is no sum over rows that are known, or not alone."""
            if problem.terms:
                names = ", ".join(term.name for term in problem.terms)
                raise ProblemError(
                    "`correction: variance-reduced` is for a smooth objective alone, and there are penalties or "
                    f"constraints ({names})",
                    ("correction",),
                )
            return VarianceReduced(Batches.of(problem.loss, self.kind), self.rows, self.steps)

    batches: Batches
    rows: int
    steps: int
    needs_array: ClassVar[bool] = True
    replaces: ClassVar[Replacing] = "mostly"
    keeps_theory: ClassVar[bool] = False

    def init(self, problem: CompositeProblem) -> EpochState:
        return EpochState()

    def warm_up(self, problem: CompositeProblem) -> None:
        """Nothing is compiled for it."""

    def memory(self, problem: CompositeProblem) -> int:
        """x, w, the gradient there, that of a step and its direction."""
        return 5 * problem.domain.memory

    def choose(self, state: State, plain: PlainStep, deadline: Deadline) -> Move:
        memory, domain = state.correction, state.point.problem.domain
        assert isinstance(memory, EpochState)
        if memory.epoch == 0:
            return Move(plain.atom, 1.0, EpochState(1))
        x = np.array(cast(DenseIterate, state.point.iterate).array)
        anchor, gradient, warm = memory.anchor, memory.gradient, memory.warm
        if memory.step == 0 or anchor is None or gradient is None:
            anchor, gradient = x.copy(), np.array(plain.direction.dense())
        last = min(memory.step + self.steps, steps_of(memory.epoch))
        for k in range(memory.step + 1, last + 1):
            deadline.check()
            places = drawn(state.rng, self.batches.count, self.rows * (k + 1))
            change = self.batches.gradient(x, places) - self.batches.gradient(anchor, places)
            direction = DenseDirection(gradient + change)
            whole = direction.symmetrised() if domain.symmetric else direction
            answer = domain.lmo(whole, OracleRequest(TOLERANCE, warm, state.rng))
            warm = answer.warm
            answer.atom.blend_into(x, 2.0 / (k + 1))
        ended = last == steps_of(memory.epoch)
        following = (memory.epoch + 1, 0) if ended else (memory.epoch, last)
        return Move(DenseAtom(x), 1.0, EpochState(*following, anchor, gradient, warm))
