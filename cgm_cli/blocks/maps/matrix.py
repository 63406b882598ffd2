"""An explicit matrix, dense or sparse, acting on the entries of the point in C order."""

from __future__ import annotations

import math
from typing import Any, ClassVar, Literal

import numpy as np
import scipy.sparse as sp
from pydantic import Field

from cgm_cli.blocks.atoms import Atom, SparseAtom
from cgm_cli.blocks.directions import DenseDirection, Direction
from cgm_cli.blocks.fitting import named, numbers
from cgm_cli.blocks.maps.base import LinearMap
from cgm_cli.errors import ProblemError
from cgm_cli.numerics.arrays import Matrix, is_sparse
from cgm_cli.numerics.norms import norm_bound, operator_norm
from cgm_cli.readers.context import BuildContext
from cgm_cli.spec.fields import ArrayField, BlockSpec
from cgm_cli.text import counted

SMALL = 2**15
"""Entries up to which a matrix is multiplied as a dense one, in less time than it takes to call for a sparse one."""


class MatrixMap(LinearMap):
    """x -> M vec(x), with M (m, n) and n the number of entries of x."""

    needs_array = False

    class Spec(BlockSpec):
        kind: Literal["matrix"]
        matrix: ArrayField = Field(
            ..., description="the matrix: one row per entry of the image, one column per variable"
        )

        examples: ClassVar[list[dict[str, Any]]] = [
            {"kind": "matrix", "matrix": [[1.0, 2.0, 0.0, -1.0], [0.0, 0.5, 3.0, 1.0], [2.0, 0.0, 0.0, 1.0]]},
            {"kind": "matrix", "matrix": [[1.0, 0.0, -2.0]]},
            {"kind": "matrix", "matrix": [[0.0, 0.0], [0.0, 0.0], [0.0, 0.0]]},
        ]

        def build(self, context: BuildContext, in_shape: tuple[int, ...]) -> MatrixMap:
            return MatrixMap(context.matrix(self.matrix, copies=3), in_shape)  # two for its norm

    def __init__(self, matrix: Matrix, in_shape: tuple[int, ...]):
        """Raises ProblemError if the matrix has not one column per entry of the point."""
        matrix = matrix if is_sparse(matrix) else numbers(matrix, "the matrix")
        size = math.prod(in_shape)
        if matrix.ndim != 2:
            raise ProblemError(f"a matrix map needs a matrix, but what was given is {named(matrix.shape)}")
        if matrix.shape[1] != size:
            raise ProblemError(f"the matrix is {named(matrix.shape)}, but the domain has {counted(size, 'variable')}")
        if is_sparse(matrix):
            # Columns are what sparse atoms ask for, and CSC multiplies from both sides as fast as CSR does.
            matrix = matrix.toarray() if math.prod(matrix.shape) <= SMALL else sp.csc_array(matrix)
        self.matrix = matrix
        self._transpose = self.matrix.T  # a view; of a sparse matrix it takes as long as a product with a small one
        self.in_shape = in_shape
        self.out_shape = (matrix.shape[0],)
        self.norm = operator_norm(self.matrix)
        self.norm_bound = norm_bound(self.matrix, self.norm)

    @property
    def explicit(self) -> Matrix:
        return self.matrix

    @property
    def work(self) -> int:
        return self.matrix.nnz if is_sparse(self.matrix) else self.matrix.size

    def forward(self, x: np.ndarray) -> np.ndarray:
        return self.matrix @ x.reshape(-1)

    def adjoint(self, y: np.ndarray) -> Direction:
        return DenseDirection((self._transpose @ y).reshape(self.in_shape))

    def forward_atom(self, atom: Atom) -> np.ndarray:
        """A sparse atom needs the columns of its non-zeros and no others."""
        if isinstance(atom, SparseAtom):
            return self.matrix[:, atom.indices] @ atom.values
        return self.forward(atom.dense())
