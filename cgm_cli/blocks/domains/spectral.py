"""What the spectral domains share: scaled products for the eigen-solver, and the dense certificate."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.linalg

from cgm_cli.blocks.directions import Direction
from cgm_cli.blocks.domains.base import OracleRequest
from cgm_cli.numerics.eigen import rounding_error

DENSE_CERTIFICATE = 4000
"""Largest n whose eigenvalues are certified by a full factorisation: about 10 s and 0.4 GB at this size."""


def scaled_product(direction: Direction, peak: float) -> Callable[[np.ndarray], np.ndarray]:
    """B -> (V / peak) B. An LMO is scale-invariant, and an eigen-solver that squares 1e+-170 is not."""
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


def enough_pairs(request: OracleRequest, scale: float) -> Callable[[np.ndarray, np.ndarray], bool] | None:
    """The stopping rule of an eigen-solver: the answer, scale * (sum of values), lies within the allowance of the
    minimum.

    The distance is estimated by the sum of the residuals: each value has an eigenvalue that near, though it need not be
    the one sought. An estimate, therefore, and no proof.
    """
    if request.allowance is None:
        return None
    return lambda values, residuals: scale * residuals.sum() <= request.allowance(scale * float(values.sum()))


def smallest_sum(direction: Direction, count: int) -> float:
    """A lower bound on the sum of the `count` smallest eigenvalues of V, by LAPACK, less its rounding error."""
    matrix = direction.dense()
    values = scipy.linalg.eigvalsh(matrix, subset_by_index=(0, count - 1))
    return float(values.sum()) - count * rounding_error(matrix)


def project_eigenvalues(x: np.ndarray, nearest: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
    """The symmetric part of x with its eigenvalues replaced by their projection."""
    values, vectors = scipy.linalg.eigh(0.5 * (x + x.T))
    return (vectors * nearest(values)) @ vectors.T


def is_symmetric(x: np.ndarray, slack: float) -> bool:
    """Whether |x - x^T| <= slack entrywise."""
    return bool(np.abs(x - x.T).max(initial=0.0) <= slack)
