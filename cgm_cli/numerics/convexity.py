"""How far <x, Q x> is from convex: a lower bound on the smallest eigenvalue of Q, proven where that is within reach."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from cgm_cli.numerics.arrays import Matrix, SparseMatrix, is_sparse
from cgm_cli.numerics.definite import Band, dense_floor
from cgm_cli.numerics.eigen import rounding_error, smallest_eigenpairs
from cgm_cli.numerics.eigh import some_eigenvalues
from cgm_cli.numerics.threads import blas_threads

EIGENVALUES = 1000
"""Largest n whose smallest eigenvalue comes from LAPACK: beyond, one factorisation costs a tenth of it."""

WRITTEN_OUT = 4000
"""Largest n of a sparse matrix that is written out where it is no narrow band."""

OPERATIONS = 10**11
"""The most operations, n b^2 for b diagonals, that the factorisation of a band may take: ten seconds or so."""

_EPS = float(np.finfo(float).eps)


@dataclass(frozen=True)
class Floor:
    """value: at most the smallest eigenvalue, if `proven`; otherwise an estimate of it from below."""

    value: float
    proven: bool


def eigenvalue_floor(matrix: Matrix) -> Floor:
    """A lower bound, of which only what is below zero matters, on the smallest eigenvalue of a symmetric (n, n) matrix.

    Gershgorin's discs settle it for whatever is diagonally dominant (a diagonal, a Laplacian). n <= EIGENVALUES: the
    eigenvalue itself, by LAPACK, less n eps |Q|_F. Beyond: by definiteness (cgm_cli.numerics.definite), written out or
    as a band, from the guess 0, which one factorisation confirms where the matrix is semidefinite. Of a large sparse
    matrix without a narrow band: a Lanczos estimate less its residual, which proves nothing.
    """
    n, discs = matrix.shape[0], _gershgorin(matrix)
    if discs >= 0.0:
        return Floor(discs, True)
    if n <= EIGENVALUES:
        full = matrix.toarray() if is_sparse(matrix) else matrix
        return Floor(float(some_eigenvalues(full, 0, 0)[0]) - rounding_error(full), True)
    sparse = matrix if is_sparse(matrix) else None
    band = None if sparse is None else Band(sp.csr_array(sparse))
    if band is not None and n * (band.width + 1) ** 2 <= OPERATIONS:
        found = band.floor(0.0)
    elif band is None or n <= WRITTEN_OUT:
        with blas_threads(n):
            found = dense_floor(matrix.toarray() if is_sparse(matrix) else matrix, 0.0)
    else:
        assert sparse is not None
        return Floor(max(discs, _lanczos(sparse)), False)
    return Floor(discs if found is None else max(discs, found), True)


def _gershgorin(matrix: Matrix) -> float:
    """The least of q_ii - sum over j /= i of |q_ij|, less (n + 2) eps times the row sums of |Q|."""
    diagonal, sizes = matrix.diagonal(), np.asarray(abs(matrix).sum(axis=1)).reshape(-1)
    off = sizes - np.abs(diagonal)
    return float(np.min(diagonal - off - (matrix.shape[0] + 2) * _EPS * sizes * (off > 0.0)))


def _lanczos(matrix: SparseMatrix) -> float:
    peak = float(abs(matrix).max())
    found = smallest_eigenpairs(
        lambda b: (matrix @ b) / peak,
        matrix.shape[0],
        1,
        tolerance=1e-6,
        rng=np.random.default_rng(0),
        max_products=500,
    )
    return peak * float(found.values[0] - found.residuals[0])
