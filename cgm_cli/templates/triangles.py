"""Triangle inequalities of the relaxations of clusterings, as many as triples of points."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import scipy.sparse as sp

from cgm_cli.blocks.maps.matrices import Matrices
from cgm_cli.blocks.penalties.box import Nonnegative
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
    Sudoso and Wiegele (SOS-SDP, INFORMS J. Comput. 34, 2022).
    """

    def __init__(self, distances: np.ndarray):
        """distances (n, n) between the points."""
        self.n = distances.shape[0]
        # Points far from each other are in clusters of their own: X_ii >= X_ij is met with all of X_ii to spare.
        self._farthest = distances.argmax(axis=1)

    @property
    def first(self) -> np.ndarray:
        each = np.arange(self.n)
        return np.column_stack([each, self._farthest, each])

    def rows(self, places: np.ndarray) -> tuple[Matrices, Nonnegative]:
        i, j, k = _triples(places, self.n)
        is_triangle = np.where(k == i, 0.0, 1.0)
        entries = [(i, i, 1.0), (i, j, -1.0), (i, k, -is_triangle), (j, k, is_triangle)]
        return symmetric_rows(entries, self.n), Nonnegative((i.size,))

    def violated(self, x: np.ndarray) -> np.ndarray:
        values, third = worst_at_apices(x)
        i, j = np.nonzero(values > VIOLATED * x.diagonal().max())
        k = third[i, j]
        order = np.argsort(-values[i, j], kind="stable")[: max(FEWEST, AT_ONCE * self.n)]
        return np.column_stack([i, j, k])[order]


def _triples(places: np.ndarray, n: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The columns of places (m, 3). Raises ProblemError unless they are indices of n points."""
    fits = places.ndim == 2 and places.shape[1] == 3 and places.size and places.dtype.kind in "iu"
    if not fits or places.min() < 0 or places.max() >= n:
        raise ProblemError(f"triangle inequalities are triples of numbers from 0 to {n - 1}")
    i, j, k = places.astype(np.int64).T
    return i, j, k


def symmetric_rows(entries: Sequence[tuple[np.ndarray, np.ndarray, np.ndarray | float]], n: int) -> Matrices:
    """X -> the sum of c X_ab over the (a, b, c), each of which is m long; half of c at either side of the diagonal."""
    m = entries[0][0].size
    flat = np.concatenate([place for a, b, _ in entries for place in (a * n + b, b * n + a)])
    values = np.concatenate([np.broadcast_to(0.5 * np.asarray(c), m) for _, _, c in entries for _ in range(2)])
    rows = sp.coo_array((values, (np.tile(np.arange(m), 2 * len(entries)), flat)), shape=(m, n * n)).tocsr()
    rows.eliminate_zeros()
    return Matrices.of_rows(rows, (n, n))
