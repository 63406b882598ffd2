"""Coordinate descent over the rows of a factor: a pass leaves every row at its best beside all the others; with
momentum, from points ahead of where the last passes have come to.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import pairwise

import numpy as np
import scipy.sparse as sp

from cgm_cli.numerics.compiled import compiled

AT_ONCE = 2e8
"""Products of a stretch of rows, a tenth of a second or so, between two looks at the clock."""

ROOM = 2**24
"""Bytes of a stretch of rows: what is made of a factor is made of one after the other, with looks at the clock."""


@compiled
def _sweep(
    data: np.ndarray,
    indices: np.ndarray,
    starts: np.ndarray,
    lengths: np.ndarray,
    factor: np.ndarray,
    former: np.ndarray,
    first: int,
    last: int,
) -> tuple[float, float]:
    columns, gain, turned = factor.shape[1], 0.0, 0.0
    slope = np.empty(columns)
    for i in range(first, last):
        for j in range(columns):
            slope[j] = 0.0
        for k in range(starts[i], starts[i + 1]):
            entry, other = data[k], indices[k]
            for j in range(columns):
                slope[j] += entry * factor[other, j]
        square = along = 0.0
        for j in range(columns):
            square += slope[j] * slope[j]
            along += slope[j] * factor[i, j]
        size = np.sqrt(square)
        if size > 0.0:
            gain += along + lengths[i] * size
            scale = -lengths[i] / size
            for j in range(columns):
                new = scale * slope[j]
                turned += (factor[i, j] - new) * (new - former[i, j])
                factor[i, j] = new
    return gain, turned


@_sweep.otherwise
def _(data, indices, starts, lengths, factor, former, first, last):
    gain = turned = 0.0
    for i in range(first, last):
        entries = slice(starts[i], starts[i + 1])
        slope = data[entries] @ factor[indices[entries]]
        size = math.sqrt(slope @ slope)
        if size > 0.0:
            gain += slope @ factor[i] + lengths[i] * size
            new = (-lengths[i] / size) * slope
            turned += (factor[i] - new) @ (new - former[i])
            factor[i] = new
    return gain, turned


@compiled
def _extrapolate(
    lengths: np.ndarray, factor: np.ndarray, former: np.ndarray, share: float, first: int, last: int
) -> None:
    for i in range(first, last):
        square = 0.0
        for j in range(factor.shape[1]):
            here = factor[i, j]
            ahead = here + share * (here - former[i, j])
            former[i, j], factor[i, j] = here, ahead
            square += ahead * ahead
        if square > 0.0:
            scale = lengths[i] / np.sqrt(square)
            for j in range(factor.shape[1]):
                factor[i, j] *= scale


@_extrapolate.otherwise
def _(lengths, factor, former, share, first, last):
    here, rows = factor[first:last].copy(), slice(first, last)
    ahead = here + share * (here - former[rows])
    size = np.sqrt(row_products(ahead, ahead))
    former[rows], factor[rows] = here, ahead * np.where(size > 0.0, lengths[rows] / size, 1.0)[:, None]


def descend(
    matrix: sp.csr_array, lengths: np.ndarray, factor: np.ndarray, count: int, least: float, look: Callable[[], None]
) -> None:
    """Up to `count` passes over the rows of `factor` (n, r), in place. Each puts every row, in turn, to where
    <C, R R^T> is least among the rows of its length: opposite to g_i = sum_j c_ij r_j.

    A pass begins ahead of where the last has come to, as far as Nesterov's sequence says, which begins anew where a
    pass turns back (O'Donoghue and Candes, Found. Comput. Math. 15, 2015): a grid of 800 nodes takes 100 passes for
    what 1700 reach without.

    matrix: C (n, n), symmetric and with no diagonal. lengths (n,): of the rows, which they have. least: the gain in
    <C, R R^T> / 2 of a pass that is the last. look: called now and then; it may raise, and leaves the factor half done.
    """
    n, columns = factor.shape
    rows = matrix.data, matrix.indices, matrix.indptr
    cuts = np.linspace(0, n, min(n, 1 + int(matrix.nnz * columns / AT_ONCE)) + 1).astype(int).tolist()
    former, theta, share = factor.copy(), 1.0, 0.0
    for _ in range(count):
        gain = turned = 0.0
        _extrapolate(lengths, factor, former, share, 0, n)
        for first, last in pairwise(cuts):
            look()
            more, turn = _sweep(*rows, lengths, factor, former, first, last)
            gain, turned = gain + more, turned + turn
        if gain <= least:
            return
        older = 0.5 * (1.0 + math.sqrt(1.0 + 4.0 * theta * theta))
        share, theta = ((theta - 1.0) / older, older) if turned <= 0.0 else (0.0, 1.0)


def row_products(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """The inner products of the rows of one matrix (n, r) with those of another, (n,)."""
    return np.einsum("ij,ij->i", first, second)


def stretches(count: int, columns: int) -> list[slice]:
    """Of the rows of a matrix (count, columns), each of about ROOM bytes."""
    rows = max(1, ROOM // (8 * max(1, columns)))
    return [slice(first, first + rows) for first in range(0, count, rows)]


def row_forms(factor: np.ndarray, matrix: sp.csr_array, look: Callable[[], None] = lambda: None) -> np.ndarray:
    """The inner products of the rows of a factor R (n, r) with those of C R, (n,), for a matrix C (n, n), without room
    for C R. look: called now and then; it may raise.
    """
    found = np.zeros(len(factor))
    for stretch in stretches(*factor.shape):
        look()
        found[stretch] = row_products(factor[stretch], matrix[stretch] @ factor)
    return found


def warm_up() -> None:
    """Load what is compiled; see `box_passes.warm_up`."""
    descend(sp.csr_array((1, 1)), np.ones(1), np.ones((1, 1)), 1, 0.0, lambda: None)
