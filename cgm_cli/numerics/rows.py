"""Fused passes over the rows of tall matrices (n, r), each beside the NumPy expressions it equals: what a move of a
factor consists of where constraints see its rows alone. As in `cgm_cli.numerics.kernels`, threads share bands of rows,
and no number depends on how many threads there are.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from cgm_cli.numerics.bands import BAND, by_bands
from cgm_cli.numerics.compiled import compiled, pays
from cgm_cli.numerics.conjugate import LineSearchResult

NUMPY_BELOW = 1 << 15
"""Passes over fewer entries are left to NumPy: they stay in a cache, where it takes 1.5 times as long (4 times with ten
times as many entries), and to load compiled code takes half a second.
"""

ONE_THREAD_ENTRIES = 1 << 19
"""Matrices of fewer entries stay in the caches of one core (4 MB), and are left to it."""


class Line(NamedTuple):
    """The points Z + t D, with the products A Z + t A D beside them: t, D (`direction`) and A D (`product`), (n, r)."""

    t: float
    direction: np.ndarray
    product: np.ndarray


class Gradient(NamedTuple):
    """scale A Z + diag(diagonal) Z, diagonal (n,)."""

    scale: float
    diagonal: np.ndarray


class _Rows(NamedTuple):
    """The rows of a sparse matrix (CSR)."""

    data: np.ndarray
    indices: np.ndarray
    starts: np.ndarray


@compiled
def _coefficient_bands(
    matrix: _Rows,
    factor: np.ndarray,
    direction: np.ndarray,
    product: np.ndarray,
    out: np.ndarray,
    mixed: np.ndarray,
    squares: np.ndarray,
    sums: np.ndarray,
    first: int,
    last: int,
) -> None:
    data, indices, starts = matrix
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
                    row[j] += entry * direction[other, j]
            cross = square = 0.0
            for j in range(columns):
                d, q = direction[i, j], row[j]
                out[i, j] = q
                cross += factor[i, j] * d
                square += d * d
                across += d * product[i, j]
                along += d * q
            mixed[i], squares[i] = cross, square
        sums[band, 0], sums[band, 1] = across, along


def line_coefficients(
    matrix: sp.csr_array, factor: np.ndarray, direction: np.ndarray, product: np.ndarray, out: np.ndarray
) -> tuple[float, float, np.ndarray, np.ndarray]:
    """out <- A D for a sparse A (n, n) and the direction D; <D, product>, <D, out>, and the inner products of the rows
    of Z with those of D, and of those of D with themselves, (n,).
    """
    if not pays(factor.size, NUMPY_BELOW):
        out[:] = matrix @ direction
        mixed, squares = np.einsum("ij,ij->i", factor, direction), np.einsum("ij,ij->i", direction, direction)
        return float(np.vdot(direction, product)), float(np.vdot(direction, out)), mixed, squares
    mixed, squares = np.empty(factor.shape[0]), np.empty(factor.shape[0])
    rows = _Rows(matrix.data, matrix.indices, matrix.indptr)
    arrays = rows, factor, direction, product, out, mixed, squares
    across, along = by_bands(_coefficient_bands, factor.shape, 2, *arrays, one_thread=ONE_THREAD_ENTRIES)
    return across, along, mixed, squares


@compiled
def _step_bands(
    line: Line,
    gradient: Gradient,
    factor: np.ndarray,
    product: np.ndarray,
    former: np.ndarray,
    out: np.ndarray,
    sums: np.ndarray,
    first: int,
    last: int,
) -> None:
    t, step, along = line
    scale, diagonal = gradient
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


def take_step(
    line: Line, gradient: Gradient, factor: np.ndarray, product: np.ndarray, former: np.ndarray, out: np.ndarray
) -> LineSearchResult:
    """factor += t D and product += t A D, in place; out <- the gradient there, beside the former one."""
    if not pays(factor.size, NUMPY_BELOW):
        factor += line.t * line.direction
        product += line.t * line.product
        out[:] = gradient.scale * product + gradient.diagonal[:, None] * factor
        return LineSearchResult(*(float(np.vdot(out, other)) for other in (out, former, line.direction)))
    arrays = line, gradient, factor, product, former, out
    return LineSearchResult(*by_bands(_step_bands, factor.shape, 3, *arrays, one_thread=ONE_THREAD_ENTRIES))


def warm_up() -> None:
    """Load what is compiled; see `box_passes.warm_up`."""
    one = np.ones((NUMPY_BELOW, 1))
    zero = sp.csr_array((NUMPY_BELOW, NUMPY_BELOW))
    line_coefficients(zero, one, one, one, one.copy())
    take_step(Line(0.0, one, one), Gradient(1.0, one[:, 0]), one.copy(), one.copy(), one, one.copy())
