"""The Schur complement of interior-point steps, M_ij = <A_i, X A_j S^-1>, block by block.

A_i with few entries are paired place by place (`cgm_cli.numerics.pairs`). For A_i = w_i v_i v_i^T, or a few such added
up, M_ij = w_i w_j (v_i^T X v_j) (v_i^T S^-1 v_j). For others X A_j S^-1 is multiplied out (Fujisawa, Kojima and Nakata,
"Exploiting sparsity in primal-dual interior-point methods for semidefinite programming", Math. Program. 79, 1997).
Which takes fewer operations is found out once. Small blocks of one size, and numbers, which are blocks of order one,
are all paired at once.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Protocol

import numpy as np
import scipy.sparse as sp

from cgm_cli.numerics.blockwise import Blocks, Stack
from cgm_cli.numerics.low_rank import LowRank, among
from cgm_cli.numerics.pairs import Congruence, Places

PAIR, GATHERED = 8.0, 50.0
"""Operations of products of matrices that take as long as what an entry and a place that is asked for come to, numbers
from anywhere; and as a pair of places where all are paired.
"""

TOGETHER = 32
"""The order up to which blocks that follow each other are paired at once."""

FEW = 400
"""Places in one block up to which all are paired with each other, in less time than it takes to load compiled code."""

FULL = 0.1
"""The part of entries that are not zero from which rows are multiplied as a dense matrix."""

SMALL = 64
"""The order up to which matrices are multiplied as dense ones, many at once."""

MANY = 4
"""Entries per row from which a matrix is looked at, whether it is of low rank."""

CHUNK = 4_000_000
"""Numbers that are held at once beside M, in each of a few arrays."""


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


class _Together:
    """Constraints `owners` with few entries in blocks of one order, or in numbers, all at once: with K of the places
    that are asked for in any of the blocks, block by block on a diagonal, M = a K a^T.
    """

    def __init__(self, stack: Stack, blocks: slice, owners: np.ndarray, places: Places, matrix: sp.csr_array):
        """matrix: a, of the owners, over the places of these blocks of a stack."""
        self._stack, self._blocks, self._owners = stack, blocks, owners
        self._places, self._matrix = places, matrix
        each, size = places.rows.size, matrix.shape[1]
        self._starts = each * np.arange(size + 1, dtype=np.int32)
        inner = np.arange(size, dtype=np.int32).reshape(-1, 1, each)
        self._indices = np.broadcast_to(inner, (size // each, each, each)).reshape(-1)
        self._is_full = FULL * owners.size * size < matrix.nnz and owners.size * size <= CHUNK

    @property
    def work(self) -> float:
        """Columns of a are multiplied with those of a K, which have entries wherever the block has any."""
        each, entries = self._places.rows.size, float(self._matrix.nnz)
        held = np.bincount(self._matrix.indices // each).astype(float)
        pairs = 2.0 * entries * self._owners.size if self._is_full else PAIR * float(np.square(held).sum())
        return GATHERED * self._indices.size + PAIR * entries * each + pairs

    def add_to(self, total: np.ndarray, x: np.ndarray, inverse: np.ndarray) -> None:
        found = self._places.between(self._stack.of(x)[self._blocks], self._stack.of(inverse)[self._blocks])
        size = self._matrix.shape[1]
        multiplied = self._matrix @ sp.csr_array((found.reshape(-1), self._indices, self._starts), shape=(size, size))
        if self._is_full:
            _add(total, self._owners, self._matrix.toarray() @ multiplied.toarray().T)
            return
        pairs = multiplied @ self._matrix.T
        if pairs.nnz > FULL * self._owners.size**2:
            _add(total, self._owners, pairs.toarray())
        else:
            i, j = sp.coo_array(pairs).coords
            total[self._owners[i], self._owners[j]] += pairs.data


class _Paired:
    """Constraints `owners` with few entries in one large block."""

    def __init__(self, stack: Stack, place: int, owners: np.ndarray, places: Places, matrix: sp.csr_array):
        self._stack, self._place, self._owners = stack, place, owners
        self._congruence = Congruence(matrix, places)
        self.work = PAIR * float(matrix.nnz) * places.rows.size

    def add_to(self, total: np.ndarray, x: np.ndarray, inverse: np.ndarray) -> None:
        x, inverse = self._stack.of(x)[self._place], self._stack.of(inverse)[self._place]
        _add(total, self._owners, self._congruence(x, inverse))


@dataclass(frozen=True)
class _LowRank:
    """Constraints `owners` of many entries and low rank in one block, and what `others`, of few entries at these places
    and paired with each other elsewhere, come to beside them.
    """

    stack: Stack
    place: int
    owners: np.ndarray
    factors: LowRank
    others: np.ndarray
    places: Places
    matrix: sp.csr_array

    @property
    def work(self) -> float:
        n, count = self.factors.vectors.shape
        beside = self.places.rows.size + self.matrix.nnz
        return 4.0 * n * n * count + 4.0 * n * count * count + PAIR * float(beside) * count

    def add_to(self, total: np.ndarray, x: np.ndarray, inverse: np.ndarray) -> None:
        vectors, weights, starts = self.factors.vectors, self.factors.weights, self.factors.starts
        along = self.stack.of(x)[self.place] @ vectors
        across = self.stack.of(inverse)[self.place] @ vectors
        pairs = (vectors.T @ along) * (vectors.T @ across) * weights * weights[:, None]
        total[np.ix_(self.owners, self.owners)] += np.add.reduceat(np.add.reduceat(pairs, starts, 0), starts, 1)
        if not self.others.size:
            return
        found = np.empty((self.others.size, weights.size))
        rows, columns = self.places.rows, self.places.columns
        size = max(1, CHUNK // max(1, rows.size))
        for first in range(0, weights.size, size):
            some = slice(first, first + size)
            one, other = along[:, some], across[:, some]
            found[:, some] = self.matrix @ (one[rows] * other[columns] + one[columns] * other[rows])
        found = np.add.reduceat(found * weights, starts, 1)
        total[np.ix_(self.others, self.owners)] += found
        total[np.ix_(self.owners, self.others)] += found.T


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


def _parts(stack: Stack, columns: sp.csc_array) -> Iterator[Part]:
    size = max(1, stack.n) ** 2
    is_small = stack.n <= 1 or (stack.n <= TOGETHER and stack.count > 1)
    step = max(1, 4 * CHUNK // size**2) if is_small else 1  # there are places in one triangle alone
    for first in range(0, stack.count, step):
        last = min(stack.count, first + step)
        rows = sp.csr_array(columns[:, stack.start + first * size : stack.start + last * size])
        owners = np.flatnonzero(np.diff(rows.indptr))
        if is_small and owners.size:
            yield _Together(stack, slice(first, last), owners, *_by_places(rows[owners], max(1, stack.n)))
        elif owners.size:
            yield from _of_block(stack, first, owners, rows)


def _of_block(stack: Stack, place: int, owners: np.ndarray, rows: sp.csr_array) -> Iterator[Part]:
    n = stack.n
    chosen, factors = among(rows[owners], n, MANY * n)
    low, owners = owners[chosen], np.delete(owners, chosen)
    owners = owners[np.argsort(np.diff(rows.indptr)[owners], kind="stable")]
    few = _paired(n, rows[owners]) if owners.size else 0
    owners[:few].sort()
    paired, others = owners[:few], owners[few:]
    places, matrix = _by_places(rows[paired], n)
    if few and places.rows.size <= FEW:
        yield _Together(stack, slice(place, place + 1), paired, places, matrix)
    elif few:
        yield _Paired(stack, place, paired, places, matrix)
    if factors is not None:
        yield _LowRank(stack, place, low, factors, paired, places, matrix)
    if others.size:
        many = rows[others]
        products = Dense.of(many, n) if n <= SMALL and many.shape[0] * n * n <= CHUNK else Compact.of(many, n)
        before = np.concatenate([paired, low])
        yield _Products(stack, place, others, before, rows[np.concatenate([before, others])], products)


def _add(total: np.ndarray, owners: np.ndarray, found: np.ndarray) -> None:
    """At the rows and columns of these, which ascend."""
    if owners.size == len(total):
        total += found
    else:
        total[np.ix_(owners, owners)] += found


def _by_places(rows: sp.csr_array, n: int) -> tuple[Places, sp.csr_array]:
    """The places (U,) in the lower triangle that symmetric rows (m, count n^2) have entries at, in any of the blocks,
    and the rows by these, (m, count U).
    """
    owners, entries = sp.coo_array(rows).coords
    block, entry = np.divmod(entries, n * n)
    r, c = np.divmod(entry, n)
    lower = r >= c
    used, where = np.unique(entry[lower], return_inverse=True)
    values = np.where(r == c, 0.5, 1.0)[lower] * rows.data[lower]
    shape = rows.shape[0], rows.shape[1] // (n * n) * used.size
    held = owners[lower].astype(np.int32), (block[lower] * used.size + where).astype(np.int32)
    matrix = sp.csr_array((values, held), shape=shape)
    return Places(n, *np.divmod(used, n)), matrix


def _paired(n: int, rows: sp.csr_array) -> int:
    """How many of the constraints, those with the fewest entries first, had better be paired."""
    sizes = np.diff(rows.indptr)
    owners, entries = sp.coo_array(rows).coords
    r, c = np.divmod(entries, n)
    firsts = np.unique(entries[r >= c], return_index=True)[1]
    asked = np.cumsum(np.bincount(owners[r >= c][firsts], minlength=sizes.size))
    pairs = PAIR * 0.5 * np.cumsum(sizes) * asked + np.where(asked <= FEW, GATHERED * asked**2, 0.0)
    products = 4.0 * n * n * np.minimum(sizes, n) + 2.0 * rows.nnz
    rest = products.sum() - np.concatenate([[0.0], np.cumsum(products)])
    return int(np.argmin(np.concatenate([[0.0], pairs]) + rest))
