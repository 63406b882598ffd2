"""The equations that a step of an interior-point method comes to, A D A^T y = r: definite, and worse conditioned with
every step. Free variables z border them:

    M y + B z = r,   B^T y = t,   where M may be replaced by K = M + B T B^T, if r is by r + B T t, for any diagonal T:

K is definite where there is one solution, and B^T K^-1 B z = B^T K^-1 r - t.
"""

from __future__ import annotations

import numpy as np
import scipy.linalg
import scipy.sparse as sp

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
        scale = self._scale if right.ndim == 1 else self._scale[:, None]
        return scale * scipy.linalg.cho_solve(self._factor, scale * right, check_finite=False)


class BorderedEquations:
    """M y + B z = r and B^T y = t for M (m, m) and B (m, k), k > 0."""

    def __init__(self, matrix: np.ndarray, border: sp.csr_array):
        self._matrix, self._border = matrix, border
        squares = sp.csr_array(border * border)
        lengths = np.asarray(squares.sum(axis=0)).reshape(-1)
        # What is added is as large as what M has in the same rows, which others may exceed by far.
        self._weights = squares.T @ np.diag(matrix) / lengths**2
        weighted = border @ sp.diags_array(self._weights)
        self._whole = NormalEquations(matrix + (weighted @ border.T).toarray())
        self._across = self._whole.solve(border.toarray())
        inner = border.T @ self._across
        self._inner = NormalEquations(0.5 * (inner + inner.T))

    def solve(self, right: np.ndarray, target: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """y and z."""
        y, z = self._once(right, target)
        for _ in range(REFINED):
            dy, dz = self._once(right - self._matrix @ y - self._border @ z, target - self._border.T @ y)
            y, z = y + dy, z + dz
        return y, z

    def _once(self, right: np.ndarray, target: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        y = self._whole.solve(right + self._border @ (self._weights * target))
        z = self._inner.solve(self._border.T @ y - target)
        return y - self._across @ z, z
