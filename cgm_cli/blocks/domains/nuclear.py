"""The nuclear-norm ball."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

import numpy as np
from pydantic import Field

from cgm_cli.blocks.atoms import Atom, LowRankAtom, SparseAtom
from cgm_cli.blocks.directions import Direction
from cgm_cli.blocks.domains.base import OracleAnswer, OracleRequest
from cgm_cli.blocks.domains.certificates import LargestSingularValue
from cgm_cli.blocks.domains.spectral import SpectralDomain, answer, roughly, solver_options
from cgm_cli.numerics.deadline import NEVER, Deadline
from cgm_cli.numerics.projections import project_capped_simplex
from cgm_cli.numerics.svd import largest_singular_triplet
from cgm_cli.readers.context import BuildContext
from cgm_cli.spec.fields import BlockSpec, Positive, Size


class NuclearBall(SpectralDomain):
    """{X (m, n), |X|_* <= r}, the sum of singular values at most r.

    LMO: the nuclear and the spectral norm are dual, so min <V, X> = -r sigma_1(V), at -r u v^T with u, v the singular
    vectors of the largest singular value.
    """

    projects = True

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

        def build(self, context: BuildContext) -> NuclearBall:
            return NuclearBall((self.shape[0], self.shape[1]), self.radius)

    fixed_trace = False
    on_whole_sphere = True

    def __init__(self, shape: tuple[int, int], radius: float):
        self.shape = self._sides = shape
        self.radius = self.trace = radius
        self.diameter = 2.0 * radius

    @property
    def sizing(self) -> str | None:
        return "radius"

    def extreme(self, direction: Direction, peak: float, request: OracleRequest) -> OracleAnswer:
        scale, allowance = self.radius * peak, request.allowance

        def within_allowance(value: float, residual: float) -> bool:
            assert allowance is not None
            return scale * residual <= allowance(-scale * value)

        top = largest_singular_triplet(
            direction.over(peak),
            direction.transposed().over(peak),
            self._sides,
            enough=None if allowance is None else within_allowance,
            **solver_options(request),
        )
        atom = LowRankAtom(top.left[:, None], np.array([-self.radius]), top.right[:, None])
        smaller_side = top.right if self.shape[1] <= self.shape[0] else top.left
        values, residuals = np.array([-top.value]), np.array([top.residual])
        return answer(top, values, residuals, scale, atom, smaller_side[:, None])

    def several(self, direction: Direction, count: int, request: OracleRequest) -> tuple[np.ndarray, LowRankAtom]:
        """By the right singular vectors, which are the eigenvectors of -V^T V."""
        peak = direction.peak() or 1.0
        forth, back = direction.over(peak), direction.transposed().over(peak)
        right = roughly(lambda b: -back(forth(b)), self.shape[1], count, request).vectors
        images = forth(right)
        values = np.linalg.norm(images, axis=0)
        order = np.argsort(-values, kind="stable")
        left = images[:, order] / np.maximum(values[order], np.finfo(float).tiny)
        return -peak * values[order], LowRankAtom(left, -np.ones(values.size), right[:, order])

    def restricted(self, left: np.ndarray, right: np.ndarray) -> NuclearBall:
        return NuclearBall((left.shape[1], right.shape[1]), self.radius)

    @property
    def singular_values(self) -> NuclearBall:
        return self

    def nearest_singular_values(self, values: np.ndarray) -> np.ndarray:
        """In the capped simplex."""
        return project_capped_simplex(values, self.radius)

    def project(self, x: np.ndarray) -> np.ndarray:
        left, values, right = np.linalg.svd(x, full_matrices=False)
        return (left * self.nearest_singular_values(values)) @ right

    def certified_minimum(self, direction: Direction, slack: float = 0.0, deadline: Deadline = NEVER) -> float | None:
        return self._largest.certified(direction, deadline)

    def probable_minimum(
        self,
        direction: Direction,
        failure: float,
        rng: np.random.Generator,
        slack: float = 0.0,
        deadline: Deadline = NEVER,
    ) -> float | None:
        return self._largest.probable(direction, failure, rng, slack, deadline)

    def certificate_seconds(self, direction: Direction, product: float) -> float:
        return self._largest.seconds(product)

    def provable(self, dense: bool) -> int:
        return self.limits.gram if dense else self.limits.written_out

    @property
    def _largest(self) -> LargestSingularValue:
        return LargestSingularValue(self._sides, self.radius, self.limits)

    def contains(self, x: np.ndarray, tolerance: float = 1e-9) -> bool:
        return bool(np.isfinite(x).all() and np.linalg.norm(x, "nuc") <= self.radius + tolerance * self.radius)

    def start(self) -> Atom:
        return SparseAtom.zero(self.shape)
