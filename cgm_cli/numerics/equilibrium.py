"""Units of rows and columns in which the entries of a matrix are of one size."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

ROUNDS = 20
"""Each halves, in logarithms, how far the largest entries of rows and columns are from one."""


def equilibrated(matrix: sp.coo_array, columns: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """r (m,) and t (n,), positive, for which the largest |r_i A_ij t_j| of every row and column is about one (Ruiz, "A
    scaling algorithm to equilibrate both rows and columns norms in matrices", 2001). Columns with the same number in
    `columns` share their t; empty rows and columns keep a one.
    """
    rows, places, size = matrix.row, columns[matrix.col], np.abs(matrix.data)
    rows, places, size = rows[size > 0.0], places[size > 0.0], size[size > 0.0]
    r, t = np.ones(matrix.shape[0]), np.ones(int(columns.max()) + 1)
    for _ in range(ROUNDS):
        scaled = r[rows] * size * t[places]
        r, t = r / np.sqrt(_peaks(scaled, rows, r.size)), t / np.sqrt(_peaks(scaled, places, t.size))
    return r, t[columns]


def _peaks(size: np.ndarray, places: np.ndarray, count: int) -> np.ndarray:
    peaks = np.zeros(count)
    np.maximum.at(peaks, places, size)
    return np.where(peaks > 0.0, peaks, 1.0)
