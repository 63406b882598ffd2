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
from cgm_cli.numerics.pairs import paired

PAIR = 10.0
"""Operations of products of matrices that take as long as a pair: two numbers from anywhere, of which half is made."""

SMALL = 64
"""The order up to which matrices are multiplied as dense ones, many at once."""

CHUNK = 4_000_000
"""Numbers that are held at once beside M."""


class Part(Protocol):
    @property
    def work(self) -> float:
        """Operations, of products of matrices, that it takes."""
        ...

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
        return total


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
    """Constraints `owners` with few entries in one block: those of the i-th from starts[i] to starts[i + 1]."""

    stack: Stack
    place: int
    owners: np.ndarray
    starts: np.ndarray
    rows: np.ndarray
    columns: np.ndarray
    values: np.ndarray

    @property
    def work(self) -> float:
        return PAIR * float(self.rows.size) ** 2

    def add_to(self, total: np.ndarray, x: np.ndarray, inverse: np.ndarray) -> None:
        x, inverse = self.stack.of(x)[self.place], self.stack.of(inverse)[self.place]
        found = paired(self.starts, self.rows, self.columns, self.values, x, inverse)
        if self.owners.size == len(total):  # all of them, in their order
            total += found
        else:
            total[np.ix_(self.owners, self.owners)] += found


@dataclass(frozen=True)
class _Products:
    """Constraints `owners` with many entries in one block. others: those that are paired with each other elsewhere;
    rows: all of them, the others first.
    """

    stack: Stack
    place: int
    owners: np.ndarray
    others: np.ndarray
    rows: sp.csr_array
    factors: Dense | Compact

    @property
    def work(self) -> float:
        return self.factors.work + 2.0 * self.rows.nnz * self.owners.size

    def add_to(self, total: np.ndarray, x: np.ndarray, inverse: np.ndarray) -> None:
        x, inverse = self.stack.of(x)[self.place], self.stack.of(inverse)[self.place]
        size = max(1, CHUNK // self.stack.n**2)
        for first in range(0, self.owners.size, size):
            some = slice(first, first + size)
            multiplied = self.factors.between(x, inverse, some)
            found = self.rows @ multiplied.reshape(len(multiplied), -1).T
            own = self.owners[some]
            square = found[self.others.size :]
            total[np.ix_(self.owners, own)] += 0.5 * square
            total[np.ix_(own, self.owners)] += 0.5 * square.T
            total[np.ix_(self.others, own)] += found[: self.others.size]
            total[np.ix_(own, self.others)] += found[: self.others.size].T


@dataclass(frozen=True)
class Dense:
    """Small matrices A_j (k, n, n), all multiplied at once."""

    matrices: np.ndarray

    @classmethod
    def of(cls, rows: sp.csr_array, n: int) -> Dense:
        return cls(rows.toarray().reshape(-1, n, n))

    @property
    def work(self) -> float:
        return 4.0 * self.matrices.size * self.matrices.shape[1]

    def between(self, x: np.ndarray, inverse: np.ndarray, some: slice) -> np.ndarray:
        """X A_j S^-1 of some of them (k, n, n)."""
        return x @ self.matrices[some] @ inverse


@dataclass(frozen=True)
class Compact:
    """Matrices A_j by the columns that they have any entries in: those, transposed, and which they are."""

    matrices: list[sp.csr_array]
    columns: list[np.ndarray]

    @classmethod
    def of(cls, rows: sp.csr_array, n: int) -> Compact:
        found, columns = list[sp.csr_array](), list[np.ndarray]()
        for a, b in pairwise(rows.indptr):
            i, j = np.divmod(rows.indices[a:b], n)
            used, where = np.unique(j, return_inverse=True)
            found.append(sp.coo_array((rows.data[a:b], (where, i)), shape=(used.size, n)).tocsr())
            columns.append(used)
        return cls(found, columns)

    @property
    def work(self) -> float:
        n = self.matrices[0].shape[1]
        return sum(4.0 * n * n * each.size for each in self.columns)

    def between(self, x: np.ndarray, inverse: np.ndarray, some: slice) -> np.ndarray:
        """X A_j S^-1 of some of them (k, n, n)."""
        pairs = zip(self.matrices[some], self.columns[some], strict=True)
        return np.array([(matrix @ x).T @ inverse[used] for matrix, used in pairs])


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
    few, n = _paired(stack.n, rows[owners]), stack.n
    owners[:few].sort()
    rows = rows[owners]
    found: list[Part] = []
    if few:
        part = rows[:few]
        found.append(_Pairs(stack, place, owners[:few], part.indptr, *np.divmod(part.indices, n), part.data))
    if few < owners.size:
        many = rows[few:]
        factors = Dense.of(many, n) if n <= SMALL and many.shape[0] * n * n <= CHUNK else Compact.of(many, n)
        found.append(_Products(stack, place, owners[few:], owners[:few], rows, factors))
    return found


def _paired(n: int, rows: sp.csr_array) -> int:
    """How many of the constraints, those with the fewest entries first, had better be paired."""
    sizes = np.diff(rows.indptr)
    entries = np.concatenate([[0], np.cumsum(sizes)]).astype(float)
    products = 4.0 * n * n * np.minimum(sizes, n) + 2.0 * rows.nnz
    rest = products.sum() - np.concatenate([[0.0], np.cumsum(products)])
    return int(np.argmin(PAIR * entries**2 + rest))
