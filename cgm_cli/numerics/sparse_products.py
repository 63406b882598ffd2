"""Products of a sparse matrix with a block of many columns, by bands of rows that the threads share.

Four entries of a row are taken at once, so that the row of the product is gone over a fourth as often: half of what
SciPy's takes (11 and 22 ms for 380,000 entries and 150 columns). No number depends on how many threads there are.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from cgm_cli.numerics.bands import BAND, by_bands
from cgm_cli.numerics.compiled import compiled, pays

SCIPY_BELOW = 1 << 20
"""Products of numbers up to which SciPy's is taken: to load compiled code takes half a second."""


@compiled
def _multiply_bands(
    data: np.ndarray,
    indices: np.ndarray,
    starts: np.ndarray,
    block: np.ndarray,
    out: np.ndarray,
    sums: np.ndarray,
    first: int,
    last: int,
) -> None:
    columns = block.shape[1]
    for i in range(first * BAND, min(last * BAND, out.shape[0])):
        row = out[i]
        for j in range(columns):
            row[j] = 0.0
        k, end = starts[i], starts[i + 1]
        while k + 4 <= end:
            a0, a1, a2, a3 = data[k], data[k + 1], data[k + 2], data[k + 3]
            b0, b1, b2, b3 = block[indices[k]], block[indices[k + 1]], block[indices[k + 2]], block[indices[k + 3]]
            for j in range(columns):
                row[j] += a0 * b0[j] + a1 * b1[j] + a2 * b2[j] + a3 * b3[j]
            k += 4
        while k < end:
            entry, other = data[k], block[indices[k]]
            for j in range(columns):
                row[j] += entry * other[j]
            k += 1


def product(matrix: sp.csr_array, block: np.ndarray) -> np.ndarray:
    """matrix @ block for a matrix (m, n) and a block (n, r), or a vector (n,)."""
    if block.ndim == 1 or not pays(matrix.nnz * block.shape[1], SCIPY_BELOW):
        return matrix @ block
    out = np.empty((matrix.shape[0], block.shape[1]))
    rows = matrix.data, matrix.indices, matrix.indptr
    by_bands(_multiply_bands, out.shape, 0, *rows, np.ascontiguousarray(block), out)
    return out
