"""Whether a sparse symmetric matrix is positive semidefinite, up to a distance that is told: from the residual of its
factors, whoever made them.

With any unit lower triangular L, any D > 0 and A = L D L^T + E, the eigenvalues of A are at least -|E|, and |E| is at
most the largest absolute row sum of E. What rounding does to the product is at most (m + 2) eps |L| D |L|^T, entry by
entry, with m the longest row of L: again a matrix whose row sums are bounded, without forming it.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
import scipy.sparse.linalg as spla

from cgm_cli.verify.precision import EPS

DENSE = 10_000
"""Order up to which the factors are those of a dense matrix, as a random graph's nearly are: some two minutes."""


def indefiniteness(matrix: sp.csr_array) -> float | None:
    """A d >= 0 such that no eigenvalue of the symmetric matrix is below -d; None if the factorisation breaks down."""
    if matrix.shape[0] <= DENSE:
        return _dense(matrix.toarray())
    return _sparse(sp.csc_array(matrix))


def _dense(matrix: np.ndarray) -> float | None:
    try:
        factor = np.linalg.cholesky(matrix)
    except np.linalg.LinAlgError:
        return None
    residual = factor @ factor.T
    residual -= matrix
    size = np.abs(factor)
    sums = np.abs(residual).sum(axis=1) + (matrix.shape[0] + 2) * EPS * (
        size @ size.sum(axis=0) + np.abs(matrix).sum(1)
    )
    return float(sums.max())


def _sparse(matrix: sp.csc_array) -> float | None:
    """By SuperLU in symmetric mode, which does not exchange rows as long as pivots on the diagonal are not zero."""
    try:
        # Its index type is the narrow one.
        factors = spla.splu(
            sp.csc_matrix(matrix),
            permc_spec="MMD_AT_PLUS_A",
            diag_pivot_thresh=0.0,
            options={"SymmetricMode": True},
        )
    except (RuntimeError, MemoryError):
        return None
    pivots = factors.U.diagonal()
    if not np.array_equal(factors.perm_r, factors.perm_c) or not pivots.min() > 0.0:
        return None
    lower = sp.csr_array(factors.L)
    order = np.argsort(factors.perm_c)
    permuted = sp.csr_array(matrix)[order][:, order]
    residual = lower @ (sp.diags_array(pivots) @ lower.T.tocsr()) - permuted
    size, longest = abs(lower), int(np.diff(lower.indptr).max())
    row_sums = size @ (pivots * (size.T @ np.ones(len(pivots))))
    sums = abs(residual).sum(axis=1) + (longest + 2) * EPS * (row_sums + abs(permuted).sum(axis=1))
    return float(sums.max())
