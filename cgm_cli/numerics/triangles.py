"""Which of the n^3 / 2 triangle inequalities of a matrix are violated most.

For every apex i and every j the worst k is found, so that those found differ from each other in i or j: a few thousand
of them speak for all, where the worst few thousand of all would be about a handful of entries.
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
