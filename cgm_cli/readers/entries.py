"""Some entries of a matrix: all of it that is known; of the others nothing is, not even that they are zero."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Self

import numpy as np

from cgm_cli.numerics.arrays import Matrix, is_sparse

BYTES = 48
"""What one entry takes until a problem is made of it: position and value, as read, as drawn and as split."""

ROW_IDS, COLUMN_IDS = "row_ids", "column_ids"
"""What the ids are called among the arrays of a solution."""

LABELS = "labels"
"""And the names of what a listing of the answer has a line for, such as nodes of a graph, or features."""


@dataclass(frozen=True)
class Entries:
    """indices (k,): distinct flat positions in a matrix of this shape, row by row, in increasing order, of 32 or 64
    bits. values (k,).

    ids: what its rows and its columns are called; None where they are told by their numbers. dense: whether the matrix
    was there with a place for every entry, so that another one of its size may be written out.
    """

    shape: tuple[int, int]
    indices: np.ndarray
    values: np.ndarray
    ids: tuple[list[str], list[str]] | None = None
    dense: bool = False

    @classmethod
    def of(cls, matrix: Matrix) -> Self:
        """Those of an array that are not NaN; of a sparse matrix those that it stores, zeros included."""
        rows, columns = matrix.shape
        if is_sparse(matrix):
            places = matrix.tocoo()
            indices, values = places.row.astype(np.int64) * columns + places.col, places.data
            order = np.argsort(indices)
            indices, values = indices[order], values[order]
        else:
            # Half of what a full matrix takes: of millions of entries most are often only kept to be tested on.
            narrow = np.int32 if matrix.size <= np.iinfo(np.int32).max else np.int64
            indices, values = np.arange(matrix.size, dtype=narrow), matrix.reshape(-1)
        found = cls((rows, columns), indices, values, dense=not is_sparse(matrix))
        unknown = np.isnan(values)
        return found.where(~unknown) if unknown.any() else found

    @property
    def count(self) -> int:
        return self.values.size

    @property
    def complete(self) -> bool:
        """Whether no entry is unknown."""
        return self.count == math.prod(self.shape)

    def where(self, mask: np.ndarray) -> Self:
        """Those of them at which the mask (k,) is True."""
        return type(self)(self.shape, self.indices[mask], self.values[mask], self.ids, self.dense)

    def split(self, fraction: float, rng: np.random.Generator) -> tuple[Self, Self]:
        """Those that are kept, and those set apart: a random `fraction`, rounded to a whole number of them."""
        kept = np.ones(self.count, dtype=bool)
        kept[rng.permutation(self.count)[: round(fraction * self.count)]] = False
        return self.where(kept), self.where(~kept)


def packed(ids: list[str]) -> np.ndarray:
    """Ids as the bytes of a text, one a line: what a run folder, which holds numbers only, can keep."""
    return np.frombuffer("\n".join(ids).encode(), np.uint8)


def unpacked(array: np.ndarray) -> list[str]:
    """The ids that `packed` made the array of. ValueError for any other array."""
    return array.astype(np.uint8, casting="safe").tobytes().decode().split("\n")


def named_arrays(labels: list[str] | None, name: str = LABELS) -> dict[str, np.ndarray]:
    """Labels as arrays of a solution: one, or none where there are no labels."""
    return {} if labels is None else {name: packed(labels)}
