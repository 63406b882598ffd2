"""Away steps: where x gains more by leaving its worst atom than by moving to the oracle's, it leaves.

Guelat and Marcotte, "Some comments on Wolfe's 'away step'", 1986; Lacoste-Julien and Jaggi, "On the global linear
convergence of Frank-Wolfe optimization variants", NeurIPS 2015, Algorithm 1. With s the oracle's atom, v the atom of x
that has the largest <grad, v>, and w_v its weight,

    x <- x + gamma (s - x),   0 <= gamma <= 1,                  where <grad, x - s> >= <grad, v - x>
    x <- x + gamma (x - v),   0 <= gamma <= w_v / (1 - w_v),    elsewhere,

each time to the minimiser of F_beta. For a mu-strongly convex F with L-Lipschitz gradient over a polytope of diameter D
and pyramidal width delta, F(x) - F* after t steps is at most (1 - mu delta^2 / (4 L D^2))^(t / 2) of that of the start
(their Theorem 1, where at most half of the steps drop an atom).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from cgm_cli.blocks.problem import CompositeProblem
from cgm_cli.methods.corrections.vertices import (
    VertexSpec,
    VertexState,
    VertexSteps,
    active_set,
    slopes_of,
    worst_of,
)
from cgm_cli.methods.policies import Move, PlainStep
from cgm_cli.methods.setting import Setting
from cgm_cli.methods.steps.line_search import minimiser
from cgm_cli.numerics.deadline import Deadline

if TYPE_CHECKING:
    from cgm_cli.methods.state import State


@dataclass(frozen=True)
class AwayStep(VertexSteps):
    """A searched step away from the worst atom of x where that promises more than the one towards the oracle's."""

    class Spec(VertexSpec):
        kind: Literal["away-step"] = "away-step"

        examples: ClassVar[list[dict[str, Any]]] = [{"kind": "away-step"}, {"kind": "away-step", "atoms": 50}]

        def build(self, problem: CompositeProblem, setting: Setting) -> AwayStep:
            """Raises ProblemError for domains of matrices."""
            self.refuse_matrices(problem)
            return AwayStep(self.atoms)

    keeps_theory: ClassVar[bool] = False

    def choose(self, state: State, plain: PlainStep, deadline: Deadline) -> Move:
        shape = state.point.problem.domain.shape
        active, new = active_set(state).with_atom(plain.atom)
        slopes = slopes_of(active, plain.direction)
        worst, here = worst_of(active, slopes), float(slopes @ active.weights)
        leaves = active.weights[worst] < 1.0 and slopes[worst] - here > here - slopes[new]
        farthest = active.without(worst) if leaves else active.towards(new, 1.0)
        share = minimiser(state.point.segment(farthest.point(shape), plain.beta).slope)
        found = active.mixed(farthest, share).pruned(self.atoms)
        return Move(found.point(shape), 1.0, VertexState(found))
