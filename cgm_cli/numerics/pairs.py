"""Sparse symmetric matrices A_i between symmetric X and Y, which are dense: sums over pairs of their entries.

They are written as A_i = sum_u a_iu E_u, where E_u has ones at (r_u, c_u) and at (c_u, r_u), two where these are the
same place, and zeros elsewhere. With

    K_uv = <E_u, X E_v Y> = X[r_u, r_v] Y[c_u, c_v] + X[c_u, c_v] Y[r_u, r_v] + X[r_u, c_v] Y[c_u, r_v]
           + X[c_u, r_v] Y[r_u, c_v],

<A_i, X A_j Y> = (a K a^T)_ij.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import scipy.sparse as sp

from cgm_cli.numerics.compiled import compiled
from cgm_cli.numerics.threads import allowed, share


@dataclass(frozen=True)
class Places:
    """rows, columns (U,): r and c, in matrices of order n."""

    n: int
    rows: np.ndarray
    columns: np.ndarray

    def between(self, x: np.ndarray, y: np.ndarray) -> np.ndarray:
        """K (count, U, U) of stacks x, y (count, n, n)."""
        r, c = self.rows, self.columns
        found = self._of(x, r, r) * self._of(y, c, c)
        if np.array_equal(r, c):
            return 4.0 * found
        found += self._of(x, c, c) * self._of(y, r, r)
        mixed = self._of(x, r, c) * self._of(y, c, r)
        found += mixed
        found += np.swapaxes(mixed, 1, 2)
        return found

    def _of(self, matrices: np.ndarray, first: np.ndarray, second: np.ndarray) -> np.ndarray:
        return np.take(matrices.reshape(-1, self.n**2), self.n * first[:, None] + second, axis=1)


class Congruence:
    """a K a^T for large matrices X and Y, without K, by compiled code: X A_i Y is found at the places that A_j with
    j >= i ask for, each row of A_i Y at once.
    """

    def __init__(self, matrix: sp.csr_array, places: Places):
        """matrix: a (k, U)."""
        count, n, indices = matrix.shape[0], places.n, matrix.indices
        owners = np.repeat(np.arange(count), np.diff(matrix.indptr))
        last = np.zeros(matrix.shape[1], dtype=np.int64)
        np.maximum.at(last, indices, owners)
        order = np.argsort(last, kind="stable")
        begins = np.searchsorted(last[order], np.arange(count))  # no later A_j has any place before
        where = np.argsort(order)
        r, c = places.rows[indices], places.columns[indices]
        both = np.concatenate([owners, owners]), np.concatenate([n * r + c, n * c + r])
        whole = sp.csr_array((np.concatenate([matrix.data, matrix.data]), both), shape=(count, n * n))
        entries = whole.indptr, *np.divmod(whole.indices, n), whole.data
        asked = matrix.indptr, where[indices], matrix.data
        self._given = *entries, *asked, begins, places.rows[order], places.columns[order]
        self._count = count

    def __call__(self, x: np.ndarray, y: np.ndarray) -> np.ndarray:
        """(k, k), of x and y (n, n)."""
        count, bands = self._count, max(1, 4 * allowed())
        out = np.empty((count, count))
        # Later bands have less to do.
        cuts = count - (count * np.sqrt(np.linspace(1.0, 0.0, bands + 1))).astype(np.int64)
        parts = [(*self._given, x, y, first, last, out) for first, last in pairwise(cuts) if first < last]
        share(_congruence.code, parts)
        return out


@compiled
def _congruence(starts, rows, columns, values, ends, asked, weights, begins, r, c, x, y, first, last, out):
    count, most, n = begins.size, r.size, x.shape[0]
    product, found = np.empty(n), np.empty(most)
    for i in range(first, last):
        begin, e = begins[i], starts[i]
        found[begin:] = 0.0
        while e < starts[i + 1]:
            row = rows[e]
            product[:] = 0.0  # this row of A_i Y
            while e < starts[i + 1] and rows[e] == row:
                beside, value = y[columns[e]], values[e]
                for k in range(n):
                    product[k] += value * beside[k]
                e += 1
            before = x[row]
            for v in range(begin, most):
                found[v] += before[r[v]] * product[c[v]] + before[c[v]] * product[r[v]]
        for j in range(i, count):
            total = 0.0
            for f in range(ends[j], ends[j + 1]):
                total += weights[f] * found[asked[f]]
            out[i, j] = total
            out[j, i] = total


@_congruence.otherwise
def _(starts, rows, columns, values, ends, asked, weights, begins, r, c, x, y, first, last, out):
    later = sp.csr_array((weights, asked, ends), shape=(begins.size, r.size))
    for i in range(first, last):
        entries = slice(starts[i], starts[i + 1])
        where, place = np.unique(rows[entries], return_inverse=True)
        product = np.zeros((where.size, x.shape[0]))  # the rows of A_i Y
        np.add.at(product, place, values[entries, None] * y[columns[entries]])
        before, left, right = x[where], r[begins[i] :], c[begins[i] :]
        found = np.zeros(r.size)
        for row, of_row in zip(before, product, strict=True):
            found[begins[i] :] += row[left] * of_row[right] + row[right] * of_row[left]
        out[i, i:] = out[i:, i] = (later @ found)[i:]
