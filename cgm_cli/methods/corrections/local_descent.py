"""Local descent on the factor of X = R R^T, or X = U W^T: oracle steps give the certificate and the way out of a wrong
rank, descent on the factor gives the speed.

The factor is that of Burer and Monteiro ("A nonlinear programming algorithm for solving semidefinite programs via
low-rank factorization", Math. Program. 95, 2003); to alternate it with oracle calls is the idea of Boyd, Schiebinger
and Recht ("The alternating descent conditional gradient method for sparse inverse problems", SIAM J. Optim. 27, 2017).
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
from pydantic import Field

from cgm_cli.blocks.atoms import Atom, LowRankAtom
from cgm_cli.blocks.domains.base import OracleRequest
from cgm_cli.blocks.domains.factorable import SingularValueSet
from cgm_cli.blocks.problem import CompositeProblem
from cgm_cli.errors import ProblemError
from cgm_cli.methods.corrections import subspace
from cgm_cli.methods.corrections.factors import Chart, objective, on_sphere
from cgm_cli.methods.corrections.fully_corrective import FullyCorrective, Memory
from cgm_cli.methods.corrections.quartic import image_size, is_diagonal, is_quartic, quartic
from cgm_cli.methods.policies import CorrectionSpec, Move, PlainStep, Replacing, Solution
from cgm_cli.methods.setting import Setting
from cgm_cli.methods.steps.line_search import minimiser
from cgm_cli.numerics import rows
from cgm_cli.numerics.conjugate import descend
from cgm_cli.numerics.deadline import Deadline
from cgm_cli.numerics.lbfgs import lbfgs
from cgm_cli.spec.fields import Size

if TYPE_CHECKING:
    from cgm_cli.methods.state import State

SPARE = 10
"""How many columns more than the extreme points have are kept at the least, unless there are to be fewer at first."""

WEIGHTLESS = 1e-5
"""Part of |R|^2 below which a column leaves. Without one that counts, X would have too few columns to be the best of
all X, however many oracle steps bring others.
"""

NEEDED, WORTH = 1e-4, 1e-4
"""Part of |R|^2 above which a column is needed: if all are, there are too few of them; and how much better than x,
relatively, an extreme point has to be for a column of its own.
"""

LIGHT = 1e-3
"""Part of the heaviest column below which no other unit is taken for a lighter one."""

BLOCK, PER_STEP = 20, 5
"""The fewest columns beside those of x that steps of `subspace` look among; and how many evaluations of the objective
one of them stands for.
"""

HASTE = 3
"""How many times fewer evaluations there are while columns come by blocks: others will come, whatever is found."""

MORE, LONGEST = 1.5, 500
"""How much longer the next descent may be where the last one ended early, and how many moves it may have at the most: a
descent that is broken off is lost.
"""


MISSES, CUT = 8, 1e-2
"""So many turns in a row whose points lost more than this part of their trace to lie in the domain end the descent for
good: the sphere of factors is too much larger than the domain there. (On k-means problems it is less from the third
turn on, and soon nothing; over faces of the fantope with penalties it stays at a tenth and more.)
"""


@dataclass(frozen=True)
class DescentState:
    """factor: of the last point. moves: of the next descent; None: the first. misses: turns in a row whose points had
    to lose much of their trace. fresh: columns that the next descent is to have beside those of weight. spare,
    curvature: what the next steps of `subspace` begin with. fallback: what the fallback remembers.
    """

    factor: np.ndarray | None = None
    moves: float | None = None
    misses: int = 0
    fresh: int = 1
    spare: np.ndarray | None = None
    curvature: float | None = None
    fallback: Memory = field(default_factory=Memory)

    @property
    def gave_way(self) -> bool:
        """Whether the descent has ended for good."""
        return self.misses >= MISSES


@dataclass(frozen=True)
class LocalDescent:
    """A few descent steps on the factor of x, for matrix domains, from the last one and the oracle's atom.

    columns: how many there are at first; of more, those of no weight leave. evaluations: of F_beta and its gradient by
    L-BFGS, per step, fewer where a hundredth of the gradient is left; moves: of conjugate gradients instead, where line
    searches can be exact. Where multipliers fit the point, so that few turns are needed, there are half as many more
    after each time that they did not do: it costs to begin anew. The point found is brought back into the domain (the
    fantope is smaller than its sphere).

    fallback: what corrects the steps once the descent has given way. guarded: a point is taken only if it is no worse
    than the plain step, whose guarantees are so inherited; not where multipliers follow it.
    """

    class Spec(CorrectionSpec):
        kind: Literal["local-descent"] = "local-descent"
        columns: Size = Field(20, description="of the factor, at first; of more, those of no weight leave")
        evaluations: Size = Field(50, description="of the smoothed objective by L-BFGS, per step")
        moves: Size = Field(40, description="of conjugate gradients instead, where line searches are exact")

        examples: ClassVar[list[dict[str, Any]]] = [
            {"kind": "local-descent"},
            {"kind": "local-descent", "columns": 5, "moves": 100},
        ]

        def build(self, problem: CompositeProblem, setting: Setting) -> LocalDescent:
            """Raises ProblemError for a domain whose points have no factors."""
            if problem.domain.factors is None:
                raise ProblemError(
                    "`correction: local-descent` needs points that are matrices of low rank: a domain `psd`, "
                    "`fantope`, `fantope-face` or `nuclear-ball`; `fully-corrective` serves every domain",
                    ("correction",),
                )
            return LocalDescent(self.columns, self.evaluations, self.moves, guarded=not setting.follows)

    columns: int = 20
    evaluations: int = 50
    moves: int = 40
    reduction: float = 0.01
    fallback: FullyCorrective = field(default_factory=FullyCorrective)
    guarded: bool = True
    needs_array: ClassVar[bool] = False
    replaces: ClassVar[Replacing] = "mostly"
    keeps_theory: ClassVar[bool] = True

    def init(self, problem: CompositeProblem) -> DescentState:
        return DescentState()

    def warm_up(self, problem: CompositeProblem) -> None:
        if is_diagonal(problem) and problem.domain.shape[0] * self.columns >= rows.NUMPY_BELOW:
            rows.warm_up()

    def memory(self, problem: CompositeProblem) -> int:
        """The image it leads to, beside all that is kept lest it is broken off."""
        return 2 * problem.domain.memory if problem.needs_array else 0

    def choose(self, state: State, plain: PlainStep, deadline: Deadline) -> Move:
        memory = state.correction
        assert isinstance(memory, DescentState)
        if memory.gave_way:
            move = self.fallback.chosen(state, memory.fallback, plain, deadline)
            return replace(move, memory=replace(memory, fallback=move.memory), gave_way=True)
        factors = state.point.problem.domain.factors
        assert factors is not None
        chart = Chart(factors)
        if chart.radius == 0.0:  # zero is all there is
            return Move(plain.atom, plain.eta, memory)
        return self._descended(state, memory, chart, plain, deadline)

    def _descended(
        self, state: State, memory: DescentState, chart: Chart, plain: PlainStep, deadline: Deadline
    ) -> Move:
        point, beta = state.point, plain.beta
        factor, values = memory.factor, chart.domain.singular_values
        if factor is not None and values is not None and memory.fresh == 1 and _has_spare(point.problem, factor):
            return self._stepped(state, memory, chart, factor, values, plain, deadline)
        atom, fresh = self._atom(state, memory, chart, plain, deadline)
        start = self._start(state, memory, chart, plain, atom)
        deadline.check()
        found, fitted, moves = self._descend(state, memory, chart, beta, start, deadline)
        found = chart.on_sphere(chart.project_out_known(found))[0]
        corrected, factor = chart.retract(found)
        memory = replace(memory, factor=factor, moves=moves, fresh=fresh if _is_full(factor) else 1)
        solution, better = None, corrected is not None
        if self.guarded or beta is None:
            better = corrected is not None and _is_better(state, corrected, plain)
        else:
            memory = replace(memory, misses=memory.misses + 1 if chart.excess(factor) > CUT else 0)
            images = point.images_of(chart.lift(chart.whole(found)))
            solution = Solution(beta, images.terms, point.duals_at(images, beta), fitted)
        if corrected is None or not better:
            return Move(plain.atom, plain.eta, memory, solution, memory.gave_way)
        # The last eigenvector is among those of the factor now, and would be taken for the smallest again.
        return Move(corrected, 1.0, memory, solution, memory.gave_way, is_elsewhere=True)

    def _stepped(
        self,
        state: State,
        memory: DescentState,
        chart: Chart,
        factor: np.ndarray,
        values: SingularValueSet,
        plain: PlainStep,
        deadline: Deadline,
    ) -> Move:
        """A few steps of `subspace`, from the last factor and a block of columns that the gradient tells."""
        loss, start = state.point.problem.loss, chart.retract(factor)[0]
        assert loss is not None and start is not None
        columns = start.weights.size
        count = min(max(BLOCK, columns // 4), min(chart.domain.shape) - columns)
        request = OracleRequest(warm=memory.spare, rng=state.rng, should_stop=deadline.should_stop)
        block = chart.domain.several(plain.direction, count, request)[1]
        steps = max(1, self.evaluations // PER_STEP)
        found = subspace.descend(loss, values, start, block.right, memory.curvature or loss.lipschitz, steps, deadline)
        factor = chart.factor(found.atom)
        fresh = 1 if found.spare.shape[1] else factor.shape[1] + 1
        memory = replace(memory, factor=factor, fresh=fresh, spare=found.spare, curvature=found.curvature)
        if not _is_better(state, found.atom, plain):
            return Move(plain.atom, plain.eta, memory)
        return Move(found.atom, 1.0, memory, is_elsewhere=True)

    def _descend(
        self,
        state: State,
        memory: DescentState,
        chart: Chart,
        beta: float | None,
        start: np.ndarray,
        deadline: Deadline,
    ) -> tuple[np.ndarray, list[np.ndarray] | None, float | None]:
        """Where a descent ends, multipliers that fit that point, and how many moves the next may have."""
        problem = state.point.problem
        if chart.is_zero(start):
            return start, None, memory.moves
        # Beside images much larger than the factor, exact line searches cost more than they gain; they have no units.
        is_light = chart.domain.symmetric and image_size(problem) <= start.size
        if chart.known is None and is_light and is_quartic(problem):
            curve = quartic(state, chart, beta, start, deadline)
            moves = self.moves if memory.moves is None else memory.moves
            done = descend(curve, int(moves), self.reduction)
            fitted = curve.multipliers()
            more = fitted is not None and not done
            return curve.flat, fitted, min(MORE * moves, LONGEST) if more else memory.moves
        evaluate = on_sphere(chart, objective(state, chart, beta, deadline))
        count = self.evaluations if memory.fresh == 1 else max(1, self.evaluations // HASTE)
        if chart.domain.symmetric:  # k-means of 1000 digits takes a third longer in other units
            return lbfgs(evaluate, start, count, self.reduction), None, memory.moves
        units = _units(chart, start)

        def in_units(vector: np.ndarray) -> tuple[float, np.ndarray]:
            value, gradient = evaluate(units * vector)
            return value, units * gradient

        return units * lbfgs(in_units, start / units, count, self.reduction), None, memory.moves

    def _atom(
        self, state: State, memory: DescentState, chart: Chart, plain: PlainStep, deadline: Deadline
    ) -> tuple[LowRankAtom | None, int]:
        """The oracle's atom; where all columns of the factor are needed, one of a block of them instead: as many as are
        better than x, each by as much as it is, per unit of trace. And how many there may be the next time: while all
        of them are better, twice as many.
        """
        atom, domain, factor = plain.atom.low_rank, chart.domain, memory.factor
        if atom is None or factor is None or domain.count > 1 or chart.known is not None:
            return atom, 1
        if 2 * factor.shape[1] >= min(domain.shape):  # any matrix has a factor of about as many
            return atom, 1
        if memory.fresh == 1:
            return atom, factor.shape[1] + 1
        request = OracleRequest(rng=state.rng, should_stop=deadline.should_stop)
        values, block = domain.several(plain.direction, memory.fresh, request)
        pairing = 0.5 * float(np.vdot(chart.factor_gradient(plain.direction, factor), factor))
        gains = pairing / domain.trace - values
        kept = gains > WORTH * abs(values[0])
        if not kept.any():
            return atom, 1
        weights = block.weights[kept] * gains[kept] * (domain.trace / float(gains[kept].sum()))
        left, right = block.left[:, kept], block.right[:, kept]
        found = LowRankAtom.symmetric(left, weights) if block.is_symmetric else LowRankAtom(left, weights, right)
        return found, 2 * memory.fresh if kept.all() else max(1, int(kept.sum()))

    def _start(
        self, state: State, memory: DescentState, chart: Chart, plain: PlainStep, atom: LowRankAtom | None
    ) -> np.ndarray:
        """The last factor, at first noise, and an atom in new columns, as heavy as a line search makes it."""
        known = memory.factor
        columns = max(self.columns, chart.domain.count + min(SPARE, self.columns))
        if known is None:
            known = chart.noise(state.rng, min(columns, *chart.domain.shape))
        # Those of no weight go before the descent, which makes up for them; after it a constraint would miss them.
        weights = np.square(known).sum(axis=0)
        known = known[:, : max(columns, int(np.sum(weights > WEIGHTLESS * weights.sum())))]
        if atom is not None:
            share = minimiser(state.point.segment(atom, plain.beta).slope)
            if share > 0.0:
                known = np.hstack([np.sqrt(1.0 - share) * known, np.sqrt(share) * chart.factor(atom)])
        return chart.flat(known)


def _has_spare(problem: CompositeProblem, factor: np.ndarray) -> bool:
    """Whether f is smooth and alone, and there are columns that a factor does not have."""
    loss = problem.loss
    is_smooth = loss is not None and not loss.is_linear and not problem.terms
    return is_smooth and 0 < factor.shape[1] < min(problem.domain.shape)


def _units(chart: Chart, flat: np.ndarray) -> np.ndarray:
    """Units of the entries in which all columns of a factor curve alike: that of U in X = U W^T goes with |W|^2, column
    by column, and those of both are equally heavy. (Tong, Ma and Chi, "Accelerating ill-conditioned low-rank matrix
    estimation via scaled gradient descent", JMLR 22, 2021.)
    """
    weights = np.square(chart.columns(flat)).sum(axis=0)
    units = np.ones_like(flat)
    chart.columns(units)[:] = np.sqrt(weights.max() / np.maximum(weights, LIGHT * weights.max()))
    return units


def _is_full(factor: np.ndarray) -> bool:
    """Whether even the last of the columns, the lightest, has weight."""
    weights = np.square(factor).sum(axis=0)
    return bool(weights.size) and bool(weights[-1] > NEEDED * weights.sum())


def _is_better(state: State, corrected: Atom, plain: PlainStep) -> bool:
    point = state.point
    best = point.segment(plain.atom, plain.beta).value(plain.eta)
    return point.segment(corrected, plain.beta).value(1.0) <= best
