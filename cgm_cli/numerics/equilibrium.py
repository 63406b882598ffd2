"""Units of rows and columns in which the entries of matrices are of one size."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
import scipy.sparse as sp

from cgm_cli.numerics.arrays import Matrix, is_sparse

ROUNDS = 20
"""Each halves, in logarithms, how far the largest entries of rows and columns are from one."""

SLAB = 1 << 18
"""Entries of a dense matrix that are looked at together."""


def equilibrated(matrices: Sequence[Matrix], shared: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """r (m,) and t (n,), positive, for which the largest |r_i A_ij t_j| of every row and column is about one, A being
    the matrices one below the other (Ruiz, "A scaling algorithm to equilibrate both rows and columns norms in
    matrices", 2001). Columns with the same number in `shared` have the same t; empty rows and columns keep a one.
    """
    parts = [_Sparse(matrix) if is_sparse(matrix) else _Dense(np.asarray(matrix)) for matrix in matrices]
    rows, t = [np.ones(matrix.shape[0]) for matrix in matrices], np.ones(int(shared.max()) + 1)
    for _ in range(ROUNDS):
        peaks = np.zeros(t.size)
        for place, (part, r) in enumerate(zip(parts, rows, strict=True)):
            of_rows, of_columns = part.peaks(r, t[shared])
            np.maximum.at(peaks, shared, of_columns)
            rows[place] = r / np.sqrt(_or_one(of_rows))
        t = t / np.sqrt(_or_one(peaks))
    return np.concatenate(rows), t[shared]


def _or_one(peaks: np.ndarray) -> np.ndarray:
    return np.where(peaks > 0.0, peaks, 1.0)


class _Peaks(Protocol):
    def peaks(self, r: np.ndarray, t: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The largest |r_i A_ij t_j| of every row (m,), and of every column (n,)."""
        ...


class _Dense(_Peaks):
    def __init__(self, matrix: np.ndarray):
        self._matrix = matrix
        self._step = max(1, SLAB // max(1, matrix.shape[1]))

    def peaks(self, r: np.ndarray, t: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        of_rows, of_columns = np.zeros(r.size), np.zeros(t.size)
        for first in range(0, r.size, self._step):
            own = slice(first, first + self._step)
            size = np.abs(self._matrix[own])
            size *= r[own, None]
            np.maximum(of_columns, size.max(axis=0), out=of_columns)
            size *= t
            of_rows[own] = size.max(axis=1, initial=0.0)
        return of_rows, of_columns * t


class _Sparse(_Peaks):
    def __init__(self, matrix: Matrix):
        self._rows, self._columns = abs(sp.csr_array(matrix)), abs(sp.csc_array(matrix))

    def peaks(self, r: np.ndarray, t: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        of_rows = _peaks(self._rows.data * t[self._rows.indices], self._rows.indptr)
        of_columns = _peaks(self._columns.data * r[self._columns.indices], self._columns.indptr)
        return r * of_rows, t * of_columns


def _peaks(size: np.ndarray, ends: np.ndarray) -> np.ndarray:
    """The largest of each run, zero of an empty one."""
    found = np.zeros(ends.size - 1)
    filled = np.flatnonzero(np.diff(ends))
    if filled.size:  # a run ends where the next one begins that is not empty
        found[filled] = np.maximum.reduceat(size, ends[filled])
    return found
