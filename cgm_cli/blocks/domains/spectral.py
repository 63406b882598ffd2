"""Spectral domains: sets of matrices, defined by their eigen- or singular values, whose LMO needs products alone."""

from __future__ import annotations

import copy
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import replace
from typing import Self, TypedDict

import numpy as np

from cgm_cli.blocks.atoms import Atom, LowRankAtom
from cgm_cli.blocks.directions import Direction
from cgm_cli.blocks.domains.base import Domain, OracleAnswer, OracleRequest
from cgm_cli.blocks.domains.certificates import LIMITS, CertificateLimits, EigenvalueSum
from cgm_cli.blocks.domains.factorable import EigenvalueSet, Factorable, SingularValueSet
from cgm_cli.numerics.deadline import NEVER, Deadline
from cgm_cli.numerics.eigen import Eigenpairs, smallest_eigenpairs
from cgm_cli.numerics.eigh import eigenpairs
from cgm_cli.numerics.svd import SingularTriplet
from cgm_cli.numerics.symmetric import Multiply

ROUGH = 8
"""Products with a block that its eigenvectors are known by: they are to begin with, and descent makes them better."""


class SpectralDomain(Domain):
    """A domain of matrices that is defined by their eigen- or singular values (see `Factorable`); a subclass says how
    its extreme points are found (`extreme`).
    """

    spectral = True
    trace: float
    fixed_trace: bool
    count: int = 1
    on_whole_sphere: bool = False
    likely_rank: int | None = None
    known: np.ndarray | None = None
    limits: CertificateLimits = LIMITS
    """Up to which sizes minima are certified."""

    @property
    def factors(self) -> Factorable:
        return self

    @property
    def rest(self) -> SpectralDomain:
        return self

    def within(self, limits: CertificateLimits) -> Self:
        """The same domain with other limits."""
        other = copy.copy(self)
        other.limits = limits
        return other

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
        """See `Factorable`."""

    def admitted(self, values: np.ndarray) -> np.ndarray | None:
        return values

    @property
    def singular_values(self) -> SingularValueSet | None:
        return None

    def several(self, direction: Direction, count: int, request: OracleRequest) -> tuple[np.ndarray, LowRankAtom]:
        """See `Factorable`; here of symmetric matrices."""
        peak = direction.peak() or 1.0
        found = roughly(direction.over(peak), self.shape[0], count, request)
        return peak * found.values, LowRankAtom.symmetric(found.vectors, np.ones(found.values.size))

    def rounding(self, direction: Direction) -> float:
        return 0.0


class EigenDomain(SpectralDomain):
    """Symmetric matrices n x n with extreme points `weight` U U^T, U of `count` orthonormal columns.

    LMO: by the eigenvectors of the `count` smallest eigenvalues of V (Ky Fan), whose sum times `weight` is the minimum.
    """

    symmetric = True
    takes_single_precision = True
    weight: float

    @property
    def eigenvalues(self) -> EigenvalueSet:
        return self

    def provable(self, dense: bool) -> int:
        return self.limits.dense if dense else self.limits.written_out

    def extreme(self, direction: Direction, peak: float, request: OracleRequest) -> OracleAnswer:
        scale = self.weight * peak
        pairs = smallest_eigenpairs(
            direction.over(peak),
            self.shape[0],
            self.count,
            enough=_enough_pairs(request, scale),
            single_precision=direction.single_precision(peak, self.count),
            **solver_options(replace(request, max_products=request.max_products * self.count)),
        )
        atom = LowRankAtom.symmetric(pairs.vectors, np.full(self.count, self.weight))
        return answer(pairs, pairs.values, pairs.residuals, scale, atom, pairs.start)

    def project(self, x: np.ndarray) -> np.ndarray:
        """The symmetric part of x with its eigenvalues replaced by the nearest ones (spectral sets project so)."""
        values, vectors = eigenpairs(0.5 * (x + x.T))
        return (vectors * self.nearest_eigenvalues(values)) @ vectors.T

    def parallel(self, direction: np.ndarray) -> np.ndarray:
        """Without its multiple of the identity, where the trace is fixed."""
        if not self.fixed_trace:
            return direction
        return direction - np.trace(direction) / self.shape[0] * np.eye(self.shape[0])

    @abstractmethod
    def nearest_eigenvalues(self, values: np.ndarray) -> np.ndarray:
        """The nearest vector of eigenvalues that a point of X may have."""

    def least(self, total: float) -> float:
        """The minimum that goes with the sum of the `count` smallest eigenvalues."""
        return self.weight * total

    def certified_minimum(self, direction: Direction, slack: float = 0.0, deadline: Deadline = NEVER) -> float | None:
        found = self._sum.certified(direction, slack / (self.weight * self.count), deadline)
        return None if found is None else self.least(found)

    def probable_minimum(
        self,
        direction: Direction,
        failure: float,
        rng: np.random.Generator,
        slack: float = 0.0,
        deadline: Deadline = NEVER,
    ) -> float | None:
        found = self._sum.probable(direction, failure, rng, slack / (self.weight * self.count), deadline)
        return None if found is None else self.least(found)

    def certificate_seconds(self, direction: Direction, product: float) -> float:
        return self._sum.seconds(direction, product)

    @property
    def _sum(self) -> EigenvalueSum:
        return EigenvalueSum(self.shape[0], self.count, self.limits)


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


class SolverOptions(TypedDict):
    """What an eigen- or singular-value solver takes from a request, apart from when it is enough."""

    tolerance: float
    rng: np.random.Generator
    start: np.ndarray | None
    max_products: int
    should_stop: Callable[[], bool]


def solver_options(request: OracleRequest) -> SolverOptions:
    """Those of a request; a spectral domain's `warm` is one array."""
    assert not isinstance(request.warm, tuple)
    return {
        "tolerance": request.tolerance,
        "rng": request.rng,
        "start": request.warm,
        "max_products": request.max_products,
        "should_stop": request.should_stop,
    }


def _enough_pairs(request: OracleRequest, scale: float) -> Callable[[np.ndarray, np.ndarray], bool] | None:
    """The stopping rule of an eigen-solver: the answer, scale * (sum of values), lies within the allowance of the
    minimum.

    The distance is estimated by the sum of the residuals: each value has an eigenvalue that near, though it need not be
    the one sought. An estimate, therefore, and no proof.
    """
    allowance = request.allowance
    if allowance is None:
        return None
    return lambda values, residuals: scale * residuals.sum() <= allowance(scale * float(values.sum()))


def roughly(multiply: Multiply, n: int, count: int, request: OracleRequest) -> Eigenpairs:
    """The `count` smallest eigenpairs (of n, at the most) as well as a few products with a block tell."""
    count = min(count, n)
    rough = replace(request, tolerance=1e-2, max_products=ROUGH * count)
    return smallest_eigenpairs(multiply, n, count, **solver_options(rough))


def is_symmetric(x: np.ndarray, slack: float) -> bool:
    """Whether |x - x^T| <= slack entrywise."""
    return bool(np.abs(x - x.T).max(initial=0.0) <= slack)
