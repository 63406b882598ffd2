"""A direction that is a symmetric matrix in single precision: multipliers of every entry of a large x, say."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from cgm_cli.blocks.directions import Direction
from cgm_cli.numerics import kernels
from cgm_cli.numerics.bands import CACHED, SLAB, by_slabs
from cgm_cli.numerics.symmetric import Multiply


@dataclass(frozen=True)
class SingleMatrix(Direction):
    """factor * `array`, of an array (n, n) of np.float32, equal to its transpose to the bit. Products are made in
    double precision, slab by slab, of which no more than one is written out at a time.
    """

    array: np.ndarray
    factor: float = 1.0
    symmetric = True

    @property
    def shape(self) -> tuple[int, ...]:
        return self.array.shape

    def add_to(self, out: np.ndarray) -> None:
        def add(rows: slice) -> None:
            out[rows] += np.multiply(self.array[rows], self.factor, dtype=float)

        by_slabs(add, out.shape, CACHED)

    def peak(self) -> float:
        return self._peak

    @cached_property
    def _peak(self) -> float:
        return abs(self.factor) * float(max(self.array.max(), -self.array.min()))

    def matmat(self, block: np.ndarray) -> np.ndarray:
        out = np.empty(block.shape)

        def multiply(rows: slice) -> None:
            np.matmul(np.multiply(self.array[rows], self.factor, dtype=float), block, out=out[rows])

        by_slabs(multiply, self.shape, SLAB)
        return out

    def single_precision(self, peak: float, columns: int) -> Multiply | None:
        def multiply(block: np.ndarray) -> np.ndarray:
            return kernels.product(self.array, (block * (self.factor / peak)).astype(np.float32)).astype(float)

        return multiply if columns > 1 else None

    def transposed(self) -> Direction:
        return self

    def symmetrised(self) -> Direction:
        return self

    def scaled(self, factor: float) -> Direction:
        return self if factor == 1.0 else SingleMatrix(self.array, factor * self.factor)
