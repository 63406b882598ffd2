"""The smallest eigenvalue of a large symmetric matrix A: from below by a factor, from above by vectors.

From below. If the Cholesky factorisation of A - t I runs through, its factor L is that of A - t I + E with
|E| <= (m + 2) eps |L| |L|^T, entry by entry, where m is one more than the most terms in a sum (Higham, *Accuracy and
Stability of Numerical Algorithms*, 2002, Theorem 10.3; its 2u is eps). L L^T is semidefinite, so no eigenvalue of A is
below t less the largest row sum of that, which is had without forming the product. A is factorised as a band, in the
order of Cuthill and McKee, or in full, whichever is cheaper: what that costs is known before, and too much is refused.

From above. No Rayleigh quotient is below the smallest eigenvalue, whatever the vector is: one that lies below a claim
refutes it. They come from inverse iteration with a factor, or from so many steps of Lanczos and no more.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import scipy.linalg
import scipy.sparse as sp
from scipy.linalg import lapack
from scipy.sparse.csgraph import reverse_cuthill_mckee

from cgm_cli.verify.precision import EPS, Unchecked

DENSE = 10_000
"""Order up to which a matrix whose band is wide is factorised in full: some twenty seconds."""

BAND = 1.3e8
"""The most numbers in a band: a gigabyte, as in the certificates of a run."""

STRIPE = 512
"""Columns of a factor that are looked at together."""

PRODUCTS = 3000
"""Steps of Lanczos, at the most: seconds for a sparse matrix of order 50000."""

WORK = 1e10
"""Multiplications in the products and sums of these steps, at the most."""


@dataclass(frozen=True)
class Factor:
    """Of a symmetric matrix: none of its eigenvalues is below -distance. solve: from b to the x with L L^T x = b."""

    distance: float
    solve: Callable[[np.ndarray], np.ndarray]


def factorised(matrix: sp.csr_array) -> Factor | None:
    """The factor of a symmetric matrix; None if the factorisation breaks down. Raises Unchecked where it would take too
    long.
    """
    n = matrix.shape[0]
    order = reverse_cuthill_mckee(sp.csr_matrix(matrix), symmetric_mode=True).astype(np.intp)
    place = np.empty(n, dtype=np.intp)
    place[order] = np.arange(n)
    entries = sp.coo_array(matrix)
    rows, columns = (place[part] for part in entries.coords)
    width = int(np.abs(rows - columns).max(initial=0))
    if 3 * width**2 < n**2 and n * (width + 1) <= BAND:
        band = np.zeros((width + 1, n), order="F")
        lower = rows >= columns
        band[rows[lower] - columns[lower], columns[lower]] = entries.data[lower]
        return _of_band(band, order)
    if n > DENSE:
        raise Unchecked(f"n = {n} is too large to be factorised, as its band is {width} wide")
    return _of_full(matrix.toarray(order="F"))


def _of_band(band: np.ndarray, order: np.ndarray) -> Factor | None:
    """From the lower diagonals, band[i - j, j] = a_ij, of the matrix in the given order."""
    factor, broken = lapack.dpbtrf(band, lower=1, overwrite_ab=1)
    if broken or not np.isfinite(factor[0]).all():
        return None
    width, n = factor.shape[0] - 1, factor.shape[1]
    rows = np.zeros(n + width)  # the row sums of |L| |L|^T
    for at in range(0, n, STRIPE):
        stripe = np.abs(factor[:, at : at + STRIPE], order="C")
        stripe *= stripe.sum(axis=0)  # the column sums of |L|, as every column is there as a whole
        for below, diagonal in enumerate(stripe):
            rows[at + below : at + below + diagonal.size] += diagonal

    def solve(b: np.ndarray) -> np.ndarray:
        x = np.empty_like(b)
        x[order] = scipy.linalg.cho_solve_banded((factor, True), b[order], check_finite=False)
        return x

    return Factor((width + 4) * EPS * float(rows.max()), solve)


def _of_full(matrix: np.ndarray) -> Factor | None:
    factor, broken = lapack.dpotrf(matrix, lower=1, clean=1, overwrite_a=1)
    if broken or not np.isfinite(factor.diagonal()).all():
        return None
    n = len(factor)
    rows = np.zeros(n)
    for at in range(0, n, STRIPE):
        stripe = np.abs(factor[:, at : at + STRIPE])
        rows += stripe @ stripe.sum(axis=0)

    def solve(b: np.ndarray) -> np.ndarray:
        return scipy.linalg.cho_solve((factor, True), b, check_finite=False)

    return Factor((n + 4) * EPS * float(rows.max()), solve)


def by_inverse_iteration(matrix: sp.csr_array, factor: Factor, rounds: int = 12) -> float:
    """The Rayleigh quotient of a matrix after so many rounds with the factor of the matrix less a shift."""
    x = np.random.default_rng(0).standard_normal(matrix.shape[0])
    for _ in range(rounds):
        x = factor.solve(x / np.linalg.norm(x))
    x /= np.linalg.norm(x)
    return float(x @ (matrix @ x))


@dataclass(frozen=True)
class Ritz:
    """The smallest value that Lanczos found, after so many products. residual: some eigenvalue is as near as that."""

    value: float
    residual: float
    products: int


def by_lanczos(matrix: sp.csr_array, below: float = -np.inf) -> Ritz:
    """The smallest Ritz value of a symmetric matrix, as soon as it lies below the given number, has settled, or the
    products are spent.

    Without making the vectors orthogonal again: values may be found twice, but none outside of the spectrum (Paige,
    Linear Algebra Appl. 34, 1980).
    """
    n = matrix.shape[0]
    most = int(min(PRODUCTS, 4 * n, max(20.0, WORK / (matrix.nnz + 5 * n))))
    diagonal, beside = np.zeros(most), np.zeros(most)
    former, x = np.zeros(n), np.random.default_rng(0).standard_normal(n)
    x /= np.linalg.norm(x)
    found = Ritz(np.inf, np.inf, 0)
    for step in range(most):
        image = matrix @ x - (beside[step - 1] * former if step else 0.0)
        diagonal[step] = x @ image
        image -= diagonal[step] * x
        beside[step] = np.linalg.norm(image)
        scale = np.abs(diagonal[: step + 1]).max() + beside[: step + 1].max()
        over = step + 1 == most or beside[step] <= 16 * EPS * scale
        if over or (step + 1) % 50 == 0:
            value, vector = scipy.linalg.eigh_tridiagonal(
                diagonal[: step + 1], beside[:step], select="i", select_range=(0, 0)
            )
            found = Ritz(float(value[0]), float(beside[step] * abs(vector[-1, 0])), step + 1)
            if over or found.value < below or found.residual <= 1e-10 * scale:
                break
        former, x = x, image / beside[step]
    return found
