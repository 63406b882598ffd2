"""Atoms: the points an LMO returns, kept in the form that makes x <- x + eta (s - x) and A s cheap.

Every atom knows its `shape`, can be written out (`dense`), can be blended into a dense array in place (`blend_into`)
and can be paired with a dense array (`inner`). A factored iterate is an atom too (`LowRankAtom` with many columns),
which is why a map needs no other method than `forward_atom` to work on iterates that are never formed.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import cast

import numpy as np

from cgm_cli.numerics import kernels
from cgm_cli.numerics.samples import entries


class Atom(ABC):
    """A point of the domain, of the given `shape`.

    is_dense: every entry may count. low_rank: the atom itself where it is a matrix kept as its factors. is_zero: it is
    known to be zero.
    """

    is_dense: bool = True

    @property
    @abstractmethod
    def shape(self) -> tuple[int, ...]: ...

    @property
    def is_zero(self) -> bool:
        return False

    @property
    def low_rank(self) -> LowRankAtom | None:
        return None

    @abstractmethod
    def dense(self) -> np.ndarray:
        """A new array of shape `self.shape`."""

    def at(self, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
        """Entries (k,) of a matrix, at row rows_i and column columns_i each."""
        return self.dense()[rows, columns]

    @abstractmethod
    def inner(self, array: np.ndarray) -> float:
        """<array, atom> for an array of shape `self.shape`."""

    def compressed(self, left: np.ndarray, right: np.ndarray) -> np.ndarray:
        """left^T atom right, for matrices left (m, a) and right (n, b)."""
        return left.T @ self.dense() @ right

    def times(self, vector: np.ndarray) -> np.ndarray:
        """atom vector, of a matrix and a vector (n,), or the columns of a block (n, r)."""
        return self.dense() @ vector

    @abstractmethod
    def blend_into(self, x: np.ndarray, eta: float) -> None:
        """x <- (1 - eta) x + eta atom, in place; x is C-contiguous and of shape `self.shape`."""


@dataclass(frozen=True)
class DenseAtom(Atom):
    """A point written out in full."""

    array: np.ndarray

    @property
    def shape(self) -> tuple[int, ...]:
        return self.array.shape

    def dense(self) -> np.ndarray:
        return np.array(self.array, dtype=float)

    def inner(self, array: np.ndarray) -> float:
        return float(np.vdot(array, self.array))

    def compressed(self, left: np.ndarray, right: np.ndarray) -> np.ndarray:
        return left.T @ (self.array @ right)

    def blend_into(self, x: np.ndarray, eta: float) -> None:
        x *= 1.0 - eta
        x += eta * self.array


@dataclass(frozen=True)
class SparseAtom(Atom):
    """A point of shape `sides` with few non-zeros: `values` at the flat (C-order) positions `indices`. No entries: the
    zero atom.
    """

    sides: tuple[int, ...]
    indices: np.ndarray
    values: np.ndarray
    is_dense = False

    @property
    def shape(self) -> tuple[int, ...]:
        return self.sides

    @property
    def is_zero(self) -> bool:
        return self.indices.size == 0

    @classmethod
    def zero(cls, shape: tuple[int, ...]) -> SparseAtom:
        return cls(shape, np.empty(0, dtype=np.intp), np.empty(0))

    @classmethod
    def one_hot(cls, shape: tuple[int, ...], index: int, value: float) -> SparseAtom:
        return cls(shape, np.array([index], dtype=np.intp), np.array([value]))

    def dense(self) -> np.ndarray:
        out = np.zeros(self.shape)
        out.reshape(-1)[self.indices] = self.values
        return out

    def inner(self, array: np.ndarray) -> float:
        return float(array.reshape(-1)[self.indices] @ self.values)

    def compressed(self, left: np.ndarray, right: np.ndarray) -> np.ndarray:
        rows, columns = np.unravel_index(self.indices, self.shape)
        return (left[rows].T * self.values) @ right[columns]

    def blend_into(self, x: np.ndarray, eta: float) -> None:
        x *= 1.0 - eta
        x.reshape(-1)[self.indices] += eta * self.values


@dataclass(frozen=True)
class LowRankAtom(Atom):
    """left diag(weights) right^T, with left (m, r), weights (r,), right (n, r). Symmetric when `right is left`."""

    left: np.ndarray
    weights: np.ndarray
    right: np.ndarray
    is_dense = False

    @property
    def low_rank(self) -> LowRankAtom:
        return self

    @classmethod
    def symmetric(cls, vectors: np.ndarray, weights: np.ndarray) -> LowRankAtom:
        return cls(vectors, weights, vectors)

    @property
    def shape(self) -> tuple[int, ...]:
        return self.left.shape[0], self.right.shape[0]

    @property
    def is_symmetric(self) -> bool:
        return self.right is self.left

    def dense(self) -> np.ndarray:
        return kernels.product(self.left * self.weights, self.right.T)

    def at(self, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
        return entries(self.left, self.weights, self.right, rows, columns)

    def inner(self, array: np.ndarray) -> float:
        return float(np.einsum("ir,ir,r->", self.left, array @ self.right, self.weights))

    def singular_values(self) -> np.ndarray:
        """Those of the matrix, largest first, at least all that are not zero: of the triangles of both factors, where
        they are much narrower than the matrix is.
        """
        if self.weights.size == 0:
            return np.zeros(1)
        if 2 * self.weights.size > min(self.shape):
            return np.linalg.svd(self.dense(), compute_uv=False)
        left = _triangle(self.left)
        right = left if self.is_symmetric else _triangle(self.right)
        return np.linalg.svd((left * self.weights) @ right.T, compute_uv=False)

    def compressed(self, left: np.ndarray, right: np.ndarray) -> np.ndarray:
        return ((left.T @ self.left) * self.weights) @ (self.right.T @ right)

    def times(self, vector: np.ndarray) -> np.ndarray:
        inner = self.right.T @ vector
        return self.left @ (self.weights * inner if vector.ndim == 1 else self.weights[:, None] * inner)

    def blend_into(self, x: np.ndarray, eta: float) -> None:
        kernels.blend_low_rank(x, eta, self.left, self.weights, self.right)


def _triangle(columns: np.ndarray) -> np.ndarray:
    return cast(np.ndarray, np.linalg.qr(columns, mode="r"))


@dataclass(frozen=True)
class BlocksAtom(Atom):
    """One atom per block of a product domain; the point is the concatenation of the raveled blocks."""

    blocks: tuple[Atom, ...]

    @property
    def shape(self) -> tuple[int, ...]:
        return (sum(math.prod(block.shape) for block in self.blocks),)

    def dense(self) -> np.ndarray:
        return np.concatenate([block.dense().reshape(-1) for block in self.blocks])

    def inner(self, array: np.ndarray) -> float:
        return sum(block.inner(view) for block, view in self._views(array))

    def blend_into(self, x: np.ndarray, eta: float) -> None:
        for block, view in self._views(x):
            block.blend_into(view, eta)

    def _views(self, array: np.ndarray) -> Iterator[tuple[Atom, np.ndarray]]:
        start = 0
        for block in self.blocks:
            stop = start + math.prod(block.shape)
            yield block, array[start:stop].reshape(block.shape)
            start = stop
