"""The cones of CVXPY as images of positive semidefinite blocks and of numbers >= 0.

A point of nonneg x SOC x ... x PSD x ... is u = T Z, with one block of Z for each cone:

    numbers   u = z
    SOC       u = (tr Z, 2 Z_10, ..., 2 Z_(k-1)0)
    PSD       u = svec(Z), the columns of the lower triangle, entries off the diagonal times sqrt(2)

The second is the adjoint of arrow(t, v) = [[t, v^T], [v, t I]], which is positive semidefinite where |v| <= t: its
image of all Z >= 0 is the dual of the second-order cone, and that is the cone itself. Only entries of Z in the shape of
an arrow matter to it, and they are those of some Z >= 0 where each [[Z_00, Z_0i], [Z_0i, Z_ii]] >= 0: a large cone is
k - 1 such pairs B_i, u = (B_1,00 + sum of B_i,11, 2 B_1,01, ...), that have their first entry in common (`links`).

All of these cones are their own duals, and w is in one of them where T^T w >= 0, but for multiples of the links.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy.sparse as sp

ARROW = 150
"""The dimension up to which a second-order cone is one matrix."""


@dataclass(frozen=True)
class Cones:
    """nonneg: how many numbers; soc, psd: dimensions and orders of the others, in this order."""

    nonneg: int
    soc: Sequence[int]
    psd: Sequence[int]

    @property
    def entries(self) -> int:
        """Of u."""
        return self.nonneg + sum(self.soc) + sum(n * (n + 1) // 2 for n in self.psd)

    @cached_property
    def _matrices(self) -> list[int]:
        """The orders of the blocks, as the cones have them."""
        return [*(size for k in self.soc for size in ((2,) * (k - 1) if k > ARROW else (k,))), *self.psd]

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """Of the blocks of Z (`cgm_cli.numerics.blockwise`): those of one order follow each other."""
        numbers = (-self.nonneg,) if self.nonneg else ()
        return (*numbers, *sorted(self._matrices))

    @cached_property
    def _columns(self) -> np.ndarray:
        """Where the entries of Z are where blocks are in the order of the cones."""
        orders = np.array(self._matrices, dtype=np.int64)
        blocks = np.repeat(orders, orders**2)
        return np.concatenate([np.arange(self.nonneg), self.nonneg + np.argsort(blocks, kind="stable")])

    @cached_property
    def embedding(self) -> sp.csr_array:
        """T, of the flat Z; symmetric in Z."""
        parts = [sp.eye_array(self.nonneg)] if self.nonneg else []
        parts += [_pairs(k) if k > ARROW else _arrow(k) for k in self.soc]
        parts += [_semidefinite(n) for n in self.psd]
        return sp.csr_array(sp.csc_array(sp.block_diag(parts))[:, self._columns])

    @cached_property
    def links(self) -> sp.csr_array:
        """Rows whose products with Z are zero: what pairs have in common."""
        parts = [sp.csr_array((0, self.nonneg))]
        parts += [_common(k) if k > ARROW else sp.csr_array((0, k * k)) for k in self.soc]
        parts += [sp.csr_array((0, n * n)) for n in self.psd]
        return sp.csr_array(sp.csc_array(sp.block_diag(parts))[:, self._columns])


def _arrow(k: int) -> sp.coo_array:
    later = np.arange(1, k)
    rows = np.concatenate([np.zeros(k, dtype=np.int64), later, later])
    columns = np.concatenate([np.arange(k) * (k + 1), later, later * k])
    return sp.coo_array((np.ones(rows.size), (rows, columns)), shape=(k, k * k))


def _pairs(k: int) -> sp.coo_array:
    place, later = 4 * np.arange(k - 1), np.arange(1, k)
    rows = np.concatenate([np.zeros(k, dtype=np.int64), later, later])
    columns = np.concatenate([[0], place + 3, place + 1, place + 2])
    return sp.coo_array((np.ones(rows.size), (rows, columns)), shape=(k, 4 * (k - 1)))


def _common(k: int) -> sp.coo_array:
    each = np.arange(k - 2)
    rows, columns = np.concatenate([each, each]), np.concatenate([4 * each + 4, np.zeros(k - 2, dtype=np.int64)])
    return sp.coo_array((np.repeat([1.0, -1.0], k - 2), (rows, columns)), shape=(k - 2, 4 * (k - 1)))


def _semidefinite(n: int) -> sp.coo_array:
    column, row = np.triu_indices(n)  # of the lower triangle, column by column
    places, off = np.arange(row.size), row != column
    rows = np.concatenate([places, places[off]])
    columns = np.concatenate([row * n + column, (column * n + row)[off]])
    values = np.where(off, np.sqrt(0.5), 1.0)
    return sp.coo_array((np.concatenate([values, values[off]]), (rows, columns)), shape=(row.size, n * n))
