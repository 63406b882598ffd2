"""A cone program of CVXPY in the standard form, which has no free variables.

    min c^T x   subject to   A x + s = b,   s in {0} x K,        max -b^T y   subject to   A^T y + c = 0,   y in R x K.

Both are programs  min q^T u  subject to  E u = e, u in K, and the one with fewer equations is solved. With w its
multipliers, q - E^T w in K:

    primal  u = s on K. With G A = 0 for all rows of G, and A^T y_0 = -c: c^T x = y_0^T s - y_0^T b. So q = y_0, E = G,
            e = G b. From s comes x by A x = b - s, and y = y_0 - G^T w.
    dual    u = y on K. With A_0 N = 0 for all columns of N, and A_0 x_0 = b_0, where A_0 and b_0 are the rows of the
            zero cone: b^T y = q^T u - c^T x_0, with q = b - A x_0, E = (A N)^T, e = -N^T c, of the rows of K. From y on
            K comes the rest of it by A^T y = -c, and x = x_0 + N w.

G and N come by elimination (`cgm_cli.cvxpy.elimination`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
import scipy.sparse as sp

from cgm_cli.cvxpy.elimination import Elimination

CONSISTENT = 1e-9
"""How far equations may be from what the others say, relative to the right-hand sides, to be the same."""


class Contradiction(Exception):
    """of_constraints: the equations contradict each other; else nothing bounds the objective in some direction that no
    constraint knows of.
    """

    def __init__(self, of_constraints: bool):
        super().__init__(of_constraints)
        self.of_constraints = of_constraints


@dataclass(frozen=True)
class Program:
    """min c^T x + offset subject to A x + s = b, s in {0}^zero x K."""

    cost: np.ndarray
    rows: sp.csr_array
    right: np.ndarray
    zero: int
    offset: float = 0.0


class StandardForm(Protocol):
    """cost, rows, right: q, E, e. sign: the objective of the program is sign (q^T u) + constant."""

    is_dual: bool
    sign: float
    constant: float
    cost: np.ndarray
    rows: sp.csr_array
    right: np.ndarray

    def solution(self, u: np.ndarray, w: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(x, y)."""
        ...


def standard_form(program: Program) -> StandardForm:
    """The one with fewer equations. Raises Contradiction where it is seen at once that there is no solution."""
    inside = program.right.size - program.zero
    free = program.cost.size - program.zero
    return Primal(program) if inside <= 2 * free else Dual(program)


class Primal:
    is_dual = False
    sign = 1.0

    def __init__(self, program: Program):
        self._program = program
        transposed = sp.csr_array(program.rows.T)
        self._pivots = found = Elimination(transposed)
        y = np.zeros(program.right.size)
        y[found.pivots] = found.solve(-program.cost[found.rows])
        if not _agrees(transposed @ y, -program.cost):
            raise Contradiction(of_constraints=False)
        count = found.others.size
        whole = sp.hstack([-found.table.T, sp.eye_array(count)], format="csc")
        back = np.argsort(np.concatenate([found.pivots, found.others]))
        self._left = sp.csr_array(whole[:, back])
        self._y = y
        self.constant = program.offset - float(y @ program.right)
        self.cost = y[program.zero :]
        rows, right = sp.csr_array(self._left[:, program.zero :]), self._left @ program.right
        self._kept = _without_empty(rows, right, float(np.abs(program.right).max(initial=0.0)), True)
        self.rows, self.right = rows[self._kept], right[self._kept]

    def solution(self, u: np.ndarray, w: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        program, found = self._program, self._pivots
        left = program.right.copy()
        left[program.zero :] -= u
        x = np.zeros(program.cost.size)
        x[found.rows] = found.solve_transposed(left[found.pivots])
        return x, self._y - self._left[self._kept].T @ w


class Dual:
    is_dual = True
    sign = -1.0

    def __init__(self, program: Program):
        self._program = program
        fixed, self._inside = program.rows[: program.zero], program.rows[program.zero :]
        right = program.right[: program.zero]
        self._pivots = found = Elimination(fixed)
        x = np.zeros(program.cost.size)
        x[found.pivots] = found.solve(right[found.rows])
        if not _agrees(fixed @ x, right):
            raise Contradiction(of_constraints=True)
        whole = sp.vstack([-found.table, sp.eye_array(found.others.size)], format="csr")
        self._along = sp.csr_array(whole[np.argsort(np.concatenate([found.pivots, found.others]))])
        self._x = x
        self.constant = program.offset + float(program.cost @ x)
        self.cost = program.right[program.zero :] - self._inside @ x
        rows, equal = sp.csr_array((self._inside @ self._along).T), -(self._along.T @ program.cost)
        self._kept = _without_empty(rows, equal, float(np.abs(program.cost).max(initial=0.0)), False)
        self.rows, self.right = rows[self._kept], equal[self._kept]

    def solution(self, u: np.ndarray, w: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        program, found = self._program, self._pivots
        free = np.zeros(program.zero)
        free[found.rows] = found.solve_transposed(-(program.cost + self._inside.T @ u)[found.pivots])
        return self._x + self._along[:, self._kept] @ w, np.concatenate([free, u])


def _agrees(found: np.ndarray, right: np.ndarray) -> bool:
    return float(np.abs(found - right).max(initial=0.0)) <= CONSISTENT * float(np.abs(right).max(initial=0.0))


def _without_empty(rows: sp.csr_array, right: np.ndarray, size: float, of_constraints: bool) -> np.ndarray:
    """The equations that say something. Raises Contradiction for one that cannot be."""
    largest = abs(rows).max(axis=1).toarray().reshape(-1) if rows.nnz else np.zeros(rows.shape[0])
    empty = largest <= CONSISTENT * max(1.0, float(largest.max(initial=0.0)))
    if (np.abs(right[empty]) > CONSISTENT * size).any():
        raise Contradiction(of_constraints)
    return np.flatnonzero(~empty)
