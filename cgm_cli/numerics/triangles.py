"""Which of the n^3 / 2 triangle inequalities of a matrix are violated most, and the nearest matrix that meets some.

For every apex i and every j the worst k is found, so that those found differ from each other in i or j: a few thousand
of them speak for all, where the worst few thousand of all would be about a handful of entries.

The inequality of a place (i, j, k) is <A, Y> = Y_ii + Y_jk - Y_ij - Y_ik >= 0, and Y_ii - Y_ij >= 0 at (i, j, i), with
A symmetric. The nearest Y to M that meets those at hand, and Y >= 0, is Y = M + sum w A + Z with the w >= 0 and Z >= 0
that make |Y| least: by Hildreth's method, one w after the other, each exactly, in a dozen operations (Hildreth, "A
quadratic programming procedure", Naval Research Logistics Quarterly 4, 1957).
"""

from __future__ import annotations

import numpy as np

from cgm_cli.numerics.compiled import compiled
from cgm_cli.numerics.threads import share

ROWS = 16
"""Apices of a piece of work: of 1000 points some hundredths of a second."""


def worst_at_apices(x: np.ndarray, sign: float = 1.0) -> tuple[np.ndarray, np.ndarray]:
    """For i and j the largest of s x_ij - x_ii and s x_ij - x_ii + s x_ik - x_jk over k <= j, (n, n), and that k; of
    the former, k = i. x (n, n), symmetric; sign: s, 1 or -1.
    """
    x = np.ascontiguousarray(x)
    n = x.shape[0]
    values, places = np.empty((n, n)), np.empty((n, n), dtype=np.int64)
    share(_apices, [(x, sign, values, places, start, min(start + ROWS, n)) for start in range(0, n, ROWS)])
    return values, places


@compiled
def _apices(x: np.ndarray, sign: float, values: np.ndarray, places: np.ndarray, start: int, end: int) -> None:
    for i in range(start, end):
        for j in range(x.shape[0]):
            worst, place = 0.0, i
            for k in range(j + 1):
                difference = sign * x[i, k] - x[j, k]
                if difference > worst and k != i:
                    worst, place = difference, k
            values[i, j] = sign * x[i, j] - x[i, i] + worst
            places[i, j] = place


@_apices.otherwise
def _(x: np.ndarray, sign: float, values: np.ndarray, places: np.ndarray, start: int, end: int) -> None:
    above = ~np.tri(x.shape[0], dtype=bool)
    for i in range(start, end):
        differences = sign * x[i] - x
        differences[above] = 0.0
        differences[:, i] = 0.0
        worst = differences.max(axis=1)
        places[i] = np.where(worst > 0.0, differences.argmax(axis=1), i)
        values[i] = sign * x[i] - x[i, i] + np.maximum(worst, 0.0)


def add_triangles(matrix: np.ndarray, places: np.ndarray, weights: np.ndarray) -> None:
    """matrix += sum w A. matrix (n, n); places (m, 3), integers, with j different from i and k; weights (m,)."""
    _add(matrix, places, weights)


def met(matrix: np.ndarray, places: np.ndarray, weights: np.ndarray, sweeps: int) -> tuple[np.ndarray, np.ndarray]:
    """The nearest Y to a symmetric matrix M (n, n) that meets Y >= 0 and the inequalities at these places, as far as so
    many sweeps come, and its Z; weights (m,), w, are changed: those to begin with, and those that belong to Y.
    """
    moved = matrix.copy()
    _add(moved, places, weights)
    for _ in range(sweeps):
        _sweep(moved, np.maximum(-moved, 0.0), places, weights)
    floor = np.maximum(-moved, 0.0)
    return moved + floor, floor


@compiled
def _add(matrix: np.ndarray, places: np.ndarray, weights: np.ndarray) -> None:
    for r in range(places.shape[0]):
        i, j, k = places[r]
        half = 0.5 * weights[r]
        matrix[i, i] += 2.0 * half
        matrix[i, j] -= half
        matrix[j, i] -= half
        if k != i:
            matrix[i, k] -= half
            matrix[k, i] -= half
            matrix[j, k] += half
            matrix[k, j] += half


@compiled
def _sweep(moved: np.ndarray, floor: np.ndarray, places: np.ndarray, weights: np.ndarray) -> None:
    """Each w in turn at its best, the others and Z given. moved: M + sum w A, floor: Z, both symmetric."""
    for r in range(places.shape[0]):
        i, j, k = places[r]
        room, size = moved[i, i] + floor[i, i] - moved[i, j] - floor[i, j], 1.5  # size: |A|^2
        if k != i:
            room, size = room + moved[j, k] + floor[j, k] - moved[i, k] - floor[i, k], 2.5
        step = max(0.0, weights[r] - room / size) - weights[r]
        if step != 0.0:
            weights[r] += step
            moved[i, i] += step
            moved[i, j] -= 0.5 * step
            moved[j, i] = moved[i, j]
            if k != i:
                moved[i, k] -= 0.5 * step
                moved[k, i] = moved[i, k]
                moved[j, k] += 0.5 * step
                moved[k, j] = moved[j, k]
