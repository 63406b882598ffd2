"""The universal primal-dual gradient method: gradient steps on the dual, and a mean of what its oracle answers.

Yurtsever, Tran-Dinh and Cevher, "A universal primal-dual convex optimization framework", NeurIPS 2015, Algorithm 1.
With phi(y) = - min over x in X of f(x) + <A x, y>, whose gradient is - A s for the minimiser s, the dual is to minimise
phi + g*, and a step from y is

    y' = argmax of <A s, .> - g* - M |. - y|^2 / 2
    M  the first of M_before / 2, M_before, 2 M_before, ... with
       phi(y') <= phi(y) - <A s, y' - y> + M |y' - y|^2 / 2 + eps / 2

x is the mean of all s, each of weight 1 / M. The minimiser s, which they call the Fenchel-type oracle, is that of the
linear oracle where f is linear. phi is not smooth then, steps of the order 1 / eps^2 lead to eps, and no further.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
from pydantic import Field

from cgm_cli.blocks.domains.base import OracleRequest
from cgm_cli.blocks.problem import CompositeProblem
from cgm_cli.errors import ProblemError
from cgm_cli.methods.evaluation import Images, assembled, piece_of, slope_of
from cgm_cli.methods.policies import CorrectionSpec, Move, PlainStep, Replacing, Solution
from cgm_cli.methods.scaling import objective_size
from cgm_cli.methods.setting import Setting
from cgm_cli.methods.smoothing.fixed_target import ACCURACY
from cgm_cli.numerics.deadline import Deadline
from cgm_cli.spec.fields import Positive

if TYPE_CHECKING:
    from cgm_cli.methods.state import State

LEAST = 1e-10
"""Of the first M: where y' = y every M will do, and the weight of an s would grow for ever."""


@dataclass(frozen=True)
class UniversalState:
    """curvature: M of the last step; weight: the sum of all 1 / M."""

    curvature: float
    weight: float = 0.0


@dataclass(frozen=True)
class Universal:
    """Gradient steps on the dual, whose length is searched for a target accuracy; x is the mean of the oracle's atoms.

    accuracy: eps, absolute. first: M to begin with.
    """

    class Spec(CorrectionSpec):
        kind: Literal["universal"] = "universal"
        accuracy: Positive = Field(
            ACCURACY, description="eps, relative to the size of the objective, which `scaling` brings to 1"
        )

        examples: ClassVar[list[dict[str, Any]]] = [{"kind": "universal"}, {"kind": "universal", "accuracy": 1e-3}]

        def build(self, problem: CompositeProblem, setting: Setting) -> Universal:
            """Raises ProblemError where the oracle of the dual is not that of the domain."""
            if not (problem.loss is None or problem.loss.is_linear):
                raise ProblemError(
                    "`correction: universal` asks an oracle for the minimiser of f(x) + <v, x>, which the linear one "
                    "is for a linear objective alone",
                    ("correction",),
                )
            if not problem.terms:
                raise ProblemError(
                    "`correction: universal` is for the dual of penalties and constraints", ("correction",)
                )
            size, constants = objective_size(problem), problem.constants()
            return Universal(self.accuracy * size, (constants["|A|"] * constants["D_X"]) ** 2 / size or 1.0)

    accuracy: float
    first: float
    needs_array: ClassVar[bool] = False
    replaces: ClassVar[Replacing] = "never"
    keeps_theory: ClassVar[bool] = False

    def init(self, problem: CompositeProblem) -> UniversalState:
        return UniversalState(self.first)

    def warm_up(self, problem: CompositeProblem) -> None:
        """Nothing is compiled for it."""

    def memory(self, problem: CompositeProblem) -> int:
        return 0

    def choose(self, state: State, plain: PlainStep, deadline: Deadline) -> Move:
        memory, point = state.correction, state.point
        assert isinstance(memory, UniversalState) and plain.beta is not None
        problem = point.problem
        # What the oracle was asked at: the multipliers, but for those of the start.
        held = point.multipliers if memory.weight > 0.0 else point.duals_at(point.images, plain.beta)
        assert held is not None
        images = point.images_of(plain.atom)
        value = _lagrangian(problem, images, held)
        curvature = max(0.5 * memory.curvature, LEAST * self.first)
        while True:
            deadline.check()
            triples = zip(problem.terms, images.terms, held, strict=True)
            moved = [slope_of(term, image, curvature, y) for term, image, y in triples]
            moves = zip(problem.terms, held, moved, strict=True)
            length = sum(float(np.square(to - y).sum()) / term.weight for term, y, to in moves)
            # phi(y) - <A s, y' - y> is what the Lagrangian has at s and y', but for the sign.
            least = _lagrangian(problem, images, moved) - 0.5 * curvature * length - 0.5 * self.accuracy
            if length == 0.0 or _minimum(state, moved) >= least - 1e-12 * abs(value):
                break
            curvature *= 2.0
        weight = memory.weight + 1.0 / curvature
        solution = Solution(plain.beta, images.terms, moved, is_decisive=True)
        return Move(plain.atom, 1.0 / (curvature * weight), UniversalState(curvature, weight), solution)


def _lagrangian(problem: CompositeProblem, images: Images, duals: list[np.ndarray] | tuple[np.ndarray, ...]) -> float:
    """f(s) + <A s, y>."""
    value = 0.0 if problem.loss is None or images.loss is None else problem.loss.value(images.loss)
    return value + sum(float(np.vdot(image, y)) for image, y in zip(images.terms, duals, strict=True))


def _minimum(state: State, duals: list[np.ndarray]) -> float:
    """- phi(y): min over X of f + <A ., y>."""
    point = state.point
    problem, loss = point.problem, point.problem.loss
    pieces = [piece_of(problem, term, y, 1.0) for term, y in zip(problem.terms, duals, strict=True)]
    if loss is not None:
        cost = loss.map.adjoint(loss.gradient(loss.map.forward_atom(problem.first)))
        pieces.insert(0, cost.symmetrised() if problem.domain.symmetric else cost)
    direction = assembled(problem, pieces, lambda: np.empty(problem.domain.shape))
    answer = problem.domain.lmo(direction, OracleRequest(warm=state.oracle.warm, rng=state.rng))
    return _lagrangian(problem, point.images_of(answer.atom), duals)
