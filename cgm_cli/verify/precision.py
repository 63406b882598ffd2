"""Sums in extended precision, with the size of what was added beside the value."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

EPS = float(np.finfo(float).eps)

RELATIVE = 1e-9
"""Rounding of a sum in double precision, relative to the magnitudes of its terms: that of 10^6 terms and more."""

EXTENDED_ENTRIES = 4 * 10**6
"""Entries of a matrix up to which its products are taken in extended precision: beyond, that takes seconds."""

EXTENDED_WORK = 3 * 10**8
"""Multiplications of a congruence up to which they are made in extended precision: beyond, that takes seconds."""


class Unchecked(Exception):
    """Why something could not be recomputed, in words for the report."""


class Missing(Exception):
    """What a claim stands on was not saved, though every run that makes the claim saves it; in words for the report."""


@dataclass(frozen=True)
class Total:
    """A number and the sum of the magnitudes of what was added up to get it, which rounding errors are relative to."""

    value: float
    size: float

    def __add__(self, other: Total) -> Total:
        return Total(self.value + other.value, self.size + other.size)

    def __neg__(self) -> Total:
        return Total(-self.value, self.size)


ZERO = Total(0.0, 0.0)


def extended(array: npt.ArrayLike) -> np.ndarray:
    """The array in extended precision."""
    return np.asarray(array, dtype=np.longdouble)


def is_finite(array: np.ndarray) -> bool:
    """Whether the entries are finite real numbers."""
    return array.dtype.kind in "biuf" and bool(np.isfinite(array).all())


def total(*summands: npt.ArrayLike) -> Total:
    """The sum of all entries of the arrays."""
    value: Any = sum((extended(part).sum() for part in summands), np.longdouble(0.0))
    size: Any = sum((np.abs(extended(part)).sum() for part in summands), np.longdouble(0.0))
    return Total(value, size)


def norm(array: np.ndarray) -> float:
    """The Euclidean norm of all entries; divided by the largest first, so that squares stay in range."""
    flat = extended(array).reshape(-1)
    peak = np.abs(flat).max(initial=0.0)
    return peak if peak == 0.0 or not np.isfinite(peak) else peak * np.sqrt(np.square(flat / peak).sum())


@dataclass(frozen=True)
class Congruent:
    """The Kronecker product of V (p, n) with itself, too large to write out: it takes X, flat, to V X V^T."""

    factor: np.ndarray

    @property
    def T(self) -> Congruent:
        """Its transpose: V^T Y V."""
        return Congruent(self.factor.T)

    def __matmul__(self, vector: np.ndarray) -> np.ndarray:
        p, n = self.factor.shape
        kind = np.longdouble if p * n * (n + p) <= EXTENDED_WORK else float
        factor, inner = self.factor.astype(kind), vector.reshape(n, n).astype(kind)
        return extended(factor @ inner @ factor.T).reshape(-1)


def product(matrix: sp.csr_array | sp.csc_array | Congruent, vector: np.ndarray) -> np.ndarray:
    """matrix @ vector, in extended precision where the matrix is not too large for that."""
    if isinstance(matrix, Congruent):
        return matrix @ vector
    if matrix.nnz <= EXTENDED_ENTRIES:
        return matrix.astype(np.longdouble) @ extended(vector)
    return extended(matrix @ np.asarray(vector, dtype=float))


def entry(table: dict[type, Any], block: object, what: str) -> Any:
    """The formula of the table for the class of the block. Raises Unchecked for a class without one."""
    if type(block) not in table:
        raise Unchecked(f"{what} of the kind `{type(block).__name__}` has no independent formula")
    return table[type(block)]
