"""Spectral domains: sets of matrices, defined by their eigen- or singular values, whose LMO needs products alone."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.linalg

from cgm_cli.blocks.atoms import Atom, LowRankAtom
from cgm_cli.blocks.directions import Direction
from cgm_cli.blocks.domains.base import Domain, OracleAnswer, OracleRequest
from cgm_cli.numerics.chebyshev import LOOK, random_floor
from cgm_cli.numerics.deadline import NEVER, Deadline, seconds_of
from cgm_cli.numerics.definite import Band, dense_floor, dense_seconds, worth
from cgm_cli.numerics.eigen import Eigenpairs, rounding_error, smallest_eigenpairs
from cgm_cli.numerics.svd import SingularTriplet

EIGENVALUES = 1000
"""Largest n whose minimum is certified by one eigen- or singular value: beyond, a factorisation costs less than it."""

BAND_BYTES = 10**9
"""The most that a band may take. Its factorisation then takes a minute at the worst."""

WRITTEN_OUT = 4000
"""Largest n of a sparse direction that is written out where it is no narrow band."""

SEVERAL_EIGENVALUES = 4000
"""The same where several eigenvectors are needed: those that a factorisation starts from cost more than it does."""

DENSE_CERTIFICATE = 10_000
"""Largest n of a dense symmetric matrix that is proven definite: half a minute and 1.6 GB at this size."""

GUESS, SINGLE = 1e-6, 1e-8
"""Relative residual of the eigenvectors that a certificate starts from, and of one alone, whose products are cheap. Of
their values nearly its square counts.
"""

ORDERING = 1e-6
"""Seconds that it takes to find out how wide a band is, per entry of the matrix."""

GUESSED, BLOCK = 100, 4.0
"""Products that a guess takes, roughly; and what one with the block of vectors of a probable bound costs, in products
with one vector.
"""

GUESSING = 0.25
"""The share of the time that is left for a probable bound that its guess may take."""

Floor = Callable[[float, float, np.ndarray, np.ndarray], float | None]


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


_EPS = float(np.finfo(float).eps)


class SpectralDomain(Domain):
    """A domain of matrices that is defined by their eigen- or singular values; a subclass says how its extreme points
    are found (`extreme`).

    It contains U X W^T with X, for all orthogonal U and W (for symmetric matrices, W = U) that leave alone what is
    `known` of every point.
    """

    shape: tuple[int, int]
    spectral = True
    trace: float
    """The largest sum of singular values of a point; with `fixed_trace`, of every point."""
    fixed_trace: bool
    provable: int
    """The largest smaller side whose dense directions are certified."""
    count: int = 1
    """The rank of the extreme points."""
    on_whole_sphere = False
    """Whether what factors of the right size stand for is a point of it, or near one, whatever else they are."""
    known: np.ndarray | None = None
    """Orthonormal columns (n, p) that are eigenvectors of the eigenvalue one of every point; None: there are none."""

    @property
    def rest(self) -> SpectralDomain:
        """What points may be beside the part that is `known`: a domain of which nothing is."""
        return self

    def lmo(self, direction: Direction, request: OracleRequest) -> OracleAnswer:
        peak = direction.peak()
        if peak == 0.0:
            return OracleAnswer(self.start(), 0.0, 0.0, exact=True, warm=request.warm)
        return self.extreme(direction, peak, request)

    @abstractmethod
    def extreme(self, direction: Direction, peak: float, request: OracleRequest) -> OracleAnswer:
        """The answer of `lmo` to a direction V that is not zero; peak: its largest entry in magnitude.

        The solver is to be given V / peak: an LMO is scale-invariant, and a solver that squares 1e+-170 is not.
        """

    @abstractmethod
    def restricted(self, left: np.ndarray, right: np.ndarray) -> SpectralDomain | None:
        """The matrices S with U S W^T in X for orthonormal columns U = left, and W = right, which span what is `known`.

        None where those are too few columns for it to be non-empty.
        """

    def admitted(self, values: np.ndarray) -> np.ndarray | None:
        """Singular values of a point like these, which are positive and whose sum is at most `trace`, or equal to it
        with `fixed_trace`. None where there is no point of this rank.
        """
        return values

    @abstractmethod
    def project(self, x: np.ndarray) -> np.ndarray:
        """The nearest point of X, by a full decomposition."""

    def rounding(self, direction: Direction) -> float:
        return 0.0


class EigenDomain(SpectralDomain):
    """Symmetric matrices n x n with extreme points `weight` U U^T, U of `count` orthonormal columns.

    LMO: by the eigenvectors of the `count` smallest eigenvalues of V (Ky Fan), whose sum times `weight` is the minimum.
    """

    symmetric = True
    takes_rough = True
    provable = DENSE_CERTIFICATE
    weight: float

    def extreme(self, direction: Direction, peak: float, request: OracleRequest) -> OracleAnswer:
        scale = self.weight * peak
        pairs = smallest_eigenpairs(
            direction.over(peak),
            self.shape[0],
            self.count,
            enough=_enough_pairs(request, scale),
            rough=direction.rough(peak, self.count),
            **solver_options(replace(request, max_products=request.max_products * self.count)),
        )
        atom = LowRankAtom.symmetric(pairs.vectors, np.full(self.count, self.weight))
        return answer(pairs, pairs.values, pairs.residuals, scale, atom, pairs.start)

    def project(self, x: np.ndarray) -> np.ndarray:
        """The symmetric part of x with its eigenvalues replaced by the nearest ones (spectral sets project so)."""
        values, vectors = scipy.linalg.eigh(0.5 * (x + x.T))
        return (vectors * self.nearest_eigenvalues(values)) @ vectors.T

    @abstractmethod
    def nearest_eigenvalues(self, values: np.ndarray) -> np.ndarray:
        """The nearest vector of eigenvalues that a point of X may have."""

    def dense_minimum(self, matrix: np.ndarray) -> float:
        """A number that is at most min <matrix, x> over X, rounding errors included, by LAPACK."""
        values = scipy.linalg.eigvalsh(matrix, subset_by_index=(0, self.count - 1))
        return self.least(float(values.sum()) - self.count * rounding_error(matrix))

    def least(self, total: float) -> float:
        """The minimum that goes with the sum of the `count` smallest eigenvalues."""
        return self.weight * total

    def certified_minimum(self, direction: Direction, slack: float = 0.0, deadline: Deadline = NEVER) -> float | None:
        if self.shape[0] <= self._by_eigenvalues:
            # LAPACK is not interrupted.
            return self.dense_minimum(direction.dense()) if deadline.affords(self._eigenvalue_seconds) else None
        n, sparse, slack = self.shape[0], direction.sparse(), slack / (self.weight * self.count)
        dense = n <= (DENSE_CERTIFICATE if sparse is None else WRITTEN_OUT)
        if sparse is not None and self.count == 1 and deadline.affords(ORDERING * sparse.nnz):
            band = Band(sparse)
            if band.size <= (4 * n * n if dense else BAND_BYTES):
                if not deadline.affords(band.seconds):
                    return None
                guess = Guess(SINGLE, slack, band.products)
                floor = lambda at, error, *_: band.floor(at, error, slack, deadline)  # noqa: E731
                return self._by_definiteness(direction, guess, floor, deadline.keeping(band.seconds))
        if not (dense and deadline.affords(dense_seconds(n))):
            return None
        soon = deadline.keeping(dense_seconds(n))
        if sparse is not None and self.count == 1:
            guess = Guess(SINGLE, slack, worth(n * n / 3.0, sparse.nnz / n))
            floor = lambda *at: dense_floor(direction.dense(), *at, slack=slack, deadline=deadline)  # noqa: E731
            return self._by_definiteness(direction, guess, floor, soon)

        def floor(at: float, error: float, *lift: np.ndarray) -> float | None:
            # The guess is far better than its residual tells, and a second factorisation costs more than a failed one.
            return dense_floor(direction.dense(), at, 0.0, *lift, slack=slack, deadline=deadline)

        return self._by_definiteness(direction, Guess(), floor, soon)

    def probable_minimum(
        self, direction: Direction, failure: float, rng: np.random.Generator, deadline: Deadline = NEVER
    ) -> float | None:
        def floor(guess: float, error: float, vectors: np.ndarray, weights: np.ndarray) -> float | None:
            peak = direction.peak()
            products, lifting = direction.over(peak), vectors * (weights / peak)

            def multiply(b: np.ndarray) -> np.ndarray:
                return products(b) + lifting @ (vectors.T @ b)

            found = random_floor(multiply, self.shape[0], guess / peak, failure, rng, deadline=deadline)
            return None if found is None else peak * found

        return self._by_definiteness(direction, Guess(), floor, deadline.part(GUESSING))

    @property
    def _by_eigenvalues(self) -> int:
        """Largest n whose minimum is certified by eigenvalues."""
        return EIGENVALUES if self.count == 1 else SEVERAL_EIGENVALUES

    @property
    def _eigenvalue_seconds(self) -> float:
        """To make a matrix tridiagonal takes 4 n^3 / 3 operations, done three times as slowly as those of products."""
        return 3.0 * seconds_of(4.0 / 3.0 * self.shape[0] ** 3)

    def certificate_seconds(self, direction: Direction, product: float) -> float:
        """As if there was no band: to find it takes longer than it takes to be factorised."""
        n, guess = self.shape[0], GUESSED * product
        if n <= self._by_eigenvalues:
            return self._eigenvalue_seconds
        if n <= (DENSE_CERTIFICATE if direction.sparse() is None else WRITTEN_OUT):
            return guess + dense_seconds(n)
        return GUESSING * guess + BLOCK * LOOK * product

    def _by_definiteness(self, direction: Direction, guess: Guess, floor: Floor, deadline: Deadline) -> float | None:
        """By the dual of Ky Fan's sum: where V + W >= t I (semidefinite) for a W >= 0, and 0 <= X <= I with tr X = k,

            <V, X>  >=  k t - <W, X>  >=  k t - tr W.

        With (theta_i, u_i) the k smallest eigenpairs, W = sum (theta_k - theta_i) u_i u_i^T and t = theta_k make it an
        equation. It holds for any W, so those of an iteration will do, and t is what has to be certified: `floor` is
        given theta_k, about how wrong it may be, the u_i and their weights, and returns a lower bound on the smallest
        eigenvalue of V + W. deadline: of the iteration.
        """
        peak = direction.peak()
        if peak == 0.0:
            return self.least(0.0)
        pairs = smallest_eigenpairs(
            direction.over(peak),
            self.shape[0],
            self.count,
            tolerance=guess.tolerance,
            rng=np.random.default_rng(0),
            max_products=guess.products,
            enough=guess.enough(peak),
            leave=deadline.should_stop,
        )
        values = peak * pairs.values
        weights = np.maximum(values[-1] - values, 0.0)
        lifted = weights > 0.0
        vectors, weights = pairs.vectors[:, lifted], weights[lifted]
        t = floor(float(values[-1]), peak * float(pairs.residuals[-1]), vectors, weights)
        if t is None:
            return None
        trace = float(weights @ np.square(vectors).sum(axis=0)) * (1.0 + (self.shape[0] + self.count) * _EPS)
        return self.least((self.count * t - trace) - 4 * _EPS * (self.count * abs(t) + trace))


def answer(
    found: Eigenpairs | SingularTriplet,
    values: np.ndarray,
    residuals: np.ndarray,
    scale: float,
    atom: Atom,
    warm: np.ndarray,
) -> OracleAnswer:
    """The answer with the minimum scale * (sum of values), each of which is wrong by its residual at most, as far as
    the solver can tell.
    """
    value = float(values.sum())
    return OracleAnswer(
        atom,
        scale * value,
        scale * (value - float(residuals.sum())),
        exact=found.exact,
        products=found.products,
        residual=float(np.max(residuals / np.maximum(np.abs(values), np.finfo(float).tiny))),
        converged=found.converged,
        warm=warm,
    )


def solver_options(request: OracleRequest) -> dict[str, Any]:
    """What an eigen- or singular-value solver takes from a request, apart from when it is enough."""
    return {
        "tolerance": request.tolerance,
        "rng": request.rng,
        "start": request.warm,
        "max_products": request.max_products,
        "leave": request.leave,
    }


def _enough_pairs(request: OracleRequest, scale: float) -> Callable[[np.ndarray, np.ndarray], bool] | None:
    """The stopping rule of an eigen-solver: the answer, scale * (sum of values), lies within the allowance of the
    minimum.

    The distance is estimated by the sum of the residuals: each value has an eigenvalue that near, though it need not be
    the one sought. An estimate, therefore, and no proof.
    """
    if request.allowance is None:
        return None
    return lambda values, residuals: scale * residuals.sum() <= request.allowance(scale * float(values.sum()))


def is_symmetric(x: np.ndarray, slack: float) -> bool:
    """Whether |x - x^T| <= slack entrywise."""
    return bool(np.abs(x - x.T).max(initial=0.0) <= slack)
