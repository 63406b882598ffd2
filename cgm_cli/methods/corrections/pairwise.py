"""Pairwise steps on the atoms of x: weight goes from the worst of them to the oracle's.

Lacoste-Julien and Jaggi, "On the global linear convergence of Frank-Wolfe optimization variants", NeurIPS 2015: with v
the atom of x that has the largest <grad, v>, s the oracle's and w_v the weight of v,

    x <- x + gamma (s - v),     gamma in [0, w_v] the minimiser of F_beta,

which converges linearly on polytopes for a strongly convex F, where the plain step zigzags.
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
class Pairwise(VertexSteps):
    """Weight goes from the worst atom of x to the oracle's; the plain step where that is better in F_beta."""

    class Spec(VertexSpec):
        kind: Literal["pairwise"] = "pairwise"

        examples: ClassVar[list[dict[str, Any]]] = [{"kind": "pairwise"}, {"kind": "pairwise", "atoms": 50}]

        def build(self, problem: CompositeProblem, setting: Setting) -> Pairwise:
            """Raises ProblemError for domains of matrices."""
            self.refuse_matrices(problem)
            return Pairwise(self.atoms)

    keeps_theory: ClassVar[bool] = True

    def choose(self, state: State, plain: PlainStep, deadline: Deadline) -> Move:
        point, shape = state.point, state.point.problem.domain.shape
        active, new = active_set(state).with_atom(plain.atom)
        worst = worst_of(active, slopes_of(active, plain.direction))
        farthest = active.moved(worst, new, active.weights[worst])
        pairwise = point.segment(farthest.point(shape), plain.beta)
        share = minimiser(pairwise.slope)
        if pairwise.value(share) <= point.segment(plain.atom, plain.beta).value(plain.eta):
            found = active.moved(worst, new, share * active.weights[worst])
        else:
            found = active.towards(new, plain.eta)
        found = found.pruned(self.atoms)
        return Move(found.point(shape), 1.0, VertexState(found))
