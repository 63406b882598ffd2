"""Symmetric matrices of low rank, found among those that are given by their entries: A = V diag(w) V^T, few columns.

Gauss's elimination with pivots on the diagonal, A <- A - a_k a_k^T / a_kk for the column a_k of the largest diagonal
entry, leaves nothing after as many steps as A has rank. Where A is indefinite the diagonal may have no pivot that is
large enough beside the rest: then it is left as it is.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

MOST = 4
"""The most columns."""

PIVOT, NOTHING = 0.1, 1e-13
"""Part of the largest entry that a pivot is at the least, and part of that of A which counts as nothing."""


@dataclass(frozen=True)
class LowRank:
    """Several such matrices of order n: V (n, K), w (K,), and where the columns of each begin (k,)."""

    vectors: np.ndarray
    weights: np.ndarray
    starts: np.ndarray


def eliminated(matrix: np.ndarray) -> tuple[np.ndarray, np.ndarray] | None:
    """V (n, k), w (k,) of a symmetric matrix (n, n) of rank at most MOST; None of any other."""
    left, peak = np.array(matrix), float(np.abs(matrix).max(initial=0.0))
    vectors, weights = list[np.ndarray](), list[float]()
    for _ in range(MOST):
        rest = float(np.abs(left).max(initial=0.0))
        if rest <= NOTHING * peak:
            break
        place = int(np.argmax(np.abs(left.diagonal())))
        pivot = float(left[place, place])
        if abs(pivot) < PIVOT * rest:
            return None
        vectors.append(left[:, place].copy())
        weights.append(1.0 / pivot)
        left -= weights[-1] * np.outer(vectors[-1], vectors[-1])
    if not vectors or float(np.abs(left).max()) > NOTHING * peak:
        return None
    return np.column_stack(vectors), np.array(weights)


def among(rows: sp.csr_array, n: int, entries: int) -> tuple[np.ndarray, LowRank | None]:
    """Which of the symmetric matrices in rows (m, n^2) with more than so many entries are of low rank: their places
    (k,), and they themselves; None where there is none.
    """
    places, vectors, weights = list[int](), list[np.ndarray](), list[np.ndarray]()
    for place in np.flatnonzero(np.diff(rows.indptr) > entries).tolist():
        part = slice(rows.indptr[place], rows.indptr[place + 1])
        i, j = np.divmod(rows.indices[part], n)
        used = np.unique(i)
        dense = np.zeros((used.size, n))
        dense[np.searchsorted(used, i), j] = rows.data[part]
        found = eliminated(dense[:, used])
        if found is None:
            continue
        whole = np.zeros((n, found[1].size))
        whole[used] = found[0]
        places.append(place)
        vectors.append(whole)
        weights.append(found[1])
    if not places:
        return np.zeros(0, dtype=np.intp), None
    starts = np.cumsum([0] + [each.size for each in weights[:-1]])
    return np.array(places), LowRank(np.hstack(vectors), np.concatenate(weights), starts)
