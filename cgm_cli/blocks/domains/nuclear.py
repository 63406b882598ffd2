"""The nuclear-norm ball."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

import numpy as np
from pydantic import Field

from cgm_cli.blocks.atoms import Atom, LowRankAtom, SparseAtom
from cgm_cli.blocks.directions import Direction
from cgm_cli.blocks.domains.base import OracleAnswer, OracleRequest
from cgm_cli.blocks.domains.spectral import (
    BLOCK,
    EIGENVALUES,
    GUESS,
    GUESSED,
    GUESSING,
    SpectralDomain,
    answer,
    solver_options,
)
from cgm_cli.numerics import panels
from cgm_cli.numerics.chebyshev import LOOK, random_floor
from cgm_cli.numerics.deadline import NEVER, Deadline, seconds_of
from cgm_cli.numerics.definite import dense_floor, dense_seconds
from cgm_cli.numerics.eigen import rounding_error
from cgm_cli.numerics.projections import project_capped_simplex
from cgm_cli.numerics.svd import largest_singular_triplet
from cgm_cli.spec.fields import BlockSpec, Positive, Size

_EPS = float(np.finfo(float).eps)


class NuclearBall(SpectralDomain):
    """{X (m, n), |X|_* <= r}, the sum of singular values at most r.

    LMO: the nuclear and the spectral norm are dual, so min <V, X> = -r sigma_1(V), at -r u v^T with u, v the singular
    vectors of the largest singular value.
    """

    class Spec(BlockSpec):
        kind: Literal["nuclear-ball"]
        shape: Annotated[list[Size], Field(min_length=2, max_length=2)] = Field(description="[m, n]")
        radius: Positive = Field(1.0, description="r, the bound on the nuclear norm")
        examples: ClassVar = [
            {"kind": "nuclear-ball", "shape": [4, 6], "radius": 2.0},
            {"kind": "nuclear-ball", "shape": [1, 5]},
            {"kind": "nuclear-ball", "shape": [5, 1]},
            {"kind": "nuclear-ball", "shape": [70, 90], "radius": 3.0},
        ]

        def build(self, context) -> NuclearBall:
            return NuclearBall((self.shape[0], self.shape[1]), self.radius)

    fixed_trace = False
    on_whole_sphere = True
    provable = 4000

    def __init__(self, shape: tuple[int, int], radius: float):
        self.shape = shape
        self.radius = self.trace = radius
        self.diameter = 2.0 * radius

    def extreme(self, direction: Direction, peak: float, request: OracleRequest) -> OracleAnswer:
        scale = self.radius * peak

        def within_allowance(value: float, residual: float) -> bool:
            return scale * residual <= request.allowance(-scale * value)

        top = largest_singular_triplet(
            direction.over(peak),
            direction.transposed().over(peak),
            self.shape,
            enough=None if request.allowance is None else within_allowance,
            **solver_options(request),
        )
        atom = LowRankAtom(top.left[:, None], np.array([-self.radius]), top.right[:, None])
        smaller_side = top.right if self.shape[1] <= self.shape[0] else top.left
        values, residuals = np.array([-top.value]), np.array([top.residual])
        return answer(top, values, residuals, scale, atom, smaller_side[:, None])

    def restricted(self, left: np.ndarray, right: np.ndarray) -> NuclearBall:
        return NuclearBall((left.shape[1], right.shape[1]), self.radius)

    def project(self, x: np.ndarray) -> np.ndarray:
        """The singular values go to the capped simplex."""
        left, values, right = np.linalg.svd(x, full_matrices=False)
        return (left * project_capped_simplex(values, self.radius)) @ right

    def dense_minimum(self, matrix: np.ndarray) -> float:
        """A number that is at most min <matrix, x> over X, rounding errors included, by LAPACK."""
        return -self.radius * (float(np.linalg.norm(matrix, 2)) + rounding_error(matrix))

    def certified_minimum(self, direction: Direction, slack: float = 0.0, deadline: Deadline = NEVER) -> float | None:
        """sigma_1^2 is the largest eigenvalue of V^T V, whose entries, as computed, err by m u (|V|^T |V|)_ij, and
        that matrix by m u |V|_F^2 at most.
        """
        # LAPACK is not interrupted.
        if min(self.shape) > max(EIGENVALUES, self.provable) or not deadline.affords(self._dense_seconds):
            return None
        if min(self.shape) <= EIGENVALUES:
            return self.dense_minimum(direction.dense())
        peak = direction.peak()
        if peak == 0.0:
            return 0.0
        matrix = direction.dense() / peak
        matrix = matrix if matrix.shape[1] <= matrix.shape[0] else matrix.T
        top = largest_singular_triplet(
            lambda b: matrix @ b,
            lambda b: matrix.T @ b,
            matrix.shape,
            tolerance=GUESS,
            rng=np.random.default_rng(0),
            leave=deadline.keeping(self._dense_seconds).should_stop,
        )
        if not deadline.affords(self._dense_seconds):
            return None
        square = panels.gram(matrix, deadline.should_stop)
        floor = None if square is None else dense_floor(-square, -(top.value**2), deadline=deadline)
        if floor is None:
            return None
        error = (matrix.shape[0] + 4) * _EPS * float(np.linalg.norm(matrix)) ** 2
        return -self.radius * peak * float(np.sqrt(max(error - floor, 0.0))) * (1.0 + 8 * _EPS)

    def probable_minimum(
        self, direction: Direction, failure: float, rng: np.random.Generator, deadline: Deadline = NEVER
    ) -> float | None:
        peak = direction.peak()
        if peak == 0.0:
            return 0.0
        forth, back = direction.over(peak), direction.transposed().over(peak)
        if self.shape[1] > self.shape[0]:
            forth, back = back, forth
        sides = max(self.shape), min(self.shape)
        leave = deadline.part(GUESSING).should_stop
        top = largest_singular_triplet(forth, back, sides, tolerance=GUESS, rng=np.random.default_rng(0), leave=leave)
        floor = random_floor(lambda b: -back(forth(b)), sides[1], -(top.value**2), failure, rng, deadline=deadline)
        if floor is None:
            return None
        return -self.radius * peak * float(np.sqrt(max(-floor, 0.0))) * (1.0 + 8 * _EPS)

    @property
    def _dense_seconds(self) -> float:
        """Of a singular value by LAPACK, 4 m n^2 operations done three times as slowly as those of products; or of
        V^T V and its factorisation.
        """
        long, short = max(self.shape), min(self.shape)
        if short <= EIGENVALUES:
            return 3.0 * seconds_of(4.0 * long * short**2)
        return seconds_of(long * short**2) + dense_seconds(short)

    def certificate_seconds(self, direction: Direction, product: float) -> float:
        """product: of V, and then of V^T."""
        if min(self.shape) <= max(EIGENVALUES, self.provable):
            return self._dense_seconds + GUESSED * product
        return (GUESSING * GUESSED + BLOCK * LOOK) * product

    def contains(self, x: np.ndarray, tolerance: float = 1e-9) -> bool:
        return bool(np.isfinite(x).all() and np.linalg.norm(x, "nuc") <= self.radius + tolerance * self.radius)

    def start(self) -> Atom:
        return SparseAtom.zero(self.shape)
