"""Triangle inequalities of the relaxations of clusterings and cuts, as many as triples of points."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import scipy.sparse as sp

from cgm_cli.blocks.maps.matrices import Matrices
from cgm_cli.blocks.penalties.box import BoxSet, Nonnegative
from cgm_cli.errors import ProblemError
from cgm_cli.numerics.triangles import worst_at_apices

AT_ONCE, FEWEST = 5, 2000
"""How many inequalities a round adds at the most: so many for a point, and at the least."""

VIOLATED = 1e-2
"""Part of the largest diagonal entry from which an inequality is violated."""


class ClusteringTriangles:
    """X_ij + X_ik <= X_ii + X_jk, at the place (i, j, k), and X_ij <= X_ii, at (i, j, i).

    They hold for X = sum_C 1_C 1_C^T / |C|: where i and j are in C, X_ij = X_ii = 1 / |C| and X_ik = X_jk; else X_ij is
    zero, and X_ik <= X_ii as X_jk >= 0. Peng and Wei, SIAM J. Optim. 18, 2007, section 3; separated as by Piccialli,
    Sudoso and Wiegele (SOS-SDP, INFORMS J. Comput. 34, 2022). They hold for X = sum_C 1_C 1_C^T in the
    same way, and so for a X + b 1 1^T with a > 0, as both sides have two entries (Groetschel and Wakabayashi, "A
    cutting plane algorithm for a clustering problem", Math. Program. 45, 1989).
    """

    def __init__(self, costs: np.ndarray, roots: np.ndarray | None = None):
        """costs (n, n): what it costs to have two points together, as their distance. roots s (n,): the inequalities
        are those of the matrix of Y_ij / (s_i s_j) then (see cgm_cli.templates.linked_points), and so are costs.
        """
        self.n = costs.shape[0]
        self._roots = roots
        # Points that are better apart are in clusters of their own: X_ii >= X_ij is met with all of X_ii to spare.
        self._farthest = self._unweighted(costs).argmax(axis=1)

    @property
    def first(self) -> np.ndarray:
        each = np.arange(self.n)
        return np.column_stack([each, self._farthest, each])

    def rows(self, places: np.ndarray) -> tuple[Matrices, Nonnegative]:
        i, j, k = _indices(places, self.n, 3).T
        is_triangle = np.where(k == i, 0.0, 1.0)
        entries = [(i, i, 1.0), (i, j, -1.0), (i, k, -is_triangle), (j, k, is_triangle)]
        if (s := self._roots) is not None:  # times s_i^2, so that rows are of about one size
            entries = [(a, b, c * s[i] ** 2 / (s[a] * s[b])) for a, b, c in entries]
        return symmetric_rows(entries, self.n), Nonnegative((i.size,))

    def violated(self, x: np.ndarray) -> np.ndarray:
        return most_violated(self._unweighted(x), VIOLATED)

    def _unweighted(self, matrix: np.ndarray) -> np.ndarray:
        return matrix if self._roots is None else matrix / np.outer(self._roots, self._roots)


def most_violated(x: np.ndarray, least: float) -> np.ndarray:
    """The places (m, 3) of the inequalities of `ClusteringTriangles` that X (n, n) violates most, worst first, each by
    this part of the largest diagonal entry at the least.
    """
    values, third = worst_at_apices(x)
    i, j = np.nonzero(values > least * x.diagonal().max())
    k = third[i, j]
    order = np.argsort(-values[i, j], kind="stable")[: max(FEWEST, AT_ONCE * len(x))]
    return np.column_stack([i, j, k])[order]


class CutTriangles:
    """X_jk - X_ij - X_ik >= -1, at the place (i, j, k, 1), and X_ij + X_ik + X_jk >= -1, at (i, j, k, 0).

    Of three signs two are equal, so that of the three products one is 1 and the others are equal, or all are 1. They
    hold for equal indices as well, where X has the diagonal 1. (Barahona and Mahjoub, "On the cut polytope", 1986;
    Helmberg and Rendl, "Solving quadratic (0,1)-problems by semidefinite programs and cutting planes", 1998.)
    """

    def __init__(self, n: int):
        """n: of the nodes, three or more."""
        self.n = n

    @property
    def first(self) -> np.ndarray:
        return np.array([[0, 1, 2, 0]])

    def rows(self, places: np.ndarray) -> tuple[Matrices, BoxSet]:
        i, j, k, has_apex = _indices(places, self.n, 4).T
        sign = np.where(has_apex == 0, 1.0, -1.0)
        entries = [(i, j, sign), (i, k, sign), (j, k, 1.0)]
        return symmetric_rows(entries, self.n), BoxSet((i.size,), np.array(-1.0), np.array(np.inf))

    def violated(self, x: np.ndarray) -> np.ndarray:
        found, missed = list[np.ndarray](), list[np.ndarray]()
        for has_apex in (1, 0):
            values, third = worst_at_apices(x, 1.0 if has_apex else -1.0)
            values += x.diagonal()[:, None] - 1.0
            i, j = np.nonzero(values > VIOLATED)
            k, value = third[i, j], values[i, j]
            triples = np.column_stack([i, np.sort(np.column_stack([j, k]), axis=1)])
            triples = triples if has_apex else np.sort(triples, axis=1)
            distinct = (k != i) & (k != j) & (i != j)
            triples, once = np.unique(triples[distinct], axis=0, return_index=True)
            found.append(np.column_stack([triples, np.full(len(triples), has_apex)]))
            missed.append(value[distinct][once])
        order = np.argsort(-np.concatenate(missed), kind="stable")[: max(FEWEST, AT_ONCE * self.n)]
        return np.vstack(found)[order]


def _indices(places: np.ndarray, n: int, width: int) -> np.ndarray:
    """Places (m, width). Raises ProblemError unless they are indices of n points."""
    fits = places.ndim == 2 and places.shape[1] == width and places.size and places.dtype.kind in "iu"
    if not fits or places.min() < 0 or places.max() >= n:
        raise ProblemError(f"triangle inequalities are rows of {width} numbers from 0 to {n - 1}")
    return places.astype(np.int64)


def symmetric_rows(entries: Sequence[tuple[np.ndarray, np.ndarray, np.ndarray | float]], n: int) -> Matrices:
    """X -> the sum of c X_ab over the (a, b, c), each of which is m long; half of c at either side of the diagonal."""
    m = entries[0][0].size
    flat = np.concatenate([place for a, b, _ in entries for place in (a * n + b, b * n + a)])
    values = np.concatenate([np.broadcast_to(0.5 * np.asarray(c), m) for _, _, c in entries for _ in range(2)])
    rows = sp.coo_array((values, (np.tile(np.arange(m), 2 * len(entries)), flat)), shape=(m, n * n)).tocsr()
    rows.eliminate_zeros()
    return Matrices.of_rows(rows, (n, n))
