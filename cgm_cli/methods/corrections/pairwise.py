"""Pairwise steps on the atoms of x: weight goes from the worst of them to the oracle's.

Lacoste-Julien and Jaggi, "On the global linear convergence of Frank-Wolfe optimization variants", NeurIPS 2015: with v
the atom of x that has the largest <grad, v>, s the oracle's and w_v the weight of v,

    x <- x + gamma (s - v),     gamma in [0, w_v] the minimiser of F_beta,

which converges linearly on polytopes for a strongly convex F, where the plain step zigzags.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
from pydantic import Field

from cgm_cli.blocks.problem import CompositeProblem
from cgm_cli.errors import ProblemError
from cgm_cli.methods.corrections.active_set import ActiveSet
from cgm_cli.methods.policies import CorrectionSpec, Move, PlainStep, Replacing
from cgm_cli.methods.setting import Setting
from cgm_cli.methods.steps.line_search import minimiser
from cgm_cli.numerics.deadline import Deadline
from cgm_cli.spec.fields import Size

if TYPE_CHECKING:
    from cgm_cli.methods.state import State


@dataclass(frozen=True)
class PairwiseState:
    """active: the atoms of x and their weights; None at the start, which counts as one."""

    active: ActiveSet | None = None


@dataclass(frozen=True)
class Pairwise:
    """Weight goes from the worst atom of x to the oracle's; the plain step where that is better in F_beta.

    atoms: the most that are kept; of more, the lightest become one, their mean.
    """

    class Spec(CorrectionSpec):
        kind: Literal["pairwise"] = "pairwise"
        atoms: Size = Field(1000, description="the most that are kept; of more, the lightest become their mean")

        examples: ClassVar[list[dict[str, Any]]] = [{"kind": "pairwise"}, {"kind": "pairwise", "atoms": 50}]

        def build(self, problem: CompositeProblem, setting: Setting) -> Pairwise:
            """Raises ProblemError for domains of matrices, whose atoms are too many."""
            if problem.domain.spectral:
                raise ProblemError(
                    "`correction: pairwise` keeps atoms as arrays: for matrices of low rank use `fully-corrective` or "
                    "`local-descent`",
                    ("correction",),
                )
            return Pairwise(self.atoms)

    atoms: int = 1000
    needs_array: ClassVar[bool] = False
    replaces: ClassVar[Replacing] = "mostly"
    keeps_theory: ClassVar[bool] = True

    def init(self, problem: CompositeProblem) -> PairwiseState:
        return PairwiseState()

    def warm_up(self, problem: CompositeProblem) -> None:
        """Nothing is compiled for it."""

    def memory(self, problem: CompositeProblem) -> int:
        """A hundred atoms: the solutions it is for have fewer."""
        return min(self.atoms, 100) * problem.domain.memory

    def choose(self, state: State, plain: PlainStep, deadline: Deadline) -> Move:
        point, shape = state.point, state.point.problem.domain.shape
        memory = state.correction
        assert isinstance(memory, PairwiseState)
        active = memory.active
        if active is None:
            x = point.iterate.atom()
            assert x is not None
            active = ActiveSet.at(x)
        active, new = active.with_atom(plain.atom)
        slopes = active.atoms.T @ plain.direction.dense().reshape(-1)
        worst = int(np.argmax(np.where(active.weights > 0.0, slopes, -np.inf)))
        farthest = active.moved(worst, new, active.weights[worst])
        pairwise = point.segment(farthest.point(shape), plain.beta)
        share = minimiser(pairwise.slope)
        if pairwise.value(share) <= point.segment(plain.atom, plain.beta).value(plain.eta):
            found = active.moved(worst, new, share * active.weights[worst])
        else:
            found = active.towards(new, plain.eta)
        found = found.pruned(self.atoms)
        return Move(found.point(shape), 1.0, PairwiseState(found))
