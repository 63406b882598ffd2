"""How the minimum over a spectral domain is certified, or made probable: by lower bounds on eigenvalues of the
direction, which do not rest on an iteration having converged.

What is within reach first: eigenvalues by LAPACK, a Cholesky factorisation of a band or of the whole matrix
(cgm_cli.numerics.definite), Chebyshev polynomials with random vectors (cgm_cli.numerics.chebyshev). The guess that the
last two start from is an iteration's, and may be wrong without the bound being so.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from cgm_cli.blocks.directions import Direction
from cgm_cli.numerics import panels
from cgm_cli.numerics.chebyshev import LOOK, random_floor
from cgm_cli.numerics.deadline import Deadline, seconds_of
from cgm_cli.numerics.definite import Band, dense_floor, dense_seconds, worth
from cgm_cli.numerics.eigen import rounding_error, smallest_eigenpairs
from cgm_cli.numerics.eigh import some_eigenvalues
from cgm_cli.numerics.svd import largest_singular_triplet


@dataclass(frozen=True)
class CertificateLimits:
    """Up to which sizes a minimum is certified, and how. The figures are from the table in docs/bounds.md."""

    eigenvalues: int = 1000
    """Largest n whose minimum is certified by one eigen- or singular value of LAPACK. Definiteness takes half of its
    time at n = 1000, a third at 2000 and a fifth at 4000, but loses 1e-10 of the minimum and more.
    """

    several_eigenvalues: int = 4000
    """The same where several eigenvectors are needed: the ten that a factorisation starts from make it four times as
    slow as LAPACK at n = 1000, and 1.6 times at 4000.
    """

    band_bytes: int = 10**9
    """The most that a band may take. A random graph of 20,000 nodes and 30,000 edges is just below it (b = 5975), and
    takes half a minute.
    """

    written_out: int = 4000
    """Largest n of a sparse direction that is written out where it is no narrow band: 1.6 s, and 128 MB a copy."""

    dense: int = 10_000
    """Largest n of a dense symmetric matrix that is proven definite: 14 s, and 1.6 GB with the factor."""

    gram: int = 4000
    """Largest smaller side n of a dense matrix V (m, n) whose V^T V is: beyond the factorisation that takes another
    m n^2 operations, and n^2 numbers.
    """


LIMITS = CertificateLimits()

GUESS, SINGLE = 1e-6, 1e-8
"""Relative residual of the eigenvectors that a certificate starts from, and of one alone, whose products are cheap. Of
their values nearly its square counts, so that the first shift fits: each digit less costs another factorisation.
"""

COARSE, COARSE_RESIDUAL = 1e-4, 1e-6
"""The same for a bound that is only probable, and what does not matter of a residual beside the largest entry: such a
bound loses about as much as the guess is wrong by.
"""

ORDERING = 1e-6
"""Seconds that it takes to find out how wide a band is, per entry of the matrix; an upper estimate."""

GUESSED, BLOCK = 100, 4.0
"""Products that a guess takes, roughly; and what one with the block of vectors of a probable bound (eight, for 1e-9)
costs, in products with one vector.
"""

GUESSING = 0.25
"""The share of the time that is left for a probable bound that its guess may take. The guess decides where the interval
of the polynomial starts, the rest of the time its degree.
"""

_EPS = float(np.finfo(float).eps)

FloorAt = Callable[[float, float, np.ndarray, np.ndarray], float | None]


@dataclass(frozen=True)
class Guess:
    """How good the eigenpairs are to be that a certificate starts from: a relative tolerance, or a residual that does
    not matter, within so many products.
    """

    tolerance: float = GUESS
    slack: float = 0.0
    products: int = 10_000

    def enough(self, peak: float) -> Callable[[np.ndarray, np.ndarray], bool] | None:
        """As `smallest_eigenpairs` wants it, of a direction over its peak; None for the tolerance alone."""
        if self.slack == 0.0:
            return None
        return lambda values, found: bool(
            np.all(found <= np.maximum(self.tolerance * np.abs(values), self.slack / peak))
        )


@dataclass(frozen=True)
class EigenvalueSum:
    """The sum of the `count` smallest eigenvalues of symmetric directions (n, n), from below."""

    n: int
    count: int
    limits: CertificateLimits = LIMITS

    def certified(self, direction: Direction, slack: float, deadline: Deadline) -> float | None:
        """At most the sum, rounding errors included; None if it is out of reach, of the limits or of the deadline.

        slack: how much less each eigenvalue may be, where that makes the proof cheaper.
        """
        if self.n <= self._by_lapack:
            # LAPACK is not interrupted.
            return self._dense_sum(direction.dense()) if deadline.affords(self._lapack_seconds) else None
        sparse = direction.sparse()
        dense = self.n <= (self.limits.dense if sparse is None else self.limits.written_out)
        if sparse is not None and self.count == 1 and deadline.affords(ORDERING * sparse.nnz):
            band = Band(sparse)
            if band.size <= (4 * self.n**2 if dense else self.limits.band_bytes):
                return self._by_band(direction, band, slack, deadline)
        if not (dense and deadline.affords(dense_seconds(self.n))):
            return None
        return self._by_cholesky(direction, sparse, slack, deadline)

    def probable(
        self, direction: Direction, failure: float, rng: np.random.Generator, slack: float, deadline: Deadline
    ) -> float | None:
        """At most the sum, but for a probability `failure` over what is drawn here."""

        def floor(guess: float, error: float, vectors: np.ndarray, weights: np.ndarray) -> float | None:
            peak = direction.peak()
            products, lifting = direction.over(peak), vectors * (weights / peak)

            def multiply(b: np.ndarray) -> np.ndarray:
                return products(b) + lifting @ (vectors.T @ b)

            found = random_floor(multiply, self.n, guess / peak, failure, rng, slack=slack / peak, deadline=deadline)
            return None if found is None else peak * found

        # Of several eigenvectors, all that is wrong with their values is lost.
        coarse = Guess(COARSE, max(slack, COARSE_RESIDUAL * direction.peak())) if self.count == 1 else Guess()
        return self._by_definiteness(direction, coarse, floor, deadline.part(GUESSING))

    def seconds(self, direction: Direction, product: float) -> float:
        """What `certified` takes, or else `probable`, roughly; as if there was no band: to find it takes longer than it
        takes to be factorised. product: seconds of one with the direction.
        """
        guess = GUESSED * product
        if self.n <= self._by_lapack:
            return self._lapack_seconds
        if self.n <= (self.limits.dense if direction.sparse() is None else self.limits.written_out):
            return guess + dense_seconds(self.n)
        return GUESSING * guess + BLOCK * LOOK * product

    @property
    def _by_lapack(self) -> int:
        """Largest n whose sum comes from LAPACK."""
        return self.limits.eigenvalues if self.count == 1 else self.limits.several_eigenvalues

    @property
    def _lapack_seconds(self) -> float:
        """To make a matrix tridiagonal takes 4 n^3 / 3 operations, done three times as slowly as those of products."""
        return 3.0 * seconds_of(4.0 / 3.0 * self.n**3)

    def _dense_sum(self, matrix: np.ndarray) -> float:
        values = some_eigenvalues(matrix, 0, self.count - 1)
        return float(values.sum()) - self.count * rounding_error(matrix)

    def _by_band(self, direction: Direction, band: Band, slack: float, deadline: Deadline) -> float | None:
        if not deadline.affords(band.seconds):
            return None

        def floor(guess: float, error: float, vectors: np.ndarray, weights: np.ndarray) -> float | None:
            return band.floor(guess, error, slack, deadline)

        return self._by_definiteness(
            direction, Guess(SINGLE, slack, band.products), floor, deadline.keeping(band.seconds)
        )

    def _by_cholesky(
        self, direction: Direction, sparse: sp.csr_array | None, slack: float, deadline: Deadline
    ) -> float | None:
        # Of several eigenvectors a residual as small as what may be lost is no loss beside it.
        guess, errs = Guess(slack=slack if self.count > 1 else 0.0), False
        if sparse is not None and self.count == 1:
            guess = Guess(SINGLE, slack, worth(self.n * self.n / 3.0, sparse.nnz / self.n))
            errs = True

        def floor(at: float, error: float, vectors: np.ndarray, weights: np.ndarray) -> float | None:
            # Others are far better than their residual tells, and a second factorisation costs more than a failed one.
            error = error if errs else 0.0
            fresh, matrix = not direction.keeps_array, direction.dense()
            matrix = matrix.T if matrix.strides[0] < matrix.strides[1] else matrix
            return dense_floor(matrix, at, error, vectors, weights, slack, deadline, overwrite=fresh)

        return self._by_definiteness(direction, guess, floor, deadline.keeping(dense_seconds(self.n)))

    def _by_definiteness(self, direction: Direction, guess: Guess, floor: FloorAt, deadline: Deadline) -> float | None:
        """By the dual of Ky Fan's sum: where V + W >= t I (semidefinite) for a W >= 0, and 0 <= X <= I with tr X = k,

            <V, X>  >=  k t - <W, X>  >=  k t - tr W.

        With (theta_i, u_i) the k smallest eigenpairs, W = sum (theta_k - theta_i) u_i u_i^T and t = theta_k make it an
        equation. It holds for any W, so those of an iteration will do, and t is what has to be certified: `floor` is
        given theta_k, about how wrong it may be, the u_i and their weights, and returns a lower bound on the smallest
        eigenvalue of V + W. deadline: of the iteration.
        """
        peak = direction.peak()
        if peak == 0.0:
            return 0.0
        pairs = smallest_eigenpairs(
            direction.over(peak),
            self.n,
            self.count,
            tolerance=guess.tolerance,
            rng=np.random.default_rng(0),
            max_products=guess.products,
            enough=guess.enough(peak),
            should_stop=deadline.should_stop,
        )
        values = peak * pairs.values
        weights = np.maximum(values[-1] - values, 0.0)
        lifted = weights > 0.0
        vectors, weights = pairs.vectors[:, lifted], weights[lifted]
        t = floor(float(values[-1]), peak * float(pairs.residuals[-1]), vectors, weights)
        if t is None:
            return None
        trace = float(weights @ np.square(vectors).sum(axis=0)) * (1.0 + (self.n + self.count) * _EPS)
        return (self.count * t - trace) - 4 * _EPS * (self.count * abs(t) + trace)


@dataclass(frozen=True)
class LargestSingularValue:
    """-radius sigma_1(V) for directions V (m, n), from below: the minimum over the nuclear ball."""

    shape: tuple[int, int]
    radius: float
    limits: CertificateLimits = LIMITS

    def certified(self, direction: Direction, deadline: Deadline) -> float | None:
        """sigma_1^2 is the largest eigenvalue of V^T V, whose entries, as computed, err by m u (|V|^T |V|)_ij, and
        that matrix by m u |V|_F^2 at most. None if it is out of reach, of the limits or of the deadline.
        """
        limits, short = self.limits, min(self.shape)
        # LAPACK is not interrupted.
        if short > max(limits.eigenvalues, limits.gram) or not deadline.affords(self._dense_seconds):
            return None
        if short <= limits.eigenvalues:
            matrix = direction.dense()
            return -self.radius * (float(np.linalg.norm(matrix, 2)) + rounding_error(matrix))
        peak = direction.peak()
        if peak == 0.0:
            return 0.0
        top = largest_singular_triplet(
            direction.over(peak),
            direction.transposed().over(peak),
            self.shape,
            tolerance=GUESS,
            rng=np.random.default_rng(0),
            should_stop=deadline.keeping(self._dense_seconds).should_stop,
        )
        if not deadline.affords(self._dense_seconds):
            return None
        square = _gram(direction.scaled(1.0 / peak), deadline)
        if square is None:
            return None
        # |V|_F^2 is the trace.
        error = (max(self.shape) + 4) * _EPS * float(np.trace(square)) * (1.0 + 1e-6)
        np.negative(square, out=square)
        floor = dense_floor(square, -(top.value**2), deadline=deadline, overwrite=True)
        return None if floor is None else self._minimum(peak, error - floor)

    def probable(
        self, direction: Direction, failure: float, rng: np.random.Generator, slack: float, deadline: Deadline
    ) -> float | None:
        """The same, but for a probability `failure` over what is drawn here; so much less than it might be."""
        peak = direction.peak()
        if peak == 0.0:
            return 0.0
        forth, back = direction.over(peak), direction.transposed().over(peak)
        if self.shape[1] > self.shape[0]:
            forth, back = back, forth
        sides = max(self.shape), min(self.shape)
        should_stop = deadline.part(GUESSING).should_stop
        top = largest_singular_triplet(
            forth, back, sides, tolerance=GUESS, rng=np.random.default_rng(0), should_stop=should_stop
        )
        # The square of the largest singular value may be larger by so much.
        room = 2.0 * top.value * slack / (self.radius * peak)
        floor = random_floor(
            lambda b: -back(forth(b)), sides[1], -(top.value**2), failure, rng, slack=room, deadline=deadline
        )
        return None if floor is None else self._minimum(peak, -floor)

    def seconds(self, product: float) -> float:
        """What `certified` takes, or else `probable`, roughly. product: seconds of one with V, and then with V^T."""
        if min(self.shape) <= max(self.limits.eigenvalues, self.limits.gram):
            return self._dense_seconds + GUESSED * product
        return (GUESSING * GUESSED + BLOCK * LOOK) * product

    @property
    def _dense_seconds(self) -> float:
        """Of a singular value by LAPACK, 4 m n^2 operations done three times as slowly as those of products; or of
        V^T V and its factorisation.
        """
        long, short = max(self.shape), min(self.shape)
        if short <= self.limits.eigenvalues:
            return 3.0 * seconds_of(4.0 * long * short**2)
        return seconds_of(long * short**2) + dense_seconds(short)

    def _minimum(self, peak: float, square: float) -> float:
        """At most -radius sigma_1, given that (sigma_1 / peak)^2 is at most `square`."""
        return -self.radius * peak * float(np.sqrt(max(square, 0.0))) * (1.0 + 8 * _EPS)


def _gram(direction: Direction, deadline: Deadline) -> np.ndarray | None:
    """V^T V of a direction, or V V^T where that is the smaller one; None once time is up."""
    sparse = direction.sparse()
    if sparse is not None:
        sparse = sparse if sparse.shape[1] <= sparse.shape[0] else sp.csr_array(sparse.T)
        if panels.sparse_gram_pays(sparse):
            return panels.sparse_gram(sparse, deadline.should_stop)
    matrix = direction.dense()
    return panels.gram(matrix if matrix.shape[1] <= matrix.shape[0] else matrix.T, deadline.should_stop)
