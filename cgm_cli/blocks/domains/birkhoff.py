"""The Birkhoff polytope: doubly stochastic matrices, the convex hull of the permutation matrices."""

from __future__ import annotations

import math
from typing import Any, ClassVar, Literal

import numpy as np
from pydantic import Field

from cgm_cli.blocks.atoms import Atom, DenseAtom, SparseAtom
from cgm_cli.blocks.directions import Direction
from cgm_cli.blocks.domains.base import Domain, OracleAnswer, OracleRequest
from cgm_cli.numerics.projections import safe_norm
from cgm_cli.readers.context import BuildContext
from cgm_cli.spec.fields import BlockSpec, Size

_EPS = float(np.finfo(float).eps)

_REGULAR = 1e-3
"""Added to the Hessian, which is singular along a + t, b - t, and where the pattern falls into parts. With 1e-5 near
vertices take hundreds of steps, with 1e-2 points inside of faces three times as many."""

_STEPS = 100
"""Newton's steps at most: of 5500 points with n up to 80, at distances from 1e-13 to 1e9, none took more than 22."""


class Birkhoff(Domain):
    """{X in R^(n x n) : X >= 0, X 1 = 1, X^T 1 = 1}.

    Its vertices are the permutation matrices (Birkhoff 1946), so a linear function is minimised by an assignment, and
    (Egervary 1931)

        min <G, X> = max sum_i u_i + sum_j min_i (G_ij - u_i)    over u in R^n;

    any u gives a lower bound, since sum_ij X_ij (G_ij - u_i) >= sum_j min_i (G_ij - u_i) for every X. Vertices have
    length sqrt(n), and two that share no entry are sqrt(2 n) apart.
    """

    projects = True

    class Spec(BlockSpec):
        kind: Literal["birkhoff"]
        size: Size = Field(..., description="n: the matrices are n x n")

        examples: ClassVar[list[dict[str, Any]]] = [
            {"kind": "birkhoff", "size": 4},
            {"kind": "birkhoff", "size": 1},
            {"kind": "birkhoff", "size": 2},
            {"kind": "birkhoff", "size": 12},
        ]

        def build(self, context: BuildContext) -> Birkhoff:
            return Birkhoff(self.size)

    def __init__(self, size: int):
        self.shape = (size, size)
        self.radius = math.sqrt(size)
        self.diameter = math.sqrt(2.0 * size) if size > 1 else 0.0

    def lmo(self, direction: Direction, request: OracleRequest) -> OracleAnswer:
        """A permutation by an algorithm that ends, the same for the same direction.

        `lower` does not rest on it: it is what the identity gives at the potentials of the permutation. These are at
        most 2 n max |G_ij|, so that the rounding of all n minima is at most n^2 eps max |G_ij| together, which is less
        than `rounding`; their sum is rounded once.
        """
        g = direction.dense()
        columns = _assignment(g)
        rows = np.arange(columns.size)
        value = math.fsum(g[rows, columns])
        u, v = _potentials(g, columns)
        lower = math.fsum([*map(float, u), *map(float, v)])
        atom = SparseAtom(self.shape, rows * columns.size + columns, np.ones(columns.size))
        return OracleAnswer(atom, value, min(lower, value), exact=True)

    def contains(self, x: np.ndarray, tolerance: float = 1e-9) -> bool:
        return safe_norm(x - self.project(x)) <= tolerance * self.radius

    @property
    def factorised(self) -> int:
        """Of a Newton step of the projection."""
        return 2 * self.shape[0]

    def project(self, x: np.ndarray) -> np.ndarray:
        """The nearest point. The rounding of the first pass is relative to x, that of the second to a point of X."""
        return _nearest(_nearest(x))

    def parallel(self, direction: np.ndarray) -> np.ndarray:
        centred = direction - direction.mean(axis=0)
        return centred - centred.mean(axis=1, keepdims=True)

    def start(self) -> Atom:
        """The centre: all entries 1 / n."""
        return DenseAtom(np.full(self.shape, 1.0 / self.shape[0]))


def _assignment(g: np.ndarray) -> np.ndarray:
    """The column of each row (n,) in a cheapest assignment of g (n, n), by shortest augmenting paths (Crouse, "On
    implementing 2D rectangular assignment algorithms", IEEE Trans. Aerosp. Electron. Syst. 52, 2016).
    """
    from scipy.optimize import linear_sum_assignment

    return linear_sum_assignment(g)[1]


def _potentials(g: np.ndarray, columns: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """u and v (n,) with u_i + v_j <= g_ij for g (n, n), and equal for j = columns[i] if no assignment is cheaper.

    u_i is the length of a shortest walk from i along the edges g_(i, columns[k]) - g_(k, columns[k]) to any k (Bellman
    and Ford). It has at most n - 1 edges: cycles of negative length would give a cheaper assignment.
    """
    ordered = g[:, columns]
    edges = ordered - ordered.diagonal()
    enough = _EPS * float(np.abs(g).max())
    u = np.zeros(columns.size)
    for _ in range(columns.size):
        before, u = u, np.minimum(u, (edges + u).min(axis=1))
        if (before - u).max() <= enough:
            break
    return u, (g - u[:, None]).min(axis=0)


def _nearest(x: np.ndarray) -> np.ndarray:
    """argmin |P - X| over the polytope, for X (n, n), up to rounding relative to X, by Newton's method on its dual.

    P = max(X + a 1^T + 1 b^T, 0) with the a and b (n,) that minimise the convex function |P|^2 / 2 - sum a - sum b: its
    gradient is what the sums of rows and columns have in excess of one. Where the pattern M of P > 0 stays, it is
    quadratic with the Hessian [diag(M 1), M; M^T, diag(M^T 1)] (Li, Sun and Toh, "On the efficient computation of a
    projector over the Birkhoff polytope", Math. Program. 179, 2020).
    """
    n = x.shape[0]
    if not np.isfinite(x).all():
        return np.full(x.shape, np.nan)

    def at(shifts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        p = np.maximum(x + shifts[:n, None] + shifts[None, n:], 0.0)
        return p, np.concatenate([p.sum(axis=1), p.sum(axis=0)]) - 1.0

    # Near the polytope a and b are those of the nearest matrix whose sums are one; far away, those of a vertex.
    rows = (1.0 - x.sum(axis=1)) / n
    near = np.concatenate([rows, (1.0 - x.sum(axis=0) - rows.sum()) / n])
    far = np.concatenate(_potentials(-x, _assignment(-x))) + 0.5
    shifts = min(near, far, key=lambda start: float(np.abs(at(start)[1]).max()))
    p, excess = at(shifts)
    enough = 2 * n * _EPS * max(1.0, float(np.abs(x).max()))
    for _ in range(_STEPS):
        if np.abs(excess).max() <= enough:
            break
        pattern = (p > 0.0).astype(float)
        hessian = np.block([[np.diag(pattern.sum(axis=1)), pattern], [pattern.T, np.diag(pattern.sum(axis=0))]])
        hessian[np.diag_indices(2 * n)] += _REGULAR
        step = -np.linalg.solve(hessian, excess)
        # The slope along the step only grows, from below zero: past the lowest point it must not be steep again.
        steepest = -0.1 * float(excess @ step)
        p, excess = at(shifts + step)
        while float(excess @ step) > steepest and np.any(shifts + step != shifts):
            step = 0.5 * step
            steepest *= 0.5
            p, excess = at(shifts + step)
        shifts = shifts + step
    return p
