"""Fused passes over the rows of tall matrices (n, r), each beside the NumPy expressions it equals: what a move of a
factor consists of where constraints see its rows alone. As in `cgm_cli.numerics.kernels`, threads share bands of rows,
and no number depends on how many threads there are.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from cgm_cli.numerics.compiled import REORDER, compiled
from cgm_cli.numerics.kernels import BAND, by_bands

FEW = 1 << 15
"""Passes over fewer entries are left to NumPy: they stay in a cache, where it takes little longer, and to load compiled
code takes half a second.
"""

SHARED = 1 << 19
"""Matrices of fewer entries stay in the caches of one core, and are left to it."""


@compiled(fastmath=REORDER, nogil=True)
def _look_bands(data, indices, starts, factor, step, product, out, mixed, squares, sums, first, last):
    columns = factor.shape[1]
    row = np.empty(columns)
    for band in range(first, last):
        across = along = 0.0
        for i in range(band * BAND, min((band + 1) * BAND, factor.shape[0])):
            for j in range(columns):
                row[j] = 0.0
            for k in range(starts[i], starts[i + 1]):
                entry, other = data[k], indices[k]
                for j in range(columns):
                    row[j] += entry * step[other, j]
            cross = square = 0.0
            for j in range(columns):
                d, q = step[i, j], row[j]
                out[i, j] = q
                cross += factor[i, j] * d
                square += d * d
                across += d * product[i, j]
                along += d * q
            mixed[i], squares[i] = cross, square
        sums[band, 0], sums[band, 1] = across, along


def look_along(
    matrix: sp.csr_array, factor: np.ndarray, step: np.ndarray, product: np.ndarray, out: np.ndarray
) -> tuple[float, float, np.ndarray, np.ndarray]:
    """out <- A D for a sparse A (n, n) and the step D; <D, product>, <D, out>, and the inner products of the rows of Z
    with those of D, and of those of D with themselves, (n,).
    """
    if factor.size < FEW:
        out[:] = matrix @ step
        mixed, squares = np.einsum("ij,ij->i", factor, step), np.einsum("ij,ij->i", step, step)
        return float(np.vdot(step, product)), float(np.vdot(step, out)), mixed, squares
    mixed, squares = np.empty(factor.shape[0]), np.empty(factor.shape[0])
    arrays = matrix.data, matrix.indices, matrix.indptr, factor, step, product, out, mixed, squares
    across, along = by_bands(_look_bands, factor.shape, 2, *arrays, small=SHARED)
    return across, along, mixed, squares


@compiled(fastmath=REORDER, nogil=True)
def _go_bands(t, step, along, scale, diagonal, factor, product, former, out, sums, first, last):
    for band in range(first, last):
        square = overlap = slope = 0.0
        for i in range(band * BAND, min((band + 1) * BAND, factor.shape[0])):
            of_row = diagonal[i]
            for j in range(factor.shape[1]):
                z = factor[i, j] + t * step[i, j]
                p = product[i, j] + t * along[i, j]
                g = scale * p + of_row * z
                factor[i, j], product[i, j], out[i, j] = z, p, g
                square += g * g
                overlap += g * former[i, j]
                slope += g * step[i, j]
        sums[band, 0], sums[band, 1], sums[band, 2] = square, overlap, slope


def go_along(
    t: float,
    step: np.ndarray,
    along: np.ndarray,
    scale: float,
    diagonal: np.ndarray,
    factor: np.ndarray,
    product: np.ndarray,
    former: np.ndarray,
    out: np.ndarray,
) -> tuple[float, float, float]:
    """factor += t step and product += t along, in place; out <- scale product + diag(diagonal) factor; the inner
    products of this with itself, with the former one and with the step.
    """
    if factor.size < FEW:
        factor += t * step
        product += t * along
        out[:] = scale * product + diagonal[:, None] * factor
        return float(np.vdot(out, out)), float(np.vdot(out, former)), float(np.vdot(out, step))
    arrays = t, step, along, scale, diagonal, factor, product, former, out
    return tuple(by_bands(_go_bands, factor.shape, 3, *arrays, small=SHARED))


def rehearse() -> None:
    """Load what is compiled; see `kernels.rehearse`."""
    one = np.ones((FEW, 1))
    zero = sp.csr_array((FEW, FEW))
    look_along(zero, one, one, one, one.copy())
    go_along(0.0, one, one, 1.0, one[:, 0], one.copy(), one.copy(), one, one.copy())
