"""The gradient at X = R R^T of a linear cost and an envelope of bounds on the entries, without X being written out.

X is symmetric, so that one triangle of it will do. A tile of it is made by BLAS from two slices of R, changed in place
while it is in the cache, and multiplied by both slices again. Cost and centre are copied tile by tile once, for many
gradients: what is read in passing then lies in one piece.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from cgm_cli.numerics.bands import ONE_THREAD_ENTRIES
from cgm_cli.numerics.box_passes import box_tile
from cgm_cli.numerics.threads import share

TILE = 168
"""The most rows and columns of a tile: three of them fit into a cache of the second level. At n = 2016 and rank 20 a
gradient takes 21 ms, 40 with tiles of 84, 29 of 126, 33 of 252.
"""

SHARES = 8
"""Into how many sums the tiles are added, so that no number depends on how many threads there are; the most threads."""


class FactoredBox:
    """R -> (cost + y) R, |y|^2 and <cost, R R^T>, for y = (x - clip(x, lower, upper)) / beta, x = R R^T + beta centre.

    cost and centre (n, n), symmetric, of which one triangle is read; a centre of None is zero. look: called before
    every tile, by whichever thread takes it; it may raise.
    """

    def __init__(
        self,
        cost: np.ndarray,
        centre: np.ndarray | None,
        lower: float,
        upper: float,
        beta: float,
        look: Callable[[], None] = lambda: None,
    ):
        self._look = look
        n = cost.shape[0]
        self._side = -(-n // -(-n // TILE))
        starts = range(0, n, self._side)
        self._places = [(first, start) for first in starts for start in starts if start <= first]
        self._cost = self._packed(cost)
        self._shift = np.zeros_like(self._cost) if centre is None else beta * self._packed(centre)
        self._limits = float(lower), float(upper), 1.0 / beta

    def __call__(self, factor: np.ndarray) -> tuple[np.ndarray, float, float]:
        """At R (n, r): an array (n, r) and two sums."""
        factor, across = np.ascontiguousarray(factor), np.ascontiguousarray(factor.T)
        sums, totals = np.zeros((SHARES, *factor.shape)), np.zeros((SHARES, 2))

        def work(places: range) -> None:
            buffer = np.empty((self._side, self._side))
            for place in places:
                for tile in range(place, len(self._places), SHARES):
                    self._look()
                    totals[place] += self._add(tile, factor, across, buffer, sums[place])

        small = self._cost.size < ONE_THREAD_ENTRIES
        share(work, [(range(SHARES),)] if small else [(range(place, place + 1),) for place in range(SHARES)])
        return sums.sum(axis=0), *totals.sum(axis=0).tolist()

    def _add(
        self, tile: int, factor: np.ndarray, across: np.ndarray, buffer: np.ndarray, out: np.ndarray
    ) -> np.ndarray:
        """Add what a tile, and the one across the diagonal, give to `out`; their two sums. across: R^T."""
        first, start = self._places[tile]
        rows, columns = slice(first, first + self._side), slice(start, start + self._side)
        left, right = factor[rows], factor[columns]
        x = np.matmul(left, across[:, columns], out=buffer[: len(left), : len(right)])
        sums = np.array(box_tile(buffer, *x.shape, self._cost[tile], self._shift[tile], *self._limits))
        out[rows] += x @ right
        if first == start:
            return sums
        out[columns] += x.T @ left
        return 2.0 * sums

    def _packed(self, matrix: np.ndarray) -> np.ndarray:
        """The tiles, one after the other, zero where a tile sticks out."""
        side = self._side
        out = np.zeros((len(self._places), side, side))
        for tile, (first, start) in zip(out, self._places, strict=True):
            piece = matrix[first : first + side, start : start + side]
            tile[: piece.shape[0], : piece.shape[1]] = piece
        return out
