"""The operator norm of an explicit matrix: as good as it can be had, and a bound that is never below it."""

from __future__ import annotations

from typing import cast

import numpy as np
import scipy.linalg as la
import scipy.sparse.linalg as spla

from cgm_cli.numerics.arrays import Matrix, is_sparse
from cgm_cli.numerics.eigh import some_eigenvalues

GRAM_SIDE = 512
"""The shorter side up to which the Gram matrix is formed and factorised: 3 ms at 256, 30 at 512, 270 at 1024."""

_EPS = float(np.finfo(float).eps)


def operator_norm(matrix: Matrix) -> float:
    """max |A x| / |x| for a two-dimensional dense or sparse array.

    Shorter side at most GRAM_SIDE: |A|^2 = lambda_max(A A^T) from a full factorisation, raised by its rounding. Longer:
    a Lanczos estimate raised by its tolerance (it can only be too small if the seeded start vector has no component
    along the answer); min(|A|_F, sqrt(|A|_1 |A|_inf)) if Lanczos fails, and never more than that.
    """
    peak = float(abs(matrix).max()) if min(matrix.shape) else 0.0
    if peak == 0.0:
        return 0.0
    scaled = cast(Matrix, matrix / peak)
    if min(scaled.shape) <= GRAM_SIDE:
        gram = scaled @ scaled.T if scaled.shape[0] <= scaled.shape[1] else scaled.T @ scaled
        gram = gram.toarray() if is_sparse(gram) else cast(np.ndarray, gram)
        top = some_eigenvalues(gram, gram.shape[0] - 1, gram.shape[0] - 1)[0]
        return peak * float(np.sqrt(top)) * (1.0 + 1e-13)
    limit = _cheap_bound(scaled)
    start = np.random.default_rng(0).standard_normal(min(scaled.shape))
    try:
        estimate = float(spla.svds(scaled, k=1, tol=1e-8, v0=start, return_singular_vectors=False)[0])
    except (spla.ArpackError, la.LinAlgError):
        return peak * limit
    return peak * min(limit, estimate * (1.0 + 1e-6))


def norm_bound(matrix: Matrix, norm: float) -> float:
    """At least |A|, rounding errors included: what a proof may rest on. norm: its `operator_norm`.

    Shorter side k at most GRAM_SIDE, longer m: the computed Gram matrix errs by m eps |A|_F^2 at most, its largest
    eigenvalue by k eps |A|_F^2. Longer: min(|A|_F, sqrt(|A|_1 |A|_inf)), since `norm` is an estimate.
    """
    peak = float(abs(matrix).max()) if min(matrix.shape) else 0.0
    if peak == 0.0:
        return 0.0
    scaled, rounding = cast(Matrix, matrix / peak), (sum(matrix.shape) + 8) * _EPS
    bound = _cheap_bound(scaled)
    if min(matrix.shape) <= GRAM_SIDE:
        frobenius = float(np.sqrt((scaled * scaled).sum()))
        bound = min(bound, float(np.hypot(norm / peak, np.sqrt(rounding) * frobenius)))
    return peak * bound * (1.0 + rounding)


def _cheap_bound(matrix: Matrix) -> float:
    size = abs(matrix)
    frobenius = float(np.sqrt((size * size).sum()))
    return min(frobenius, float(np.sqrt(size.sum(axis=0).max() * size.sum(axis=1).max())))
