"""Congruence: a symmetric matrix in other coordinates."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

import numpy as np
import scipy.sparse as sp
from pydantic import Field

from cgm_cli.blocks.atoms import Atom, LowRankAtom
from cgm_cli.blocks.directions import DenseDirection, Direction
from cgm_cli.blocks.fitting import named, numbers
from cgm_cli.blocks.maps.base import LinearMap
from cgm_cli.errors import ProblemError
from cgm_cli.numerics.arrays import Matrix, is_sparse
from cgm_cli.numerics.norms import norm_bound, operator_norm
from cgm_cli.readers.context import BuildContext
from cgm_cli.spec.fields import ArrayField, BlockSpec
from cgm_cli.text import counted


class Congruence(LinearMap):
    """X -> V X V^T for an (n, n) matrix X, with V (p, n); the norm is |V|^2. The adjoint is Y -> V^T Y V.

    All entries of a matrix of order p whose rows and columns lie in the span of V: what is asked of them after a facial
    reduction to that span. A sparse V costs as little as it has entries.
    """

    class Spec(BlockSpec):
        kind: Literal["congruence"]
        matrix: ArrayField = Field(..., description="V, one column per row of a point")

        examples: ClassVar[list[dict[str, Any]]] = [
            {"kind": "congruence", "matrix": [[1, 0, 0], [0.5, 1, 2]]},
            {"kind": "congruence", "matrix": [[1, 0, 0], [0, 1, 0], [1, -1, 2], [0, 0, 0.5]]},
            {"kind": "congruence", "matrix": [[0.5, 0, -1]]},
        ]

        def build(self, context: BuildContext, in_shape: tuple[int, ...]) -> Congruence:
            return Congruence(context.matrix(self.matrix), in_shape)

    def __init__(self, matrix: Matrix, in_shape: tuple[int, ...]):
        """Raises ProblemError unless points are square matrices with as many rows as V has columns."""
        matrix = sp.csr_array(matrix) if is_sparse(matrix) else numbers(matrix, "the matrix")
        if len(in_shape) != 2 or in_shape[0] != in_shape[1]:
            raise ProblemError(f"a congruence needs a square matrix, but a point of the domain is {named(in_shape)}")
        if matrix.ndim != 2 or matrix.shape[1] != in_shape[0]:
            raise ProblemError(f"the matrix is {named(matrix.shape)}, but points have {counted(in_shape[0], 'row')}")
        self.matrix, self.in_shape = matrix, in_shape
        self._transpose = sp.csr_array(matrix.T) if is_sparse(matrix) else matrix.T
        self.out_shape = (matrix.shape[0], matrix.shape[0])
        norm = operator_norm(matrix)
        self.norm, self.norm_bound = norm**2, norm_bound(matrix, norm) ** 2 * (1.0 + 1e-15)

    @property
    def work(self) -> int:
        (p, n), entries = self.matrix.shape, self.matrix.nnz if is_sparse(self.matrix) else self.matrix.size
        return entries * (n + p)

    def forward(self, x: np.ndarray) -> np.ndarray:
        return _between(self.matrix, x)

    def adjoint(self, y: np.ndarray) -> Direction:
        return DenseDirection(_between(self._transpose, y))

    def forward_atom(self, atom: Atom) -> np.ndarray:
        """(V L) diag(w) (V R)^T for a low-rank atom."""
        if isinstance(atom, LowRankAtom):
            left = self.matrix @ atom.left
            right = left if atom.right is atom.left else self.matrix @ atom.right
            return (left * atom.weights) @ right.T
        return self.forward(atom.dense())


def _between(matrix: Matrix, x: np.ndarray) -> np.ndarray:
    """M X M^T. Sparse matrices multiply rows that lie one after the other, and no others."""
    if not is_sparse(matrix):
        return matrix @ x @ matrix.T
    return matrix @ np.ascontiguousarray((matrix @ np.ascontiguousarray(x.T)).T)
