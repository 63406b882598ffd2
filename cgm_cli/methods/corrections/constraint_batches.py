"""Stochastic steps that see some of the constraints at a time: H-1SFW.

Vladarean, Alacaoglu, Hsieh and Cevher, "Conditional gradient methods for stochastically constrained convex
minimization", ICML 2020. With f_B an estimate of f by some of its rows, A_B x in K_B some of m constraints, both drawn
anew for every step, and

    G_k = grad f_B(x_k) + (m / |B|) A_B^T (A_B x_k - proj(A_B x_k)) / beta_k,     beta_k = beta0 / (k + 1)^(1/6)
    d_k = (1 - rho_k) d_{k-1} + rho_k G_k,                                        rho_k = min(1, 3 / (k + 5)^(2/3))
    x_{k+1} = x_k + 2 / (k + 1) (s_k - x_k),                                      s_k the oracle's atom at d_k

E |f(x_k) - f*| and E dist(A x_k, K) are O(k^(-1/6)), with batches of any size: the variance of G_k grows as k^(1/3),
the mean leaves k^(-1/3) of it, and its root comes in as the error of an oracle does. The loop's own turn sees
everything: its oracle bounds, and takes no step.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal, cast

import numpy as np
from pydantic import Field

from cgm_cli.blocks.atoms import DenseAtom
from cgm_cli.blocks.directions import DenseDirection
from cgm_cli.blocks.domains.base import OracleRequest
from cgm_cli.blocks.iterates import DenseIterate
from cgm_cli.blocks.problem import CompositeProblem
from cgm_cli.methods.corrections.mini_batches import MiniBatchState
from cgm_cli.methods.corrections.row_batches import TOLERANCE, Batches, ConstraintRows, drawn
from cgm_cli.methods.policies import CorrectionSpec, Move, PlainStep, Replacing
from cgm_cli.methods.setting import Setting
from cgm_cli.methods.smoothing.sampled_homotopy import SampledHomotopy
from cgm_cli.numerics.deadline import Deadline
from cgm_cli.spec.fields import Size

if TYPE_CHECKING:
    from cgm_cli.methods.state import State


@dataclass(frozen=True)
class ConstraintBatches:
    """Stochastic conditional gradients: steps by a running mean of gradients of some constraints and rows.

    batches: of the rows of the objective; None where it is linear, and its gradient one.
    """

    class Spec(CorrectionSpec):
        kind: Literal["constraint-batches"] = "constraint-batches"
        constraints: Size = Field(32, description="constraints that are drawn for a step; all, where there are fewer")
        rows: Size = Field(32, description="the same of rows of the objective, unless it is linear")
        steps: Size = Field(20, description="steps of a turn, each with an oracle call; the turn's own call bounds")

        examples: ClassVar[list[dict[str, Any]]] = [
            {"kind": "constraint-batches"},
            {"kind": "constraint-batches", "constraints": 1, "rows": 2, "steps": 5},
        ]

        @property
        def pace(self) -> int:
            return self.steps

        def build(self, problem: CompositeProblem, setting: Setting) -> ConstraintBatches:
            """Raises ProblemError where the rows of constraints or objective are not known."""
            sampled = problem.loss is not None and not problem.loss.is_linear
            return ConstraintBatches(
                ConstraintRows.of(problem, self.kind),
                Batches.of(problem.loss, self.kind) if sampled else None,
                self.constraints,
                self.rows,
                self.steps,
                SampledHomotopy(setting.beta0),
            )

    drawn_from: ConstraintRows
    batches: Batches | None
    constraints: int
    rows: int
    steps: int
    smoothing: SampledHomotopy
    needs_array: ClassVar[bool] = True
    replaces: ClassVar[Replacing] = "mostly"
    keeps_theory: ClassVar[bool] = False

    def init(self, problem: CompositeProblem) -> MiniBatchState:
        return MiniBatchState()

    def warm_up(self, problem: CompositeProblem) -> None:
        """Nothing is compiled for it."""

    def memory(self, problem: CompositeProblem) -> int:
        """x, d, a gradient and the matrix of the constraints."""
        matrix = self.drawn_from.matrix
        return 3 * problem.domain.memory + matrix.data.nbytes + matrix.indices.nbytes

    def choose(self, state: State, plain: PlainStep, deadline: Deadline) -> Move:
        memory, point = state.correction, state.point
        assert isinstance(memory, MiniBatchState)
        domain, loss = point.problem.domain, point.problem.loss
        x = np.array(cast(DenseIterate, point.iterate).array)
        estimate, warm = memory.estimate, memory.warm
        fixed = np.zeros(x.shape)
        if self.batches is None and loss is not None and point.loss_image is not None:
            loss.map.adjoint(loss.gradient(point.loss_image)).add_to(fixed)
        for k in range(memory.step + 1, memory.step + self.steps + 1):
            deadline.check()
            found, rho = fixed + self._drawn(state.rng, x, k), min(1.0, 3.0 / (k + 5) ** (2 / 3))
            estimate = found if estimate is None else (1.0 - rho) * estimate + rho * found
            direction = DenseDirection(estimate)
            whole = direction.symmetrised() if domain.symmetric else direction
            answer = domain.lmo(whole, OracleRequest(TOLERANCE, warm, state.rng))
            warm = answer.warm
            answer.atom.blend_into(x, 2.0 / (k + 1))
        return Move(DenseAtom(x), 1.0, MiniBatchState(estimate, memory.step + self.steps, warm))

    def _drawn(self, rng: np.random.Generator, x: np.ndarray, k: int) -> np.ndarray:
        """G_k, but for the gradient of a linear objective."""
        rows = self.drawn_from
        found = rows.gradient(x, drawn(rng, rows.count, self.constraints), self.smoothing.at(k))
        if self.batches is not None:
            found += self.batches.gradient(x, drawn(rng, self.batches.count, self.rows))
        return found
