"""Cholesky factorisation, and products, by panels of columns, with a look at the clock between them: those of LAPACK
and BLAS cannot be interrupted.

Left-looking (Golub and Van Loan, "Matrix Computations", Algorithm 4.2.8): of a panel, the products of what is to its
left are taken off, and what is left of it is factorised. All but a small part of the n^3 / 3 operations are those of
one matrix product per panel, at the speed of LAPACK's own.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import scipy.linalg

PANEL = 512
"""Columns of a panel: at order 10000 no more than a second of work, and a sixth more of it than LAPACK takes."""

PRODUCT = 2e10
"""The operations of a product from which it is made by panels: a second of work."""

PANELS_FROM = 5000
"""The order from which panels are worth their price: below, all of it is a second of work."""


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
            panel -= matrix[first:, :first] @ matrix[first:last, :first].T
        square, rest = panel[: last - first], panel[last - first :]
        factor = scipy.linalg.cholesky(square, lower=True, check_finite=False)
        square[np.tril_indices(last - first)] = factor[np.tril_indices(last - first)]
        if rest.size:
            rest[...] = scipy.linalg.solve_triangular(factor, rest.T, lower=True, check_finite=False).T
    return True


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
