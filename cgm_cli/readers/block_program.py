"""What a semidefinite program in a file is read as, whatever its format."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate

import numpy as np
import scipy.sparse as sp


@dataclass(frozen=True)
class BlockProgram:
    """maximise <F_0, Y> subject to <F_i, Y> = right_i, Y >= 0, in blocks; or minimise it.

    sizes: of the blocks; that of a diagonal block, a vector of numbers >= 0, is negative. matrices: F_0, ..., F_m in
    rows, (m + 1, N): the entries of the blocks one after the other, n^2 in C order, both triangles, of a matrix, and n
    of a vector. right: (m,). maximise: or else minimise. counted: the numbers of the m constraints, as the file counts
    them; None: from 1.
    """

    sizes: tuple[int, ...]
    matrices: sp.csr_array
    right: np.ndarray
    maximise: bool = True
    counted: np.ndarray | None = None

    @property
    def numbers(self) -> np.ndarray:
        """By which whoever reads the file knows the constraints (m,)."""
        return np.arange(1, self.right.size + 1) if self.counted is None else self.counted

    @cached_property
    def starts(self) -> list[int]:
        """Where the entries of the blocks begin, and at last N."""
        return list(accumulate((size * size if size > 0 else -size for size in self.sizes), initial=0))
