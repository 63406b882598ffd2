"""Some entries of a matrix that is known by its factors, L diag(w) R^T."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from cgm_cli.numerics.compiled import compiled, pays
from cgm_cli.numerics.threads import allowed, share

NUMPY_BELOW = 1 << 17
"""Products up to which columns are gone over by NumPy: to load compiled code takes half a second."""


@compiled
def _entries(
    left: np.ndarray,
    right: np.ndarray,
    rows: np.ndarray,
    columns: np.ndarray,
    out: np.ndarray,
    first: int,
    last: int,
) -> None:
    for k in range(first, last):
        i, j, total = rows[k], columns[k], 0.0
        for r in range(left.shape[1]):
            total += left[i, r] * right[j, r]
        out[k] = total


def entries(
    left: np.ndarray, weights: np.ndarray, right: np.ndarray, rows: np.ndarray, columns: np.ndarray
) -> np.ndarray:
    """Those at (rows_k, columns_k), (k,), for left (m, r), weights (r,) and right (n, r)."""
    out = np.zeros(rows.size)
    if not pays(rows.size * weights.size, NUMPY_BELOW):
        for column, weight in enumerate(weights):
            first, second = left[:, column] * weight, np.ascontiguousarray(right[:, column])
            out += first[rows] * second[columns]
        return out
    weighted, other = np.ascontiguousarray(left * weights), np.ascontiguousarray(right)
    cuts = np.linspace(0, rows.size, 4 * allowed() + 1).astype(int)
    share(_entries, [(weighted, other, rows, columns, out, a, b) for a, b in pairwise(cuts.tolist())])
    return out
