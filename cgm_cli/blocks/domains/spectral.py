"""Spectral domains: sets of matrices, defined by their eigen- or singular values, whose LMO needs products alone."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.linalg

from cgm_cli.blocks.atoms import Atom, LowRankAtom
from cgm_cli.blocks.directions import Direction
from cgm_cli.blocks.domains.base import Domain, OracleAnswer, OracleRequest
from cgm_cli.numerics.eigen import Eigenpairs, rounding_error, smallest_eigenpairs
from cgm_cli.numerics.svd import SingularTriplet

DENSE_CERTIFICATE = 4000
"""Largest n whose eigenvalues are certified by a full factorisation: about 10 s and 0.4 GB at this size."""


class SpectralDomain(Domain):
    """A domain that contains U X W^T with X, for all orthogonal U and W (for symmetric matrices, W = U).

    A subclass says how its extreme points are found (`extreme`) and what its dense certificate is (`dense_minimum`).
    """

    shape: tuple[int, int]
    spectral = True
    trace: float
    """The largest sum of singular values of a point; with `fixed_trace`, of every point."""
    fixed_trace: bool

    def lmo(self, direction: Direction, request: OracleRequest) -> OracleAnswer:
        peak = direction.peak()
        if peak == 0.0:
            return OracleAnswer(self.start(), 0.0, 0.0, warm=request.warm)
        return self.extreme(direction, peak, request)

    @abstractmethod
    def extreme(self, direction: Direction, peak: float, request: OracleRequest) -> OracleAnswer:
        """The answer of `lmo` to a direction V that is not zero; peak: its largest entry in magnitude.

        The solver is to be given V / peak: an LMO is scale-invariant, and a solver that squares 1e+-170 is not.
        """

    @abstractmethod
    def restricted(self, left: int, right: int) -> SpectralDomain | None:
        """The left x right matrices S with U S W^T in X, for any orthonormal U and W.

        None where those are too few columns for it to be non-empty.
        """

    @abstractmethod
    def project(self, x: np.ndarray) -> np.ndarray:
        """The nearest point of X, by a full decomposition; meant for small matrices."""

    @abstractmethod
    def dense_minimum(self, matrix: np.ndarray) -> float:
        """A number that is at most min <matrix, x> over X, rounding errors included, by LAPACK."""

    def certified_minimum(self, direction: Direction) -> float | None:
        return self.dense_minimum(direction.dense()) if min(self.shape) <= DENSE_CERTIFICATE else None

    def rounding(self, direction: Direction) -> float:
        return 0.0


class EigenDomain(SpectralDomain):
    """Symmetric matrices n x n with extreme points `weight` U U^T, U of `count` orthonormal columns.

    LMO: by the eigenvectors of the `count` smallest eigenvalues of V (Ky Fan), whose sum times `weight` is the minimum.
    """

    symmetric = True
    count: int
    weight: float

    def extreme(self, direction: Direction, peak: float, request: OracleRequest) -> OracleAnswer:
        scale = self.weight * peak
        pairs = smallest_eigenpairs(
            scaled_product(direction, peak),
            self.shape[0],
            self.count,
            enough=_enough_pairs(request, scale),
            **solver_options(request),
        )
        atom = LowRankAtom.symmetric(pairs.vectors, np.full(self.count, self.weight))
        return answer(pairs, pairs.values, pairs.residuals, scale, atom, pairs.vectors)

    def project(self, x: np.ndarray) -> np.ndarray:
        """The symmetric part of x with its eigenvalues replaced by the nearest ones (spectral sets project so)."""
        values, vectors = scipy.linalg.eigh(0.5 * (x + x.T))
        return (vectors * self.nearest_eigenvalues(values)) @ vectors.T

    @abstractmethod
    def nearest_eigenvalues(self, values: np.ndarray) -> np.ndarray:
        """The nearest vector of eigenvalues that a point of X may have."""

    def dense_minimum(self, matrix: np.ndarray) -> float:
        values = scipy.linalg.eigvalsh(matrix, subset_by_index=(0, self.count - 1))
        return self.weight * (float(values.sum()) - self.count * rounding_error(matrix))


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


def scaled_product(direction: Direction, peak: float) -> Callable[[np.ndarray], np.ndarray]:
    """B -> (V / peak) B."""
    return lambda block: direction.matmat(block) / peak


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
