"""The mixing method: coordinate descent over the rows of R in X = R R^T, where what is asked of X is its diagonal.

With diag X = b the rows of R lie on spheres of radius sqrt(b_i), and each meets the others in f alone:

    r_i <- - sqrt(b_i) g_i / |g_i|,      g_i = sum_{j != i} c_ij r_j,

is the best that a row can do (Wang, Chang and Kolter, "The mixing method: low-rank coordinate descent for semidefinite
programming with diagonal constraints", 2017). Points are feasible at once, and y_i = |g_i| / sqrt(b_i) - c_ii are the
multipliers with (C + Diag(y)) R = 0 at a stationary point, which is optimal where C + Diag(y) is semidefinite: the
oracle says whether it is, and its eigenvector is the way on where it is not (Boumal, Voroninski and Bandeira, "The
non-convex Burer-Monteiro approach works on smooth semidefinite programs", NeurIPS 2016).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
import scipy.linalg
import scipy.sparse as sp
from pydantic import Field

from cgm_cli.blocks.atoms import Atom, LowRankAtom
from cgm_cli.blocks.problem import CompositeProblem
from cgm_cli.errors import ProblemError
from cgm_cli.methods.corrections.quartic import is_diagonal
from cgm_cli.methods.policies import CorrectionSpec, Move, PlainStep, Replacing, Solution
from cgm_cli.methods.setting import Setting
from cgm_cli.numerics import sweeps
from cgm_cli.numerics.deadline import Deadline
from cgm_cli.numerics.sweeps import descend, row_forms, row_products, stretches
from cgm_cli.spec.fields import Size

if TYPE_CHECKING:
    from cgm_cli.methods.state import State

MORE, LONGEST = 1.5, 1000
"""How many times as many sweeps the next turn has, and the most: the oracle costs as much as a hundred."""

WEIGHTLESS, NEEDED = 1e-7, 1e-2
"""Parts of the weight of the heaviest direction: below the first, a column leaves; where even the lightest has more
than the second, there are too few of them.
"""

FRESH = 0.5
"""The length of new columns in a row, beside the others. (Of 0.1 they took half as many sweeps again to count.)"""

NEGLIGIBLE = 1e-17
"""A sweep that gains less than this part of what the objective may be gains nothing but rounding."""

WIDEST = 64
"""Columns to begin with, at the most. (A random graph of 50,000 nodes: gaps of 3e-3 with 24, which is the best of this
rank, and 1e-3 with 64 after as many seconds; begun with as many as there have to be, it takes half as long as if they
come later.)
"""


@dataclass(frozen=True)
class MixingState:
    """sweeps: of the next turn; 0: of the first. wanting: whether all columns have been needed so far; more of them are
    then likely to be. The factor is that of x.
    """

    sweeps: int = 0
    wanting: bool = True


@dataclass(frozen=True)
class Mixing:
    """Sweeps over the rows of a factor whose rows have the lengths that the diagonal asks for; the oracle bounds.

    matrix: C without its diagonal. diagonal: that of C. lengths (n,): of the rows. columns: to begin with. most: beyond
    which more cannot help. sweeps: of the first turn.
    """

    class Spec(CorrectionSpec):
        kind: Literal["mixing"] = "mixing"
        columns: Size | None = Field(
            None, description="of the factor, at first; of more, those of no weight leave; left out: by the size"
        )
        sweeps: Size = Field(30, description="over all rows in the first turn; half as many more in each that follows")

        examples: ClassVar[list[dict[str, Any]]] = [
            {"kind": "mixing"},
            {"kind": "mixing", "columns": 5, "sweeps": 10},
        ]

        def build(self, problem: CompositeProblem, setting: Setting) -> Mixing:
            """Raises ProblemError for other problems than those of a sparse cost and a diagonal."""
            if not mixes(problem):
                raise ProblemError(
                    "`correction: mixing` is for a linear loss with a sparse matrix over `psd` with the trace that a "
                    "constraint on the diagonal, the only one and positive, gives it; `local-descent` serves others",
                    ("correction",),
                )
            assert problem.loss is not None
            cost = problem.loss.map.adjoint(problem.loss.gradient(np.zeros(()))).symmetrised().sparse()
            assert cost is not None
            diagonal = cost.diagonal()
            matrix = sp.csr_array(cost - sp.diags_array(diagonal))
            matrix.eliminate_zeros()
            most = most_columns(problem)
            columns = usual_columns(problem) if self.columns is None else min(self.columns, most)
            return Mixing(matrix, diagonal, np.sqrt(_target(problem)), columns, most, self.sweeps)

    matrix: sp.csr_array
    diagonal: np.ndarray
    lengths: np.ndarray
    columns: int
    most: int
    sweeps: int = 30
    needs_array: ClassVar[bool] = False
    replaces: ClassVar[Replacing] = "always"
    keeps_theory: ClassVar[bool] = True

    def init(self, problem: CompositeProblem) -> MixingState:
        return MixingState()

    def warm_up(self, problem: CompositeProblem) -> None:
        sweeps.warm_up()

    def memory(self, problem: CompositeProblem) -> int:
        """The factor, that of the pass before, and what a turn makes of them."""
        return 5 * 8 * len(self.lengths) * self.columns

    def choose(self, state: State, plain: PlainStep, deadline: Deadline) -> Move:
        memory = state.correction
        assert isinstance(memory, MixingState)
        factor = self._start(state, memory, plain, deadline)
        count, squares = memory.sweeps or self.sweeps, np.square(self.lengths)
        most = float(abs(self.matrix).sum(axis=1) @ squares)
        descend(self.matrix, self.lengths, factor, count, NEGLIGIBLE * most, deadline.check)
        factor, all_needed = self._turned(factor, deadline)
        duals = -self.diagonal - row_forms(factor, self.matrix, deadline.check) / squares
        # As wide as it may be where x is feasible: duals that are one step from y are as exact as y, but for rounding.
        size = float(np.linalg.norm(duals))
        beta = state.point.problem.terms[0].weight * float(np.linalg.norm(squares)) / (size or 1.0)
        solution = Solution(beta, [row_products(factor, factor)], [duals], is_decisive=True)
        following = MixingState(min(math.ceil(MORE * count), LONGEST), memory.wanting and all_needed)
        found = LowRankAtom.symmetric(factor, np.ones_like(factor[0]))
        return Move(found, 1.0, following, solution, is_elsewhere=True)

    def _start(self, state: State, memory: MixingState, plain: PlainStep, deadline: Deadline) -> np.ndarray:
        """The last factor, at first noise; the oracle's eigenvector in a new column; and noise in as many columns again
        where all are needed.
        """
        n, atom = len(self.lengths), plain.atom.low_rank
        if memory.sweeps == 0:
            return self._joined([state.rng.standard_normal((n, self.columns))], deadline)
        known = _factor(state.point.iterate.point)
        parts = [known]
        if atom is not None:
            parts.append(self._weighed(state, known, atom.left[:, :1], deadline))
        if memory.wanting:
            fresh = min(known.shape[1], self.most - known.shape[1])
            if fresh > 0:
                noise = state.rng.standard_normal((n, fresh))
                parts.append(FRESH / np.sqrt(fresh) * self.lengths[:, None] * noise)
        return self._joined(parts, deadline)

    def _weighed(self, state: State, factor: np.ndarray, vector: np.ndarray, deadline: Deadline) -> np.ndarray:
        """sqrt(t) v, a new column (n, 1), for an eigenvector v; of no columns where it does not help.

        With S = C + Diag(y), S R = 0 and S v = lambda v, and V = diag(v_i^2 / b_i), rows of their lengths again,

            <S, X(t)> = lambda t + q t^2 + O(t^3),      q = <V R, S V R> / 4 - lambda <v, V v>.
        """
        assert state.point.multipliers is not None
        slack = self.diagonal + state.point.multipliers[0]
        shares = np.square(vector[:, 0]) / np.square(self.lengths)
        value = float(np.sum(row_forms(vector, self.matrix) + slack * np.square(vector[:, 0])))
        # <V R, S V R> = <R, (V C V + V^2 Diag(y)) R>, so that nothing as large as R is made.
        turned = sp.diags_array(shares) @ self.matrix @ sp.diags_array(shares)
        own = float((slack * np.square(shares)) @ row_products(factor, factor))
        bent = float(row_forms(factor, sp.csr_array(turned), deadline.check).sum()) + own
        curvature = 0.25 * bent - value * float(shares @ np.square(vector[:, 0]))
        if not (value < 0.0 and curvature > 0.0):
            return vector[:, :0]
        return math.sqrt(-0.5 * value / curvature) * vector

    def _turned(self, factor: np.ndarray, deadline: Deadline) -> tuple[np.ndarray, bool]:
        """The same X in columns that are orthogonal, heaviest first, without those of no weight; and whether all of
        them are needed.
        """
        weights, vectors = scipy.linalg.eigh(factor.T @ factor)
        kept = max(1, int(np.sum(weights > WEIGHTLESS * weights[-1])))
        all_needed = bool(weights[0] > NEEDED * weights[-1])
        return self._joined([factor @ vectors[:, ::-1][:, :kept]], deadline), all_needed

    def _joined(self, parts: list[np.ndarray], deadline: Deadline) -> np.ndarray:
        """Their columns side by side, every row as long as the diagonal asks for. A stretch of rows at a time: memory
        that nobody has touched yet may take seconds to be had.
        """
        found = np.empty((len(self.lengths), sum(part.shape[1] for part in parts)))
        for stretch in stretches(*found.shape):
            deadline.check()
            rows = np.hstack([part[stretch] for part in parts])
            found[stretch] = rows * (self.lengths[stretch] / np.sqrt(row_products(rows, rows)))[:, None]
        return found


def _factor(x: Atom) -> np.ndarray:
    """R of X = R R^T, without columns that rounding alone has made."""
    if x.low_rank is not None:
        left, weights = x.low_rank.left, x.low_rank.weights
        return left if np.all(weights == 1.0) else left * np.sqrt(weights)
    weights, vectors = scipy.linalg.eigh(x.dense())
    kept = weights > WEIGHTLESS * weights[-1]
    return vectors[:, kept] * np.sqrt(weights[kept])


def mixes(problem: CompositeProblem) -> bool:
    """Whether it is a linear f of sparse cost over semidefinite matrices, whose one constraint gives the diagonal."""
    if not is_diagonal(problem) or problem.loss is None:
        return False
    target = _target(problem)
    factors = problem.domain.factors
    assert factors is not None
    fits = target.min() > 0.0 and abs(float(target.sum()) - factors.trace) <= 1e-12 * factors.trace
    return (
        bool(fits) and problem.loss.map.adjoint(problem.loss.gradient(np.zeros(()))).symmetrised().sparse() is not None
    )


def most_columns(problem: CompositeProblem) -> int:
    """As many as some solution has at the most: k (k + 1) / 2 <= n (Barvinok 1995, Pataki 1998), and one."""
    n = problem.domain.shape[0]
    return min(n, int((math.sqrt(8.0 * n + 1.0) - 1.0) / 2.0) + 1)


def usual_columns(problem: CompositeProblem) -> int:
    """As many as solutions of that size have as a rule."""
    return min(WIDEST, 10 + most_columns(problem) // 5)


def _target(problem: CompositeProblem) -> np.ndarray:
    target = problem.terms[0].penalty.only_point
    assert target is not None
    return target.reshape(-1)
