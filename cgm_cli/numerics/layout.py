"""Matrices with blocks along their diagonal, real or complex Hermitian ones and numbers, in two forms: whole (n, n), as
users have them, and flat, the real blocks of `cgm_cli.numerics.blockwise` one after the other, in which a complex block
H of order n is the real symmetric E(H) of order 2n (`cgm_cli.numerics.hermitian`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate

import numpy as np
import scipy.sparse as sp

from cgm_cli.errors import ProblemError
from cgm_cli.numerics.arrays import Matrix
from cgm_cli.numerics.hermitian import folded


@dataclass(frozen=True)
class Layout:
    """given: the sizes of the blocks, n of a matrix, -n of n numbers. is_complex: which are complex."""

    given: tuple[int, ...]
    is_complex: tuple[bool, ...]

    @classmethod
    def of(cls, sizes: Sequence[int], matrices: Sequence[Matrix]) -> Layout:
        """With those blocks complex in which one of the matrices has an imaginary part; never one of a single row."""
        plain = cls(tuple(sizes), (False,) * len(sizes))
        found = np.zeros(len(sizes), dtype=bool)
        for matrix in matrices:
            entries = sp.coo_array(matrix)
            found[plain._blocks[entries.coords[0][np.imag(entries.data) != 0.0]]] = True
        return cls(plain.given, tuple((found & (np.array(sizes) > 1)).tolist()))

    @property
    def order(self) -> int:
        return sum(map(abs, self.given))

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """Of the real blocks."""
        return tuple(2 * size if twice else size for size, twice in zip(self.given, self.is_complex, strict=True))

    @cached_property
    def _blocks(self) -> np.ndarray:
        """The block of each row (n,)."""
        return np.repeat(np.arange(len(self.given)), np.abs(self.given))

    @cached_property
    def _starts(self) -> np.ndarray:
        """Where the entries of the real blocks begin, and at last how many there are."""
        return np.array(list(accumulate((n * n if n > 0 else -n for n in self.sizes), initial=0)))

    def flat(self, matrix: Matrix) -> sp.coo_array:
        """E of a Hermitian matrix (n, n), block by block, (1, N). Raises ProblemError for an entry outside of them."""
        entries = sp.coo_array(matrix)
        kept = entries.data != 0.0
        (i, j), values = (part[kept].astype(np.int64) for part in entries.coords), entries.data[kept]
        block, sizes = self._blocks[i], np.array(self.sizes)
        outside = (block != self._blocks[j]) | ((sizes[block] < 0) & (i != j))
        if outside.any():
            at = int(np.argmax(outside))
            raise ProblemError(f"the entry ({i[at]}, {j[at]}), counted from 0, lies outside the `blocks`")
        orders = np.abs(self.given)
        first, start = (np.cumsum(orders) - orders)[block], self._starts[block]
        stride = np.where(sizes > 0, sizes, 0)[block]
        row, column, twice = i - first, j - first, np.array(self.is_complex)[block]
        one, real, imaginary = orders[block], np.real(values), np.imag(values)
        # E has Re H twice along its diagonal, Im H below it and -Im H above.
        parts = [
            (row, column, real, slice(None)),
            (one + row, one + column, real, twice),
            (one + row, column, imaginary, twice),
            (row, one + column, -imaginary, twice),
        ]
        places = np.concatenate([(start + r * stride + c)[which] for r, c, _, which in parts])
        data = np.concatenate([value[which] for *_, value, which in parts])
        return sp.coo_array((data, (np.zeros(places.size, dtype=np.int64), places)), shape=(1, int(self._starts[-1])))

    def whole(self, flat: np.ndarray, scale: float = 1.0) -> np.ndarray:
        """The matrix (n, n) that a flat real Z stands for, W Z W^* of complex blocks, and these times `scale`: a half
        makes H of E(H). Complex where a block is.
        """
        out = np.zeros((self.order, self.order), dtype=complex if any(self.is_complex) else float)
        for place, part, twice in self._parts(flat):
            if part.ndim == 1:
                out[place, place] = np.diag(part)
            else:
                out[place, place] = scale * folded(part) if twice else part
        return out

    def _parts(self, flat: np.ndarray) -> Iterator[tuple[slice, np.ndarray, bool]]:
        first = 0
        for given, size, start, twice in zip(self.given, self.sizes, self._starts[:-1], self.is_complex, strict=True):
            part = flat[start : start + (size * size if size > 0 else -size)]
            yield slice(first, first + abs(given)), part.reshape(size, size) if size > 0 else part, twice
            first += abs(given)
