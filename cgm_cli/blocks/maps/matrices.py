"""Inner products with a list of matrices: the affine part of a semidefinite program."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, ClassVar, Literal, cast

import numpy as np
import scipy.sparse as sp
from pydantic import Field

from cgm_cli.blocks.atoms import Atom
from cgm_cli.blocks.directions import Direction, SparseDirection
from cgm_cli.blocks.fitting import named
from cgm_cli.blocks.maps.base import LinearMap
from cgm_cli.blocks.maps.sampling import Sampling
from cgm_cli.errors import ProblemError, located
from cgm_cli.numerics.arrays import Matrix
from cgm_cli.numerics.norms import norm_bound, operator_norm
from cgm_cli.readers.context import BuildContext
from cgm_cli.spec.fields import ArrayField, BlockSpec


class Matrices(LinearMap):
    """X -> (<A_1, X>, ..., <A_k, X>) for matrices A_i of the shape of X. The adjoint is y -> sum_i y_i A_i.

    Only the entries that are non-zero in some A_i are ever looked at, or made: of a low-rank atom O(entries * rank).
    """

    needs_array = False

    class Spec(BlockSpec):
        kind: Literal["matrices"]
        matrices: list[ArrayField] = Field(..., min_length=1, description="A_1, ..., A_k, dense or sparse")

        examples: ClassVar[list[dict[str, Any]]] = [
            {"kind": "matrices", "matrices": [[[1, 0, 2], [0, 0, 0], [2, 0, 0]], [[0, 0, 0], [0, -1, 0], [0, 0, 3]]]},
            {"kind": "matrices", "matrices": [[[0, 1, 0], [0, 0, 0], [0, 0, 2], [0, 5, 0]]]},
            {"kind": "matrices", "matrices": [[[0, 0, 0], [0, 0, 0], [0, 0, 0]]]},
        ]

        def build(self, context: BuildContext, in_shape: tuple[int, ...]) -> Matrices:
            matrices: list[Matrix] = []
            for number, value in enumerate(self.matrices):
                with located("matrices", number):
                    matrices.append(context.matrix(value))
                    check_shape(matrices[-1], in_shape)
            return Matrices(matrices, in_shape)

    def __init__(self, matrices: Sequence[Matrix], in_shape: tuple[int, ...]):
        """Raises ProblemError if a matrix has not the shape of a point."""
        for matrix in matrices:
            check_shape(matrix, in_shape)
        self._begin(_flattened(matrices, in_shape), in_shape)

    @classmethod
    def of_rows(cls, rows: sp.csr_array, in_shape: tuple[int, ...]) -> Matrices:
        """Of matrices whose entries, in C order, are the rows (k, n^2) of one."""
        made = cls.__new__(cls)
        made._begin(rows, in_shape)
        return made

    def _begin(self, rows: sp.csr_array, in_shape: tuple[int, ...]) -> None:
        stacked, positions = _compressed(rows)
        self.in_shape, self.out_shape = in_shape, (rows.shape[0],)
        self._entries = Sampling(positions, in_shape)
        self._matrix, self._transpose = stacked, stacked.T.tocsr()
        self._symmetric = _is_symmetric(stacked, positions, in_shape)
        self.norm = operator_norm(stacked)
        self.norm_bound = norm_bound(stacked, self.norm)

    def rows(self) -> sp.csr_array:
        matrix = self._matrix
        places = self._entries.indices[matrix.indices]
        return sp.csr_array((matrix.data, places, matrix.indptr), shape=(matrix.shape[0], math.prod(self.in_shape)))

    @property
    def work(self) -> int:
        return super().work + self._matrix.nnz

    @property
    def coefficients(self) -> tuple[sp.csr_array, np.ndarray]:
        """A matrix with the entries of A_i in row i, and the flat (C-order) positions that its columns stand for."""
        return self._matrix, self._entries.indices

    def forward(self, x: np.ndarray) -> np.ndarray:
        return self._matrix @ self._entries.forward(x)

    def adjoint(self, y: np.ndarray) -> Direction:
        return SparseDirection(self._entries.matrix_of(self._transpose @ y), symmetric=self._symmetric)

    def forward_atom(self, atom: Atom) -> np.ndarray:
        return self._matrix @ self._entries.forward_atom(atom)


def check_shape(matrix: Matrix, shape: tuple[int, ...]) -> None:
    """ProblemError unless the matrix and the points of the domain are matrices of one shape."""
    if len(shape) != 2 or matrix.shape != shape:
        raise ProblemError(f"the matrix is {named(matrix.shape)}, but a point of the domain is {named(shape)}")


def _flattened(matrices: Sequence[Matrix], shape: tuple[int, ...]) -> sp.csr_array:
    """Row i holds the entries of A_i in C order."""
    entries = [matrix if isinstance(matrix, sp.coo_array) else sp.coo_array(matrix) for matrix in matrices]
    flat = np.concatenate([e.coords[0].astype(np.int64) * shape[1] + e.coords[1] for e in entries])
    rows = np.repeat(np.arange(len(entries)), [e.nnz for e in entries])
    values = np.concatenate([e.data for e in entries])
    return sp.coo_array((values, (rows, flat)), shape=(len(entries), math.prod(shape))).tocsr()


def _compressed(rows: sp.csr_array) -> tuple[sp.csr_array, np.ndarray]:
    """The columns in which there are entries, and which those are, ascending."""
    positions, columns = np.unique(rows.indices, return_inverse=True)
    if positions.size == 0:  # nothing but zeros: a sampling needs an entry
        positions = np.zeros(1, dtype=np.intp)
    positions = positions.astype(np.intp)
    return sp.csr_array((rows.data, columns, rows.indptr), shape=(rows.shape[0], positions.size)), positions


def _is_symmetric(stacked: sp.csr_array, positions: np.ndarray, shape: tuple[int, ...]) -> bool:
    """Whether every A_i equals its transpose."""
    rows, columns = np.divmod(positions, shape[1])
    mirrored = columns * shape[1] + rows
    order = np.argsort(mirrored)
    if shape[0] != shape[1] or not np.array_equal(mirrored[order], positions):
        return False
    return cast(sp.csr_array, stacked != stacked[:, order]).nnz == 0
