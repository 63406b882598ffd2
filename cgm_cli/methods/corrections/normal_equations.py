"""The equations that a step of an interior-point method comes to, A D A^T y = r: definite, and worse conditioned with
every step. Free variables z border them:

    M y + B z = r,   B^T y = t,   where M may be replaced by K = M + B T B^T, if r is by r + B T t, for any diagonal T:

K is definite where there is one solution, and B^T K^-1 B z = B^T K^-1 r - t.

A D A^T has the condition of D^(1/2) A^T, squared. Where that leaves its factor no digits, the factor is taken from the
QR decomposition of D^(1/2) A^T itself, and solutions are refined by products with that (the corrected seminormal
equations: Björck, "Stability analysis of the method of seminormal equations", Linear Algebra Appl. 88/89, 1987).
"""

from __future__ import annotations

import numpy as np
import scipy.linalg
import scipy.sparse as sp

SOUND = 1e-5
"""The smallest entry of the diagonal of a factor, of a matrix with ones on its diagonal, down to which it is used."""

ROOT_RIDGE = 1e-9
"""Rows added to a root of columns of length one: what it leaves of directions that are rounding, refinement mends of
others. With 1e-13 optima at which rows depend take twice the steps.
"""

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

    @property
    def is_sound(self) -> bool:
        """Whether its factor has half of the digits, at least."""
        return float(np.diag(self._factor[0]).min(initial=1.0)) >= SOUND

    def solve(self, right: np.ndarray) -> np.ndarray:
        found = self._once(right)
        for _ in range(REFINED):
            found = found + self._once(right - self._matrix @ found)
        return found

    def _once(self, right: np.ndarray) -> np.ndarray:
        scale = self._scale if right.ndim == 1 else self._scale[:, None]
        return scale * scipy.linalg.cho_solve(self._factor, scale * right, check_finite=False)


class SeminormalEquations:
    """B^T B y = r for B (N, m), by R of its QR decomposition."""

    def __init__(self, root: np.ndarray):
        lengths = np.linalg.norm(root, axis=0)
        self._scale = 1.0 / np.maximum(lengths, np.finfo(float).tiny)
        self._root = root * self._scale
        ridge = ROOT_RIDGE * np.eye(root.shape[1])
        self._factor = np.linalg.qr(np.vstack([self._root, ridge]), mode="r")

    def solve(self, right: np.ndarray) -> np.ndarray:
        scaled = self._scale * right
        found = self._once(scaled)
        for _ in range(REFINED):
            found = found + self._once(scaled - self._root.T @ (self._root @ found))
        return self._scale * found

    def _once(self, right: np.ndarray) -> np.ndarray:
        half = scipy.linalg.solve_triangular(self._factor, right, trans=1, check_finite=False)
        return scipy.linalg.solve_triangular(self._factor, half, check_finite=False)


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
