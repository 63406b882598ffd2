"""Lower bounds on the smallest eigenvalue, proven by one Cholesky factorisation.

A factorisation that runs through proves its matrix definite up to its rounding errors, at a tenth of the price of
eigenvalues. Given a guess s at the smallest eigenvalue, A - (s - gap) I is factorised; a guess that was too high costs
another attempt with a larger gap, and never a wrong answer.

The proof (Demmel 1989; Rump, BIT 46, 2006; Higham, Accuracy and Stability, Theorem 10.3): if floating-point Cholesky of
C runs through, in whatever order it adds up, its factor satisfies R^T R = C + E with |E_ij| <= a sqrt(c_ii c_jj),
a = g / (1 - g), g = m u / (1 - m u), u the unit roundoff and m one more than the most terms in a sum. The spectral norm
of the matrix sqrt(c_ii c_jj) is tr C, hence lambda_min(C) >= -a tr C. Here m is eight larger than needed, which covers
reciprocals of pivots, and a is raised by 1e-6 of itself for the sum of the trace and the arithmetic of the bound.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import scipy.linalg
import scipy.sparse as sp
from scipy.sparse.csgraph import reverse_cuthill_mckee

from cgm_cli.numerics.projections import safe_norm

BAND_BYTES = 10**9
"""The most that a band may take. Its factorisation then takes a minute at the worst."""

ATTEMPTS, GROWTH = 7, 32.0
"""So many gaps are tried, each so many times the one before: from the rounding errors to all of the spectrum."""

_EPS = float(np.finfo(float).eps)
_TINY = float(np.finfo(float).tiny)


def dense_floor(
    matrix: np.ndarray, guess: float, vectors: np.ndarray | None = None, weights: np.ndarray | None = None
) -> float | None:
    """A number that is at most the smallest eigenvalue of the symmetric `matrix` (n, n) + vectors diag(weights)
    vectors^T, from a guess at it; None if no gap up to the size of the matrix was enough. Takes the memory of the
    matrix once more.

    vectors (n, k), weights (k,), not negative: forming the sum errs by (k + 3) u (|matrix|_F + sum of w_i |u_i|^2).
    """
    n = matrix.shape[0]
    factor = _power_of_two(float(max(matrix.max(), -matrix.min())))
    work = np.empty((n, n))
    error = 0.0
    if weights is not None and weights.any():
        lift = factor * float(weights @ np.square(vectors).sum(axis=0))
        error = (weights.size + 3) * _EPS * (safe_norm(matrix) * factor + lift)

    def attempt(shift: float) -> float | None:
        np.multiply(matrix, factor, out=work)
        if error > 0.0:
            work[...] += (vectors * (factor * weights)) @ vectors.T
        diagonal = np.einsum("ii->i", work)
        diagonal -= shift
        pivots = diagonal.copy()
        # The transpose is in the order that LAPACK wants, and one triangle is all it reads.
        return _proven(lambda: scipy.linalg.cholesky(work.T, lower=True, **_IN_PLACE), pivots, n, shift, error)

    diagonal = factor * np.einsum("ii->i", matrix)
    if error > 0.0:
        diagonal = diagonal + np.square(vectors) @ (factor * weights)
    return _search(attempt, factor * guess, diagonal, n, factor)


def band_floor(matrix: sp.csr_array, guess: float, limit: int = BAND_BYTES) -> float | None:
    """The same for a sparse symmetric matrix, as a band in the order of Cuthill and McKee; also None if the band would
    take more than `limit` bytes.

    Sums are as long as the band is wide, so the proof loses less than that of a dense matrix does.
    """
    rows, columns, values, width = _as_band(matrix)
    n = matrix.shape[0]
    if 8 * n * (width + 1) > limit:
        return None
    factor = _power_of_two(float(np.abs(values).max(initial=0.0)))
    values = values * factor

    def attempt(shift: float) -> float | None:
        band = np.zeros((width + 1, n), order="F")
        band[rows - columns, columns] = values
        band[0] -= shift
        pivots = band[0].copy()
        return _proven(
            lambda: scipy.linalg.cholesky_banded(band, lower=True, overwrite_ab=True, check_finite=False),
            pivots,
            width + 1,
            shift,
        )

    diagonal = np.zeros(n)
    diagonal[rows[rows == columns]] = values[rows == columns]
    return _search(attempt, factor * guess, diagonal, width + 1, factor)


def band_width(matrix: sp.csr_array) -> int:
    """Of a sparse symmetric matrix, below the diagonal, in the order of Cuthill and McKee."""
    return _as_band(matrix)[3]


_IN_PLACE = {"overwrite_a": True, "check_finite": False}


def _power_of_two(peak: float) -> float:
    """What brings a number into [0.5, 1), a product with which is exact: squares of 1e+-170 are not in range."""
    return 1.0 if peak == 0.0 else float(np.ldexp(1.0, int(np.clip(-np.frexp(peak)[1], -1022, 1022))))


def _proven(factorise: Callable[[], object], pivots: np.ndarray, terms: int, shift: float, error: float = 0.0):
    """What a factorisation of a matrix with this diagonal, less the shift, proves; None if it breaks down."""
    try:
        factorise()
    except np.linalg.LinAlgError:
        return None
    return shift - _loss(pivots, terms) - error


def _loss(pivots: np.ndarray, terms: int) -> float:
    """a tr C, and the rounding of the shift."""
    g = 0.5 * (terms + 9) * _EPS / (1.0 - 0.5 * (terms + 9) * _EPS)
    return (
        1.000001 * g / (1.0 - g) * float(np.abs(pivots).sum())
        + _EPS * float(np.abs(pivots).max())
        + pivots.size * _TINY
    )


def _search(
    attempt: Callable[[float], float | None], guess: float, diagonal: np.ndarray, terms: int, factor: float
) -> float | None:
    """The first proof that a shift below the guess gives, in the units of the unscaled matrix."""
    # The rounding errors that there are grow like the root of what the proof allows for.
    gap = max(_loss(diagonal - guess, terms) / 16.0, _EPS * (1.0 + abs(guess)))
    for _ in range(ATTEMPTS):
        proven = attempt(guess - gap)
        if proven is not None:
            return proven / factor
        gap *= GROWTH
    return None


def _as_band(matrix: sp.csr_array) -> tuple[np.ndarray, np.ndarray, np.ndarray, int]:
    """rows, columns and values of the lower triangle in the new order, and the width below the diagonal."""
    order = reverse_cuthill_mckee(sp.csr_matrix(matrix), symmetric_mode=True)
    place = np.empty(order.size, dtype=np.intp)
    place[order] = np.arange(order.size)
    entries = sp.coo_array(matrix)
    entries.sum_duplicates()
    rows, columns = (place[part] for part in entries.coords)
    lower = rows >= columns
    rows, columns = rows[lower], columns[lower]
    return rows, columns, entries.data[lower], int((rows - columns).max(initial=0))
