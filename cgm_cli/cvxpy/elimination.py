"""Solutions of M x = r for sparse M that need be neither square nor of full rank, by pivots:

    M_RP x_P + M_RF x_F = r_R     <=>     x_P = M_RP^-1 r_R - table x_F,     table = M_RP^-1 M_RF.

Columns with one entry in the rows that are left are pivots at once, as long as there are some, as those of variables
that have a cone, or an equation, of their own are. Of what remains, pivots come from a factorisation Q R with columns
pivoted.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
import scipy.linalg
import scipy.sparse as sp
from scipy.sparse.linalg import splu

DEPENDENT = 1e-11
"""Part of the largest entry of R, in rows of length one, below which what is left is zero."""

LARGE = 0.01
"""Part of the largest entry of its row that a pivot is at the least."""

AT_ONCE = 2**22
"""Entries of the table that are worked out as a dense array at a time."""


class Elimination:
    """rows R, pivots P, others F: places in M, as many rows as pivots. table: (|P|, |F|)."""

    def __init__(self, matrix: sp.csr_array):
        matrix = sp.csr_array(matrix)
        matrix.eliminate_zeros()
        found = _Pivots(matrix)
        self.rows, self.pivots = found.chosen()
        self.others = np.setdiff1d(np.arange(matrix.shape[1]), self.pivots)
        own = matrix[self.rows]
        self._square = sp.csc_array(own[:, self.pivots])
        self._beside = sp.csc_array(own[:, self.others])

    @cached_property
    def _factor(self) -> Any:
        return splu(self._square)

    def solve(self, right: np.ndarray) -> np.ndarray:
        """M_RP^-1 r."""
        return self._factor.solve(right) if self.rows.size else np.zeros(right.shape)

    def solve_transposed(self, right: np.ndarray) -> np.ndarray:
        """M_RP^-T r."""
        return self._factor.solve(right, trans="T") if self.rows.size else np.zeros(right.shape)

    @cached_property
    def table(self) -> sp.csc_array:
        beside = self._beside
        step = max(1, AT_ONCE // max(1, self.rows.size))
        parts = [
            sp.csc_array(self.solve(beside[:, first : first + step].toarray()))
            for first in range(0, self.others.size, step)
        ]
        return sp.csc_array(sp.hstack(parts)) if parts else beside


class _Pivots:
    """Chooses them."""

    def __init__(self, matrix: sp.csr_array):
        self._matrix = matrix
        self._columns = sp.csc_array(matrix)
        self._left = np.ones(matrix.shape[0], dtype=bool)
        self._rows: list[int] = []
        self._pivots: list[int] = []

    def chosen(self) -> tuple[np.ndarray, np.ndarray]:
        if self._matrix.nnz:
            self._take_singles()
            self._take_dense()
        return np.array(self._rows, dtype=np.int64), np.array(self._pivots, dtype=np.int64)

    def _take_singles(self) -> None:
        by_row, by_column = self._matrix, self._columns
        counts = np.diff(by_column.indptr)
        largest = abs(by_row).max(axis=1).toarray().reshape(-1)
        waiting = np.flatnonzero(counts == 1).tolist()
        while waiting:
            column = waiting.pop()
            part = slice(by_column.indptr[column], by_column.indptr[column + 1])
            inside = np.flatnonzero(self._left[by_column.indices[part]])
            if not inside.size:
                continue
            row = int(by_column.indices[part][inside[0]])
            if abs(by_column.data[part][inside[0]]) < LARGE * largest[row]:
                continue
            self._rows.append(row)
            self._pivots.append(column)
            self._left[row] = False
            touched = by_row.indices[by_row.indptr[row] : by_row.indptr[row + 1]]
            counts[touched] -= 1
            waiting += touched[counts[touched] == 1].tolist()

    def _take_dense(self) -> None:
        rows = np.flatnonzero(self._left)
        part = sp.csc_array(self._matrix[rows])
        columns = np.flatnonzero(np.diff(part.indptr))
        if not columns.size:
            return
        dense = part[:, columns].toarray()
        lengths = np.linalg.norm(dense, axis=1, keepdims=True)
        dense /= np.where(lengths > 0.0, lengths, 1.0)
        kept = _independent(dense)
        self._pivots += columns[kept].tolist()
        self._rows += rows[_independent(dense[:, kept].T)].tolist()


def _independent(matrix: np.ndarray) -> np.ndarray:
    """The columns that span all others."""
    triangle, order = scipy.linalg.qr(matrix, mode="r", pivoting=True, check_finite=False)
    sizes = np.abs(np.diag(triangle))
    return order[: int(np.count_nonzero(sizes > DEPENDENT * sizes.max(initial=0.0)))]
