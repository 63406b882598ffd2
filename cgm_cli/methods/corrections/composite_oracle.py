"""Generalised conditional gradients: the oracle takes the penalty whole, and nothing is smoothed.

Nesterov, "Complexity bounds for primal-dual methods minimizing the model of objective function", 2018; Xu, "Convergence
analysis of the Frank-Wolfe algorithm and its generalization", 2017. For F = f + g over X

    s_k = argmin over X of <grad f(x_k), s> + g(s),    x_{k+1} = x_k + 2 / (k + 1) (s_k - x_k)

leaves F(x_{k+1}) - F* <= 2 L_f D_X^2 / (k + 1). Such an oracle is rare. Here it is that of a box, and of a g that is a
sum over the entries of x: for a wide beta and the middle c of the box, and entry by entry,

    s = the prox of beta g at c - beta v, clipped to the box    minimises    <v, s> + g(s) + |s - c|^2 / (2 beta)

since a convex function of one number is least on an interval next to where it is least at all. The bound of it is that
of the dual y of g at s: v + y has its minimum over X at s.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np

from cgm_cli.blocks.atoms import DenseAtom
from cgm_cli.blocks.losses.base import Loss
from cgm_cli.blocks.penalties.base import Penalty
from cgm_cli.blocks.problem import CompositeProblem
from cgm_cli.errors import ProblemError
from cgm_cli.methods.policies import CorrectionSpec, Move, PlainStep, Replacing, Solution
from cgm_cli.methods.setting import Setting
from cgm_cli.numerics.deadline import Deadline

if TYPE_CHECKING:
    from cgm_cli.methods.state import State

WIDE = 1e6
"""beta in units of the box over v: what the square takes off the minimum is this part of it, and of the digits of s
there remain ten.
"""


@dataclass(frozen=True)
class BoxOracle:
    """min over lower <= s <= upper of <v, s> + g(s)."""

    lower: np.ndarray
    upper: np.ndarray
    penalty: Penalty

    def answer(self, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """s, and the y of g at s for which <v + y, .> is least there."""
        centre, width = 0.5 * (self.lower + self.upper), float((self.upper - self.lower).max())
        beta = WIDE * (width or 1.0) / (float(np.abs(v).max()) or 1.0)
        aim = centre - beta * v
        found = self.penalty.prox(aim, beta)
        s = np.clip(found, self.lower, self.upper)
        return s, np.where(found == s, self.penalty.dual(aim, beta), self.penalty.subgradient(s))


@dataclass(frozen=True)
class CompositeState:
    """atom: s at the x of the turn; None at the start."""

    atom: np.ndarray | None = None


@dataclass(frozen=True)
class CompositeOracle:
    """Steps towards the minimiser of <grad f, s> + g(s), where that has a closed form: sums of entries over a box."""

    class Spec(CorrectionSpec):
        kind: Literal["composite-oracle"] = "composite-oracle"

        examples: ClassVar[list[dict[str, Any]]] = [{"kind": "composite-oracle"}]

        def build(self, problem: CompositeProblem, setting: Setting) -> CompositeOracle:
            """Raises ProblemError where the oracle has no closed form."""
            if problem.loss is None or not problem.loss.is_smooth:
                raise _refusal("beside a smooth objective, and there is none")
            polyhedron = problem.domain.polyhedron
            if polyhedron is None or polyhedron.rows.shape[0]:
                raise _refusal("and the domain is no box")
            if len(problem.terms) != 1 or problem.terms[0].penalty.is_set:
                raise _refusal("and the problem has other terms than one penalty")
            (term,) = problem.terms
            if not (term.map.is_identity and term.penalty.separable):
                raise _refusal(f"and {term.name} is no sum over the entries of x")
            return CompositeOracle(problem.loss, BoxOracle(polyhedron.lower, polyhedron.upper, term.penalty))

    loss: Loss
    oracle: BoxOracle
    needs_array: ClassVar[bool] = True
    replaces: ClassVar[Replacing] = "never"
    keeps_theory: ClassVar[bool] = False

    def init(self, problem: CompositeProblem) -> CompositeState:
        return CompositeState()

    def warm_up(self, problem: CompositeProblem) -> None:
        """Nothing is compiled for it."""

    def memory(self, problem: CompositeProblem) -> int:
        """s, and what finds it."""
        return 4 * problem.domain.memory

    def choose(self, state: State, plain: PlainStep, deadline: Deadline) -> Move:
        memory, image = state.correction, state.point.loss_image
        assert isinstance(memory, CompositeState) and plain.beta is not None and image is not None
        atom = DenseAtom(self._answer(image)[0] if memory.atom is None else memory.atom)
        # The multipliers of the next turn are those of its own answer, which takes its gradient.
        ahead = (1.0 - plain.eta) * image + plain.eta * self.loss.map.forward_atom(atom)
        following, y = self._answer(ahead)
        solution = Solution(plain.beta, [ahead], [y], is_decisive=True)
        return Move(atom, plain.eta, CompositeState(following), solution)

    def _answer(self, image: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """At the x with this M x."""
        return self.oracle.answer(self.loss.map.adjoint(self.loss.gradient(image)).dense())


def _refusal(reason: str) -> ProblemError:
    return ProblemError(
        "`correction: composite-oracle` minimises <v, s> + g(s) over X, which has a closed form over a box, for one "
        f"penalty that is a sum over the entries of x, {reason}",
        ("correction",),
    )
