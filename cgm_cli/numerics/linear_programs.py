"""Linear programs over bounded sets, by HiGHS, with lower bounds that are proven; nearest points of such sets."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp

from cgm_cli.errors import ProblemError

_EPS = float(np.finfo(np.longdouble).eps)

_Rows = tuple[sp.csr_array, np.ndarray, np.ndarray]
"""Rows, their right-hand sides, and what they were divided by."""

_TIGHT: Any = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}
"""The tightest of HiGHS; what is given to it is of unit size."""


@dataclass(frozen=True)
class Solution:
    """x (n,) and a number that is at most the minimum, rounding included."""

    x: np.ndarray
    lower: float


@dataclass(frozen=True)
class Program:
    """a x <= b, c x = d, lower <= x <= upper: a (m, n), b (m,), c (k, n), d (k,), both ends (n,), finite but where
    `enclosed` is still to find them.
    """

    a: sp.csr_array
    b: np.ndarray
    c: sp.csr_array
    d: np.ndarray
    lower: np.ndarray
    upper: np.ndarray

    def solve(self, cost: np.ndarray) -> Solution | None:
        """min <cost, x>; None where no x is found. Each entry is taken in units of its own range, rows of their size:
        the tolerances of HiGHS are absolute.
        """
        units, (a, b, of_a), (c, d, of_c) = self._scaled
        peak = float(np.abs(cost * units).max()) or 1.0
        found = _highs(cost * units / peak, a, b, c, d, (self.upper - self.lower) / units)
        if found.status != 0:
            return None
        x = np.clip(self.lower + units * found.x, self.lower, self.upper)
        y = peak * np.maximum(-found.ineqlin.marginals, 0.0) / of_a
        w = -peak * found.eqlin.marginals / of_c
        return Solution(x, self.proven(cost, y, w))

    @cached_property
    def _scaled(self) -> tuple[np.ndarray, _Rows, _Rows]:
        """The unit (n,) of each entry, and both kinds of rows in these: the same for every cost."""
        units = np.where(self.upper > self.lower, self.upper - self.lower, 1.0)
        return units, _in_units(self.a, self.b, units, self.lower), _in_units(self.c, self.d, units, self.lower)

    def proven(self, cost: np.ndarray, y: np.ndarray, w: np.ndarray) -> float:
        """sum_j min(v_j l_j, v_j u_j) - <b, y> - <d, w> for v = cost + a^T y + c^T w and y >= 0, at most the minimum,
        less what extended precision may have rounded, n eps of the sum of all magnitudes.
        """
        slopes, size, level, weight = _pulled(self, y, w)
        slopes = slopes + cost
        ends = np.minimum(slopes * self.lower, slopes * self.upper)
        limits = np.maximum(np.abs(self.lower), np.abs(self.upper))
        magnitude = ((np.abs(cost) + size) * limits).sum() + weight
        terms = sum(self.a.shape) + self.c.shape[0] + 4
        value = ends.sum() - level - 2 * terms * _EPS * magnitude
        rounded = float(value)
        return rounded if rounded <= value else float(np.nextafter(rounded, -np.inf))

    def nearest(self, x: np.ndarray) -> np.ndarray:
        """The nearest point to x (n,), by non-negative least squares (Lawson and Hanson, "Solving Least Squares
        Problems", 1974, ch. 23): with G q <= h for the step q, and r the residual of min |(G^T; h^T) u + e_last| over
        u >= 0, it is q = r[:n] / r[n] up to its sign. A second pass, from near by, mends the rounding of the first.
        """
        g, h = self._sides
        for _ in range(2):
            x = np.clip(x + _shortest(g, h - g @ x), self.lower, self.upper)
        return x

    @cached_property
    def _sides(self) -> tuple[np.ndarray, np.ndarray]:
        """All of it as G x <= h, with rows of length one."""
        one, a, c = np.eye(self.lower.size), self.a.toarray(), self.c.toarray()
        g = np.vstack([a, c, -c, one, -one])
        h = np.concatenate([self.b, self.d, -self.d, self.upper, -self.lower])
        lengths = np.linalg.norm(g, axis=1)
        lengths[lengths == 0.0] = 1.0
        return g / lengths[:, None], h / lengths


def enclosed(program: Program) -> Program:
    """The program with bounds where it has none. Raises ProblemError where the set is empty or not bounded.

    From the duals of max +-x_j come y >= 0 and w with a^T y + c^T w = +-e_j + r_j, up to an error r_j, for the rows of
    bounds that are given among those of a. So +-x_j <= t_j + |r_j|_1 |x|_inf, t_j = <b, y> + <d, w>, for every x of the
    set. Where rho, the largest |r_j|_1, is below 1 no direction leads to infinity, since it would have an entry that is
    less than itself; and |x|_inf <= max t_j / (1 - rho).
    """
    ends = (program.lower, program.upper)
    if np.isfinite(ends).all():
        return program
    n, one = program.lower.size, sp.eye_array(program.lower.size, format="csr")
    above, below = np.isfinite(program.upper), np.isfinite(program.lower)
    a = sp.csr_array(sp.vstack([program.a, one[above], -one[below]]))
    b = np.concatenate([program.b, program.upper[above], -program.lower[below]])
    whole = replace(program, a=a, b=b)
    rows = [_in_units(*pair, np.ones(n), np.zeros(n)) for pair in ((a, b), (program.c, program.d))]
    unit = float(max(np.abs(right).max(initial=0.0) for _, right, _ in rows)) or 1.0
    tops, errors = np.zeros((2, n), dtype=np.longdouble), np.zeros((2, n), dtype=np.longdouble)
    for side, sign in enumerate((-1.0, 1.0)):
        for j in range(n):
            target = sign * np.eye(1, n, j)[0]
            found = _highs(
                -target, rows[0][0], rows[0][1] / unit, rows[1][0], rows[1][1] / unit, np.full(n, np.inf), -np.inf
            )
            if found.status == 2:
                raise ProblemError("no point meets all inequalities, equations and bounds: the polytope is empty")
            if found.status != 0:
                raise ProblemError(
                    f"entry {j} of a point has no {'upper' if sign > 0 else 'lower'} bound that was found: a domain is "
                    "bounded; give `lower` and `upper`"
                )
            y, w = np.maximum(-found.ineqlin.marginals, 0.0) / rows[0][2], -found.eqlin.marginals / rows[1][2]
            slopes, size, level, weight = _pulled(whole, y, w)
            rounding = 2 * (sum(a.shape) + program.c.shape[0] + 4) * _EPS
            errors[side, j] = np.abs(slopes - target).sum() + rounding * (size.sum() + 1.0)
            tops[side, j] = level + rounding * weight
    rho = float(errors.max())
    if not rho < 0.5:
        raise ProblemError("that the polytope is bounded could not be proven: give `lower` and `upper`")
    tops += errors * max(0.0, float(tops.max()) / (1.0 - rho)) * (1.0 + 1e-9)
    wide = [np.nextafter(top.astype(float), np.inf) for top in tops]
    return replace(
        program,
        lower=np.where(below, program.lower, -wide[0]),
        upper=np.where(above, program.upper, wide[1]),
    )


def _pulled(program: Program, y: np.ndarray, w: np.ndarray) -> tuple[np.ndarray, np.ndarray, Any, Any]:
    """a^T y + c^T w, the sums of the magnitudes in it, <b, y> + <d, w>, and the magnitudes in that: extended."""
    slopes, size, level, weight = np.zeros(program.lower.size, np.longdouble), 0.0, 0.0, 0.0
    for matrix, right, dual in ((program.a, program.b, y), (program.c, program.d, w)):
        entries = matrix.tocoo()
        products = entries.data.astype(np.longdouble) * dual[entries.coords[0]]
        np.add.at(slopes, entries.coords[1], products)
        size = size + np.bincount(entries.coords[1], np.abs(products).astype(float), minlength=program.lower.size)
        level = level + (right.astype(np.longdouble) * dual).sum()
        weight = weight + np.abs(right * dual).sum()
    return slopes, np.asarray(size), level, weight


def _in_units(matrix: sp.csr_array, right: np.ndarray, units: np.ndarray, origin: np.ndarray) -> _Rows:
    """Rows for t in x = origin + units t, each over its largest entry, and these."""
    scaled = sp.csr_array(matrix.multiply(units[None, :]))
    sizes = abs(scaled).max(axis=1).toarray().reshape(-1) if scaled.nnz else np.zeros(matrix.shape[0])
    sizes[sizes == 0.0] = 1.0
    rows = sp.csr_array(sp.diags_array(1.0 / sizes) @ scaled)
    return rows, (right - matrix @ origin) / sizes, sizes


def _highs(
    cost: np.ndarray,
    a: sp.csr_array,
    b: np.ndarray,
    c: sp.csr_array,
    d: np.ndarray,
    upper: np.ndarray,
    lower: float = 0.0,
) -> Any:
    """min <cost, t> over a t <= b, c t = d, lower <= t <= upper."""
    from scipy.optimize import linprog

    bounds = np.column_stack([np.full(upper.size, lower), upper])
    solve: Any = linprog  # whose types know of neither sparse rows nor an array of bounds
    return solve(cost, a, b, c, d, bounds, method="highs-ds", options=_TIGHT)


def _shortest(g: np.ndarray, h: np.ndarray) -> np.ndarray:
    """The shortest q with g q <= h; zero where it meets that."""
    from scipy.optimize import nnls

    unit = float(-h.min())
    if unit <= 0.0:
        return np.zeros(g.shape[1])
    target = np.append(np.zeros(g.shape[1]), 1.0)
    system = np.vstack([-g.T, -h[None, :] / unit])
    u = nnls(system, target, maxiter=30 * g.shape[0])[0]
    residual = system @ u - target
    return unit * (-residual[:-1] / residual[-1])
