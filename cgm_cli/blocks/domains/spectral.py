"""What the spectral domains share: scaled products for the eigen-solver, and the dense certificate."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import scipy.linalg

from cgm_cli.blocks.directions import Direction
from cgm_cli.numerics.eigen import rounding_error

DENSE_CERTIFICATE = 4000
"""Largest n whose eigenvalues are certified by a full factorisation: about 10 s and 0.4 GB at this size."""


def scaled_product(direction: Direction, peak: float) -> Callable[[np.ndarray], np.ndarray]:
    """B -> (V / peak) B. An LMO is scale-invariant, and an eigen-solver that squares 1e+-170 is not."""
    return lambda block: direction.matmat(block) / peak


def smallest_sum(direction: Direction, count: int) -> float:
    """A lower bound on the sum of the `count` smallest eigenvalues of V, by LAPACK, less its rounding error."""
    matrix = direction.dense()
    values = scipy.linalg.eigvalsh(matrix, subset_by_index=(0, count - 1))
    return float(values.sum()) - count * rounding_error(matrix)


def is_symmetric(x: np.ndarray, slack: float) -> bool:
    """Whether |x - x^T| <= slack entrywise."""
    return bool(np.abs(x - x.T).max(initial=0.0) <= slack)
