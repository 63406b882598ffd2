"""Anderson's acceleration of z <- T z (D. G. Anderson, "Iterative procedures for nonlinear integral equations", J. ACM
12, 1965; Walker and Ni, "Anderson acceleration for fixed-point iterations", SIAM J. Numer. Anal. 49, 2011).

Where T is affine on the points z_i gone through, so is its residual: that of an affine combination sum a_i z_i is
sum a_i (T z_i - z_i), and the one for which it is shortest is a problem of least squares in as many unknowns as there
are points. T is piecewise affine for linear programs, and nearly so for what is smooth where no constraint changes
sides: once the piece is that of the solution, a few combinations lead to it, however slowly T does.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

MOST, LEAST, NUMBERS = 60, 20, 100_000
"""How many points are remembered: as many as make up so many numbers, but not fewer or more than that."""

LARGEST = 200_000
"""Size of residuals above which none are: to go through as many as it takes costs more than T does."""

RIDGE = 1e-12
"""Part of the trace of the normal equations, and of the square of the residual, that is added to their diagonal: their
rounding is of the size of the former, and changes that are a millionth of the residual are rounding themselves.
"""


@dataclass(frozen=True)
class Trail:
    """What is remembered of the points gone through: T z of the last, (d,), its residual in coordinates of the norm of
    T, (e,), and in rows what they changed by from one point to the next, the oldest being overwritten. count: of such
    changes, of which the last rows are left.
    """

    found: np.ndarray
    residual: np.ndarray
    found_by: np.ndarray
    residual_by: np.ndarray
    count: int


class Anderson:
    """The points of an iteration, from a trail on, which stays as it is."""

    def __init__(self, trail: Trail | None = None):
        self._last: tuple[np.ndarray, np.ndarray] | None = None
        self._count = 0
        if trail is not None:
            self._begin(trail.found, trail.residual)
            self._count, rows = trail.count, len(trail.residual_by)
            self._found_by[:rows], self._residual_by[:rows] = trail.found_by, trail.residual_by

    def _begin(self, found: np.ndarray, residual: np.ndarray) -> None:
        most = int(np.clip(NUMBERS // max(1, residual.size), LEAST, MOST)) if residual.size <= LARGEST else 0
        self._found_by, self._residual_by = np.empty((most, found.size)), np.empty((most, residual.size))
        self._last = found, residual

    def add(self, found: np.ndarray, residual: np.ndarray) -> None:
        if self._last is None:
            self._begin(found, residual)
        elif len(self._residual_by):
            row = self._count % len(self._residual_by)
            np.subtract(found, self._last[0], out=self._found_by[row])
            np.subtract(residual, self._last[1], out=self._residual_by[row])
            self._count += 1
            self._last = found, residual

    @property
    def is_empty(self) -> bool:
        return self._count == 0

    def combined(self) -> tuple[np.ndarray, float]:
        """sum a_i T z_i, and how long the residual of sum a_i z_i is where T is affine. It may lie outside of X."""
        assert self._last is not None
        (found, residual), moves = self._last, self._residual_by[: self._rows]
        normal = moves @ moves.T
        ridge = RIDGE * (np.trace(normal) + float(residual @ residual))
        normal[np.diag_indices_from(normal)] += max(ridge, np.finfo(float).tiny)
        shares = np.linalg.solve(normal, moves @ residual)
        return found - shares @ self._found_by[: self._rows], float(np.linalg.norm(residual - shares @ moves))

    @property
    def trail(self) -> Trail | None:
        if self.is_empty or self._last is None:
            return None
        return Trail(*self._last, self._found_by[: self._rows], self._residual_by[: self._rows], self._count)

    @property
    def _rows(self) -> int:
        return min(self._count, len(self._residual_by))
