"""Gradients of some rows of a problem, drawn at random, that are the whole gradient in the mean."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import cast

import numpy as np
import scipy.sparse as sp

from cgm_cli.blocks.losses.base import Loss
from cgm_cli.blocks.problem import CompositeProblem
from cgm_cli.errors import ProblemError

TOLERANCE = 1e-3
"""Of an iterative oracle: far below what a batch leaves open."""


def drawn(rng: np.random.Generator, count: int, size: int) -> np.ndarray:
    """The places of `size` of `count` rows, or of all, in order; none twice."""
    return np.arange(count) if size >= count else np.sort(rng.choice(count, size, replace=False))


@dataclass(frozen=True)
class Batches:
    """f(x) = h(M x) by rows of M: matrix (m, n), on the entries of x in C order."""

    loss: Loss
    matrix: np.ndarray | sp.csr_array

    @classmethod
    def of(cls, loss: Loss | None, kind: str) -> Batches:
        """kind: the correction that asks. Raises ProblemError where f is no sum over rows that are known."""
        none = np.zeros(0)
        if loss is None or loss.entries_of_gradient(none, none.astype(int)) is None:
            raise _refusal(kind, "and there is no such objective")
        if loss.map.is_identity:
            return cls(loss, sp.csr_array(sp.eye_array(math.prod(loss.map.in_shape))))
        explicit = loss.map.explicit
        matrix = explicit if isinstance(explicit, np.ndarray) else loss.map.rows()
        if matrix is None:
            raise _refusal(kind, "and the matrix of its map is not known")
        return cls(loss, matrix)

    @property
    def count(self) -> int:
        return self.matrix.shape[0]

    def gradient(self, x: np.ndarray, places: np.ndarray) -> np.ndarray:
        """(m / |B|) M_B^T h'(M x)_B, an estimate of grad f(x), of the shape of x."""
        rows = self.matrix[places]
        entries = self.loss.entries_of_gradient(rows @ x.reshape(-1), places)
        return (self.count / places.size * (rows.T @ cast(np.ndarray, entries))).reshape(x.shape)


def _refusal(kind: str, reason: str) -> ProblemError:
    return ProblemError(
        f"`correction: {kind}` draws rows of an objective that is a sum over them, as least squares, {reason}",
        ("correction",),
    )


@dataclass(frozen=True)
class ConstraintRows:
    """Constraints lower <= (A x)_j <= upper, one for each row of all terms, scaled by the root of the weight of its
    term: matrix (m, n), on the entries of x in C order.
    """

    matrix: sp.csr_array
    lower: np.ndarray
    upper: np.ndarray

    @classmethod
    def of(cls, problem: CompositeProblem, kind: str) -> ConstraintRows:
        """kind: the correction that asks. Raises ProblemError where terms are no constraints on rows that are known."""
        if not problem.terms:
            raise ProblemError(f"`correction: {kind}` draws rows of constraints, and there is none", ("correction",))
        matrices, ends = list[sp.csr_array](), list[tuple[np.ndarray, np.ndarray]]()
        for term in problem.terms:
            rows, intervals, root = term.rows(), term.penalty.intervals, math.sqrt(term.weight)
            if rows is None or intervals is None:
                raise ProblemError(
                    f"`correction: {kind}` draws rows of equations, inequalities and bounds, and {term.name} has none "
                    "that are known",
                    ("correction",),
                )
            matrices.append(root * rows)
            ends.append((root * intervals[0].reshape(-1), root * intervals[1].reshape(-1)))
        lower, upper = (np.concatenate(parts) for parts in zip(*ends, strict=True))
        return cls(sp.csr_array(sp.vstack(matrices, format="csr")), lower, upper)

    @property
    def count(self) -> int:
        return self.matrix.shape[0]

    def gradient(self, x: np.ndarray, places: np.ndarray, beta: float) -> np.ndarray:
        """Of (m / |B|) dist(A_B x, K_B)^2 / (2 beta), of the shape of x."""
        rows = self.matrix[places]
        image = rows @ x.reshape(-1)
        apart = image - np.clip(image, self.lower[places], self.upper[places])
        return (self.count / (places.size * beta) * (rows.T @ apart)).reshape(x.shape)
