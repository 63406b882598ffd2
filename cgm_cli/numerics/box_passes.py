"""Fused passes of lower and upper bounds on the entries of an array: clip, dual and sums at once, each beside the NumPy
expression it equals; cgm_cli.numerics.kernels says why.

The indicator of [lower, upper], smoothed with beta, has the dual y = (z - p) / beta at z, p = clip(z, lower, upper);
centred at c, y = (x - q) / beta with x = z + beta c and q = clip(x, lower, upper). A NaN in z is a NaN in y.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from cgm_cli.numerics.bands import BAND, by_bands
from cgm_cli.numerics.compiled import compiled, pays
from cgm_cli.numerics.kernels import RankOneStep, blend_low_rank, complete

NUMPY_BELOW = 256
"""A pass over fewer entries takes NumPy 12 microseconds instead of 3, and many a small run needs no other compiled
code: to load the first of it takes half a second.
"""


class SmoothedBox(NamedTuple):
    """Bounds, which may be infinite, and beta. inverse: 1 / beta, by which compiled code multiplies."""

    lower: float
    upper: float
    beta: float
    inverse: float

    @classmethod
    def of(cls, lower: float, upper: float, beta: float) -> SmoothedBox:
        return cls(float(lower), float(upper), float(beta), 1.0 / beta)


class LinearPart(NamedTuple):
    """The matrix base + rows[:, None] + columns[None, :]: base (m, n), C-contiguous, rows (m,), columns (n,)."""

    base: np.ndarray
    rows: np.ndarray
    columns: np.ndarray


@compiled
def _clip(x: float, lower: float, upper: float) -> float:
    if x < lower:
        x = lower
    elif x > upper:
        x = upper
    return x


@compiled
def _box_dual(z: np.ndarray, lower: float, upper: float, inverse: float, y: np.ndarray) -> tuple[float, float, float]:
    distance, pairing, size = 0.0, 0.0, 0.0
    for i in range(z.size):
        p = _clip(z[i], lower, upper)
        gap = z[i] - p
        y[i] = gap * inverse
        distance += gap * gap
        pairing += y[i] * p
        size += p * p
    return distance, pairing, size


@compiled
def _box_dual_arrays(
    z: np.ndarray, lower: np.ndarray, upper: np.ndarray, inverse: float, y: np.ndarray
) -> tuple[float, float, float]:
    distance, pairing, size = 0.0, 0.0, 0.0
    for i in range(z.size):
        p = _clip(z[i], lower[i], upper[i])
        gap = z[i] - p
        y[i] = gap * inverse
        distance += gap * gap
        pairing += y[i] * p
        size += p * p
    return distance, pairing, size


def box_dual(
    z: np.ndarray, lower: np.ndarray | float, upper: np.ndarray | float, beta: float
) -> tuple[np.ndarray, float, float, float]:
    """y = (z - p) / beta with p = clip(z, lower, upper), and |z - p|, <y, p>, |p|, in one pass over z of any shape.

    Bounds are two numbers or two arrays of the shape of z.
    """
    z = np.ascontiguousarray(z, dtype=float)
    if not pays(z.size, NUMPY_BELOW):
        p = np.minimum(np.maximum(z, lower), upper)
        # What is not finite is found later, in words of its own.
        with np.errstate(over="ignore", invalid="ignore"):
            gap = z - p
            y = gap * (1.0 / beta)
            return y, float(np.linalg.norm(gap)), float(np.vdot(y, p)), float(np.linalg.norm(p))
    y = np.empty(z.shape)
    if isinstance(lower, np.ndarray) and isinstance(upper, np.ndarray) and lower.ndim > 0:
        sums = _box_dual_arrays(z.reshape(-1), lower.reshape(-1), upper.reshape(-1), 1.0 / beta, y.reshape(-1))
    else:
        sums = _box_dual(z.reshape(-1), float(lower), float(upper), 1.0 / beta, y.reshape(-1))
    return y, float(np.sqrt(sums[0])), float(sums[1]), float(np.sqrt(sums[2]))


@compiled
def _box_slope(z: np.ndarray, dz: np.ndarray, t: float, lower: float, upper: float) -> float:
    total = 0.0
    for i in range(z.size):
        x = z[i] + t * dz[i]
        total += (x - _clip(x, lower, upper)) * dz[i]
    return total


@_box_slope.otherwise
def _(z: np.ndarray, dz: np.ndarray, t: float, lower: float, upper: float) -> float:
    x = z + t * dz
    return float((x - np.clip(x, lower, upper)) @ dz)


def box_slope(z: np.ndarray, dz: np.ndarray, t: float, lower: float, upper: float, beta: float) -> float:
    """<(x - clip(x, lower, upper)) / beta, dz> at x = z + t dz, in one pass and without temporaries."""
    flat = np.ascontiguousarray(z).reshape(-1), np.ascontiguousarray(dz).reshape(-1)
    return float(_box_slope(*flat, float(t), lower, upper)) / beta


class BoxSums(NamedTuple):
    """What a pass adds up, of the dual y centred at c: distance |z - p| and size |p| with p = clip(z, lower, upper),
    conjugate <y, q>, norm of the direction, pairing <y, z>, slope |y|, off |y - c|. Not finite where an entry is not.
    """

    distance: float
    conjugate: float
    size: float
    norm: float
    pairing: float
    slope: float
    off: float

    @classmethod
    def uncentred(cls, sums: list[float], beta: float) -> BoxSums:
        """Where c is zero, so that q = p and |y| = |z - p| / beta; sums: |z - p|^2, <y, p>, |p|^2, the squared norm."""
        distance, size, norm = (float(np.sqrt(sums[place])) for place in (0, 2, 3))
        conjugate, slope = sums[1], distance / beta
        return cls(distance, conjugate, size, norm, conjugate + distance * slope, slope, slope)


@compiled
def _box_direction_bands(
    linear: LinearPart, z: np.ndarray, box: SmoothedBox, out: np.ndarray, sums: np.ndarray, first: int, last: int
) -> None:
    base, rows, columns = linear
    for band in range(first, last):
        for i in range(band * BAND, min((band + 1) * BAND, z.shape[0])):
            distance, pairing, size, total, row = 0.0, 0.0, 0.0, 0.0, rows[i]
            for j in range(z.shape[1]):
                p = _clip(z[i, j], box.lower, box.upper)
                gap = z[i, j] - p
                y = gap * box.inverse
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


def box_direction(linear: LinearPart, z: np.ndarray, box: SmoothedBox, out: np.ndarray) -> BoxSums:
    """out = the linear part + (z - p) / beta, p = clip(z, lower, upper), in one pass; z, out (m, n), C-contiguous."""
    return BoxSums.uncentred(by_bands(_box_direction_bands, z.shape, 4, linear, z, box, out), box.beta)


@compiled
def _half_box_direction_bands(
    step: RankOneStep,
    linear: LinearPart,
    box: SmoothedBox,
    out: np.ndarray,
    sums: np.ndarray,
    first: int,
    last: int,
) -> None:
    x, keep, left, right = step
    base, rows, columns = linear
    for band in range(first, last):
        for i in range(band * BAND, min((band + 1) * BAND, x.shape[0])):
            a, row = left[i], rows[i]
            for part in range(2):  # what is below the diagonal counts twice
                start, stop, times = (0, i, 2.0) if part == 0 else (i, i + 1, 1.0)
                distance, pairing, size, total, price = 0.0, 0.0, 0.0, 0.0, 0.0
                for j in range(start, stop):
                    z = keep * x[i, j] + a * right[j]
                    x[i, j] = z
                    p = _clip(z, box.lower, box.upper)
                    gap = z - p
                    y = gap * box.inverse
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
    step: RankOneStep, linear: LinearPart, box: SmoothedBox, out: np.ndarray
) -> tuple[BoxSums, float]:
    """The step, in place, and `box_direction` at the x after it, in one pass over what is on and below the diagonal of
    symmetric matrices (n, n).

    Returns what `box_direction` does for the whole matrices, and <base, x>.
    """
    *found, price = by_bands(_half_box_direction_bands, step.x.shape, 5, step, linear, box, out, lower=True)
    return BoxSums.uncentred(found, box.beta), price


class Ascent(NamedTuple):
    """centre <- centre + share (y - centre), with y the dual of a former beta, centred there."""

    share: float
    former: float


@compiled
def _centred_box_direction_bands(
    linear: LinearPart,
    z: np.ndarray,
    centre: np.ndarray,
    ascent: Ascent,
    box: SmoothedBox,
    out: np.ndarray,
    sums: np.ndarray,
    first: int,
    last: int,
) -> None:
    base, rows, columns = linear
    share, former = ascent
    for band in range(first, last):
        distance, conjugate, size, total, pairing, slope, off = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
        for i in range(band * BAND, min((band + 1) * BAND, z.shape[0])):
            row = rows[i]
            if share != 0.0:
                for j in range(z.shape[1]):
                    shifted = z[i, j] + former * centre[i, j]
                    q = _clip(shifted, box.lower, box.upper)
                    centre[i, j] += share * ((shifted - q) / former - centre[i, j])
            for j in range(z.shape[1]):
                x = z[i, j]
                p = _clip(x, box.lower, box.upper)
                distance += (x - p) * (x - p)
                size += p * p
                c = centre[i, j]
                shifted = x + box.beta * c
                q = _clip(shifted, box.lower, box.upper)
                y = (shifted - q) * box.inverse
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
    linear: LinearPart,
    z: np.ndarray,
    centre: np.ndarray,
    box: SmoothedBox,
    out: np.ndarray,
    ascent: Ascent | None = None,
) -> BoxSums:
    """out = the linear part + y, y = (x - q) / beta, x = z + beta centre, q = clip(x, lower, upper), in one pass.

    All matrices (m, n) and C-contiguous. ascent: a move of the centre, in place, before all else, in the same pass.
    """
    ascent = Ascent(0.0, 1.0) if ascent is None else Ascent(float(ascent.share), float(ascent.former))
    distance, conjugate, size, total, pairing, slope, off = by_bands(
        _centred_box_direction_bands, z.shape, 7, linear, z, centre, ascent, box, out
    )
    roots = [float(np.sqrt(value)) for value in (distance, size, total, slope, off)]
    return BoxSums(roots[0], conjugate, roots[1], roots[2], pairing, roots[3], roots[4])


@compiled
def _box_offset_bands(
    z: np.ndarray, centre: np.ndarray, box: SmoothedBox, sums: np.ndarray, first: int, last: int
) -> None:
    for band in range(first, last):
        off, mixed, size = 0.0, 0.0, 0.0
        for i in range(band * BAND, min((band + 1) * BAND, z.shape[0])):
            for j in range(z.shape[1]):
                c = centre[i, j]
                shifted = z[i, j] + box.beta * c
                d = (shifted - _clip(shifted, box.lower, box.upper)) * box.inverse - c
                off += d * d
                mixed += d * c
                size += c * c
        sums[band, 0], sums[band, 1], sums[band, 2] = off, mixed, size


def box_offset(z: np.ndarray, centre: np.ndarray, box: SmoothedBox) -> tuple[float, float, float]:
    """|y - c|^2, <y - c, c> and |c|^2 for c = centre and y = (x - clip(x, lower, upper)) / beta, x = z + beta c, in one
    pass; z and centre (m, n), C-contiguous.
    """
    off, mixed, size = by_bands(_box_offset_bands, z.shape, 3, z, centre, box)
    return off, mixed, size


@compiled
def _box_mean_bands(
    z: np.ndarray,
    centre: np.ndarray,
    box: SmoothedBox,
    mean: np.ndarray,
    share: float,
    out: np.ndarray,
    half: bool,
    sums: np.ndarray,
    first: int,
    last: int,
) -> None:
    for band in range(first, last):
        top, bottom = band * BAND, min((band + 1) * BAND, z.shape[0])
        for i in range(top, bottom):
            for j in range(i + 1 if half else z.shape[1]):
                x = z[i, j]
                if centre.size > 0:
                    x += box.beta * centre[i, j]
                y = (x - _clip(x, box.lower, box.upper)) * box.inverse
                if mean.size > 0:
                    y = (1.0 - share) * mean[i, j] + share * y
                out[i, j] = y
        if half:  # across the diagonal, tile by tile
            for left in range(0, bottom, BAND):
                for j in range(left, min(left + BAND, bottom)):
                    for i in range(max(top, j + 1), bottom):
                        out[j, i] = out[i, j]


def box_mean(
    z: np.ndarray,
    box: SmoothedBox,
    centre: np.ndarray | None = None,
    mean: np.ndarray | None = None,
    share: float = 1.0,
    half: bool = False,
) -> np.ndarray:
    """(1 - share) mean + share y, y = (x - clip(x, lower, upper)) / beta, x = z + beta centre, in a new array and one
    pass; y itself without a mean, and x = z without a centre.

    z, centre and mean (m, n), C-contiguous. half: they are symmetric, and no entry above the diagonal is read.
    """
    out, nothing = np.empty(z.shape), np.empty((0, 0))
    centre, mean = nothing if centre is None else centre, nothing if mean is None else mean
    by_bands(_box_mean_bands, z.shape, 1, z, centre, box, mean, share, out, half, lower=half)
    return out


@compiled
def box_tile(
    x: np.ndarray,
    rows: int,
    columns: int,
    cost: np.ndarray,
    shift: np.ndarray,
    lower: float,
    upper: float,
    inverse: float,
) -> tuple[float, float]:
    """x <- cost + y, y = (x + shift - clip(x + shift, lower, upper)) * inverse, in place, for the first rows and
    columns of three square tiles; |y|^2 and <cost, x> of the x before.
    """
    total, linear = 0.0, 0.0
    for i in range(rows):
        for j in range(columns):
            z, c = x[i, j], cost[i, j]
            shifted = z + shift[i, j]
            y = (shifted - _clip(shifted, lower, upper)) * inverse
            total += y * y
            linear += c * z
            x[i, j] = c + y
    return total, linear


@box_tile.otherwise
def _(x, rows, columns, cost, shift, lower, upper, inverse):
    x, cost, shift = (array[:rows, :columns] for array in (x, cost, shift))
    shifted = x + shift
    y = (shifted - np.clip(shifted, lower, upper)) * inverse
    linear = np.vdot(cost, x)
    np.add(cost, y, out=x)
    return np.vdot(y, y), linear


def warm_up(kind: type, half: bool, centred: bool) -> None:
    """Make the passes of a run over matrices of one entry, with a direction of numbers of this kind, and with halves,
    centres or neither: to load compiled code takes half a second, and to compile it many.
    """
    one, line, out = np.zeros((1, 1)), np.zeros(1), np.zeros((1, 1), dtype=kind)
    linear, box = LinearPart(one, line, line), SmoothedBox.of(0.0, 0.0, 1.0)
    if half:
        half_box_direction(RankOneStep.none(one), linear, box, out)
        complete(one)
    else:
        blend_low_rank(one, 0.0, one, line, one, one)
    if centred:
        box_offset(one, one, box)
        centred_box_direction(linear, one, one, box, out)
    elif not half:
        box_direction(linear, one, box, out)
    box_mean(one, box, half=half)
