"""Euclidean projections onto the simplex, the hypersimplex and the l1- and l2-balls, safe for entries of any magnitude.

All take an array of any shape and of any real type, work on its entries in float64, and return a new array of the same
shape. An entry that is not a number makes the whole answer not a number. `radius` may be zero.
"""

from __future__ import annotations

import math

import numpy as np

SMALLEST, LARGEST = 1e-200, 1e200
"""Squares of lengths that are neither cut off nor overflow."""


def safe_norm(z: np.ndarray) -> float:
    """|z|_2 = t |z / t|_2 with t = max |z_i|: squares neither overflow nor underflow."""
    peak = float(max(np.max(z, initial=0.0), -np.min(z, initial=0.0)))  # no temporary as large as z
    if peak == 0.0 or not np.isfinite(peak):
        return peak
    if 1e-100 < peak < 1e100:
        return float(np.linalg.norm(np.ravel(z)))
    return peak * float(np.linalg.norm((z / peak).reshape(-1)))


def project_simplex(z: np.ndarray, radius: float = 1.0) -> np.ndarray:
    """argmin |p - z| over p >= 0, sum p = radius.

    p_i = max(z_i - theta, 0) with the one theta that makes them sum to the radius (Held, Wolfe, Crowder 1974): the
    largest of (the sum of the j largest z_i - radius) / j over all j, as no j entries of p sum to more than the radius,
    and those of the support sum to it. The maximum is subtracted first: theta then lies in [-radius, 0), entries at or
    below -radius cannot be in the support, and what is left to sort and sum is in (-1, 0] once divided by the radius.
    So no magnitude of z, however large, cancels the radius.
    """
    z = np.asarray(z, dtype=float)
    top = float(z.max())
    if not np.isfinite(top):
        return np.full(z.shape, np.nan)
    if radius == 0.0:
        return np.zeros(z.shape)
    with np.errstate(over="ignore"):
        below = z - top
    support = below > -radius
    scaled = below[support] / radius
    ordered = np.sort(scaled)[::-1]
    size = int(((np.cumsum(ordered) - 1.0) / np.arange(1, ordered.size + 1)).argmax()) + 1
    theta = (ordered[:size].sum() - 1.0) / size  # not that of cumsum, whose rounding adds up
    out = np.zeros(z.shape)
    out[support] = radius * np.maximum(scaled - theta, 0.0)
    return out


def project_simplex_rows(z: np.ndarray, radius: float = 1.0) -> np.ndarray:
    """`project_simplex` of every row of a matrix (m, n), for a positive radius."""
    if len(z) == 1:  # in a third of the time, where there is but one
        return project_simplex(z, radius)
    axis = int(len(z) <= z.shape[1])  # rows lie across where they are many and short: passes along such are slow
    rows = z if axis else np.ascontiguousarray(z.T)
    counts = np.arange(1, z.shape[1] + 1).reshape((1, -1) if axis else (-1, 1))
    with np.errstate(over="ignore"):
        below = (rows.max(axis=axis, keepdims=True) - rows) / radius
        sums = np.cumsum(np.sort(below, axis=axis), axis=axis)
    theta = ((1.0 + sums) / counts).min(axis=axis, keepdims=True)
    out = radius * np.maximum(theta - below, 0.0)
    return out if axis else np.ascontiguousarray(out.T)


def project_capped_simplex(z: np.ndarray, radius: float = 1.0) -> np.ndarray:
    """argmin |p - z| over p >= 0, sum p <= radius: max(z, 0) where that is allowed, else the sum is at its limit."""
    positive = np.maximum(np.asarray(z, dtype=float), 0.0)
    with np.errstate(over="ignore"):
        inside = positive.sum() <= radius
    return positive if inside else project_simplex(z, radius)


def project_l1_ball(z: np.ndarray, radius: float = 1.0) -> np.ndarray:
    """argmin |p - z| over sum |p_i| <= radius: z itself inside, else signs(z) times the simplex projection of |z|."""
    z = np.asarray(z, dtype=float)
    size = np.abs(z)
    with np.errstate(over="ignore"):
        inside = size.sum() <= radius
    return z.copy() if inside else np.copysign(project_simplex(size, radius), z)


def project_l2_ball(z: np.ndarray, radius: float = 1.0) -> np.ndarray:
    """argmin |p - z| over |p|_2 <= radius: z itself inside, else radius z / |z|."""
    z = np.asarray(z, dtype=float)
    flat = z.reshape(-1)
    square = float(np.vdot(flat, flat))  # which overflows in silence
    if SMALLEST < square < LARGEST:
        length = math.sqrt(square)
        return z.copy() if length <= radius else z * (radius / length)
    peak = float(np.max(np.abs(z), initial=0.0))
    if not np.isfinite(peak):
        return np.full(z.shape, np.nan)
    if peak == 0.0:
        return z.copy()
    unit = z / peak
    length = float(np.linalg.norm(unit.reshape(-1)))
    return z.copy() if peak * length <= radius else unit * (radius / length)


def capped_shares(values: np.ndarray, total: float) -> np.ndarray:
    """min(1, t v) with the one t that makes the sum `total`, for v > 0 (n,) and 0 < total <= n."""
    falling = np.sort(values)[::-1]
    behind = np.cumsum(falling[::-1])[::-1]  # the sum of each and all smaller ones
    # With j of them at one, t = (total - j) / (the sum of the others), right if the largest of those is at most one.
    whole = np.arange(int(np.ceil(total)))
    scales = (total - whole) / behind[: whole.size]
    fits = scales * falling[: whole.size] <= 1.0
    return np.minimum(1.0, values * scales[int(np.argmax(fits))]) if fits.any() else np.minimum(1.0, values * np.inf)


def project_hypersimplex(z: np.ndarray, total: float) -> np.ndarray:
    """argmin |p - z| over 0 <= p <= 1, sum p = total, for a vector z (n,) and 0 <= total <= n.

    p = clip(z - theta, 0, 1) with the one theta that makes the sum right. The sum falls with theta, linearly between
    the breakpoints z_i and z_i - 1: a binary search among them, then one division. With j the total rounded up, the
    j-th largest entry is subtracted first: for theta = -1 then j entries are 1, and for theta = 0 fewer than j are
    positive, so that theta lies between the two. So no magnitude of z cancels it, and entries beyond [-1, 1] are 0 and
    1 in any case.
    """
    z = np.asarray(z, dtype=float)
    if not np.isfinite(z).all():
        return np.full(z.shape, np.nan)
    with np.errstate(over="ignore"):
        z = np.clip(z - np.sort(z)[-max(1, int(np.ceil(total)))], -1.0, 1.0)
    breaks = np.unique(np.concatenate([z - 1.0, z]))
    low, high = 0, breaks.size - 1
    while high - low > 1:
        middle = (low + high) // 2
        if np.clip(z - breaks[middle], 0.0, 1.0).sum() >= total:
            low = middle
        else:
            high = middle
    above = np.clip(z - breaks[low], 0.0, 1.0).sum()
    below = np.clip(z - breaks[high], 0.0, 1.0).sum()
    share = 0.0 if above == below else (above - total) / (above - below)
    return np.clip(z - (breaks[low] + share * (breaks[high] - breaks[low])), 0.0, 1.0)
