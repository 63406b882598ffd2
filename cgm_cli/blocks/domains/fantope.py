"""The fantope: the convex hull of the projections of rank k."""

from __future__ import annotations

from typing import ClassVar, Literal, Self

import numpy as np
import scipy.linalg
from pydantic import Field, model_validator

from cgm_cli.blocks.atoms import LowRankAtom
from cgm_cli.blocks.domains.spectral import EigenDomain, is_symmetric
from cgm_cli.numerics.projections import capped_shares, project_hypersimplex
from cgm_cli.readers.context import BuildContext
from cgm_cli.spec.fields import BlockSpec, Size


class Fantope(EigenDomain):
    """{X symmetric n x n, 0 <= X <= I (semidefinite), tr X = k}.

    LMO: the minimum of <V, X> is the sum of the k smallest eigenvalues of V (Ky Fan), at U U^T with U their
    eigenvectors.
    """

    projects = True

    class Spec(BlockSpec):
        kind: Literal["fantope"]
        size: Size = Field(description="n: the matrices are n x n")
        rank: Size = Field(description="k, the trace; at most n")
        examples: ClassVar = [
            {"kind": "fantope", "size": 6, "rank": 2},
            {"kind": "fantope", "size": 6, "rank": 6},
            {"kind": "fantope", "size": 90, "rank": 3},
        ]

        @model_validator(mode="after")
        def _rank_fits(self) -> Self:
            if self.rank > self.size:
                raise ValueError(
                    f"rank {self.rank} is more than the size {self.size}: no such matrix has eigenvalues in [0, 1]"
                )
            return self

        def build(self, context: BuildContext) -> Fantope:
            return Fantope(self.size, self.rank)

    weight = 1.0
    fixed_trace = True

    def __init__(self, size: int, rank: int):
        self.shape = (size, size)
        self.rank = self.count = rank
        self.trace = float(rank)
        self.radius = float(np.sqrt(rank))
        self.diameter = float(np.sqrt(2.0 * min(rank, size - rank)))

    def restricted(self, left: np.ndarray, right: np.ndarray) -> Fantope | None:
        columns = left.shape[1]
        return Fantope(columns, self.rank) if columns >= self.rank else None

    def admitted(self, values: np.ndarray) -> np.ndarray | None:
        """What is more than one is cut, and goes to the others in proportion: unlike a projection, that gives nothing
        to eigenvalues near zero.
        """
        return None if values.size < self.rank else capped_shares(values, float(self.rank))

    def nearest_eigenvalues(self, values: np.ndarray) -> np.ndarray:
        """In {0 <= p <= 1, sum p = k}."""
        return project_hypersimplex(values, float(self.rank))

    def contains(self, x: np.ndarray, tolerance: float = 1e-9) -> bool:
        slack = tolerance * self.radius
        if not is_symmetric(x, slack) or abs(float(np.trace(x)) - self.rank) > slack:
            return False
        values = scipy.linalg.eigvalsh(x)
        return bool(values[0] >= -slack and values[-1] <= 1.0 + slack)

    def start(self) -> LowRankAtom:
        """sum_C 1_C 1_C^T / |C| over k runs C of neighbouring indices: the matrix of one clustering, of rank k."""
        n = self.shape[0]
        group = np.arange(n) * self.rank // n
        vectors = np.zeros((n, self.rank))
        vectors[np.arange(n), group] = 1.0 / np.sqrt(np.bincount(group))[group]
        return LowRankAtom.symmetric(vectors, np.ones(self.rank))
