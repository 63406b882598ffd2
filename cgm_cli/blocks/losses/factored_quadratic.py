"""A convex quadratic that is given by a factor of its matrix."""

from __future__ import annotations

import math
from typing import Any, ClassVar, Literal

import numpy as np
import scipy.sparse as sp
from pydantic import Field

from cgm_cli.blocks.fitting import fit, named
from cgm_cli.blocks.losses.base import Loss
from cgm_cli.blocks.maps.matrix import MatrixMap
from cgm_cli.errors import ProblemError
from cgm_cli.numerics.arrays import Matrix, is_sparse
from cgm_cli.numerics.norms import norm_bound, operator_norm
from cgm_cli.readers.context import BuildContext
from cgm_cli.spec.fields import ArrayField, BlockSpec
from cgm_cli.text import counted


class FactoredQuadratic(Loss):
    """f(x) = |F x|^2 / 2 + <c, x>, a quadratic whose matrix F^T F is never formed; L_f = |F|^2.

    F acts on the entries of x in C order. The map M x = (F x, <c, x>) has one row more than F, and
    h(z, t) = |z|^2 / 2 + t.
    """

    weak_convexity = 0.0
    convexity_proven = True
    has_hessian = True

    class Spec(BlockSpec):
        kind: Literal["factored-quadratic"]
        factor: ArrayField = Field(..., description="F, one column per entry of a point, dense or sparse")
        linear: ArrayField = Field(0.0, description="c, of the shape of a point; a number: the same for every entry")

        examples: ClassVar[list[dict[str, Any]]] = [
            {
                "kind": "factored-quadratic",
                "factor": [[1.0, 0.0, 2.0, -1.0], [0.5, 1.0, 0.0, 0.0]],
                "linear": [1, -1, 0, 2],
            },
            {"kind": "factored-quadratic", "factor": [[1.0, -1.0]], "linear": 0.5},
            {"kind": "factored-quadratic", "factor": [[1.0, 0.0, 0.0], [0.0, 2.0, 0.0], [0.0, 0.0, 3.0]]},
        ]

        def build(self, context: BuildContext, in_shape: tuple[int, ...]) -> FactoredQuadratic:
            factor = context.matrix(self.factor, copies=4)  # two for its norm, and one beside c
            return FactoredQuadratic(factor, context.array(self.linear), in_shape)

    def __init__(self, factor: Matrix, linear: np.ndarray, in_shape: tuple[int, ...]):
        """factor (p, n), n the entries of a point. Raises ProblemError for what does not fit."""
        size = math.prod(in_shape)
        if factor.ndim != 2 or factor.shape[1] != size:
            raise ProblemError(
                f"the factor is {named(factor.shape)}, but the domain has {counted(size, 'variable')}", ("factor",)
            )
        row = fit(linear, in_shape, "the linear term", "the domain").reshape(1, -1)
        if is_sparse(factor):
            self.map = MatrixMap(sp.csc_array(sp.vstack([sp.csr_array(factor), sp.csr_array(row)])), in_shape)
        else:
            self.map = MatrixMap(np.vstack([factor, row]), in_shape)
        norm = operator_norm(factor)
        self.lipschitz, self.lipschitz_bound = norm**2, norm_bound(factor, norm) ** 2

    def value(self, z: np.ndarray) -> float:
        return 0.5 * float(z[:-1] @ z[:-1]) + float(z[-1])

    def gradient(self, z: np.ndarray) -> np.ndarray:
        return np.append(z[:-1], 1.0)

    def hessian(self, z: np.ndarray, dz: np.ndarray) -> np.ndarray:
        return np.append(dz[:-1], 0.0)

    def curvature(self, z: np.ndarray, dz: np.ndarray) -> float:
        return float(dz[:-1] @ dz[:-1])
