"""Splitting of a matrix X into its eigenvalues and its entries (ADMM), in one n x n matrix of single precision.

For min <C, X> over X >= 0 in the face of the fantope with X v = v, two matrices take turns:

    X  <-  the nearest point of the face to E - S - C / rho,      E  <-  max(Z, 0),  S  <-  max(-Z, 0),
    Z  =   a X + (1 - a) E + S,      a = 1.6

and N = rho S are the multipliers of X >= 0 (Boyd et al., "Distributed optimization and statistical learning via the
alternating direction method of multipliers", 2011, section 3.4.3). E and S nowhere overlap, and are kept as the
positive and the negative part of one matrix M = E - S (cgm_cli.numerics.folded). X = v v^T + F F^T is known by its
factor: with P = I - v v^T its eigenvectors are the largest of P (E + S - C / rho) P, and C may be of low rank, as are
squared distances, which then are never formed.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
from pydantic import Field

from cgm_cli.blocks.atoms import Atom, LowRankAtom
from cgm_cli.blocks.directions import Direction
from cgm_cli.blocks.problem import CompositeProblem
from cgm_cli.errors import ProblemError
from cgm_cli.methods.factored_box import place_of_nonnegative
from cgm_cli.methods.policies import CorrectionSpec, Move, PlainStep, Replacing, Solution
from cgm_cli.methods.setting import Setting
from cgm_cli.numerics.clustering_dual import closed_form
from cgm_cli.numerics.deadline import Deadline
from cgm_cli.numerics.eigen import smallest_eigenpairs
from cgm_cli.numerics.folded import Folded, negative
from cgm_cli.numerics.projections import project_hypersimplex
from cgm_cli.spec.fields import Size

if TYPE_CHECKING:
    from cgm_cli.methods.state import State

PENALTY = 0.04
"""rho in units of |C|_F / |X|_F, to the nearest power of two. (Twenty clusters that overlap, how near ten steps come,
with half as much, with that, with twice as much: 2000 points 0.61 %, 0.67 %, 0.81 %; 6000 points 0.62 %, 0.50 %.)
"""

RELAXED = 1.6
"""a; between 1 and 2."""

GAIN = 1e-4
"""A turn has to make the bound better by this part of it: else there is no better one to go to."""

ROUGH, PRODUCTS = 1e-3, 4
"""How exact the eigenvectors of a step are, relative, and after how many products of each they are taken as they are:
those of the last step are nearly right.
"""

SPARE = 4
"""Eigenvectors more than X has, besides a quarter of those: its rank may grow from step to step."""


@dataclass(frozen=True)
class SplittingState:
    """matrix (n, n): M, None before the first turn. start (n, w): what the next eigenvectors begin with. count: how
    many of them. bound: the best at the last turn, but for the first.
    """

    matrix: np.ndarray | None = None
    start: np.ndarray | None = None
    count: int = 0
    bound: float = -math.inf


@dataclass(frozen=True)
class Splitting:
    """Steps of the splitting, from the point that the run starts from; its oracle bounds.

    known (n,): v. rank: k - 1, the trace of P X P. cost: C. rho: of the head. steps: in a turn.
    """

    class Spec(CorrectionSpec):
        kind: Literal["splitting"] = "splitting"
        steps: Size = Field(
            5, description="of a turn, but for the first one: each some eigenvectors and a pass over all entries"
        )

        examples: ClassVar[list[dict[str, Any]]] = [
            {"kind": "splitting"},
            {"kind": "splitting", "steps": 2},
        ]

        def build(self, problem: CompositeProblem, setting: Setting) -> Splitting:
            """Raises ProblemError for other problems than a linear one over such a face, with X >= 0."""
            cost = splits(problem)
            if cost is None:
                raise ProblemError(
                    "`correction: splitting` is for a linear loss over `fantope-face` with X >= 0 and no other "
                    "constraint but the row sums; `local-descent` serves others",
                    ("correction",),
                )
            domain = problem.domain.factors
            assert domain is not None and domain.known is not None
            rho = 2.0 ** round(math.log2(PENALTY * (cost.size() or 1.0) / problem.domain.radius))
            return Splitting(domain.known[:, 0], domain.count - 1, cost, rho, self.steps)

    known: np.ndarray
    rank: int
    cost: Direction
    rho: float
    steps: int = 5
    needs_array: ClassVar[bool] = False
    replaces: ClassVar[Replacing] = "always"
    keeps_theory: ClassVar[bool] = False

    def init(self, problem: CompositeProblem) -> SplittingState:
        return SplittingState()

    def warm_up(self, problem: CompositeProblem) -> None:
        """Nothing is compiled for it."""

    def memory(self, problem: CompositeProblem) -> int:
        """M, the copy that a turn works on, and the multipliers: those of the point, of the best bound, and their mean;
        all in single precision. And the matrix that proves a bound.
        """
        return 7 * problem.domain.memory // 2

    def choose(self, state: State, plain: PlainStep, deadline: Deadline) -> Move:
        memory, problem, shown = state.correction, state.point.problem, state.bounds.shown
        assert isinstance(memory, SplittingState)
        bound = -math.inf if shown is None else shown.value
        if bound < memory.bound + GAIN * abs(bound):
            return Move(plain.atom, 0.0, memory, is_last=True)
        steps = self.steps
        if memory.matrix is None:
            steps = 1  # for a bound that is worth something soon
            folded, start = self._begun(state.point.iterate.point)
            memory = replace(memory, start=start, count=min(len(self.known) - 1, 3 * (self.rank + 1)))
        else:
            folded, memory = Folded.copied(memory.matrix), replace(memory, bound=bound)
        atom = plain.atom
        for _ in range(steps):
            deadline.check()
            memory, atom = self._step(folded, memory, state.rng, deadline)
        place = place_of_nonnegative(problem)
        assert place is not None
        duals = [np.zeros(term.map.out_shape) for i, term in enumerate(problem.terms) if i != place]
        duals.insert(place, folded.written(negative, self.rho, np.float32))
        solution = Solution(problem.terms[place].weight / self.rho, [], duals, is_decisive=True)
        return Move(atom, 1.0, replace(memory, matrix=folded.matrix), solution)

    def _begun(self, point: Atom) -> tuple[Folded, np.ndarray | None]:
        """M at the point that the run starts from, and its eigenvectors; where that is of a partition, with the
        multipliers that belong to it.
        """
        folded = Folded(len(self.known))
        x = point.low_rank
        assert x is not None
        left, right = x.left * x.weights, x.right
        own = _partition(x)
        spread = np.zeros((len(left), 1))
        if own is not None:
            member = np.asarray(own[:, None] == np.arange(int(own.max()) + 1), dtype=float)
            spread = closed_form(self.cost.matmat(member), own) / math.sqrt(self.rho)

        def start(rows: slice, columns: slice, _: np.ndarray) -> np.ndarray:
            entries = left[rows] @ right[columns].T
            if own is None:
                return entries
            return entries - spread[rows][:, own[columns]] * spread[columns][:, own[rows]].T

        folded.write(start)
        return folded, right

    def _step(
        self, folded: Folded, memory: SplittingState, rng: np.random.Generator, deadline: Deadline
    ) -> tuple[SplittingState, LowRankAtom]:
        """X, and M after it, which is written to."""
        memory, vectors, weights = self._nearest(folded, memory, rng, deadline)
        atom = LowRankAtom.symmetric(np.column_stack([self.known, vectors]), np.append(1.0, weights))
        left, right = (atom.left * atom.weights).astype(np.float32), atom.left.astype(np.float32)
        relaxed, kept = np.float32(RELAXED), np.float32(1.0 - RELAXED)

        def moved(rows: slice, columns: slice, old: np.ndarray) -> np.ndarray:
            x = left[rows] @ right[columns].T
            x *= relaxed
            entries = np.maximum(old, np.float32(0.0))
            x += old
            entries *= kept - np.float32(1.0)  # Z = a X + (1 - a) E + S turned round: of E - S, E is in `old` already
            x += entries
            return x

        folded.write(moved)
        return memory, atom

    def _nearest(
        self, folded: Folded, memory: SplittingState, rng: np.random.Generator, deadline: Deadline
    ) -> tuple[SplittingState, np.ndarray, np.ndarray]:
        """Eigenvectors of X (n, r) and its eigenvalues (r,), but for v, of which none is zero."""
        n, v = len(self.known), self.known

        def without(block: np.ndarray) -> np.ndarray:
            return block - np.multiply.outer(v, v @ block)

        def multiply(block: np.ndarray) -> np.ndarray:
            """Of the opposite, in which v comes last."""
            inner = without(block)
            image = folded.product(inner) - self.cost.matmat(inner) / self.rho
            return np.multiply.outer(v, v @ block) - without(image)

        while True:
            found = smallest_eigenpairs(
                multiply,
                n,
                memory.count,
                tolerance=ROUGH,
                rng=rng,
                start=memory.start,
                max_products=int(PRODUCTS * 1.5 * memory.count),  # blocks are wider than what is asked for
                should_stop=deadline.should_stop,
            )
            deadline.check()
            weights = project_hypersimplex(-found.values, self.rank)
            used = weights > 0.0
            if not used[-1] or memory.count == n - 1:
                count = min(n - 1, int(1.25 * np.count_nonzero(used)) + SPARE)
                return (
                    SplittingState(memory.matrix, found.start, count, memory.bound),
                    without(found.vectors[:, used]),
                    weights[used],
                )
            memory = replace(memory, start=found.start, count=min(n - 1, 2 * memory.count))


def splits(problem: CompositeProblem) -> Direction | None:
    """C, where a problem is to minimise <C, X> over X >= 0 in a face of the fantope, and its other constraints hold all
    over that; None for any other.
    """
    loss, domain, place = problem.loss, problem.domain.factors, place_of_nonnegative(problem)
    if loss is None or loss.cost is None or place is None or domain is None or domain.known is None:
        return None
    if domain.known.shape[1] != 1 or domain.count < 2 or problem.growing is not None:
        return None
    v = domain.known[:, 0]
    for other, term in enumerate(problem.terms):
        # Of X v = v, with v = 1 / sqrt(n).
        sums = term.penalty.only_point if term.map.sums_rows and np.ptp(v) == 0.0 else None
        if other != place and (sums is None or not np.array_equal(sums, np.ones(len(v)))):
            return None
    return loss.cost.symmetrised()


def _partition(x: LowRankAtom) -> np.ndarray | None:
    """The cluster of each row (n,), where x is the matrix of a partition; None where it is not."""
    used = (x.left != 0.0) & (x.weights != 0.0)
    if not (used.sum(axis=1) == 1).all():
        return None
    return np.unique(used.argmax(axis=1), return_inverse=True)[1].reshape(-1)
