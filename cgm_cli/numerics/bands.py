"""How a pass over a matrix is divided among threads: by bands of rows, or by slabs for BLAS.

Every band has sums of its own, which are added in their order: no number depends on how many threads there are.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np

from cgm_cli.numerics.threads import allowed, share

BAND = 16
"""Rows of a band. Fewer make more sums to add; more are unequal shares of a small matrix."""

SLAB = 256
"""Rows of a slab: what one call of BLAS multiplies."""

CACHED = 64
"""Rows of a slab that is to stay in a cache for a second look: an update of rank 10 takes 11 to 13 ms at n = 2000 with
16 to 64, and 15 to 23 with more. With fewer, the calls cost as much as their work.
"""

PARTS = 4
"""Into how many parts for each thread a pass is divided: a late one is waited for a fourth of its share at most."""

ONE_THREAD_ENTRIES = 1 << 15
"""Matrices of fewer entries are left to one thread: handing work over takes as long."""

LOOK_ENTRIES = 1 << 22
"""The most entries that are gone over without a look at the clock: where memory is written to for the first time, that
may take a third of a second.
"""


def by_bands(
    kernel: Callable[..., None],
    shape: tuple[int, ...],
    count: int,
    *arguments: Any,
    lower: bool = False,
    one_thread: int = ONE_THREAD_ENTRIES,
) -> list[float]:
    """Run kernel(*arguments, sums, first, last) on all bands of a matrix; the `count` sums over them.

    lower: it goes over the entries on and below the diagonal alone, so that the last bands are the longest.
    one_thread: matrices of fewer entries are left to one thread.
    """
    bands = -(-shape[0] // BAND)
    sums = np.zeros((bands, count))
    entries = shape[0] * shape[1]
    parts = 1 if allowed() == 1 or entries < one_thread else PARTS * allowed()
    parts = min(max(parts, -(-entries // LOOK_ENTRIES)), max(bands, 1))
    cuts = [round(bands * (part / parts) ** (0.5 if lower else 1.0)) for part in range(parts + 1)]
    share(kernel, [(*arguments, sums, *span) for span in pairwise(cuts)])
    return sums.sum(axis=0).tolist()


def by_slabs(work: Callable[[slice], None], shape: tuple[int, ...], size: int) -> None:
    """Call work(slab) for all slabs of `size` rows of a matrix, which the threads share."""
    if shape[0] * shape[1] < ONE_THREAD_ENTRIES:
        size = shape[0] or 1
    share(work, [(slice(first, first + size),) for first in range(0, shape[0], size)])


def combined(function: Callable[..., Any], *arrays: np.ndarray) -> np.ndarray:
    """function(*arrays, out=a new array) of arrays of one shape, entry by entry: slab by slab where they are large
    matrices.
    """
    out = np.empty(arrays[0].shape)
    if out.ndim != 2 or out.size < ONE_THREAD_ENTRIES:
        function(*arrays, out=out)
        return out
    by_slabs(lambda rows: function(*(array[rows] for array in arrays), out=out[rows]), out.shape, SLAB)
    return out


def shifted(z: np.ndarray, step: float, centre: np.ndarray) -> np.ndarray:
    """z + step centre, of one shape."""
    return combined(lambda z, centre, out: np.add(z, step * centre, out=out), z, centre)
