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
    parts = 1 if allowed() == 1 or shape[0] * shape[1] < one_thread else min(PARTS * allowed(), bands)
    cuts = [round(bands * (part / parts) ** (0.5 if lower else 1.0)) for part in range(parts + 1)]
    share(kernel, [(*arguments, sums, *span) for span in pairwise(cuts)])
    return sums.sum(axis=0).tolist()


def by_slabs(work: Callable[[slice], None], shape: tuple[int, ...], size: int) -> None:
    """Call work(slab) for all slabs of `size` rows of a matrix, which the threads share."""
    if shape[0] * shape[1] < ONE_THREAD_ENTRIES:
        size = shape[0] or 1
    share(work, [(slice(first, first + size),) for first in range(0, shape[0], size)])
