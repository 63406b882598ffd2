"""The face of the fantope whose matrices have a known eigenvector of eigenvalue one."""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar, Literal, Self

import numpy as np
from pydantic import Field, model_validator

from cgm_cli.blocks.atoms import Atom, LowRankAtom
from cgm_cli.blocks.directions import ComplementDirection, Direction, Reflection
from cgm_cli.blocks.domains.base import OracleAnswer, OracleRequest
from cgm_cli.blocks.domains.fantope import Fantope
from cgm_cli.blocks.domains.spectral import SpectralDomain
from cgm_cli.numerics.deadline import NEVER, Deadline
from cgm_cli.readers.context import BuildContext
from cgm_cli.spec.fields import BlockSpec, Size

_EPS = float(np.finfo(float).eps)


class FantopeFace(SpectralDomain):
    """{X symmetric n x n, 0 <= X <= I (semidefinite), tr X = k, X 1 = 1}: the fantope with row sums of one.

    Any unit vector v may stand in the place of 1 / sqrt(n): then it is X v = v.

    With v, which is 1 / sqrt(n) for row sums, and orthonormal columns Q (n, n - 1) of its complement, every point is
    v v^T + Q Y Q^T with Y in the fantope of n - 1 and k - 1. So the minimum of <V, X> is <v, V v> and the sum of the
    k - 1 smallest eigenvalues of Q^T V Q.
    """

    projects = True

    class Spec(BlockSpec):
        kind: Literal["fantope-face"]
        size: Size = Field(description="n: the matrices are n x n")
        rank: Size = Field(description="k, the trace; from 2 to n")
        examples: ClassVar = [
            {"kind": "fantope-face", "size": 6, "rank": 2},
            {"kind": "fantope-face", "size": 6, "rank": 6},
            {"kind": "fantope-face", "size": 90, "rank": 3},
        ]

        @model_validator(mode="after")
        def _rank_fits(self) -> Self:
            if not 2 <= self.rank <= self.size:
                raise ValueError(
                    f"a rank from 2 to the size, {self.size}, is needed, not {self.rank}: the eigenvalues lie in "
                    "[0, 1], and that of the vector 1 is 1"
                )
            return self

        def build(self, context: BuildContext) -> FantopeFace:
            return FantopeFace(np.full(self.size, 1.0 / np.sqrt(self.size)), self.rank)

    symmetric = True
    fixed_trace = True
    on_whole_sphere = True

    def __init__(self, vector: np.ndarray, rank: int):
        """vector v: (n,), of length one."""
        n = vector.size
        self.shape = (n, n)
        self.vector = vector
        self.known = self._column = vector[:, None]
        self.rank = self.count = rank
        self.trace = float(rank)
        self.radius = float(np.sqrt(rank))
        self.diameter = float(np.sqrt(2.0 * min(rank - 1, n - rank)))
        self._reflection = Reflection.onto_axis(vector)

    @property
    def _inner(self) -> Fantope:
        """Where Y lies."""
        return Fantope(self.shape[0] - 1, self.rank - 1).within(self.limits)

    @property
    def rest(self) -> Fantope:
        return Fantope(self.shape[0], self.rank - 1)

    def extreme(self, direction: Direction, peak: float, request: OracleRequest) -> OracleAnswer:
        found = self._inner.extreme(self._complement(direction), peak, request)
        mean, inner = self._mean(direction), found.atom.low_rank
        assert inner is not None
        return replace(found, atom=self._lifted(inner), value=found.value + mean, lower=found.lower + mean)

    def restricted(self, left: np.ndarray, right: np.ndarray) -> FantopeFace | None:
        vector = left.T @ self._column[:, 0]
        spanned = float(np.linalg.norm(self._column[:, 0] - left @ vector)) <= 1e-9
        if left.shape[1] < self.rank or not spanned:
            return None
        return FantopeFace(vector / np.linalg.norm(vector), self.rank)

    def project(self, x: np.ndarray) -> np.ndarray:
        drop, lift = self._reflection.dropped, self._reflection.lifted
        inner = self._inner.project(drop(drop(x).T))
        return lift(lift(inner).T) + self._column @ self._column.T

    def parallel(self, direction: np.ndarray) -> np.ndarray:
        drop, lift = self._reflection.dropped, self._reflection.lifted
        return lift(lift(self._inner.parallel(drop(drop(direction).T))).T)

    def contains(self, x: np.ndarray, tolerance: float = 1e-9) -> bool:
        off = x @ self._column - self._column
        within = float(np.linalg.norm(off)) <= tolerance * self.radius
        return within and Fantope(self.shape[0], self.rank).contains(x, tolerance)

    def start(self) -> Atom:
        """The matrix of a clustering, as of the fantope, where v is 1 / sqrt(n)."""
        is_uniform = np.ptp(self._column) == 0.0
        return Fantope(self.shape[0], self.rank).start() if is_uniform else self._lifted(self._inner.start())

    def certified_minimum(self, direction: Direction, slack: float = 0.0, deadline: Deadline = NEVER) -> float | None:
        return self._whole(direction, self._inner.certified_minimum(self._complement(direction), slack, deadline))

    def probable_minimum(
        self,
        direction: Direction,
        failure: float,
        rng: np.random.Generator,
        slack: float = 0.0,
        deadline: Deadline = NEVER,
    ) -> float | None:
        least = self._inner.probable_minimum(self._complement(direction), failure, rng, slack, deadline)
        return self._whole(direction, least)

    def certificate_seconds(self, direction: Direction, product: float) -> float:
        return self._inner.certificate_seconds(self._complement(direction), product)

    def provable(self, dense: bool) -> int:
        return self._inner.provable(dense)

    def rounding(self, direction: Direction) -> float:
        """Of <v, V v>, of v and Q, and of the entries of Q^T V Q: each errs by less than n eps |V|_F."""
        return 8 * self.rank * self.shape[0] * _EPS * direction.size()

    def _lifted(self, inner: LowRankAtom) -> LowRankAtom:
        vectors = np.hstack([self._column, self._reflection.lifted(inner.left)])
        return LowRankAtom.symmetric(vectors, np.ones(self.rank))

    def _whole(self, direction: Direction, least: float | None) -> float | None:
        return None if least is None else least + self._mean(direction) - self.rounding(direction)

    def _complement(self, direction: Direction) -> ComplementDirection:
        return ComplementDirection(direction, self._reflection)

    def _mean(self, direction: Direction) -> float:
        return float((self._column.T @ direction.matmat(self._column))[0, 0])
