"""Sums over pairs of entries of sparse symmetric matrices: M_ij = <A_i, X A_j Y> for symmetric X and Y."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import scipy.sparse as sp

from cgm_cli.numerics.compiled import compiled
from cgm_cli.numerics.threads import allowed, share

FEW = 1000
"""Entries up to which all pairs are written out, in less time than it takes to load compiled code."""


def paired(
    starts: np.ndarray, rows: np.ndarray, columns: np.ndarray, values: np.ndarray, x: np.ndarray, y: np.ndarray
) -> np.ndarray:
    """M (k, k) of k matrices: entries (rows, columns, values) of the i-th from starts[i] to starts[i + 1], both
    triangles.
    """
    if rows.size <= FEW:
        return _written_out(starts, rows, columns, values, x, y)
    count = starts.size - 1
    out = np.empty((count, count))
    # The later bands have less to do: each row begins at the diagonal.
    bands = max(1, 4 * allowed())
    cuts = count - (count * np.sqrt(np.linspace(1.0, 0.0, bands + 1))).astype(np.int64)
    given = starts, rows, columns, values, x, y
    share(_pair.code, [(*given, first, last, out) for first, last in pairwise(cuts) if first < last])
    return out


def _written_out(starts, rows, columns, values, x, y) -> np.ndarray:
    """Every pair, and then their sums."""
    sums = sp.csr_array((values, np.arange(values.size), starts), shape=(starts.size - 1, values.size))
    pairs = x[np.ix_(rows, rows)] * y[np.ix_(columns, columns)]
    return sums @ (sums @ pairs.T).T


@compiled
def _pair(starts, rows, columns, values, x, y, first, last, out):
    count = starts.size - 1
    for i in range(first, last):
        for j in range(i, count):
            total = 0.0
            for e in range(starts[i], starts[i + 1]):
                r, c, part = rows[e], columns[e], 0.0
                for f in range(starts[j], starts[j + 1]):
                    part += values[f] * x[r, rows[f]] * y[c, columns[f]]
                total += values[e] * part
            out[i, j] = total
            out[j, i] = total
