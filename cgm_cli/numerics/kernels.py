"""Fused passes over memory (numba, one thread), each beside the NumPy expression it equals.

One pass over an n x n array costs about what a copy costs; the chained NumPy expression of the same formula makes a pass, and a
temporary, per operation. Compiled code is cached on disk, so only the first run on a machine pays for compiling.
"""

from __future__ import annotations

import numba
import numpy as np
from scipy.linalg.blas import dgemm


@numba.njit(cache=True, fastmath=True)
def _blend_rank_one(x, keep, u, v):
    for i in range(x.shape[0]):
        ui = u[i]
        for j in range(x.shape[1]):
            x[i, j] = keep * x[i, j] + ui * v[j]


def blend_low_rank(x: np.ndarray, eta: float, left: np.ndarray, weights: np.ndarray, right: np.ndarray) -> None:
    """x <- (1 - eta) x + eta left diag(weights) right^T, in place, in one pass; x (m, n) C-contiguous."""
    if weights.size == 1:
        _blend_rank_one(x, 1.0 - eta, eta * weights[0] * left[:, 0], np.ascontiguousarray(right[:, 0]))
    else:
        # x.T is the Fortran-ordered view of x that BLAS updates in place.
        dgemm(eta, right * weights, left, beta=1.0 - eta, c=x.T, trans_b=True, overwrite_c=True)
