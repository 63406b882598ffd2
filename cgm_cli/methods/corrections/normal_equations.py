"""The equations that a step of an interior-point method comes to, A D A^T y = r: definite, and worse conditioned with
every step.
"""

from __future__ import annotations

import numpy as np
import scipy.linalg

RIDGE, REFINED = 1e-15, 2
"""What is added to the diagonal of M, relative, where Cholesky's method fails without it, a hundred times as much each
time; and how often a solution is refined.
"""


class NormalEquations:
    """M y = r for M (m, m), of which a matrix with a diagonal of ones is factorised."""

    def __init__(self, matrix: np.ndarray):
        self._matrix = matrix
        self._scale = 1.0 / np.sqrt(np.maximum(np.diag(matrix), np.finfo(float).tiny))
        ridge = 0.0
        while True:
            scaled = matrix * self._scale[:, None]
            scaled *= self._scale
            scaled[np.diag_indices_from(scaled)] += ridge
            try:
                # The transpose, which is the same, is in the order that LAPACK wants.
                self._factor = scipy.linalg.cho_factor(scaled.T, lower=True, overwrite_a=True, check_finite=False)
                return
            except scipy.linalg.LinAlgError:
                if not ridge < 1e-6:
                    raise
                ridge = RIDGE if ridge == 0.0 else 100.0 * ridge

    def solve(self, right: np.ndarray) -> np.ndarray:
        found = self._once(right)
        for _ in range(REFINED):
            found = found + self._once(right - self._matrix @ found)
        return found

    def _once(self, right: np.ndarray) -> np.ndarray:
        return self._scale * scipy.linalg.cho_solve(self._factor, self._scale * right, check_finite=False)
