"""The convex quadratic objective."""

from __future__ import annotations

import math
from typing import Any, ClassVar, Literal

import numpy as np
from pydantic import Field

from cgm_cli.blocks.fitting import fit, named, numbers
from cgm_cli.blocks.losses.base import Loss
from cgm_cli.blocks.maps.identity import Identity
from cgm_cli.errors import ProblemError
from cgm_cli.numerics.arrays import Matrix, is_sparse
from cgm_cli.numerics.convexity import eigenvalue_floor
from cgm_cli.numerics.norms import norm_bound, operator_norm
from cgm_cli.readers.context import BuildContext
from cgm_cli.spec.fields import ArrayField, BlockSpec
from cgm_cli.text import counted

INDEFINITE = 1e-5
"""How far below zero, relative to |Q|, an eigenvalue is no rounding of the data any more: that of single precision is
sqrt(n) 6e-8. What lies above is accounted for in every bound.
"""


class Quadratic(Loss):
    """f(x) = <x, Q x> / 2 + <c, x>; the map is the identity and L_f = |Q|.

    Q is symmetric positive semidefinite and acts on the entries of x in C order; a number q stands for q I. What
    rounding of the data has left of negative eigenvalues, every bound allows for.
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

        def build(self, context: BuildContext, in_shape: tuple[int, ...]) -> Quadratic:
            context.reserve("images", 2 * 8 * math.prod(in_shape))  # of x, and the linear term
            # Q, and what its symmetry and its norm are seen from.
            return Quadratic(context.matrix(self.matrix, copies=3), context.array(self.linear), in_shape)

    def __init__(self, matrix: Matrix, linear: np.ndarray, in_shape: tuple[int, ...]):
        """Raises ProblemError if the matrix does not fit, is not symmetric, or is not positive semidefinite."""
        matrix = matrix if is_sparse(matrix) else numbers(matrix, "the matrix")
        self.map = Identity(in_shape)
        self.linear = fit(linear, in_shape, "the linear term", "the domain")
        self.factor: float | None = None
        self.matrix = matrix
        self.weak_convexity, self.convexity_proven = 0.0, True
        if isinstance(matrix, np.ndarray) and matrix.ndim == 0:
            self.factor = float(matrix)
            if self.factor < 0.0:
                raise ProblemError(f"a quadratic with the factor {self.factor:g} is not convex")
            self.lipschitz = self.lipschitz_bound = self.factor
            return
        size = math.prod(in_shape)
        if matrix.shape != (size, size):
            raise ProblemError(f"the matrix is {named(matrix.shape)}, but the domain has {counted(size, 'variable')}")
        self.lipschitz = operator_norm(matrix)
        self.lipschitz_bound = norm_bound(matrix, self.lipschitz)
        self.matrix = _symmetric(matrix, self.lipschitz)
        floor = eigenvalue_floor(self.matrix)
        if floor.value < -INDEFINITE * self.lipschitz:
            raise ProblemError(f"the quadratic is not convex: its matrix has the eigenvalue {floor.value:.3g}")
        self.weak_convexity, self.convexity_proven = max(0.0, -floor.value), floor.proven

    has_hessian = True

    def value(self, z: np.ndarray) -> float:
        return 0.5 * float(np.vdot(z, self._product(z))) + float(np.vdot(self.linear, z))

    def gradient(self, z: np.ndarray) -> np.ndarray:
        return self._product(z) + self.linear

    def hessian(self, z: np.ndarray, dz: np.ndarray) -> np.ndarray:
        return self._product(dz)

    def curvature(self, z: np.ndarray, dz: np.ndarray) -> float:
        return float(np.vdot(dz, self._product(dz)))

    def _product(self, z: np.ndarray) -> np.ndarray:
        if self.factor is not None:
            return self.factor * z
        return (self.matrix @ z.reshape(-1)).reshape(z.shape)


def _symmetric(matrix: Matrix, norm: float) -> Matrix:
    """The matrix itself or, where it is not symmetric by rounding alone, (Q + Q^T) / 2, which has the same values."""
    apart = abs(matrix - matrix.T).max()
    if apart > 1e-12 * norm:
        raise ProblemError("the matrix of the quadratic is not symmetric: use (Q + Q^T) / 2, which has the same values")
    return matrix if apart == 0.0 else 0.5 * (matrix + matrix.T)
