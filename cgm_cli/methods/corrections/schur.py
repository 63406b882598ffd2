"""The Schur complement of interior-point steps, M_ij = <A_i, X A_j S^-1>, block by block.

A_i with few entries are paired entry by entry, M_ij = sum a_e b_f X[r_e, r_f] S^-1[c_f, c_e]; for others X A_j S^-1 is
multiplied out (Fujisawa, Kojima and Nakata, "Exploiting sparsity in primal-dual interior-point methods for semidefinite
programming", Math. Program. 79, 1997). Which takes fewer operations is found out once.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Protocol

import numpy as np
import scipy.sparse as sp

from cgm_cli.numerics.blockwise import Blocks, Stack

CHUNK = 4_000_000
"""Numbers that are held at once beside M."""


class Part(Protocol):
    work: float

    def add_to(self, total: np.ndarray, x: np.ndarray, inverse: np.ndarray) -> None:
        """Add what the blocks of X and S^-1 come to."""
        ...


class SchurComplement:
    """Of constraints A, rows of a matrix (m, N) over the entries of blocks. work: operations of `at`."""

    def __init__(self, blocks: Blocks, rows: sp.csr_array):
        self._count = rows.shape[0]
        columns = sp.csc_array(rows)
        self._parts = [part for stack in blocks.stacks for part in _parts(stack, columns)]
        self.work = sum(part.work for part in self._parts) + self._count**3 / 3

    def at(self, x: np.ndarray, inverse: np.ndarray) -> np.ndarray:
        """M (m, m), symmetric, at flat X and S^-1."""
        total = np.zeros((self._count, self._count))
        for part in self._parts:
            part.add_to(total, x, inverse)
        return 0.5 * (total + total.T)


@dataclass(frozen=True)
class _Numbers:
    """A diagonal block: M = A diag(x / s) A^T."""

    stack: Stack
    rows: sp.csr_array

    @property
    def work(self) -> float:
        return 8.0 * float(np.square(np.diff(sp.csc_array(self.rows).indptr).astype(float)).sum())

    def add_to(self, total: np.ndarray, x: np.ndarray, inverse: np.ndarray) -> None:
        weights = self.stack.of(x) * self.stack.of(inverse)
        found = sp.coo_array((self.rows * weights) @ self.rows.T)
        total[found.coords] += found.data


@dataclass(frozen=True)
class _Pairs:
    """Constraints `owners` with few entries (rows, columns) in one block; weights: the entries of each in a row."""

    stack: Stack
    place: int
    owners: np.ndarray
    weights: sp.csr_array
    rows: np.ndarray
    columns: np.ndarray

    @property
    def work(self) -> float:
        return 6.0 * float(self.rows.size) ** 2

    def add_to(self, total: np.ndarray, x: np.ndarray, inverse: np.ndarray) -> None:
        x, inverse = self.stack.of(x)[self.place], self.stack.of(inverse)[self.place]
        size, found = max(1, CHUNK // self.rows.size), np.zeros((self.owners.size, self.owners.size))
        for first in range(0, self.rows.size, size):
            some = slice(first, first + size)
            paired = x[np.ix_(self.rows[some], self.rows)]
            paired *= inverse[np.ix_(self.columns[some], self.columns)]
            found += self.weights[:, some] @ (self.weights @ paired.T).T
        total[np.ix_(self.owners, self.owners)] += found


@dataclass(frozen=True)
class _Products:
    """Constraints `owners` with many entries in one block, each a matrix, and the columns that it has any in. others:
    those that are paired with each other elsewhere; rows: all of them, the others first.
    """

    stack: Stack
    place: int
    owners: np.ndarray
    others: np.ndarray
    rows: sp.csr_array
    matrices: list[sp.csr_array]
    columns: list[np.ndarray]

    @property
    def work(self) -> float:
        n = self.stack.n
        products = sum(4.0 * n * n * min(each.size, n) for each in self.columns)
        return products + 2.0 * self.rows.nnz * len(self.matrices)

    def add_to(self, total: np.ndarray, x: np.ndarray, inverse: np.ndarray) -> None:
        x, inverse = self.stack.of(x)[self.place], self.stack.of(inverse)[self.place]
        n, size = self.stack.n, max(1, CHUNK // self.stack.n**2)
        for first in range(0, len(self.matrices), size):
            pairs = zip(self.matrices[first : first + size], self.columns[first : first + size], strict=True)
            multiplied = np.array([_between(x, matrix, used, inverse).reshape(n * n) for matrix, used in pairs])
            found = self.rows @ multiplied.T
            own = self.owners[first : first + size]
            total[np.ix_(self.owners, own)] += found[self.others.size :]
            total[np.ix_(self.others, own)] += found[: self.others.size]
            total[np.ix_(own, self.others)] += found[: self.others.size].T


def _between(x: np.ndarray, matrix: sp.csr_array, used: np.ndarray, inverse: np.ndarray) -> np.ndarray:
    """X A S^-1, with the columns of A that have entries."""
    if used.size < x.shape[0] // 2:
        return (matrix[:, used].T @ x).T @ inverse[used]
    return (matrix.T @ x).T @ inverse


def _parts(stack: Stack, columns: sp.csc_array) -> list[Part]:
    if stack.n == 0:
        rows = sp.csr_array(columns[:, stack.start : stack.stop])
        return [_Numbers(stack, rows)] if rows.nnz else []
    found: list[Part] = []
    for place in range(stack.count):
        first = stack.start + place * stack.n**2
        found += _of_block(stack, place, sp.csr_array(columns[:, first : first + stack.n**2]))
    return found


def _of_block(stack: Stack, place: int, rows: sp.csr_array) -> list[Part]:
    sizes = np.diff(rows.indptr)
    owners = np.flatnonzero(sizes)
    if owners.size == 0:
        return []
    owners = owners[np.argsort(sizes[owners], kind="stable")]
    rows = rows[owners]
    n, cuts = stack.n, rows.indptr
    columns = [np.unique(rows.indices[a:b] % n) for a, b in pairwise(cuts)]
    few = _paired(n, rows, columns)
    found: list[Part] = []
    if few:
        part = rows[:few]
        entries = part.nnz
        weights = sp.csr_array((part.data, np.arange(entries), part.indptr), shape=(few, entries))
        found.append(_Pairs(stack, place, owners[:few], weights, *np.divmod(part.indices, n)))
    if few < owners.size:
        matrices = [_matrix(rows, which, n) for which in range(few, owners.size)]
        found.append(_Products(stack, place, owners[few:], owners[:few], rows, matrices, columns[few:]))
    return found


def _matrix(rows: sp.csr_array, which: int, n: int) -> sp.csr_array:
    part = slice(rows.indptr[which], rows.indptr[which + 1])
    return sp.csr_array((rows.data[part], np.divmod(rows.indices[part], n)), shape=(n, n))


def _paired(n: int, rows: sp.csr_array, columns: list[np.ndarray]) -> int:
    """How many of the constraints, those with the fewest entries first, had better be paired."""
    entries = np.concatenate([[0], np.cumsum(np.diff(rows.indptr))]).astype(float)
    products = np.array([4.0 * n * n * min(each.size, n) for each in columns]) + 2.0 * rows.nnz
    rest = products.sum() - np.concatenate([[0.0], np.cumsum(products)])
    return int(np.argmin(6.0 * entries**2 + rest))
