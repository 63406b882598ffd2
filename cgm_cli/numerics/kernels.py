"""Fused passes over memory (numba), each beside the NumPy expression it equals: steps, products and copies of matrices.

One pass over an n x n array costs about what a copy costs; the chained NumPy expression of the same formula makes a
pass, and a temporary, per operation. Threads share the passes (cgm_cli.numerics.bands); those of bounds on the entries
are in cgm_cli.numerics.box_passes.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from cgm_cli.numerics.bands import BAND, CACHED, SLAB, by_bands, by_slabs
from cgm_cli.numerics.compiled import compiled


class RankOneStep(NamedTuple):
    """x <- keep x + left right^T, for a C-contiguous x (m, n); left (m,), right (n,)."""

    x: np.ndarray
    keep: float
    left: np.ndarray
    right: np.ndarray

    @classmethod
    def none(cls, x: np.ndarray) -> RankOneStep:
        """The step that leaves x as it is."""
        return cls(x, 1.0, np.zeros(x.shape[0]), np.zeros(x.shape[1]))


def product(matrix: np.ndarray, block: np.ndarray) -> np.ndarray:
    """matrix @ block for a matrix (m, n) and a block (n, r) of the same type, by slabs of rows."""
    out = np.empty((matrix.shape[0], block.shape[1]), dtype=matrix.dtype)

    def multiply(slab: slice) -> None:
        np.matmul(matrix[slab], block, out=out[slab])

    by_slabs(multiply, matrix.shape, SLAB)
    return out


@compiled
def _step_bands(step: RankOneStep, cost: np.ndarray, lower: bool, sums: np.ndarray, first: int, last: int) -> None:
    x, keep, left, right = step
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


@_step_bands.otherwise
def _(step: RankOneStep, cost: np.ndarray, lower: bool, sums: np.ndarray, first: int, last: int) -> None:
    x, keep, left, right = step
    for i in range(first * BAND, min(last * BAND, x.shape[0])):
        row = x[i, : i + 1] if lower else x[i]
        row *= keep
        row += left[i] * right[: row.size]
        if cost.size > 0:
            sums[i // BAND, 0] += _paired(cost[i], row, lower)


def _paired(cost: np.ndarray, row: np.ndarray, lower: bool) -> float:
    """What a row of a symmetric matrix, up to the diagonal, adds to <cost, x>, or a whole row of another."""
    inner = float(cost[: row.size] @ row)
    return 2.0 * inner - float(cost[row.size - 1] * row[-1]) if lower else inner


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
    and no entry above the diagonal is read or, if r = 1, written.
    """
    if weights.size == 0:
        left, weights, right = np.zeros((x.shape[0], 1)), np.zeros(1), np.zeros((x.shape[1], 1))
    scaled = left * (eta * weights)
    if weights.size > 1:
        return _step_by_products(x, 1.0 - eta, scaled, right, cost, lower)
    step = RankOneStep(x, 1.0 - eta, scaled[:, 0].copy(), np.ascontiguousarray(right[:, 0]))
    return by_bands(_step_bands, x.shape, 1, step, np.empty((0, 0)) if cost is None else cost, lower, lower=lower)[0]


@compiled
def _add_rows(x: np.ndarray, keep: float, added: np.ndarray, cost: np.ndarray, start: int) -> float:
    """start: of symmetric matrices, of which only the first `added.shape[1]` columns are changed, the number of the
    first of these rows; else -1.
    """
    pairing = 0.0
    for i in range(x.shape[0]):
        for j in range(added.shape[1]):
            x[i, j] = keep * x[i, j] + added[i, j]
        if cost.size > 0:
            inner = 0.0
            end = x.shape[1] if start < 0 else start + i + 1
            for j in range(end):
                inner += cost[i, j] * x[i, j]
            pairing += inner if start < 0 else 2.0 * inner - cost[i, end - 1] * x[i, end - 1]
    return pairing


@_add_rows.otherwise
def _(x: np.ndarray, keep: float, added: np.ndarray, cost: np.ndarray, start: int) -> float:
    changed = x[:, : added.shape[1]]
    changed *= keep
    changed += added
    if cost.size == 0:
        return 0.0
    if start < 0:
        return float(np.vdot(cost, x))
    return sum(_paired(cost[i], x[i, : start + i + 1], True) for i in range(x.shape[0]))


def _step_by_products(
    x: np.ndarray, keep: float, left: np.ndarray, right: np.ndarray, cost: np.ndarray | None, lower: bool
) -> float:
    """x <- keep x + left right^T in place, and <cost, x>: slab by slab, whose product BLAS leaves in a cache."""
    pairings = np.zeros(-(-x.shape[0] // CACHED))
    across = np.ascontiguousarray(right.T)
    nothing = np.empty((0, 0))

    def blend(slab: slice) -> None:
        added = left[slab] @ (across[:, : slab.stop] if lower else across)
        costs = nothing if cost is None else cost[slab]
        pairings[slab.start // CACHED] = _add_rows(x[slab], keep, added, costs, slab.start if lower else -1)

    by_slabs(blend, x.shape, CACHED)
    return float(pairings.sum())


@compiled
def _complete_bands(x: np.ndarray, sums: np.ndarray, first: int, last: int) -> None:
    for band in range(first, last):
        top, bottom = band * BAND, min((band + 1) * BAND, x.shape[0])
        for left in range(top, x.shape[1], BAND):
            for j in range(left, min(left + BAND, x.shape[1])):
                for i in range(top, min(bottom, j)):
                    x[i, j] = x[j, i]


@_complete_bands.otherwise
def _(x: np.ndarray, sums: np.ndarray, first: int, last: int) -> None:
    for i in range(first * BAND, min(last * BAND, x.shape[0])):
        x[i, i + 1 :] = x[i + 1 :, i]


def complete(x: np.ndarray) -> None:
    """Write the entries below the diagonal of a square x above it, too, in place."""
    by_bands(_complete_bands, x.shape, 1, x)


@compiled
def _single_bands(matrix: np.ndarray, factor: float, out: np.ndarray, sums: np.ndarray, first: int, last: int) -> None:
    for i in range(first * BAND, min(last * BAND, matrix.shape[0])):
        for j in range(matrix.shape[1]):
            out[i, j] = factor * matrix[i, j]


@_single_bands.otherwise
def _(matrix: np.ndarray, factor: float, out: np.ndarray, sums: np.ndarray, first: int, last: int) -> None:
    rows = slice(first * BAND, last * BAND)
    out[rows] = factor * matrix[rows]


def single(matrix: np.ndarray, factor: float) -> np.ndarray:
    """factor * matrix in single precision, (m, n), in one pass."""
    out = np.empty(matrix.shape, dtype=np.float32)
    by_bands(_single_bands, matrix.shape, 1, matrix, factor, out)
    return out
