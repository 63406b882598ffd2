"""The convex quadratic objective."""

from __future__ import annotations

import math
from typing import Any, ClassVar, Literal

import numpy as np
import scipy.linalg as la
import scipy.sparse as sp
import scipy.sparse.linalg as spla
from pydantic import Field

from cgm_cli.blocks.fitting import fit, named
from cgm_cli.blocks.losses.base import Loss
from cgm_cli.blocks.maps.identity import Identity
from cgm_cli.errors import ProblemError
from cgm_cli.numerics.norms import operator_norm
from cgm_cli.spec.fields import ArrayField, BlockSpec


class Quadratic(Loss):
    """f(x) = <x, Q x> / 2 + <c, x>; the map is the identity and L_f = |Q|.

    Q is symmetric positive semidefinite and acts on the entries of x in C order; a number q stands for q I.
    """

    class Spec(BlockSpec):
        kind: Literal["quadratic"]
        matrix: ArrayField = Field(..., description="Q, symmetric positive semidefinite; a number q stands for q I")
        linear: ArrayField = Field(0.0, description="c, of the shape of a point; a number: the same for every entry")

        examples: ClassVar[list[dict[str, Any]]] = [
            {
                "kind": "quadratic",
                "matrix": [[2.0, -1.0, 0.0], [-1.0, 2.0, 0.5], [0.0, 0.5, 1.0]],
                "linear": [1.0, 0, -1],
            },
            {"kind": "quadratic", "matrix": 2.5, "linear": -1.0},
            {"kind": "quadratic", "matrix": [[1.0, 1.0], [1.0, 1.0]]},
        ]

        def build(self, context, in_shape: tuple[int, ...]) -> Quadratic:
            context.reserve("images", 2 * 8 * math.prod(in_shape))  # of x, and the linear term
            # Q, and what its symmetry and its norm are seen from.
            return Quadratic(context.matrix(self.matrix, copies=3), context.array(self.linear), in_shape)

    def __init__(self, matrix: np.ndarray | sp.sparray, linear: np.ndarray, in_shape: tuple[int, ...]):
        """Raises ProblemError if the matrix does not fit, is not symmetric, or is not positive semidefinite."""
        self.map = Identity(in_shape)
        self.linear = fit(linear, in_shape, "the linear term", "the domain")
        self.factor: float | None = None
        self.matrix = matrix
        if matrix.ndim == 0:
            self.factor = float(matrix)
            if self.factor < 0.0:
                raise ProblemError(f"a quadratic with the factor {self.factor:g} is not convex")
            self.lipschitz = self.factor
            return
        size = math.prod(in_shape)
        if matrix.shape != (size, size):
            raise ProblemError(f"the matrix is {named(matrix.shape)}, but the domain has {size} variables")
        self.lipschitz = operator_norm(matrix)
        _check_convex(matrix, self.lipschitz)

    def value(self, z: np.ndarray) -> float:
        return 0.5 * float(np.vdot(z, self._product(z))) + float(np.vdot(self.linear, z))

    def gradient(self, z: np.ndarray) -> np.ndarray:
        return self._product(z) + self.linear

    def curvature(self, z: np.ndarray, dz: np.ndarray) -> float:
        return float(np.vdot(dz, self._product(dz)))

    def _product(self, z: np.ndarray) -> np.ndarray:
        if self.factor is not None:
            return self.factor * z
        return (self.matrix @ z.reshape(-1)).reshape(z.shape)


def _check_convex(matrix: np.ndarray | sp.sparray, norm: float) -> None:
    """Refuse a matrix whose smallest eigenvalue is below zero by more than rounding, relative to the norm."""
    if abs(matrix - matrix.T).max() > 1e-12 * norm:
        raise ProblemError("the matrix of the quadratic is not symmetric: use (Q + Q^T) / 2, which has the same values")
    slack = 1e-10 * norm
    if slack == 0.0:
        return
    if sp.issparse(matrix) and matrix.shape[0] > 1000:
        start = np.random.default_rng(0).standard_normal(matrix.shape[0])
        # Shifted by the norm, the smallest eigenvalue is the largest in magnitude, where Lanczos converges best.
        shifted = matrix - norm * sp.eye_array(matrix.shape[0])
        try:
            least = norm + float(spla.eigsh(shifted, k=1, v0=start, tol=1e-8, return_eigenvectors=False)[0])
        except spla.ArpackNoConvergence:
            raise ProblemError("it could not be decided whether the quadratic is convex") from None
        slack = max(slack, 1e-7 * norm)
    else:
        full = matrix.toarray() if sp.issparse(matrix) else matrix
        least = float(la.eigvalsh(full, subset_by_index=[0, 0])[0])
    if least < -slack:
        raise ProblemError(f"the quadratic is not convex: its matrix has the eigenvalue {least:.3g}")
