"""Rows that are combinations of others: which may be left out, which contradict the others, and what says so."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy.linalg
import scipy.sparse as sp
from scipy.linalg.lapack import dpstrf

from cgm_cli.numerics.panels import sparse_gram_pays

DEPENDENT = 1e-11
"""Part of the squared length of a row that is left once it is orthogonal to others: it is a combination of them."""

CONSISTENT = 1e-9
"""How far a dependent row may be from what the others say, in units of what adds up to that, to be left out."""

TAKES_PART = 1e-6
"""Part of the largest coefficient of a relation below which one is rounding."""

HELD = 4_000_000
"""Numbers of them that are held at once."""

MOST = 100
"""Of how many rows it is told what they are combinations of: it takes a product of that many with all rows for each."""


@dataclass(frozen=True)
class Implied:
    """A row that says what others, `by`, say together; with none of them, nothing at all. Of those beyond the first
    `MOST`, `by` is None.
    """

    row: int
    by: tuple[int, ...] | None


@dataclass(frozen=True)
class Dependence:
    """Of rows with right-hand sides. kept: those that are no combination of others, or contradict one, ascending.
    contradiction: the combination that is zero on the left and largest on the right, positive there; None where there
    is none.
    """

    kept: np.ndarray
    contradiction: np.ndarray | None = None
    _first: np.ndarray | None = None
    _left_out: np.ndarray | None = None
    _combined: np.ndarray | None = None

    @property
    def independent(self) -> np.ndarray:
        """Those that are no combination of others, ascending."""
        return self.kept if self._first is None else np.sort(self._first)

    @cached_property
    def implied(self) -> tuple[Implied, ...]:
        """Rows without which the others say the same: as far as there is a choice, the last ones, which follow from
        what was said before. Ascending.
        """
        if self._first is None or self._left_out is None or self._combined is None:
            return ()
        told, rest = self._left_out[:MOST], self._left_out[MOST:]
        relations = np.zeros((told.size, self.kept.size + self._left_out.size))
        relations[np.arange(told.size), told] = 1.0
        relations[:, self._first] = -self._combined[:, :MOST].T
        found = [*_solved_for_last(relations), *(Implied(int(row), None) for row in rest)]
        return tuple(sorted(found, key=lambda each: each.row))


def gram(rows: sp.csr_array) -> sp.csr_array:
    """A A^T, by columns that are written out where A has so many entries that this takes less time."""
    used, places = np.unique(rows.indices, return_inverse=True)
    columns = sp.csr_array((rows.data, places, rows.indptr), shape=(rows.shape[0], used.size)).T.tocsr()
    if not used.size or sparse_gram_pays(columns):
        return sp.csr_array(rows @ rows.T)
    total = np.zeros((rows.shape[0], rows.shape[0]))
    step = max(1, HELD // rows.shape[0])
    for first in range(0, used.size, step):
        part = columns[first : first + step].toarray()
        total += part.T @ part
    return sp.csr_array(total)


def dependence(rows: sp.csr_array, right: np.ndarray) -> Dependence:
    """Of rows (m, N) of length one, or zero, and right (m,): by Cholesky's factor L of A A^T, with pivots. The last
    rows of L are combinations of the first, c with L_1^T c = l.
    """
    count = rows.shape[0]
    products = gram(rows)
    if products.nnz == count and (products.diagonal() > 0.0).all():  # they are orthogonal
        return Dependence(np.arange(count))
    factor, pivots, rank = _pivoted(products.toarray())
    if rank == count:
        return Dependence(np.arange(count))
    order = pivots - 1
    first, others = order[:rank], order[rank:]
    lower, last = np.tril(factor[:rank, :rank]), factor[rank:, :rank]
    combined = np.asarray(scipy.linalg.solve_triangular(lower, last.T, lower=True, trans=1)) if rank else last.T
    off = right[others] - combined.T @ right[first]
    contradicts = np.abs(off) > CONSISTENT * (np.abs(right[others]) + np.abs(combined).T @ np.abs(right[first]))
    kept = np.sort(np.concatenate([first, others[contradicts]]))
    y = None
    if contradicts.any():
        worst, y = int(np.argmax(np.abs(off))), np.zeros(count)
        y[others[worst]], y[first] = 1.0, -combined[:, worst]
        y *= np.sign(off[worst])
    return Dependence(kept, y, first, others[~contradicts], combined[:, ~contradicts])


def _pivoted(gram: np.ndarray) -> tuple[np.ndarray, np.ndarray, int]:
    """Its factor L, the pivots, from 1, and the rank up to rounding."""
    factor, pivots, rank, _ = dpstrf(gram, tol=DEPENDENT, lower=1)
    return np.asarray(factor, dtype=float), np.asarray(pivots), int(rank)


def _solved_for_last(relations: np.ndarray) -> Iterator[Implied]:
    """Each of the relations (d, m), independent combinations of rows that are zero, solved for another row, the last
    that it can be: by elimination from the right. The array is overwritten.
    """
    solved = dict[int, int]()
    peaks = np.abs(relations).max(axis=1, initial=0.0)  # of those that are not solved yet, else infinite
    for column in range(relations.shape[1] - 1, -1, -1):
        parts = np.abs(relations[:, column]) / peaks
        if parts.max(initial=0.0) <= TAKES_PART:
            continue
        pivot = int(np.argmax(parts))
        solved[column] = pivot
        relations[pivot] /= relations[pivot, column]
        others = relations[:, column].copy()
        others[pivot] = 0.0
        relations -= np.outer(others, relations[pivot])
        peaks = np.where(np.isin(np.arange(peaks.size), list(solved.values())), np.inf, np.abs(relations).max(axis=1))
    for column, pivot in solved.items():
        takes_part = np.abs(relations[pivot]) > TAKES_PART * np.abs(relations[pivot]).max()
        takes_part[column] = False
        yield Implied(column, tuple(np.flatnonzero(takes_part).tolist()))
