"""Fused passes over memory (numba), each beside the NumPy expression it equals.

One pass over an n x n array costs about what a copy costs; the chained NumPy expression of the same formula makes a
pass, and a temporary, per operation.

Passes over matrices go by bands of rows. Threads share the bands, and every band has sums of its own, which are added
in their order: no number depends on how many threads there are.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np

from cgm_cli.numerics.compiled import REORDER, compiled
from cgm_cli.numerics.threads import allowed, share

BAND = 16
"""Rows of a band."""

SLAB = 256
"""Rows of a slab: what one call of BLAS multiplies."""

CACHED = 64
"""Rows of a slab that is to stay in a cache for a second look. With fewer, the calls cost as much as their work."""

PARTS = 4
"""Into how many parts for each thread a pass is divided."""

FEW = 256
"""A pass over fewer entries takes NumPy some microseconds longer, and many a small run needs no other compiled code: to
load the first of it takes half a second.
"""

SMALL = 1 << 15
"""Matrices of fewer entries are left to one thread: to hand work over takes as long as they do."""


def by_bands(
    kernel: Callable, shape: tuple[int, int], count: int, *arguments: Any, lower: bool = False, small: int = SMALL
) -> list[float]:
    """Run kernel(*arguments, sums, first, last) on all bands of a matrix; the `count` sums over them. lower: it goes
    over the entries on and below the diagonal alone, so that the last bands are the longest. small: matrices of fewer
    entries are left to one thread.
    """
    bands = -(-shape[0] // BAND)
    sums = np.zeros((bands, count))
    parts = 1 if allowed() == 1 or shape[0] * shape[1] < small else min(PARTS * allowed(), bands)
    cuts = [round(bands * (part / parts) ** (0.5 if lower else 1.0)) for part in range(parts + 1)]
    share(kernel, [(*arguments, sums, *span) for span in pairwise(cuts)])
    return sums.sum(axis=0).tolist()


def product(matrix: np.ndarray, block: np.ndarray) -> np.ndarray:
    """matrix @ block for a matrix (m, n) and a block (n, r) of the same type.

    By slabs of rows that the threads share, so that no number depends on how many of them there are.
    """
    rows = matrix.shape[0]
    out = np.empty((rows, block.shape[1]), dtype=matrix.dtype)

    def multiply(slab: slice) -> None:
        np.matmul(matrix[slab], block, out=out[slab])

    _by_slabs(multiply, matrix.shape, SLAB)
    return out


def _by_slabs(work: Callable[[slice], None], shape: tuple[int, int], size: int) -> None:
    """Call work(slab) for all slabs of `size` rows of a matrix, which the threads share."""
    if shape[0] * shape[1] < SMALL:
        size = shape[0] or 1
    share(work, [(slice(first, first + size),) for first in range(0, shape[0], size)])


_BANDS: dict[str, Any] = {"fastmath": REORDER, "nogil": True}


@compiled(**_BANDS)
def _blend_bands(x, keep, left, right, cost, lower, sums, first, last):
    for band in range(first, last):
        pairing = 0.0
        for i in range(band * BAND, min((band + 1) * BAND, x.shape[0])):
            end = i + 1 if lower else x.shape[1]
            a = left[i]
            for j in range(end):
                x[i, j] = keep * x[i, j] + a * right[j]
            if cost.size > 0:
                inner = 0.0
                for j in range(end):
                    inner += cost[i, j] * x[i, j]
                pairing += 2.0 * inner - cost[i, i] * x[i, i] if lower else inner
        sums[band, 0] = pairing


def blend_low_rank(
    x: np.ndarray,
    eta: float,
    left: np.ndarray,
    weights: np.ndarray,
    right: np.ndarray,
    cost: np.ndarray | None = None,
    lower: bool = False,
) -> float:
    """x <- (1 - eta) x + eta left diag(weights) right^T, in place, and <cost, x> after it (0 without), in one pass.

    x and cost (m, n), C-contiguous; left (m, r), weights (r,), right (n, r). lower: all three matrices are symmetric,
    r = 1, and no entry above the diagonal is read or written.
    """
    if weights.size == 0:
        left, weights, right = np.zeros((x.shape[0], 1)), np.zeros(1), np.zeros((x.shape[1], 1))
    scaled = left * (eta * weights)
    if weights.size > 1:
        return _blend_by_products(x, 1.0 - eta, scaled, right, cost)
    cost = np.empty((0, 0)) if cost is None else cost
    vectors = scaled[:, 0].copy(), np.ascontiguousarray(right[:, 0])
    return by_bands(_blend_bands, x.shape, 1, x, 1.0 - eta, *vectors, cost, lower, lower=lower)[0]


@compiled(**_BANDS)
def _blend_rows(x, keep, added, cost):
    pairing = 0.0
    for i in range(x.shape[0]):
        if cost.size > 0:
            for j in range(x.shape[1]):
                entry = keep * x[i, j] + added[i, j]
                x[i, j] = entry
                pairing += cost[i, j] * entry
        else:
            for j in range(x.shape[1]):
                x[i, j] = keep * x[i, j] + added[i, j]
    return pairing


def _blend_by_products(x, keep, left, right, cost) -> float:
    """x <- keep x + left right^T in place, and <cost, x>: slab by slab, whose product BLAS leaves in a cache."""
    pairings = np.zeros(-(-x.shape[0] // CACHED))
    across = np.ascontiguousarray(right.T)
    nothing = np.empty((0, 0))

    def blend(slab: slice) -> None:
        added = left[slab] @ across
        pairings[slab.start // CACHED] = _blend_rows(x[slab], keep, added, nothing if cost is None else cost[slab])

    _by_slabs(blend, x.shape, CACHED)
    return float(pairings.sum())


@compiled(**_BANDS)
def _complete_bands(x, sums, first, last):
    for band in range(first, last):
        top, bottom = band * BAND, min((band + 1) * BAND, x.shape[0])
        for left in range(top, x.shape[1], BAND):
            for j in range(left, min(left + BAND, x.shape[1])):
                for i in range(top, min(bottom, j)):
                    x[i, j] = x[j, i]


def complete(x: np.ndarray) -> None:
    """Write the entries below the diagonal of a square x above it, too, in place."""
    by_bands(_complete_bands, x.shape, 1, x)


@compiled(**_BANDS)
def _single_bands(matrix, factor, out, sums, first, last):
    for i in range(first * BAND, min(last * BAND, matrix.shape[0])):
        for j in range(matrix.shape[1]):
            out[i, j] = factor * matrix[i, j]


def single(matrix: np.ndarray, factor: float) -> np.ndarray:
    """factor * matrix in single precision, (m, n), in one pass."""
    out = np.empty(matrix.shape, dtype=np.float32)
    by_bands(_single_bands, matrix.shape, 1, matrix, factor, out)
    return out


@compiled(fastmath=REORDER)
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


@compiled(fastmath=REORDER)
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
    if z.size < FEW:
        p = np.minimum(np.maximum(z, lower), upper)
        # What is not finite is found later, in words of its own.
        with np.errstate(over="ignore", invalid="ignore"):
            gap = z - p
            y = gap * (1.0 / beta)
            return y, float(np.linalg.norm(gap)), float(np.vdot(y, p)), float(np.linalg.norm(p))
    y = np.empty(z.shape)
    if np.ndim(lower) == 0 and np.ndim(upper) == 0:
        sums = _box_dual(z.reshape(-1), float(lower), float(upper), 1.0 / beta, y.reshape(-1))
    else:
        sums = _box_dual_arrays(z.reshape(-1), lower.reshape(-1), upper.reshape(-1), 1.0 / beta, y.reshape(-1))
    return y, float(np.sqrt(sums[0])), float(sums[1]), float(np.sqrt(sums[2]))


@compiled(**_BANDS)
def _box_mean_bands(z, lower, upper, inverse, mean, share, out, half, sums, first, last):
    for band in range(first, last):
        top, bottom = band * BAND, min((band + 1) * BAND, z.shape[0])
        for i in range(top, bottom):
            for j in range(i + 1 if half else z.shape[1]):
                p = z[i, j]
                if p < lower:
                    p = lower
                elif p > upper:
                    p = upper
                out[i, j] = (1.0 - share) * mean[i, j] + share * ((z[i, j] - p) * inverse)
        if half:  # across the diagonal, tile by tile
            for left in range(0, bottom, BAND):
                for j in range(left, min(left + BAND, bottom)):
                    for i in range(max(top, j + 1), bottom):
                        out[j, i] = out[i, j]


def box_mean(
    z: np.ndarray,
    lower: float,
    upper: float,
    beta: float,
    mean: np.ndarray | None = None,
    share: float = 1.0,
    half: bool = False,
) -> np.ndarray:
    """(1 - share) mean + share (z - clip(z, lower, upper)) / beta, in a new array and one pass; without a mean for
    share 1.

    z and mean (m, n), C-contiguous. half: both are symmetric, and no entry above the diagonal is read.
    """
    out = np.empty(z.shape)
    mean = z if mean is None else mean
    by_bands(_box_mean_bands, z.shape, 1, z, lower, upper, 1.0 / beta, mean, share, out, half, lower=half)
    return out


@compiled(**_BANDS)
def _box_direction_bands(base, rows, columns, z, lower, upper, inverse, out, sums, first, last):
    for band in range(first, last):
        for i in range(band * BAND, min((band + 1) * BAND, z.shape[0])):
            distance, pairing, size, total, row = 0.0, 0.0, 0.0, 0.0, rows[i]
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
            sums[band, 0] += distance
            sums[band, 1] += pairing
            sums[band, 2] += size
            sums[band, 3] += total


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
    arguments = base, rows, columns, z, float(lower), float(upper), 1.0 / beta, out
    distance, pairing, size, total = by_bands(_box_direction_bands, z.shape, 4, *arguments)
    return float(np.sqrt(distance)), pairing, float(np.sqrt(size)), float(np.sqrt(total))


@compiled(**_BANDS)
def _half_box_direction_bands(x, keep, left, right, base, rows, columns, lower, upper, inverse, out, sums, first, last):
    for band in range(first, last):
        for i in range(band * BAND, min((band + 1) * BAND, x.shape[0])):
            a, row = left[i], rows[i]
            for part in range(2):  # what is below the diagonal counts twice
                start, stop, times = (0, i, 2.0) if part == 0 else (i, i + 1, 1.0)
                distance, pairing, size, total, price = 0.0, 0.0, 0.0, 0.0, 0.0
                for j in range(start, stop):
                    z = keep * x[i, j] + a * right[j]
                    x[i, j] = z
                    p = z
                    if p < lower:
                        p = lower
                    elif p > upper:
                        p = upper
                    gap = z - p
                    y = gap * inverse
                    distance += gap * gap
                    pairing += y * p
                    size += p * p
                    c = base[i, j]
                    price += c * z
                    v = c + (row + columns[j]) + y
                    out[i, j] = v
                    total += v * v
                sums[band, 0] += times * distance
                sums[band, 1] += times * pairing
                sums[band, 2] += times * size
                sums[band, 3] += times * total
                sums[band, 4] += times * price


def half_box_direction(
    x: np.ndarray,
    keep: float,
    left: np.ndarray,
    right: np.ndarray,
    base: np.ndarray,
    rows: np.ndarray,
    columns: np.ndarray,
    lower: float,
    upper: float,
    beta: float,
    out: np.ndarray,
) -> tuple[float, float, float, float, float]:
    """x <- keep x + left right^T in place, and `box_direction` at that x, in one pass over what is on and below the
    diagonal of symmetric matrices (n, n), C-contiguous.

    Returns what `box_direction` does for the whole matrices, and <base, x>.
    """
    arguments = x, keep, left, right, base, rows, columns, float(lower), float(upper), 1.0 / beta, out
    distance, pairing, size, total, price = by_bands(_half_box_direction_bands, x.shape, 5, *arguments, lower=True)
    return float(np.sqrt(distance)), pairing, float(np.sqrt(size)), float(np.sqrt(total)), price


@compiled(**_BANDS)
def _centred_box_direction_bands(
    base, rows, columns, z, centre, share, former, lower, upper, beta, inverse, out, sums, first, last
):
    for band in range(first, last):
        distance, conjugate, size, total, pairing, slope, off = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
        for i in range(band * BAND, min((band + 1) * BAND, z.shape[0])):
            row = rows[i]
            if share != 0.0:
                for j in range(z.shape[1]):
                    shifted = z[i, j] + former * centre[i, j]
                    q = shifted
                    if q < lower:
                        q = lower
                    elif q > upper:
                        q = upper
                    centre[i, j] += share * ((shifted - q) / former - centre[i, j])
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
        sums[band, 0], sums[band, 1], sums[band, 2], sums[band, 3] = distance, conjugate, size, total
        sums[band, 4], sums[band, 5], sums[band, 6] = pairing, slope, off


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
    ascent: tuple[float, float] = (0.0, 1.0),
) -> tuple[float, float, float, float, float, float, float]:
    """out = base + rows[:, None] + columns[None, :] + y, y = (x - q) / beta, x = z + beta centre, q = clip(x, lower,
    upper), in one pass.

    All matrices (m, n) and C-contiguous. Returns |z - p| and, after <y, q>, |p|, with p = clip(z, lower, upper); then
    |out|, <y, z>, |y| and |y - centre|. ascent: a share s and a former beta b; before all else, in the same pass,
    centre <- centre + s (y_b - centre), in place, with y_b the y of b.
    """
    limits = float(lower), float(upper), float(beta), 1.0 / beta
    share, former = map(float, ascent)
    distance, conjugate, size, total, pairing, slope, off = by_bands(
        _centred_box_direction_bands, z.shape, 7, base, rows, columns, z, centre, share, former, *limits, out
    )
    roots = [float(np.sqrt(value)) for value in (distance, size, total, slope, off)]
    return roots[0], conjugate, roots[1], roots[2], pairing, roots[3], roots[4]


@compiled(**_BANDS)
def _box_offset_bands(z, centre, lower, upper, beta, inverse, sums, first, last):
    for band in range(first, last):
        off, mixed, size = 0.0, 0.0, 0.0
        for i in range(band * BAND, min((band + 1) * BAND, z.shape[0])):
            for j in range(z.shape[1]):
                c = centre[i, j]
                shifted = z[i, j] + beta * c
                q = shifted
                if q < lower:
                    q = lower
                elif q > upper:
                    q = upper
                d = (shifted - q) * inverse - c
                off += d * d
                mixed += d * c
                size += c * c
        sums[band, 0], sums[band, 1], sums[band, 2] = off, mixed, size


def box_offset(
    z: np.ndarray, centre: np.ndarray, lower: float, upper: float, beta: float
) -> tuple[float, float, float]:
    """|y - c|^2, <y - c, c> and |c|^2 for c = centre and y = (x - clip(x, lower, upper)) / beta, x = z + beta c, in one
    pass; z and centre (m, n), C-contiguous.
    """
    limits = float(lower), float(upper), float(beta), 1.0 / beta
    off, mixed, size = by_bands(_box_offset_bands, z.shape, 3, z, centre, *limits)
    return off, mixed, size


@compiled(**_BANDS)
def box_tile(x, rows, columns, cost, shift, lower, upper, inverse):
    """x <- cost + y, y = (x + shift - clip(x + shift, lower, upper)) * inverse, in place, for the first rows and
    columns of three square tiles; |y|^2 and <cost, x> of the x before.
    """
    total, linear = 0.0, 0.0
    for i in range(rows):
        for j in range(columns):
            z, c = x[i, j], cost[i, j]
            shifted = z + shift[i, j]
            q = shifted
            if q < lower:
                q = lower
            elif q > upper:
                q = upper
            y = (shifted - q) * inverse
            total += y * y
            linear += c * z
            x[i, j] = c + y
    return total, linear


def rehearse(kind: type, half: bool, centred: bool) -> None:
    """Make the passes of a run over matrices of one entry, with a direction of numbers of this kind, and with halves,
    centres or neither: to load compiled code takes half a second, and to compile it many.
    """
    one, line, out = np.zeros((1, 1)), np.zeros(1), np.zeros((1, 1), dtype=kind)
    if half:
        half_box_direction(one, 1.0, line, line, one, line, line, 0.0, 0.0, 1.0, out)
        complete(one)
    else:
        blend_low_rank(one, 0.0, one, line, one, one)
    if centred:
        box_offset(one, one, 0.0, 0.0, 1.0)
        centred_box_direction(one, line, line, one, one, 0.0, 0.0, 1.0, out)
    elif not half:
        box_direction(one, line, line, one, 0.0, 0.0, 1.0, out)
    if not centred:
        box_mean(one, 0.0, 0.0, 1.0, half=half)


@compiled(fastmath=REORDER)
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
