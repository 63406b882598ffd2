"""Semi-proximal mirror-prox: extragradient steps on the saddle point, whose part in X is left to the linear oracle.

He and Harchaoui, "Semi-proximal mirror-prox for nonsmooth composite minimization", NIPS 2015. For

    min over x in X, max over y in Y = dom g* of   f(x) + <A x, y> - g*(y)

both steps of mirror-prox (Nemirovski 2004; composite, He, Juditsky and Nemirovski 2015) begin at (x_t, y_t), with
1 / tau = L_f + sigma |A|^2, so that the operator has Lipschitz constant 1 in |x|^2 / tau + |y|^2 / sigma,

    (x', y') = the proxes at (x_t, y_t) along the gradients at (x_t, y_t)
    (x_{t+1}, y_{t+1}) = the proxes at (x_t, y_t) along the gradients at (x', y')

The prox of y is that of sigma g*, in closed form. That of x, a projection onto X, is approached by searched conditional
gradients until its Frank-Wolfe gap is at most eps_t. With Theta = D_X^2 / (2 tau) + L_g^2 / (2 sigma), the mean of all
(x', y') after t steps has

    F(x) - F* <= (Theta + 2 sum of eps_s) / t

(their Theorem 3.1). eps_t = c Theta / t, theirs for an end that is known but for a logarithm, takes O(t) calls of the
oracle in step t, hence O(1 / eps^2) to an accuracy eps (their Proposition 3.2).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
from pydantic import Field

from cgm_cli.blocks.atoms import DenseAtom
from cgm_cli.blocks.directions import DenseDirection
from cgm_cli.blocks.domains.base import OracleRequest, WarmStart
from cgm_cli.blocks.problem import CompositeProblem
from cgm_cli.errors import ProblemError
from cgm_cli.methods.dual_point import DualPoint
from cgm_cli.methods.evaluation import Images, slope_of
from cgm_cli.methods.policies import CorrectionSpec, Move, PlainStep, Replacing, Solution
from cgm_cli.methods.setting import Setting
from cgm_cli.numerics.deadline import Deadline
from cgm_cli.spec.fields import Positive

if TYPE_CHECKING:
    from cgm_cli.methods.state import State


@dataclass(frozen=True)
class Metric:
    """tau and sigma, the lengths of the steps of x and y, and the Theta that they come to."""

    tau: float
    sigma: float
    width: float

    @classmethod
    def of(cls, problem: CompositeProblem) -> Metric:
        """Those by which x and y have as far to go: sigma = L_g / (|A| D_X)."""
        constants = problem.constants()
        norm, slope, diameter = constants["|A|"], constants["L_g"], constants["D_X"]
        sigma = slope / (norm * diameter) if norm * diameter > 0.0 and slope > 0.0 else 1.0
        steepness = constants["L_f"] + sigma * norm**2
        tau = 1.0 / steepness if steepness > 0.0 else 1.0
        return cls(tau, sigma, 0.5 * (diameter**2 / tau + slope**2 / sigma))


@dataclass(frozen=True)
class MirrorProxState:
    """x: x_t, of the shape of a point; None before the first step. duals: y_t. mean: of all y'. steps: t. warm: what
    the oracle wants back.
    """

    x: np.ndarray | None = None
    duals: tuple[np.ndarray, ...] = ()
    mean: tuple[np.ndarray, ...] = ()
    steps: int = 0
    warm: WarmStart | None = None


@dataclass(frozen=True)
class MirrorProx:
    """Extragradient steps on x and the duals of finite penalties; projections onto X by its linear oracle.

    share: c.
    """

    class Spec(CorrectionSpec):
        kind: Literal["mirror-prox"] = "mirror-prox"
        share: Positive = Field(
            0.1, description="c: the gap of the t-th projection in parts of Theta / t; smaller ones take more calls"
        )

        examples: ClassVar[list[dict[str, Any]]] = [{"kind": "mirror-prox"}, {"kind": "mirror-prox", "share": 0.01}]

        def build(self, problem: CompositeProblem, setting: Setting) -> MirrorProx:
            """Raises ProblemError where duals are not bounded, or there are none."""
            if not problem.terms:
                raise ProblemError(
                    "`correction: mirror-prox` is for penalties, whose duals are the other player, and there is none",
                    ("correction",),
                )
            sets = ", ".join(term.name for term in problem.terms if term.penalty.is_set)
            if sets:
                raise ProblemError(
                    "`correction: mirror-prox` moves y within a bounded set, and the duals of a constraint are not "
                    f"bounded ({sets})",
                    ("correction",),
                )
            return MirrorProx(problem, Metric.of(problem), self.share)

    problem: CompositeProblem
    metric: Metric
    share: float = 0.1
    needs_array: ClassVar[bool] = True
    replaces: ClassVar[Replacing] = "never"
    keeps_theory: ClassVar[bool] = False

    def init(self, problem: CompositeProblem) -> MirrorProxState:
        return MirrorProxState()

    def warm_up(self, problem: CompositeProblem) -> None:
        """Nothing is compiled for it."""

    def memory(self, problem: CompositeProblem) -> int:
        """x_t, x', what approaches the next, and their gradients."""
        return 6 * problem.domain.memory

    def choose(self, state: State, plain: PlainStep, deadline: Deadline) -> Move:
        memory, point = state.correction, state.point
        assert isinstance(memory, MirrorProxState) and plain.beta is not None
        terms, step = self.problem.terms, memory.steps + 1
        x = self.problem.first.dense() if memory.x is None else memory.x
        duals = memory.duals or tuple(np.zeros(term.map.out_shape) for term in terms)
        projections = _Projections(
            self.problem, x, self.metric.tau, self.share * self.metric.width / step, memory.warm, state.rng, deadline
        )
        here = point.images_of(DenseAtom(x))
        ahead, leading = projections.along(self._slope(here, duals), x), self._responses(here, duals)
        there = point.images_of(DenseAtom(ahead))
        following, next_duals = projections.along(self._slope(there, leading), ahead), self._responses(there, duals)
        eta, former = 1.0 / step, memory.mean or leading
        mean = tuple((1.0 - eta) * before + eta * y for before, y in zip(former, leading, strict=True))
        solution = Solution(plain.beta, there.terms, mean, is_decisive=True)
        kept = MirrorProxState(following, next_duals, mean, step, projections.warm)
        return Move(DenseAtom(ahead), eta, kept, solution)

    def _slope(self, images: Images, duals: tuple[np.ndarray, ...]) -> np.ndarray:
        """grad f(x) + A^T y."""
        return DualPoint(images.loss, duals, 0.0, 0.0).direction(self.problem).dense()

    def _responses(self, images: Images, duals: tuple[np.ndarray, ...]) -> tuple[np.ndarray, ...]:
        """argmax over y of <A x, y> - g*(y) - |y - y_t|^2 / (2 sigma)."""
        triples = zip(self.problem.terms, images.terms, duals, strict=True)
        return tuple(slope_of(term, image, 1.0 / self.metric.sigma, y) for term, image, y in triples)


@dataclass
class _Projections:
    """argmin over z in X of <slope, z> + |z - centre|^2 / (2 tau), by the linear oracle, to a gap of at most
    `tolerance`.
    """

    problem: CompositeProblem
    centre: np.ndarray
    tau: float
    tolerance: float
    warm: WarmStart | None
    rng: np.random.Generator
    deadline: Deadline

    def along(self, slope: np.ndarray, start: np.ndarray) -> np.ndarray:
        """From a point of X. Raises OutOfTime."""
        domain, z = self.problem.domain, start
        while True:
            self.deadline.check()
            gradient = slope + (z - self.centre) / self.tau
            direction = DenseDirection(gradient, symmetric=domain.symmetric)
            answer = domain.lmo(direction, OracleRequest(warm=self.warm, rng=self.rng))
            self.warm = answer.warm
            gap = float(np.vdot(gradient, z)) - answer.value
            if gap <= self.tolerance:
                return z
            move = answer.atom.dense() - z
            z = z + min(1.0, self.tau * gap / float(np.vdot(move, move))) * move
