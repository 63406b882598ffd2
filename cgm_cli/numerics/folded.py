"""Two matrices that nowhere overlap, in the memory of one in single precision: M = E - N with E = max(M, 0) and
N = max(-M, 0), entry by entry.

M is symmetric to the bit. It is written tile by tile and multiplied slab by slab, which threads share; what is computed
on the way is no larger than these.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from cgm_cli.numerics.bands import CACHED, by_slabs
from cgm_cli.numerics.threads import share

TILE = 256
"""Rows and columns of a tile: a quarter of a megabyte, which stays in a cache while it is changed."""

Tile = Callable[[slice, slice, np.ndarray], np.ndarray]
"""The new entries at some rows and columns, from the ones that are there, not to be written to."""

Part = Callable[[np.ndarray], np.ndarray]
"""A function of each entry of some rows."""


def negative(rows: np.ndarray) -> np.ndarray:
    """-N."""
    return np.minimum(rows, np.float32(0.0))


class Folded:
    """M (n, n), zero at first."""

    def __init__(self, n: int):
        self.matrix = np.zeros((n, n), dtype=np.float32)

    @classmethod
    def copied(cls, matrix: np.ndarray) -> Folded:
        """With a copy of a matrix (n, n) in single precision, symmetric to the bit."""
        found = cls(len(matrix))
        by_slabs(lambda rows: np.copyto(found.matrix[rows], matrix[rows]), matrix.shape, CACHED)
        return found

    def write(self, tile: Tile) -> None:
        """Change all entries, by those of the tiles on and below the diagonal."""

        def work(rows: slice, columns: slice) -> None:
            new = tile(rows, columns, self.matrix[rows, columns]).astype(np.float32, copy=False)
            if rows == columns:  # BLAS need not sum its two halves in the same order
                new = np.tril(new) + np.tril(new, -1).T
            self.matrix[rows, columns] = new
            self.matrix[columns, rows] = new.T

        share(work, tiles(len(self.matrix)))

    def product(self, block: np.ndarray, part: Part = np.abs) -> np.ndarray:
        """part(M) B in single precision, of E + N if nobody says, for a block (n, r) or a vector (n,)."""
        block = np.ascontiguousarray(block, dtype=np.float32)
        out = np.empty(block.shape)

        def work(rows: slice) -> None:
            out[rows] = part(self.matrix[rows]) @ block

        by_slabs(work, self.matrix.shape, CACHED)
        return out

    def written(self, part: Part, factor: float, kind: type = float) -> np.ndarray:
        """factor * part(M) in double precision, or another (n, n)."""
        out = np.empty(self.matrix.shape, dtype=kind)

        def work(rows: slice) -> None:
            np.multiply(part(self.matrix[rows]), factor, out=out[rows], dtype=kind)

        by_slabs(work, out.shape, CACHED)
        return out

    def total(self, part: Part) -> float:
        """The sum of all entries of part(M)."""
        sums = np.zeros(-(-len(self.matrix) // CACHED))

        def work(rows: slice) -> None:
            sums[rows.start // CACHED] = part(self.matrix[rows]).sum(dtype=float)

        by_slabs(work, self.matrix.shape, CACHED)
        return float(sums.sum())


def tiles(n: int) -> list[tuple[slice, slice]]:
    """Rows and columns of the tiles on and below the diagonal of a matrix (n, n)."""
    parts = [slice(start, min(n, start + TILE)) for start in range(0, n, TILE)]
    return [(rows, columns) for place, rows in enumerate(parts) for columns in parts[: place + 1]]
