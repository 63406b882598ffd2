"""Accelerated projected gradient steps: for a smooth objective over a domain that can project.

With momentum (Beck and Teboulle, "A fast iterative shrinkage-thresholding algorithm", SIAM J. Imaging Sci. 2, 2009)

    x' = P_X(v - grad F_beta(v) / L),      v' = x' + (theta - 1) / theta' (x' - x),
    theta' = (1 + sqrt(1 + 4 theta^2)) / 2,

which begins anew where a step turns back, <v - x', x' - x> > 0: linear convergence where F_beta grows quadratically
(O'Donoghue and Candes, "Adaptive restart for accelerated gradient schemes", Found. Comput. Math. 15, 2015). What that
leaves after some turns is badly conditioned, and where x has few entries Newton's method takes part
(`cgm_cli.methods.corrections.newton`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
from pydantic import Field

from cgm_cli.blocks.atoms import DenseAtom
from cgm_cli.blocks.domains.base import Lift
from cgm_cli.blocks.lifting import lifted
from cgm_cli.blocks.problem import CompositeProblem
from cgm_cli.errors import ProblemError
from cgm_cli.methods.corrections import newton
from cgm_cli.methods.policies import CorrectionSpec, Move, PlainStep, Replacing
from cgm_cli.methods.setting import Setting
from cgm_cli.numerics.deadline import Deadline
from cgm_cli.spec.fields import Size

if TYPE_CHECKING:
    from cgm_cli.methods.point import Point
    from cgm_cli.methods.state import State

LONGER, LEAST = 0.9, 1e-3
"""After every step L is this part of what it was, and no less than this part of what makes every step descend."""


STIFF = 10
"""The turn from which Newton's method takes part: what is left then is badly conditioned."""


@dataclass(frozen=True)
class AcceleratedState:
    """lifted: the last v, where x = S v is the image of one. former: the x before the last, or the v. theta: of the
    momentum. curvature: L of the next step; None: not known yet. newton_at: the turn from which Newton's method is
    tried.
    """

    lifted: np.ndarray | None = None
    former: np.ndarray | None = None
    theta: float = 1.0
    curvature: float | None = None
    newton_at: int = STIFF


@dataclass(frozen=True)
class Accelerated:
    """Accelerated projected steps on the smoothed objective, from where the last turn has come to; the oracle bounds.

    problem: what they are taken on, lifted where the domain is the image of one that projects. lift: how.
    iterations: of a turn.
    """

    class Spec(CorrectionSpec):
        kind: Literal["accelerated"] = "accelerated"
        iterations: Size = Field(16, description="of a turn, each a gradient and a projection")

        examples: ClassVar[list[dict[str, Any]]] = [
            {"kind": "accelerated"},
            {"kind": "accelerated", "iterations": 3},
        ]

        def build(self, problem: CompositeProblem, setting: Setting) -> Accelerated:
            """Raises ProblemError for domains that cannot project."""
            if not problem.domain.projected.projects:
                raise ProblemError(
                    "`correction: accelerated` projects onto the domain, and this one cannot; `fully-corrective` "
                    "serves every domain",
                    ("correction",),
                )
            return Accelerated(lifted(problem), problem.domain.lift, self.iterations)

    problem: CompositeProblem
    lift: Lift | None = None
    iterations: int = 16
    needs_array: ClassVar[bool] = True
    replaces: ClassVar[Replacing] = "mostly"
    keeps_theory: ClassVar[bool] = True

    def init(self, problem: CompositeProblem) -> AcceleratedState:
        return AcceleratedState(lifted=None if self.lift is None else self.problem.first.dense())

    def warm_up(self, problem: CompositeProblem) -> None:
        """Nothing is compiled for it."""

    def memory(self, problem: CompositeProblem) -> int:
        """Points before, at and ahead of the last one, and their gradients."""
        return 6 * problem.domain.memory

    def choose(self, state: State, plain: PlainStep, deadline: Deadline) -> Move:
        point, memory = state.point, state.correction
        assert isinstance(memory, AcceleratedState)
        limit = _largest_curvature(self.problem, plain.beta)
        if limit == 0.0:  # the atom minimises a linear function
            return Move(plain.atom, plain.eta, memory)
        x = point.iterate.point.dense() if memory.lifted is None else memory.lifted
        for _ in range(self.iterations):
            deadline.check()
            x, memory = self._step(point, plain.beta, x, memory, limit)
        if plain.turn >= memory.newton_at and newton.takes(self.problem):
            better = newton.newton(self.problem, x, deadline)
            if better is None:
                memory = replace(memory, newton_at=2 * plain.turn)
            else:
                x, memory = better, AcceleratedState(curvature=memory.curvature)
        if self.lift is not None:
            memory = replace(memory, lifted=x)
        found = self._atom(x)
        if point.segment(found, plain.beta).value(1.0) > point.segment(plain.atom, plain.beta).value(plain.eta):
            return Move(plain.atom, plain.eta, AcceleratedState(memory.lifted, curvature=memory.curvature))
        return Move(found, 1.0, memory, is_elsewhere=True)

    def _atom(self, x: np.ndarray) -> DenseAtom:
        return DenseAtom(x if self.lift is None else self.lift.down(x))

    def _step(
        self, point: Point, beta: float | None, x: np.ndarray, memory: AcceleratedState, limit: float
    ) -> tuple[np.ndarray, AcceleratedState]:
        domain, theta = self.problem.domain, memory.theta
        older = 0.5 * (1.0 + float(np.sqrt(1.0 + 4.0 * theta**2)))
        ahead = x if memory.former is None else x + (theta - 1.0) / older * (x - memory.former)
        here = point.evaluate_at(point.images_of(self._atom(ahead)), beta)
        gradient = here.direction.dense() if self.lift is None else self.lift.up(here.direction.dense())
        curvature = limit if memory.curvature is None else max(LONGER * memory.curvature, LEAST * limit)
        while True:
            found = domain.project(ahead - gradient / curvature)
            move = found - ahead
            if curvature >= limit:
                break
            there = point.evaluate_at(point.images_of(self._atom(found)), beta).smoothed
            model = here.smoothed + float(np.vdot(gradient, move)) + 0.5 * curvature * float(np.vdot(move, move))
            if there <= model + 1e-15 * abs(here.smoothed):
                break
            curvature = min(2.0 * curvature, limit)
        if float(np.vdot(ahead - found, found - x)) > 0.0:
            return found, replace(memory, former=None, theta=1.0, curvature=curvature)
        return found, replace(memory, former=x, theta=older, curvature=curvature)


def _largest_curvature(problem: CompositeProblem, beta: float | None) -> float:
    """A Lipschitz constant of the gradient of F_beta."""
    constants = problem.constants()
    smooth, norm = constants["L_f"], constants["|A|"]
    return smooth if norm == 0.0 or beta is None else smooth + norm**2 / beta
