"""Penalties whose graph has finitely many faces, as what linear programs know of them.

    g(z) = min <price, t>   subject to   lower <= z - columns t <= upper,   t >= 0 or t free,

with z flat: the largest of some entries is the least t above all of them; what entries cost outside of an interval, so
much for a unit, is what the t cost that lead back into it. A set of intervals is the case without t.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import scipy.sparse as sp


@dataclass(frozen=True)
class Epigraph:
    """lower, upper: (m,), of the images; columns (m, k), price (k,); is_free: whether t may be negative."""

    lower: np.ndarray
    upper: np.ndarray
    columns: sp.csr_array
    price: np.ndarray
    is_free: bool = False

    def moved(self, offset: np.ndarray) -> Epigraph:
        """That of z -> g(z - offset)."""
        return replace(self, lower=self.lower + offset.reshape(-1), upper=self.upper + offset.reshape(-1))


def of_intervals(lower: np.ndarray, upper: np.ndarray) -> Epigraph:
    """Of the set lower <= z <= upper."""
    lower, upper = lower.reshape(-1), upper.reshape(-1)
    return Epigraph(lower, upper, sp.csr_array((lower.size, 0)), np.zeros(0))


def of_largest(size: int, length: int, price: float, is_free: bool) -> Epigraph:
    """Of price times the largest entry in each run of so many; or of its positive part, where t is not free."""
    runs = size // length
    columns = sp.csr_array(sp.kron(sp.eye_array(runs), np.ones((length, 1)), format="csr"))
    return Epigraph(np.full(size, -np.inf), np.zeros(size), columns, np.full(runs, price), is_free)


def of_slopes(lower: np.ndarray, upper: np.ndarray, below: np.ndarray, above: np.ndarray) -> Epigraph:
    """Of sum below (lower - z)_+ + above (z - upper)_+, all of them (m,); the slope at an infinite end is zero."""
    size = lower.size
    under, over = np.flatnonzero(below > 0.0), np.flatnonzero(above > 0.0)
    rows, signs = np.concatenate([under, over]), np.repeat([-1.0, 1.0], [under.size, over.size])
    columns = sp.csr_array((signs, (rows, np.arange(rows.size))), (size, rows.size))
    # Where a side costs nothing, its end is none.
    lower, upper = np.where(below > 0.0, lower, -np.inf), np.where(above > 0.0, upper, np.inf)
    return Epigraph(lower, upper, columns, np.concatenate([below[under], above[over]]))
