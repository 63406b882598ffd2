"""Some eigenvalues of a symmetric matrix by LAPACK, whatever its driver for some of them makes of the matrix: where
many are equal, dsyevr gives up now and then with an internal error.
"""

from __future__ import annotations

import numpy as np
import scipy.linalg


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
