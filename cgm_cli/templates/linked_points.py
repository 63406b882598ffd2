"""Points of which some are sure to be in one cluster, as one point each.

The rows of linked points are equal in X = sum_C 1_C 1_C^T / |C|. Let P (n, m) say which of m groups each point is in, w
their sizes, s_a = sqrt(w_a), and Q = P diag(1 / s), whose columns are orthonormal. The matrices X with such rows are
X = Q Y Q^T with Y symmetric (m, m), and

    X_ij = Y_ab / (s_a s_b) for i in a and j in b,    the eigenvalues of X are those of Y, and zeros,    tr X = tr Y,
    X 1 = 1 where Y s = s, as Q^T 1 = s,              <D, X> = <Q^T D Q, Y>,
    (Q^T D Q)_ab = s_a s_b (|c_a - c_b|^2 + v_a + v_b)

for squared distances D, with c_a the mean of group a and v_a the mean of the squared distances of its points to that:
so linked points behave as their mean, with their weight, beside what they cost in any case. X is as feasible as Y, and
costs what Y does: both problems have one optimum, and a bound on one is a bound on the other.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy.sparse as sp

from cgm_cli.numerics.arrays import Matrix
from cgm_cli.templates.clustering import squared_distances


@dataclass(frozen=True)
class LinkedPoints:
    """points (n, d). parts (n,): the group of each, from 0, none of them empty."""

    points: np.ndarray
    parts: np.ndarray

    @cached_property
    def sizes(self) -> np.ndarray:
        """w (m,)."""
        return np.bincount(self.parts)

    @cached_property
    def roots(self) -> np.ndarray:
        """s (m,)."""
        return np.sqrt(self.sizes)

    @cached_property
    def means(self) -> np.ndarray:
        """c (m, d)."""
        return (self._members @ self.points) / self.sizes[:, None]

    def costs(self) -> np.ndarray:
        """Q^T D Q (m, m), exactly symmetric."""
        spread = self._members @ np.square(self.points - self.means[self.parts]).sum(axis=1) / self.sizes
        return (squared_distances(self.means) + np.add.outer(spread, spread)) * np.outer(self.roots, self.roots)

    def denoised(self, products: np.ndarray) -> np.ndarray:
        """X points (n, d), of the products Y (s c) (m, d)."""
        return (products / self.roots[:, None])[self.parts]

    @property
    def _members(self) -> Matrix:
        """P^T (m, n)."""
        n = self.parts.size
        return sp.csr_array((np.ones(n), (self.parts, np.arange(n))), shape=(self.sizes.size, n))
