"""Stochastic steps between two turns of the loop: SHCGM.

Locatello, Yurtsever, Fercoq and Cevher, "Stochastic conditional gradient method for composite convex minimization",
NeurIPS 2019, Algorithm 1. With h a sum over the m entries of M x, B some of them drawn anew for every step, and

    d_k = (1 - rho_k) d_{k-1} + rho_k (m / |B|) M_B^T h'(M x_k)_B,     rho_k = 4 / (k + 7)^(2/3)
    v_k = d_k + sum_i A_i^T y_i,     beta_k = beta0 / sqrt(k + 8),     x_{k+1} = x_k + 9 / (k + 8) (s_k - x_k),

E f(x_k) + g_beta(A x_k) - F* is O(k^(-1/3)), as is |f - f*| under constraints, and their distance O(k^(-5/12)), with
batches of any size (their Theorems 1 to 3). The loop's own turn sees the whole gradient: its oracle bounds, and takes
no step.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal, cast

import numpy as np
from pydantic import Field

from cgm_cli.blocks.atoms import DenseAtom
from cgm_cli.blocks.directions import DenseDirection, Direction
from cgm_cli.blocks.domains.base import OracleRequest, WarmStart
from cgm_cli.blocks.iterates import DenseIterate
from cgm_cli.blocks.problem import CompositeProblem
from cgm_cli.methods.corrections.row_batches import TOLERANCE, Batches, drawn
from cgm_cli.methods.evaluation import assembled, piece_of, slope_of
from cgm_cli.methods.policies import CorrectionSpec, Move, PlainStep, Replacing
from cgm_cli.methods.setting import Setting
from cgm_cli.methods.smoothing.stochastic_homotopy import StochasticHomotopy
from cgm_cli.numerics.deadline import Deadline
from cgm_cli.spec.fields import Size

if TYPE_CHECKING:
    from cgm_cli.methods.state import State


@dataclass(frozen=True)
class MiniBatchState:
    """estimate: d_k, of the shape of x; None before the first step. step: k. warm: what the oracle wants back."""

    estimate: np.ndarray | None = None
    step: int = 0
    warm: WarmStart | None = None


@dataclass(frozen=True)
class MiniBatches:
    """Stochastic conditional gradients: steps by a running mean of gradients of some rows of the objective."""

    class Spec(CorrectionSpec):
        kind: Literal["mini-batches"] = "mini-batches"
        rows: Size = Field(32, description="rows of the objective that are drawn for a step; all, where it has fewer")
        steps: Size = Field(20, description="steps of a turn, each with an oracle call; the turn's own call bounds")

        examples: ClassVar[list[dict[str, Any]]] = [
            {"kind": "mini-batches"},
            {"kind": "mini-batches", "rows": 2, "steps": 5},
        ]

        @property
        def pace(self) -> int:
            return self.steps

        def build(self, problem: CompositeProblem, setting: Setting) -> MiniBatches:
            """Raises ProblemError where the objective is no sum over rows that are known."""
            return MiniBatches(
                Batches.of(problem.loss, self.kind), self.rows, self.steps, StochasticHomotopy(setting.beta0)
            )

    batches: Batches
    rows: int
    steps: int
    smoothing: StochasticHomotopy
    needs_array: ClassVar[bool] = True
    replaces: ClassVar[Replacing] = "mostly"
    keeps_theory: ClassVar[bool] = False

    def init(self, problem: CompositeProblem) -> MiniBatchState:
        return MiniBatchState()

    def warm_up(self, problem: CompositeProblem) -> None:
        """Nothing is compiled for it."""

    def memory(self, problem: CompositeProblem) -> int:
        """x, d and the direction."""
        return 3 * problem.domain.memory

    def choose(self, state: State, plain: PlainStep, deadline: Deadline) -> Move:
        memory, point = state.correction, state.point
        assert isinstance(memory, MiniBatchState)
        problem, domain = point.problem, point.problem.domain
        x = np.array(cast(DenseIterate, point.iterate).array)
        images = [np.array(image) for image in point.images.terms]
        estimate, warm = memory.estimate, memory.warm
        for k in range(memory.step + 1, memory.step + self.steps + 1):
            deadline.check()
            places = drawn(state.rng, self.batches.count, self.rows)
            found, rho = self.batches.gradient(x, places), min(1.0, 4.0 / (k + 7) ** (2 / 3))
            estimate = found if estimate is None else (1.0 - rho) * estimate + rho * found
            direction = _direction(problem, estimate, images, self.smoothing.at(k))
            answer = domain.lmo(direction, OracleRequest(TOLERANCE, warm, state.rng))
            eta, warm = min(1.0, 9.0 / (k + 8)), answer.warm
            answer.atom.blend_into(x, eta)
            for place, term in enumerate(problem.terms):
                images[place] = (1.0 - eta) * images[place] + eta * term.map.forward_atom(answer.atom)
        return Move(DenseAtom(x), 1.0, MiniBatchState(estimate, memory.step + self.steps, warm))


def _direction(problem: CompositeProblem, estimate: np.ndarray, images: list[np.ndarray], beta: float) -> Direction:
    """d + sum_i A_i^T y_i."""
    first: Direction = DenseDirection(estimate)
    pieces = [first.symmetrised() if problem.domain.symmetric else first]
    for term, image in zip(problem.terms, images, strict=True):
        pieces.append(piece_of(problem, term, slope_of(term, image, beta, None), beta))
    return assembled(problem, pieces, lambda: np.empty(problem.domain.shape))
