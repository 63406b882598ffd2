"""The log-determinant: the objective of D-optimal designs."""

from __future__ import annotations

import math
from typing import Any, ClassVar, Literal

import numpy as np
import scipy.linalg
from pydantic import Field

from cgm_cli.blocks.atoms import Atom, DenseAtom
from cgm_cli.blocks.domains.base import Domain, OracleRequest
from cgm_cli.blocks.fitting import named, numbers
from cgm_cli.blocks.losses.base import Loss
from cgm_cli.blocks.maps.base import LinearMap
from cgm_cli.errors import ProblemError, located
from cgm_cli.readers.context import BuildContext
from cgm_cli.spec.fields import ArrayField, BlockSpec, MapField, identity_map
from cgm_cli.text import counted

_EPS = float(np.finfo(float).eps)

SINGULAR = 1e-12
"""Part of the largest singular value of the vectors, once their entries are of one size, up to which one is zero."""


class LogDet(Loss):
    """f(x) = -log det(sum_i z_i a_i a_i^T) with z = M x, for p-vectors a_i; D-optimal design, x the weights of points.

    f is convex, infinite where H(z) = sum_i z_i a_i a_i^T is not positive definite, and not smooth: L_f is infinite.
    h'(z)_i = -<a_i, H^-1 a_i>. Steps are searched along a segment, from a point where f is finite.

    With H = L L^T, -<a_i, H^-1 a_i> = -|L^-1 a_i|^2, and h(z) - <h'(z), z> = h(z) + p. This tangent lies below f for
    every positive definite L L^T, whether it is H or what rounding has made of it (Fenchel's inequality,
    -log det Y >= p + log det S - <S, Y> for all S and Y): so of the rounding of H only what <h'(z), z> misses of -p
    counts. All this is computed for the rows q_i of Q in (a_1, ..., a_m)^T = Q R, with the constant -2 log |det R|: the
    condition of the vectors then counts once, and not squared.
    """

    lipschitz = lipschitz_bound = math.inf
    weak_convexity = 0.0
    convexity_proven = True
    has_hessian = True

    class Spec(BlockSpec):
        kind: Literal["log-det"]
        map: MapField = Field(default_factory=identity_map, description="the map M; identity when left out")
        vectors: ArrayField = Field(..., description="the a_i: a row for every entry of the image, of p numbers")

        examples: ClassVar[list[dict[str, Any]]] = [
            {"kind": "log-det", "vectors": [[1.0, 0.0], [1.0, 0.5], [1.0, 1.0], [0.0, 2.0]]},
            {"kind": "log-det", "vectors": [[3.0], [-1.0]]},
            {
                "kind": "log-det",
                "map": {"kind": "matrix", "matrix": [[1.0, 2.0, 0.0], [0.5, 0.0, 3.0], [2.0, 2.0, 1.0]]},
                "vectors": [[1.0, 0.0], [0.0, 1e3], [1.0, 1e3]],
            },
        ]

        def build(self, context: BuildContext, in_shape: tuple[int, ...]) -> LogDet:
            with located("map"):
                inner: LinearMap = self.map.build(context, in_shape)
            vectors = context.array(self.vectors)
            context.reserve("images", 8 * math.prod(inner.out_shape))
            context.reserve("vectors of the determinant", 3 * vectors.nbytes)
            return LogDet(inner, vectors)

    def __init__(self, map: LinearMap, vectors: np.ndarray):
        """vectors: (m, p), m the entries of the image. Raises ProblemError unless they fit, and span R^p."""
        self.map = map
        vectors, count = numbers(vectors, "the array of vectors"), math.prod(map.out_shape)
        if vectors.ndim != 2 or vectors.shape[0] != count or vectors.shape[1] == 0:
            raise ProblemError(
                f"the array of vectors is {named(vectors.shape)}; log-det takes a matrix with a row for each of the "
                f"{count} entries of the image"
            )
        size = np.abs(vectors).max(axis=0)
        if not size.all():
            column = int(np.argmin(size))
            raise ProblemError(f"column {column} of the vectors is zero: no weights make the matrix definite")
        self.vectors = vectors
        units = np.ldexp(1.0, np.frexp(size)[1])  # powers of two, so that nothing is rounded
        self._rows, triangle = np.linalg.qr(vectors / units)
        values = np.linalg.svd(triangle, compute_uv=False)
        rank = int(np.count_nonzero(values > SINGULAR * values[0]))
        if rank < vectors.shape[1]:
            raise ProblemError(
                f"the vectors span {rank} of {counted(vectors.shape[1], 'dimension')}, "
                f"so that no weights make the matrix "
                "definite: leave out columns that are combinations of others"
            )
        self._condition = float(values[0] / values[-1])
        self._constant = -2.0 * float(np.log(np.abs(np.diag(triangle))).sum() + np.log(units).sum())

    @property
    def order(self) -> int:
        """p."""
        return self.vectors.shape[1]

    def start(self, domain: Domain) -> Atom | None:
        """The domain's own start or, where f is infinite there, the mean of points of X that have the largest (M x)_i,
        for every i. If no (M x)_i is negative on X, f is finite there as soon as it is anywhere: what some x has a
        weight on, the mean has one on.
        """
        own = domain.start()
        if math.isfinite(self.value(self.map.forward_atom(own))):
            return own
        mean, count = np.zeros(domain.shape), math.prod(self.map.out_shape)
        for unit in np.eye(count):
            direction = self.map.adjoint(-unit.reshape(self.map.out_shape))
            direction = direction.symmetrised() if domain.symmetric else direction
            mean += domain.lmo(direction, OracleRequest()).atom.dense() / count
        return DenseAtom(mean)

    def value(self, z: np.ndarray) -> float:
        factor = self._factor(z)
        if factor is None:
            return math.inf
        return self._constant - 2.0 * float(np.log(np.diag(factor)).sum())

    def gradient(self, z: np.ndarray) -> np.ndarray:
        """-|L^-1 a_i|^2; zero where f is infinite, and has none."""
        factor = self._factor(z)
        if factor is None:
            return np.zeros(z.shape)
        return -np.square(_solved(factor, self._rows.T)).sum(axis=0).reshape(z.shape)

    def slope(self, z: np.ndarray, dz: np.ndarray) -> float:
        """Infinite where f is: there is no going on in that direction."""
        factor = self._factor(z)
        return math.inf if factor is None else -float(np.trace(self._bent(factor, dz)))

    def curvature(self, z: np.ndarray, dz: np.ndarray) -> float:
        """|L^-1 H(dz) L^-T|_F^2."""
        factor = self._factor(z)
        return math.inf if factor is None else float(np.square(self._bent(factor, dz)).sum())

    def hessian(self, z: np.ndarray, dz: np.ndarray) -> np.ndarray:
        """<a_i, H^-1 H(dz) H^-1 a_i>; H has to be definite."""
        factor = self._factor(z)
        assert factor is not None
        rows = _solved(factor, self._rows.T)
        return (rows * (self._bent(factor, dz) @ rows)).sum(axis=0).reshape(z.shape)

    def rounding_scale(self, gradient: np.ndarray, image: np.ndarray) -> float:
        """A triangular system is solved up to p eps |L^-1| |L|; the rows q_i are those of vectors that are off by
        p eps |a_i|, relative to R; and what <h'(z), z> misses of -p.
        """
        factor = self._factor(image)
        if factor is None:
            return math.inf
        lengths, size = np.linalg.svd(factor, compute_uv=False), float(np.linalg.norm(image))
        solves = float(lengths[0] / lengths[-1] * np.linalg.norm(gradient))
        moved = self._condition * (float(np.sqrt(np.abs(gradient).sum()) / lengths[-1]) + 1.0 / size)
        missed = abs(self.order + float(np.vdot(gradient, image)))
        return self.order * (solves + moved) + missed / (8.0 * _EPS * size)

    def _factor(self, z: np.ndarray) -> np.ndarray | None:
        """L, lower triangular; None where H(z) is not positive definite."""
        matrix = self._sum(z)
        if not np.isfinite(matrix).all():
            return None
        try:
            return np.linalg.cholesky(matrix)
        except np.linalg.LinAlgError:
            return None

    def _sum(self, z: np.ndarray) -> np.ndarray:
        """sum_i z_i q_i q_i^T."""
        return self._rows.T @ (z.reshape(-1, 1) * self._rows)

    def _bent(self, factor: np.ndarray, dz: np.ndarray) -> np.ndarray:
        """L^-1 H(dz) L^-T, symmetric."""
        return _solved(factor, _solved(factor, self._sum(dz)).T)


def _solved(factor: np.ndarray, right: np.ndarray) -> np.ndarray:
    return scipy.linalg.solve_triangular(factor, right, lower=True, check_finite=False)
