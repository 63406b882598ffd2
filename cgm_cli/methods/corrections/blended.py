"""Blended steps: as long as the atoms of x promise enough progress by themselves, weight moves among them, and nobody
asks the oracle.

With Phi half of the least Frank-Wolfe gap that was seen, a turn takes the searched step towards the oracle's atom, and
then steps on the atoms a_j of x and their weights w, while the gap between the worst and the best of them,
max_j <grad, a_j> - min_j <grad, a_j>, is at least Phi:

    pairwise    weight goes from the worst to the best, to the minimiser of F_beta
    gradient    w moves along - c, c_j = <grad, a_j> less their mean, to where a weight is zero, if that is no worse, or
                else to the minimiser of F_beta

The former is Tsuji, Tanaka and Pokutta, "Pairwise conditional gradients without swap steps and sparser kernel herding",
ICML 2022, the latter Braun, Pokutta, Tu and Wright, "Blended conditional gradients", ICML 2019, Algorithms 1 and 2,
both with an oracle that is exact, so that its own gap sets Phi. For strongly convex F with Lipschitz gradient both
converge linearly over polytopes, by steps of which the oracle sees few.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
from pydantic import Field

from cgm_cli.blocks.problem import CompositeProblem
from cgm_cli.methods.corrections.active_set import ActiveSet
from cgm_cli.methods.corrections.vertices import VertexSpec, VertexSteps, active_set, slopes_of, worst_of
from cgm_cli.methods.policies import Move, PlainStep
from cgm_cli.methods.segment import ImageSegment
from cgm_cli.methods.setting import Setting
from cgm_cli.methods.steps.line_search import minimiser
from cgm_cli.numerics.deadline import Deadline
from cgm_cli.spec.fields import Size

if TYPE_CHECKING:
    from cgm_cli.methods.point import Point
    from cgm_cli.methods.state import State

LEAST = 1e-15
"""Of the largest slope: of a gap that is no larger nothing is left but rounding."""


@dataclass(frozen=True)
class BlendedState:
    """active: the atoms of x and their weights; None at the start, which counts as one. promise: Phi."""

    active: ActiveSet | None = None
    promise: float = np.inf


@dataclass(frozen=True)
class Blended(VertexSteps):
    """Steps among the atoms of x, while they promise as much as half of the oracle's gap, and then one to the oracle's.

    by: how weight moves. steps: the most of a turn.
    """

    class Spec(VertexSpec):
        kind: Literal["blended"] = "blended"
        by: Literal["pairwise", "gradient"] = Field("pairwise", description="how weight moves among the atoms of x")
        steps: Size = Field(1000, description="the most of a turn, beside the one to the oracle's atom")

        examples: ClassVar[list[dict[str, Any]]] = [
            {"kind": "blended"},
            {"kind": "blended", "by": "gradient", "steps": 20},
        ]

        def build(self, problem: CompositeProblem, setting: Setting) -> Blended:
            """Raises ProblemError for domains of matrices."""
            self.refuse_matrices(problem)
            return Blended(self.atoms, self.by, self.steps)

    by: Literal["pairwise", "gradient"] = "pairwise"
    steps: int = 1000
    keeps_theory: ClassVar[bool] = False

    def init(self, problem: CompositeProblem) -> BlendedState:
        return BlendedState()

    def choose(self, state: State, plain: PlainStep, deadline: Deadline) -> Move:
        point, shape, memory = state.point, state.point.problem.domain.shape, state.correction
        assert isinstance(memory, BlendedState)
        promise = min(memory.promise, 0.5 * max(plain.gap, 0.0))
        active, new = active_set(state).with_atom(plain.atom)
        share = minimiser(point.segment(plain.atom, plain.beta).slope)
        active = active.towards(new, share).pruned(self.atoms)
        for _ in range(self.steps):
            deadline.check()
            found = self._step(point, plain.beta, active, promise)
            if found is None:
                break
            active = found.pruned(self.atoms)
        return Move(active.point(shape), 1.0, BlendedState(active, promise))

    def _step(self, point: Point, beta: float | None, active: ActiveSet, promise: float) -> ActiveSet | None:
        """Among the atoms; None where they do not promise enough, or nothing is left to be gained."""
        x = active.point(point.problem.domain.shape)
        images = point.images_of(x)
        slopes = slopes_of(active, point.evaluate_at(images, beta).direction)
        if np.ptp(slopes) < max(promise, LEAST * np.abs(slopes).max()):
            return None
        if self.by == "pairwise":
            worst = worst_of(active, slopes)
            farthest = active.moved(worst, int(np.argmin(slopes)), active.weights[worst])
        else:
            farthest = descended(active, slopes - slopes.mean())
        there = point.images_of(farthest.point(point.problem.domain.shape))
        ends = images.loss, images.terms, there.loss, there.terms
        segment = ImageSegment(point.problem, *ends, beta, point.multipliers)
        drops = self.by == "gradient" and segment.value(1.0) <= segment.value(0.0)
        share = 1.0 if drops else minimiser(segment.slope)
        return active.mixed(farthest, share) if share > 0.0 else None


def descended(active: ActiveSet, slopes: np.ndarray) -> ActiveSet:
    """The weights w - eta c for the longest eta that leaves them all at least zero; c sums to zero."""
    rates = np.divide(active.weights, slopes, out=np.full(slopes.shape, np.inf), where=slopes > 0.0)
    first = int(np.argmin(rates))
    weights = np.maximum(active.weights - rates[first] * slopes, 0.0)
    weights[first] = 0.0
    return active.weighed(weights / weights.sum())
