"""Eigenvalues and eigenvectors of a symmetric matrix by LAPACK: all of them by the driver that takes least, some of
them whatever the driver for that makes of the matrix: where many are equal, dsyevr gives up now and then with an
internal error.
"""

from __future__ import annotations

import numpy as np
import scipy.linalg

SMALL = 128
"""The order up to which NumPy, which asks less of LAPACK beforehand, is ahead of SciPy. (Of order 60 it takes 0.26 ms,
dsyevd 0.29 and dsyevr, SciPy's choice, 0.36; of 150 they take 1.7, 1.6 and 2.0, of 400 15.9, 14.0 and 17.0.)
"""


def eigenpairs(matrix: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """All eigenvalues, ascending, and their eigenvectors in columns, by divide and conquer."""
    if matrix.shape[0] <= SMALL:
        values, vectors = np.linalg.eigh(matrix)
        return values, vectors
    return scipy.linalg.eigh(matrix, driver="evd")


def some_eigenvalues(matrix: np.ndarray, first: int, last: int, check_finite: bool = True) -> np.ndarray:
    """Those from the first-th to the last-th, ascending, counted from 0."""
    try:
        return scipy.linalg.eigvalsh(matrix, subset_by_index=(first, last), check_finite=check_finite)
    except scipy.linalg.LinAlgError:
        return scipy.linalg.eigvalsh(matrix, driver="ev", check_finite=check_finite)[first : last + 1]


def some_eigenpairs(matrix: np.ndarray, first: int, last: int) -> tuple[np.ndarray, np.ndarray]:
    """Those, and their eigenvectors in columns."""
    try:
        return scipy.linalg.eigh(matrix, subset_by_index=(first, last))
    except scipy.linalg.LinAlgError:
        values, vectors = scipy.linalg.eigh(matrix, driver="ev")
        return values[first : last + 1], vectors[:, first : last + 1]
