"""Fused passes over memory (numba, one thread), each beside the NumPy expression it equals.

One pass over an n x n array costs about what a copy costs; the chained NumPy expression of the same formula makes a
pass, and a temporary, per operation. Compiled code is cached on disk, so only the first run on a machine pays for
compiling.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

import numpy as np
from scipy.linalg.blas import dgemm


def _compiled(**options: Any) -> Callable[[Callable], Callable]:
    """numba.njit, cached on disk unless neither the folder of the package nor the home can be written to.

    numba is loaded at the first call: it takes longer to load than many a run that needs none of this.
    """

    def decorate(function: Callable) -> Callable:
        compiled: Callable | None = None

        @wraps(function)
        def call(*arguments: Any) -> Any:
            nonlocal compiled
            if compiled is None:
                compiled = _compile(function, options)
            return compiled(*arguments)

        return call

    return decorate


def _compile(function: Callable, options: dict[str, Any]) -> Callable:
    import numba

    try:
        return numba.njit(cache=True, **options)(function)
    except RuntimeError:
        return numba.njit(**options)(function)


@_compiled(fastmath=True)
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


# Sums may be reordered, which lets them be vectorised; NaN and infinity keep their meaning (no "nnan", no "ninf").
_REORDER = {"reassoc", "contract", "nsz"}


@_compiled(fastmath=_REORDER)
def _box_dual(z, lower, upper, inverse, y):
    distance, pairing, size = 0.0, 0.0, 0.0
    for i in range(z.size):
        p = z[i]
        if p < lower:
            p = lower
        elif p > upper:
            p = upper
        gap = z[i] - p
        y[i] = gap * inverse
        distance += gap * gap
        pairing += y[i] * p
        size += p * p
    return distance, pairing, size


@_compiled(fastmath=_REORDER)
def _box_dual_arrays(z, lower, upper, inverse, y):
    distance, pairing, size = 0.0, 0.0, 0.0
    for i in range(z.size):
        p = z[i]
        if p < lower[i]:
            p = lower[i]
        elif p > upper[i]:
            p = upper[i]
        gap = z[i] - p
        y[i] = gap * inverse
        distance += gap * gap
        pairing += y[i] * p
        size += p * p
    return distance, pairing, size


def box_dual(
    z: np.ndarray, lower: np.ndarray | float, upper: np.ndarray | float, beta: float
) -> tuple[np.ndarray, float, float, float]:
    """y = (z - p) / beta with p = clip(z, lower, upper), and |z - p|, <y, p>, |p|, in one pass over z.

    Bounds are two numbers or two arrays of the shape of z, and may be infinite. A NaN in z is a NaN in y.
    """
    z = np.ascontiguousarray(z, dtype=float)
    y = np.empty(z.shape)
    if np.ndim(lower) == 0 and np.ndim(upper) == 0:
        sums = _box_dual(z.reshape(-1), float(lower), float(upper), 1.0 / beta, y.reshape(-1))
    else:
        sums = _box_dual_arrays(z.reshape(-1), lower.reshape(-1), upper.reshape(-1), 1.0 / beta, y.reshape(-1))
    return y, float(np.sqrt(sums[0])), float(sums[1]), float(np.sqrt(sums[2]))


@_compiled(fastmath=_REORDER)
def _box_direction(base, rows, columns, z, lower, upper, inverse, out):
    distance, pairing, size, total = 0.0, 0.0, 0.0, 0.0
    for i in range(z.shape[0]):
        row = rows[i]
        for j in range(z.shape[1]):
            p = z[i, j]
            if p < lower:
                p = lower
            elif p > upper:
                p = upper
            gap = z[i, j] - p
            y = gap * inverse
            distance += gap * gap
            pairing += y * p
            size += p * p
            v = base[i, j] + (row + columns[j]) + y
            out[i, j] = v
            total += v * v  # a maximum of |v| would keep the loop from being vectorised
    return distance, pairing, size, total


def box_direction(
    base: np.ndarray,
    rows: np.ndarray,
    columns: np.ndarray,
    z: np.ndarray,
    lower: float,
    upper: float,
    beta: float,
    out: np.ndarray,
) -> tuple[float, float, float, float]:
    """out = base + rows[:, None] + columns[None, :] + (z - p) / beta with p = clip(z, lower, upper), in one pass.

    All matrices (m, n) and C-contiguous. Returns |z - p|, <(z - p) / beta, p>, |p| and |out|, not finite where
    an entry is not.
    """
    distance, pairing, size, total = _box_direction(base, rows, columns, z, float(lower), float(upper), 1.0 / beta, out)
    return float(np.sqrt(distance)), pairing, float(np.sqrt(size)), float(np.sqrt(total))


@_compiled(fastmath=_REORDER)
def _centred_box_direction(base, rows, columns, z, centre, lower, upper, beta, inverse, out):
    distance, conjugate, size, total, pairing, slope, off = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    for i in range(z.shape[0]):
        row = rows[i]
        for j in range(z.shape[1]):
            x = z[i, j]
            p = x
            if p < lower:
                p = lower
            elif p > upper:
                p = upper
            distance += (x - p) * (x - p)
            size += p * p
            c = centre[i, j]
            shifted = x + beta * c
            q = shifted
            if q < lower:
                q = lower
            elif q > upper:
                q = upper
            y = (shifted - q) * inverse
            conjugate += y * q
            pairing += y * x
            slope += y * y
            off += (y - c) * (y - c)
            v = base[i, j] + (row + columns[j]) + y
            out[i, j] = v
            total += v * v
    return distance, conjugate, size, total, pairing, slope, off


def centred_box_direction(
    base: np.ndarray,
    rows: np.ndarray,
    columns: np.ndarray,
    z: np.ndarray,
    centre: np.ndarray,
    lower: float,
    upper: float,
    beta: float,
    out: np.ndarray,
) -> tuple[float, float, float, float, float, float, float]:
    """out = base + rows[:, None] + columns[None, :] + y, y = (x - q) / beta, x = z + beta centre, q = clip(x, lower,
    upper), in one pass.

    All matrices (m, n) and C-contiguous. Returns |z - p| and, after <y, q>, |p|, with p = clip(z, lower, upper); then
    |out|, <y, z>, |y| and |y - centre|.
    """
    sums = _centred_box_direction(
        base, rows, columns, z, centre, float(lower), float(upper), float(beta), 1.0 / beta, out
    )
    distance, conjugate, size, total, pairing, slope, off = sums
    roots = [float(np.sqrt(value)) for value in (distance, size, total, slope, off)]
    return roots[0], conjugate, roots[1], roots[2], pairing, roots[3], roots[4]


@_compiled(fastmath=_REORDER)
def _box_slope(z, dz, t, lower, upper):
    total = 0.0
    for i in range(z.size):
        x = z[i] + t * dz[i]
        p = x
        if p < lower:
            p = lower
        elif p > upper:
            p = upper
        total += (x - p) * dz[i]
    return total


def box_slope(z: np.ndarray, dz: np.ndarray, t: float, lower: float, upper: float, beta: float) -> float:
    """<(x - clip(x, lower, upper)) / beta, dz> at x = z + t dz, in one pass and without temporaries."""
    flat = np.ascontiguousarray(z).reshape(-1), np.ascontiguousarray(dz).reshape(-1)
    return float(_box_slope(*flat, float(t), lower, upper)) / beta
