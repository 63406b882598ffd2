"""Directions: what an LMO receives, v = grad f(x) + sum_i A_i^T y_i, as the sum of the pieces that the adjoints return.

A direction is one of: dense array, sparse matrix, diagonal, a_i + b_j, or a sum of those that is only known by its
products with vectors. Vector domains ask for `dense()`; spectral domains multiply (`matmat`), and never see a matrix
unless one was given.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np
import scipy.sparse as sp
from scipy.linalg.blas import dsymv

from cgm_cli.blocks.atoms import Atom, LowRankAtom
from cgm_cli.numerics import kernels, sparse_products, symmetric
from cgm_cli.numerics.bands import ONE_THREAD_ENTRIES, SLAB, by_slabs, combined
from cgm_cli.numerics.projections import safe_norm
from cgm_cli.numerics.symmetric import HalfProduct, Multiply
from cgm_cli.numerics.threads import look


class Direction(ABC):
    """A linear functional on points of the given `shape`.

    is_dense: it is an array already, and others are best added to it in one. outer_sum: a and b, where the entry (i, j)
    is a_i + b_j. symmetric: it is known to equal its transpose.
    """

    is_dense: bool = False
    symmetric: bool = False
    keeps_array: bool = False
    """`dense` may return an array that it keeps, which is not to be written to."""

    @property
    @abstractmethod
    def shape(self) -> tuple[int, ...]: ...

    @property
    def outer_sum(self) -> tuple[np.ndarray, np.ndarray] | None:
        return None

    @abstractmethod
    def add_to(self, out: np.ndarray) -> None:
        """out += direction, in place, for a C-contiguous array of shape `self.shape`."""

    @abstractmethod
    def peak(self) -> float:
        """An upper bound on the largest magnitude of an entry; not finite if an entry is not."""

    def size(self) -> float:
        """An upper bound on the root of the sum of the squares of all entries."""
        return math.sqrt(math.prod(self.shape)) * self.peak()

    @abstractmethod
    def matmat(self, block: np.ndarray) -> np.ndarray:
        """direction @ block, for a (n, r) block or an (n,) vector; matrices only."""

    def over(self, peak: float) -> Multiply:
        """B -> (direction / peak) B."""
        return lambda block: self.matmat(block) / peak

    def single_precision(self, peak: float, columns: int) -> Multiply | None:
        """B -> (direction / peak) B in single precision for B (n, `columns`), or (n,) for one, where that takes less
        time; None elsewhere.
        """
        return None

    @abstractmethod
    def transposed(self) -> Direction:
        """The direction of <v, x^T>; matrices only."""

    def rmatmat(self, block: np.ndarray) -> np.ndarray:
        """v^T B for a block B (m, r): once, where it is not worth it to write v^T out."""
        return self.transposed().matmat(block)

    def symmetrised(self) -> Direction:
        """(v + v^T) / 2: the same functional on symmetric matrices, and symmetric itself."""
        return SumDirection((self.scaled(0.5), self.transposed().scaled(0.5)))

    @abstractmethod
    def scaled(self, factor: float) -> Direction:
        """factor * direction."""

    def dense(self) -> np.ndarray:
        """A new array, but for directions that keep one."""
        out = np.zeros(self.shape)
        self.add_to(out)
        return out

    def sparse(self) -> sp.csr_array | None:
        """A new sparse matrix, where the direction is no more than one; None otherwise."""
        return None

    def inner(self, atom: Atom) -> float:
        """<v, atom>."""
        if isinstance(atom, LowRankAtom):
            return float(np.einsum("ir,ir,r->", atom.left, self.matmat(atom.right), atom.weights))
        return atom.inner(self.dense())


@dataclass(frozen=True)
class DenseDirection(Direction):
    """An array. `symmetric` promises that it equals its transpose, so that products may read one triangle."""

    array: np.ndarray
    symmetric: bool = False
    known_peak: float | None = None
    is_dense = True
    keeps_array = True

    @property
    def shape(self) -> tuple[int, ...]:
        return self.array.shape

    def add_to(self, out: np.ndarray) -> None:
        if out.ndim == 2:
            by_slabs(partial(_add_rows, out, self.array), out.shape, SLAB)
        else:
            out += self.array

    def peak(self) -> float:
        if self.known_peak is not None:
            return self.known_peak
        return float(max(self.array.max(), -self.array.min())) if self.array.size else 0.0

    def size(self) -> float:
        return safe_norm(self.array)

    def matmat(self, block: np.ndarray) -> np.ndarray:
        if self.symmetric and block.ndim == 1:
            if block.size >= symmetric.ONE_THREAD_ORDER:
                return symmetric.product(self.array, np.ascontiguousarray(block))
            # Wants Fortran order: the transpose of a C-ordered symmetric matrix is one, for free.
            return dsymv(1.0, self.array.T, block)
        # A product with a thin block is no faster where it reads one triangle.
        return kernels.product(self.array, block) if block.ndim == 2 else self.array @ block

    def single_precision(self, peak: float, columns: int) -> Multiply | None:
        # To convert the matrix costs as much as a few products with one vector.
        if columns == 1 or self.array.size < ONE_THREAD_ENTRIES:
            return None
        single = kernels.single(self.array, 1.0 / peak)
        return lambda block: kernels.product(single, block.astype(np.float32)).astype(float)

    def transposed(self) -> Direction:
        return self if self.symmetric else DenseDirection(self.array.T)

    def symmetrised(self) -> Direction:
        return self if self.symmetric else DenseDirection(combined(_mean, self.array, self.array.T), symmetric=True)

    def scaled(self, factor: float) -> Direction:
        return self if factor == 1.0 else DenseDirection(factor * self.array, self.symmetric)

    def dense(self) -> np.ndarray:
        return self.array


def _add_rows(out: np.ndarray, array: np.ndarray, rows: slice) -> None:
    out[rows] += array[rows]


def _mean(one: np.ndarray, other: np.ndarray, out: np.ndarray) -> None:
    np.add(one, other, out=out)
    out *= 0.5


class DeferredDirection(Direction):
    """A symmetric matrix (n, n) of which `array` is enough for some products; `whole`, which the rest asks for, is
    written when it is first needed.
    """

    array: np.ndarray
    keeps_array = True

    @cached_property
    def whole(self) -> Direction:
        return self.written()

    @abstractmethod
    def written(self) -> Direction:
        """The matrix, at the first time that it is asked for."""

    @property
    def shape(self) -> tuple[int, ...]:
        return self.array.shape

    def add_to(self, out: np.ndarray) -> None:
        self.whole.add_to(out)

    def size(self) -> float:
        return self.whole.size()

    def matmat(self, block: np.ndarray) -> np.ndarray:
        return self.whole.matmat(block)

    def transposed(self) -> Direction:
        return self

    def symmetrised(self) -> Direction:
        return self

    def scaled(self, factor: float) -> Direction:
        return self.whole.scaled(factor)

    def dense(self) -> np.ndarray:
        return self.whole.dense()


@dataclass(frozen=True)
class SingleDirection(DeferredDirection):
    """One whose `array` is in single precision, for products of that.

    lower: only its entries on and below the diagonal have been written. form: writes the matrix in double precision;
    to be called while what it is formed from is still as it was.
    """

    array: np.ndarray
    lower: bool
    known_peak: float
    form: Callable[[], Direction]

    def written(self) -> Direction:
        return self.form()

    def peak(self) -> float:
        return self.known_peak

    def single_precision(self, peak: float, columns: int) -> Multiply | None:
        if self.lower and columns > 1:
            return self.whole.single_precision(peak, columns)

        def multiply(block: np.ndarray) -> np.ndarray:
            return kernels.product(self.array, (block / peak).astype(np.float32)).astype(float)

        return HalfProduct(self.array, 1.0 / peak, multiply) if columns == 1 else multiply


@dataclass(frozen=True)
class LowerDirection(DeferredDirection):
    """One whose `array` holds the entries on and below the diagonal; the others are written in place."""

    array: np.ndarray
    known_peak: float | None

    def written(self) -> Direction:
        kernels.complete(self.array)
        return DenseDirection(self.array, symmetric=True, known_peak=self.known_peak)

    def peak(self) -> float:
        return self.whole.peak() if self.known_peak is None else self.known_peak

    def matmat(self, block: np.ndarray) -> np.ndarray:
        return symmetric.product(self.array, block) if block.ndim == 1 else self.whole.matmat(block)

    def over(self, peak: float) -> Multiply:
        return HalfProduct(self.array, 1.0 / peak, super().over(peak))

    def single_precision(self, peak: float, columns: int) -> Multiply | None:
        return self.whole.single_precision(peak, columns) if columns > 1 else None


@dataclass(frozen=True)
class SparseDirection(Direction):
    """A sparse matrix in CSR form, or in CSR form the (1, n) row of a vector of shape (n,)."""

    matrix: sp.csr_array
    symmetric: bool = False

    @property
    def shape(self) -> tuple[int, ...]:
        return self.matrix.shape

    def add_to(self, out: np.ndarray) -> None:
        rows = np.repeat(np.arange(self.matrix.shape[0]), np.diff(self.matrix.indptr))
        np.add.at(out, (rows, self.matrix.indices), self.matrix.data)

    def peak(self) -> float:
        return float(np.abs(self.matrix.data).max()) if self.matrix.nnz else 0.0

    def matmat(self, block: np.ndarray) -> np.ndarray:
        return sparse_products.product(self.matrix, block)

    def transposed(self) -> Direction:
        return self if self.symmetric else SparseDirection(self.matrix.T.tocsr())

    def rmatmat(self, block: np.ndarray) -> np.ndarray:
        return self.matrix.T @ block

    def symmetrised(self) -> Direction:
        return (
            self if self.symmetric else SparseDirection((0.5 * (self.matrix + self.matrix.T)).tocsr(), symmetric=True)
        )

    def sparse(self) -> sp.csr_array:
        return self.matrix.copy()

    def scaled(self, factor: float) -> Direction:
        return self if factor == 1.0 else SparseDirection(self.matrix * factor, self.symmetric)


@dataclass(frozen=True)
class DiagonalDirection(Direction):
    """Diag(d), n x n."""

    diagonal: np.ndarray

    @property
    def shape(self) -> tuple[int, ...]:
        return self.diagonal.size, self.diagonal.size

    def add_to(self, out: np.ndarray) -> None:
        out[np.diag_indices(self.diagonal.size)] += self.diagonal

    def peak(self) -> float:
        return float(np.abs(self.diagonal).max())

    def matmat(self, block: np.ndarray) -> np.ndarray:
        return self.diagonal * block if block.ndim == 1 else self.diagonal[:, None] * block

    def transposed(self) -> Direction:
        return self

    def symmetrised(self) -> Direction:
        return self

    def sparse(self) -> sp.csr_array:
        return sp.csr_array(sp.diags_array(self.diagonal))

    def scaled(self, factor: float) -> Direction:
        return self if factor == 1.0 else DiagonalDirection(factor * self.diagonal)


@dataclass(frozen=True)
class OuterSum(Direction):
    """The m x n matrix a_i + b_j, from `rows` a (m,) and `columns` b (n,)."""

    rows: np.ndarray
    columns: np.ndarray

    @property
    def outer_sum(self) -> tuple[np.ndarray, np.ndarray]:
        return self.rows, self.columns

    @property
    def shape(self) -> tuple[int, ...]:
        return self.rows.size, self.columns.size

    def add_to(self, out: np.ndarray) -> None:
        out += self.rows[:, None]
        out += self.columns[None, :]

    def peak(self) -> float:
        return float(np.abs(self.rows).max() + np.abs(self.columns).max())

    def matmat(self, block: np.ndarray) -> np.ndarray:
        sums, weighted = block.sum(axis=0), self.columns @ block
        if block.ndim == 1:
            return self.rows * sums + weighted
        return self.rows[:, None] * sums + weighted

    def transposed(self) -> Direction:
        return OuterSum(self.columns, self.rows)

    def symmetrised(self) -> Direction:
        half = 0.5 * (self.rows + self.columns)
        return OuterSum(half, half)

    def scaled(self, factor: float) -> Direction:
        return self if factor == 1.0 else OuterSum(factor * self.rows, factor * self.columns)


ROWS_AT_ONCE = 256
"""Rows of a large matrix that are changed at once, in its place: a copy of so many, not of all, is made meanwhile."""


@dataclass(frozen=True)
class Reflection:
    """I - 2 u u^T for a unit vector u (n,): orthogonal, symmetric, its own inverse."""

    normal: np.ndarray

    @classmethod
    def onto_axis(cls, vector: np.ndarray) -> Reflection:
        """The one that takes a unit vector to the first axis or its negative, whichever is farther."""
        normal = vector.copy()
        normal[0] += np.copysign(1.0, vector[0])
        return cls(normal / np.linalg.norm(normal))

    def times(self, block: np.ndarray) -> np.ndarray:
        """Its product with (n, r) or (n,)."""
        return block - np.multiply.outer(self.normal, 2.0 * (self.normal @ block))

    def compress(self, matrix: np.ndarray) -> np.ndarray:
        """Its rows from the second on, times a C-contiguous `matrix` (n, n) and those rows transposed, (n - 1, n - 1):
        a view of the matrix, in whose place it is computed.
        """
        self._reflect(matrix)
        rest = matrix[1:]
        weights = 2.0 * (self.normal @ rest.T)
        for first in range(0, rest.shape[0], ROWS_AT_ONCE):
            look()
            rows = slice(first, first + ROWS_AT_ONCE)
            rest[rows] -= np.multiply.outer(weights[rows], self.normal)
        return rest[:, 1:].T

    def _reflect(self, matrix: np.ndarray) -> None:
        weights = 2.0 * (self.normal @ matrix)
        for first in range(0, matrix.shape[0], ROWS_AT_ONCE):
            look()
            rows = slice(first, first + ROWS_AT_ONCE)
            matrix[rows] -= np.multiply.outer(self.normal[rows], weights)

    def lifted(self, block: np.ndarray) -> np.ndarray:
        """Its columns from the second on, times (n - 1, r) or (n - 1,)."""
        return self.times(np.concatenate([np.zeros_like(block[:1]), block]))

    def dropped(self, block: np.ndarray) -> np.ndarray:
        """Its rows from the second on, times (n, r) or (n,)."""
        return self.times(block)[1:]


@dataclass(frozen=True)
class ComplementDirection(Direction):
    """Q^T V Q for a symmetric V, with Q (n, n - 1) the columns from the second on of a reflection."""

    whole: Direction
    reflection: Reflection

    @property
    def shape(self) -> tuple[int, ...]:
        rows, columns = self.whole.shape
        return rows - 1, columns - 1

    def add_to(self, out: np.ndarray) -> None:
        out += self.dense()

    def dense(self) -> np.ndarray:
        """In the place of V, written out: its rows lie apart, and no other matrix is needed."""
        whole = np.zeros(self.whole.shape)
        self.whole.add_to(whole)
        return self.reflection.compress(whole)

    def peak(self) -> float:
        return self.whole.size()

    def matmat(self, block: np.ndarray) -> np.ndarray:
        return self.reflection.dropped(self.whole.matmat(self.reflection.lifted(block)))

    def single_precision(self, peak: float, columns: int) -> Multiply | None:
        product = self.whole.single_precision(peak, columns)
        if product is None:
            return None
        return lambda block: self.reflection.dropped(product(self.reflection.lifted(block)))

    def transposed(self) -> Direction:
        return self

    def scaled(self, factor: float) -> Direction:
        return ComplementDirection(self.whole.scaled(factor), self.reflection)


@dataclass(frozen=True)
class EmbeddedDirection(Direction):
    """`piece` at flat positions [start, start + size) of a vector of length `total`: the part of one block of a
    product.
    """

    piece: Direction
    start: int
    total: int

    @property
    def shape(self) -> tuple[int, ...]:
        return (self.total,)

    def add_to(self, out: np.ndarray) -> None:
        size = math.prod(self.piece.shape)
        self.piece.add_to(out[self.start : self.start + size].reshape(self.piece.shape))

    def peak(self) -> float:
        return self.piece.peak()

    def matmat(self, block: np.ndarray) -> np.ndarray:
        raise TypeError("a direction on a product of domains is a vector")

    def transposed(self) -> Direction:
        raise TypeError("a direction on a product of domains is a vector")

    def scaled(self, factor: float) -> Direction:
        return EmbeddedDirection(self.piece.scaled(factor), self.start, self.total)


@dataclass(frozen=True)
class SumDirection(Direction):
    """The sum of its `pieces` (at least one), all of one shape."""

    pieces: tuple[Direction, ...]

    @property
    def shape(self) -> tuple[int, ...]:
        return self.pieces[0].shape

    def add_to(self, out: np.ndarray) -> None:
        for piece in self.pieces:
            piece.add_to(out)

    def peak(self) -> float:
        return float(sum(piece.peak() for piece in self.pieces))

    def matmat(self, block: np.ndarray) -> np.ndarray:
        out = self.pieces[0].matmat(block)
        for piece in self.pieces[1:]:
            out = out + piece.matmat(block)
        return out

    def transposed(self) -> Direction:
        return SumDirection(tuple(piece.transposed() for piece in self.pieces))

    def symmetrised(self) -> Direction:
        return SumDirection(tuple(piece.symmetrised() for piece in self.pieces))

    def sparse(self) -> sp.csr_array | None:
        total = self.pieces[0].sparse()
        for piece in self.pieces[1:]:
            other = piece.sparse()
            if total is None or other is None:
                return None
            total = sp.csr_array(total + other)
        return total

    def scaled(self, factor: float) -> Direction:
        return self if factor == 1.0 else SumDirection(tuple(piece.scaled(factor) for piece in self.pieces))

    def inner(self, atom: Atom) -> float:
        return float(sum(piece.inner(atom) for piece in self.pieces))
