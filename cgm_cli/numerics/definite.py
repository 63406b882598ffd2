"""Lower bounds on the smallest eigenvalue, proven by one Cholesky factorisation.

A factorisation that runs through proves its matrix definite up to its rounding errors, at a tenth of the price of
eigenvalues. Given a guess s at the smallest eigenvalue, A - (s - gap) I is factorised; a guess that was too high costs
another attempt with a larger gap, and never a wrong answer. Where the gap had to be large, the factor finds a better
guess, by inverse iteration (Ericsson and Ruhe, Math. Comp. 35, 1980).

The proof (Demmel 1989; Rump, BIT 46, 2006; Higham, Accuracy and Stability, Theorem 10.3): if floating-point Cholesky of
C runs through, in whatever order it adds up, its factor satisfies R^T R = C + E with |E_ij| <= a sqrt(c_ii c_jj),
a = g / (1 - g), g = m u / (1 - m u), u the unit roundoff and m one more than the most terms in a sum. The spectral norm
of the matrix sqrt(c_ii c_jj) is tr C, hence lambda_min(C) >= -a tr C. Here m is eight larger than needed, which covers
reciprocals of pivots, and a is raised by 1e-6 of itself for the sum of the trace and the arithmetic of the bound.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
import scipy.linalg
import scipy.sparse as sp
from scipy.sparse.csgraph import reverse_cuthill_mckee

from cgm_cli.numerics import panels
from cgm_cli.numerics.bands import combined
from cgm_cli.numerics.deadline import NEVER, Deadline, seconds_of
from cgm_cli.numerics.eigen import ROOM, smallest_eigenpairs
from cgm_cli.numerics.projections import safe_norm

ATTEMPTS, GROWTH = 7, 32.0
"""So many gaps are tried, each so many times the one before: from the rounding errors to all of the spectrum. A larger
factor loses more of the bound, a smaller one more factorisations.
"""

POOR = 1e-9
"""The relative error of a guess that is made better, by the first factorisation, before the next: a second one for the
digits that a bound shows.
"""

_EPS = float(np.finfo(float).eps)
_TINY = float(np.finfo(float).tiny)


@dataclass(frozen=True)
class Proof:
    """floor: what one factorisation has proven to be at most the smallest eigenvalue. solve: b -> C^-1 b, of the matrix
    factorised.
    """

    floor: float
    solve: Callable[[np.ndarray], np.ndarray]


Attempt = Callable[[float], Proof | None]


def dense_floor(
    matrix: np.ndarray,
    guess: float,
    error: float = 0.0,
    vectors: np.ndarray | None = None,
    weights: np.ndarray | None = None,
    slack: float = 0.0,
    deadline: Deadline = NEVER,
    overwrite: bool = False,
) -> float | None:
    """A number that is at most the smallest eigenvalue of the symmetric `matrix` (n, n) + vectors diag(weights)
    vectors^T, from a guess at it; None if no gap up to the size of the matrix was enough, or the deadline came first.
    Takes the memory of the matrix once more, unless it may `overwrite` it.

    error: about how wrong the guess may be. vectors (n, k), weights (k,), not negative: forming the sum errs by
    (k + 3) u (|matrix|_F + sum of w_i |u_i|^2). slack: the loss that does not matter.
    """
    n = matrix.shape[0]
    factor = _power_of_two(float(max(matrix.max(), -matrix.min())))
    rounding, added = 0.0, None
    if weights is not None and weights.any():
        assert vectors is not None
        lift = factor * float(weights @ np.square(vectors).sum(axis=0))
        rounding = (weights.size + 3) * _EPS * (safe_norm(matrix) * factor + lift)
        if rounding > 0.0:
            added = vectors, factor * weights
    scale = partial(np.multiply, factor)
    work = scale(matrix, out=matrix) if overwrite else combined(scale, matrix)
    if added is not None:
        panels.add_products(work, *added)
    diagonal = np.einsum("ii->i", work).copy()
    triangle = panels.Triangle(work)

    def attempt(shift: float) -> Proof | None:
        upper = triangle.restored()
        pivots = diagonal - shift
        np.einsum("ii->i", upper)[...] = pivots
        # The transpose is in the order that LAPACK wants, and one triangle is all it reads.
        factorise = _dense if n < panels.PANELS_FROM else partial(_by_panels, should_stop=deadline.should_stop)
        return _proven(factorise, scipy.linalg.cho_solve, upper.T, pivots, n, shift, rounding)

    pace = _Pace(dense_seconds(n), deadline)
    return _search(attempt, factor * guess, factor * error, factor * slack, diagonal, n, factor, pace)


def dense_seconds(n: int) -> float:
    """What one factorisation of order n takes, roughly."""
    return seconds_of(n**3 / 3.0)


def worth(factorisation: float, entries: float) -> int:
    """How many steps of a Lanczos method take half of the time of a factorisation, roughly: both in operations per row,
    with so many entries of the matrix in each. A hundred are little.
    """
    # Those of a factorisation are done six times as fast. A step goes over its basis twice.
    return int(np.clip(factorisation / (12.0 * (2.0 * entries + 4.0 * ROOM)), 100, 10_000))


class Band:
    """A sparse symmetric matrix (n, n) as a band, in the order of Cuthill and McKee.

    width: below the diagonal. size: the bytes that it takes. seconds: what one factorisation takes, roughly. products:
    see `worth`.
    """

    def __init__(self, matrix: sp.csr_array):
        self._rows, self._columns, self._values, self.width = _as_band(matrix)
        self._n = matrix.shape[0]
        self.size = 8 * self._n * (self.width + 1)
        self.products = worth(self.width**2, matrix.nnz / self._n)

    @property
    def seconds(self) -> float:
        return seconds_of(self._n * self.width**2)

    def floor(self, guess: float, error: float = 0.0, slack: float = 0.0, deadline: Deadline = NEVER) -> float | None:
        """The same as `dense_floor` for the matrix of this band.

        Sums are as long as the band is wide, so the proof loses less than that of a dense matrix does.
        """
        rows, columns, n, width = self._rows, self._columns, self._n, self.width
        factor = _power_of_two(float(np.abs(self._values).max(initial=0.0)))
        values = self._values * factor

        def attempt(shift: float) -> Proof | None:
            band = np.zeros((width + 1, n), order="F")
            band[rows - columns, columns] = values
            band[0] -= shift
            pivots = band[0].copy()
            return _proven(_banded, scipy.linalg.cho_solve_banded, band, pivots, width + 1, shift)

        diagonal = np.zeros(n)
        diagonal[rows[rows == columns]] = values[rows == columns]
        pace = _Pace(self.seconds, deadline)
        return _search(attempt, factor * guess, factor * error, factor * slack, diagonal, width + 1, factor, pace)


@dataclass(frozen=True)
class _Pace:
    """seconds: of one factorisation. deadline: what they have to fit into."""

    seconds: float
    deadline: Deadline


def _dense(matrix: np.ndarray) -> np.ndarray:
    """Leaves what is above the diagonal as it is."""
    return scipy.linalg.cho_factor(matrix, lower=True, overwrite_a=True, check_finite=False)[0]


def _banded(band: np.ndarray) -> np.ndarray:
    return scipy.linalg.cholesky_banded(band, lower=True, overwrite_ab=True, check_finite=False)


def _by_panels(matrix: np.ndarray, should_stop: Callable[[], bool]) -> np.ndarray | None:
    return matrix if panels.cholesky(matrix, should_stop) else None


def _power_of_two(peak: float) -> float:
    """What brings a number into [0.5, 1), a product with which is exact: squares of 1e+-170 are not in range."""
    return 1.0 if peak == 0.0 else float(np.ldexp(1.0, int(np.clip(-np.frexp(peak)[1], -1022, 1022))))


def _proven(
    factorise: Callable[[np.ndarray], np.ndarray | None],
    solve: Callable[..., np.ndarray],
    matrix: np.ndarray,
    pivots: np.ndarray,
    terms: int,
    shift: float,
    error: float = 0.0,
) -> Proof | None:
    """What a factorisation of a matrix with this diagonal, less the shift, proves; None if it breaks down, or was left
    half done. Takes the place of the matrix.
    """
    try:
        factor = factorise(matrix)
    except np.linalg.LinAlgError:
        return None
    if factor is None:
        return None
    return Proof(shift - _loss(pivots, terms) - error, lambda b: solve((factor, True), b, check_finite=False))


def _loss(pivots: np.ndarray, terms: int) -> float:
    """a tr C, and the rounding of the shift."""
    g = 0.5 * (terms + 9) * _EPS / (1.0 - 0.5 * (terms + 9) * _EPS)
    return (
        1.000001 * g / (1.0 - g) * float(np.abs(pivots).sum())
        + _EPS * float(np.abs(pivots).max())
        + pivots.size * _TINY
    )


def _search(
    attempt: Attempt,
    guess: float,
    error: float,
    slack: float,
    diagonal: np.ndarray,
    terms: int,
    factor: float,
    pace: _Pace,
) -> float | None:
    """The best proof that shifts below the guess give, in the units of the unscaled matrix."""
    # The rounding errors that there are grow like the root of what the proof allows for.
    least = max(_loss(diagonal - guess, terms) / 16.0, _EPS * (1.0 + abs(guess)))
    found = _first(attempt, pace, guess, max(least, error))
    if found is None:
        return None
    gap, proof = found
    floor = proof.floor
    if gap > max(slack, POOR * max(abs(guess), 1e-3)):
        # 1 / gap or more is the largest eigenvalue of the inverse, which stands out far more than that of the matrix.
        inverse = smallest_eigenpairs(
            lambda b: -gap * proof.solve(b),
            diagonal.size,
            1,
            tolerance=1e-6,
            rng=np.random.default_rng(0),
            should_stop=pace.deadline.should_stop,
        )
        better = guess - gap + gap / -float(inverse.values[0])
        del found, proof  # and the memory of the factor
        found = _first(attempt, pace, better, least, better - guess + gap)
        floor = floor if found is None else found[1].floor
    return floor / factor


def _first(attempt: Attempt, pace: _Pace, guess: float, gap: float, most: float = np.inf) -> tuple[float, Proof] | None:
    """The first gap below a guess with a proof, of those that are less than the most and fit into the time, and the
    proof.
    """
    for _ in range(ATTEMPTS):
        if gap >= most or not pace.deadline.affords(pace.seconds):
            return None
        proof = attempt(guess - gap)
        if proof is not None:
            return gap, proof
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
