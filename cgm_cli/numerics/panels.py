"""Cholesky factorisation, and products, by panels of columns, with a look at the clock between them: those of LAPACK
and BLAS cannot be interrupted.

Left-looking (Golub and Van Loan, "Matrix Computations", Algorithm 4.2.8): of a panel, the products of what is to its
left are taken off, and what is left of it is factorised. All but a small part of the n^3 / 3 operations are those of
one matrix product per panel, at the speed of LAPACK's own.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
import scipy.linalg
import scipy.sparse as sp

from cgm_cli.numerics.bands import by_slabs

PANEL = 512
"""Columns of a panel: at order 10000 no more than a second of work, and a sixth more of it than LAPACK takes."""

PRODUCT = 2e10
"""The operations of a product from which it is made by panels: a second of work."""

PANELS_FROM = 5000
"""The order from which panels are worth their price: below, all of it is a second of work."""

SLAB = 1024
"""Rows of a panel that one thread works on: BLAS's own threads wait for each other by spinning."""

ROWS, SPARSE = 256, 100.0
"""Rows of a sparse product at a time, with its entries and their places; and how many operations of a dense one take as
long as one of it. (6000 x 4000 with a million entries: 0.8 s sparse, 2.0 s dense, at 570 operations to one.)
"""


def cholesky(matrix: np.ndarray, should_stop: Callable[[], bool]) -> bool:
    """Put the lower factor in place of a symmetric `matrix` (n, n), of which the entries on and below the diagonal are
    read; what is above it then is of no meaning. Best in Fortran order.

    False once `should_stop()` is true, with the work half done. Raises LinAlgError where the matrix is not positive
    definite.
    """
    n = matrix.shape[0]
    for first in range(0, n, PANEL):
        if should_stop():
            return False
        last = min(n, first + PANEL)
        panel = matrix[first:, first:last]
        if first:
            by_slabs(partial(_take_off, panel, matrix[first:, :first], matrix[first:last, :first].T), panel.shape, SLAB)
        square, rest = panel[: last - first], panel[last - first :]
        factor = scipy.linalg.cholesky(square, lower=True, check_finite=False)
        square[np.tril_indices(last - first)] = factor[np.tril_indices(last - first)]
        by_slabs(partial(_solve, factor, rest), rest.shape, SLAB)
    return True


def _take_off(panel: np.ndarray, left: np.ndarray, right: np.ndarray, rows: slice) -> None:
    panel[rows] -= left[rows] @ right


def _solve(factor: np.ndarray, panel: np.ndarray, rows: slice) -> None:
    """panel <- panel factor^-T, in some rows."""
    if panel[rows].size:
        panel[rows] = scipy.linalg.solve_triangular(factor, panel[rows].T, lower=True, check_finite=False).T


class Triangle:
    """A symmetric matrix (n, n) in C order, whose upper triangle is worked in, and made again of the lower one and of
    copies of the blocks on the diagonal: there need not be another matrix to keep it in.
    """

    def __init__(self, matrix: np.ndarray):
        self._matrix = matrix
        self._blocks = [matrix[part, part].copy() for part in _panels(len(matrix))]
        self._is_whole = True

    def restored(self) -> np.ndarray:
        """The matrix, as it was; what is written on and above its diagonal, or inside of these blocks, is made good by
        the next call.
        """
        if not self._is_whole:
            for part, block in zip(_panels(len(self._matrix)), self._blocks, strict=True):
                self._matrix[part, part] = block
                self._matrix[part, part.stop :] = self._matrix[part.stop :, part].T
        self._is_whole = False
        return self._matrix


def add_products(matrix: np.ndarray, vectors: np.ndarray, weights: np.ndarray) -> None:
    """Add vectors diag(weights) vectors^T to a symmetric matrix (n, n), in place, which stays exactly symmetric."""
    scaled = vectors * weights
    for part in _panels(len(matrix)):
        block = matrix[part, part] + scaled[part] @ vectors[part].T
        # BLAS need not sum the two halves in the same order.
        matrix[part, part] = np.tril(block) + np.tril(block, -1).T
        matrix[part.stop :, part] += vectors[part.stop :] @ scaled[part].T
        matrix[part, part.stop :] = matrix[part.stop :, part].T


def _panels(n: int) -> list[slice]:
    return [slice(first, min(n, first + PANEL)) for first in range(0, n, PANEL)]


def gram(matrix: np.ndarray, should_stop: Callable[[], bool]) -> np.ndarray | None:
    """matrix^T matrix (n, n), exactly symmetric, of a matrix (m, n); None once `should_stop()` is true."""
    m, n = matrix.shape
    if m * n * n < PRODUCT:
        return matrix.T @ matrix
    out = np.empty((n, n))
    for first in range(0, n, PANEL):
        if should_stop():
            return None
        columns = slice(first, min(n, first + PANEL))
        out[columns, first:] = matrix[:, columns].T @ matrix[:, first:]
        # Of the square on the diagonal, BLAS need not sum the two halves in the same order.
        square = out[columns, columns]
        square[...] = np.tril(square) + np.tril(square, -1).T
        out[columns.stop :, columns] = out[columns, columns.stop :].T
    return out


def sparse_gram(matrix: sp.csr_array, should_stop: Callable[[], bool]) -> np.ndarray | None:
    """The same of a sparse matrix, which is not written out. Each entry sums its products in the order of the rows,
    so that the two halves are equal.
    """
    n = matrix.shape[1]
    out, transposed = np.empty((n, n)), sp.csr_array(matrix.T)
    for first in range(0, n, ROWS):
        if should_stop():
            return None
        (transposed[first : first + ROWS] @ matrix).toarray(out=out[first : first + ROWS])
    return out


def sparse_gram_pays(matrix: sp.csr_array) -> bool:
    """Whether its products of entries are so few that it is the faster one."""
    rows, n = matrix.shape
    return float(np.square(np.diff(matrix.indptr).astype(float)).sum()) < rows * n**2 / SPARSE
