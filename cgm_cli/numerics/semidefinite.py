"""Proofs that a matrix is positive semidefinite where its smallest eigenvalue is zero: where rounding, which every
computed eigenvalue has, leaves that open, and exact arithmetic does not.

A symmetric matrix is the direct sum of those on the connected components of its entries. Each is semidefinite where its
diagonal is dominant, a_ii >= sum of |a_ij| over j != i (as of a Laplacian), or where Cholesky's method in fractions,
which doubles are, meets no negative pivot and, beside a pivot of zero, only zeros.
"""

from __future__ import annotations

from fractions import Fraction
from math import fsum

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components

from cgm_cli.numerics.eigen import rounding_error
from cgm_cli.numerics.eigh import some_eigenvalues

FRACTIONS = 30
"""The order up to which a matrix is eliminated in fractions, which takes some hundredths of a second."""


def is_semidefinite(matrix: np.ndarray) -> bool:
    """Whether a matrix (n, n) is proven to be symmetric and semidefinite; False where it is not, or nothing here proves
    it.
    """
    if (matrix.diagonal() < 0.0).any() or not np.array_equal(matrix, matrix.T):
        return False
    count, labels = connected_components(sp.csr_array(matrix), directed=False)
    order = np.argsort(labels, kind="stable")
    cuts = np.cumsum(np.bincount(labels, minlength=count))[:-1]
    return all(_is_component_semidefinite(matrix[np.ix_(places, places)]) for places in np.split(order, cuts))


def _is_component_semidefinite(part: np.ndarray) -> bool:
    if all(_is_dominant(row, place) for place, row in enumerate(part)):
        return True
    least, error = float(some_eigenvalues(part, 0, 0)[0]), rounding_error(part)
    if abs(least) > error:
        return least > 0.0
    return len(part) <= FRACTIONS and _eliminates(part)


def _is_dominant(row: np.ndarray, place: int) -> bool:
    """Whether the entry at the place is at least the sum of the magnitudes of all others: `fsum` rounds but once, and
    that leaves the sign of a sum as it is.
    """
    return fsum([2.0 * row[place], *(-np.abs(row))]) >= 0.0


def _eliminates(part: np.ndarray) -> bool:
    rows = [[Fraction(float(entry)) for entry in row] for row in part]
    for k, pivot_row in enumerate(rows):
        pivot = pivot_row[k]
        if pivot < 0 or (pivot == 0 and any(pivot_row[k:])):
            return False
        for row in rows[k + 1 :] if pivot else ():
            if row[k]:
                factor = row[k] / pivot
                row[k:] = [entry - factor * above for entry, above in zip(row[k:], pivot_row[k:], strict=True)]
    return True
