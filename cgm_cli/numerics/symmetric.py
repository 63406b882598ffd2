"""Products of a symmetric matrix with a vector that read the entries on and below its diagonal alone, and the steps of
a Lanczos method made of them: one call for several, because what Python does around a product of a tenth of a
millisecond takes half as long.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import numpy as np

from cgm_cli.numerics.compiled import compiled, pays
from cgm_cli.numerics.threads import share

STRIP, MOST = 250, 16
"""Rows of a strip, about, and how many strips there are at most. Every strip has a sum of its own, so that no number
depends on how many threads share them; to add those of many strips takes longer than their work.
"""

ONE_THREAD_ORDER = 2000
"""Products of matrices of a smaller order are left to one thread: to hand them over takes as long as others save."""

WEAK = 1e-3
"""Relative to the size of the matrix, the length from which on what is left of an image is not a direction of its own,
but rounding errors of one.
"""

Multiply = Callable[[np.ndarray], np.ndarray]
"""B -> A B for a block (n, r), or a vector (n,)."""


@compiled
def _multiply(lower: np.ndarray, vector: np.ndarray, cuts: np.ndarray, sums: np.ndarray, first: int, last: int) -> None:
    for strip in range(first, last):
        out = sums[strip]
        out[:] = 0
        i, end = cuts[strip], cuts[strip + 1]
        while i + 4 <= end:  # four rows at once: `out` is gone over a fourth as often
            s0 = s1 = s2 = s3 = lower.dtype.type(0)
            v0, v1, v2, v3 = vector[i], vector[i + 1], vector[i + 2], vector[i + 3]
            for j in range(i):
                a0, a1, a2, a3 = lower[i, j], lower[i + 1, j], lower[i + 2, j], lower[i + 3, j]
                s0 += a0 * vector[j]
                s1 += a1 * vector[j]
                s2 += a2 * vector[j]
                s3 += a3 * vector[j]
                out[j] += a0 * v0 + a1 * v1 + a2 * v2 + a3 * v3
            out[i] += s0
            out[i + 1] += s1
            out[i + 2] += s2
            out[i + 3] += s3
            for p in range(i, i + 4):
                for q in range(i, p):
                    out[p] += lower[p, q] * vector[q]
                    out[q] += lower[p, q] * vector[p]
                out[p] += lower[p, p] * vector[p]
            i += 4
        while i < end:
            for j in range(i):
                out[i] += lower[i, j] * vector[j]
                out[j] += lower[i, j] * vector[i]
            out[i] += lower[i, i] * vector[i]
            i += 1


@_multiply.otherwise
def _(lower: np.ndarray, vector: np.ndarray, cuts: np.ndarray, sums: np.ndarray, first: int, last: int) -> None:
    for strip in range(first, last):
        start, end, out = cuts[strip], cuts[strip + 1], sums[strip]
        before, own, corner = lower[start:end, :start], vector[start:end], np.tril(lower[start:end, start:end])
        out[:start] = own @ before
        out[start:end] = before @ vector[:start] + corner @ own + own @ corner - corner.diagonal() * own
        out[end:] = 0.0


def product(lower: np.ndarray, vector: np.ndarray) -> np.ndarray:
    """A v for a symmetric A of which `lower` (n, n), C-contiguous, holds the entries on and below the diagonal; the
    others are not read. v (n,) of the same type.
    """
    cuts = _cuts(vector.size)
    strips = cuts.size - 1
    sums = np.empty((strips, vector.size), dtype=lower.dtype)
    spans = [(0, strips)] if vector.size < ONE_THREAD_ORDER else [(strip, strip + 1) for strip in range(strips)]
    share(_multiply, [(lower, vector, cuts, sums, *span) for span in spans])
    return sums.sum(axis=0)


@cache
def _cuts(n: int) -> np.ndarray:
    """Where strips of about as many entries begin, and where the last one ends."""
    strips = max(1, min(MOST, n // STRIP))
    cuts = 4 * np.rint(n / 4 * np.sqrt(np.arange(strips + 1) / strips)).astype(np.int64)
    cuts[-1] = n
    return cuts


@compiled
def _extend(
    lower: np.ndarray,
    factor: float,
    basis: np.ndarray,
    projected: np.ndarray,
    new: int,
    until: int,
    size: float,
    twice: bool,
) -> tuple[int, float, float]:
    n = basis.shape[1]
    cuts = np.array([0, n])
    vector, image = np.empty(n, lower.dtype), np.empty((1, n), lower.dtype)
    while True:
        following = basis[new + 1]
        for j in range(n):
            vector[j] = factor * basis[new, j]
        _multiply(lower, vector, cuts, image, 0, 1)
        for j in range(n):
            following[j] = image[0, j]
        new += 1
        coefficients = projected[new - 1, :new]
        coefficients[:] = 0.0
        found = np.empty(new)
        for _ in range(2 if twice else 1):
            for i in range(new):
                inner = 0.0
                for j in range(n):
                    inner += basis[i, j] * following[j]
                found[i] = inner
            for i in range(new):
                for j in range(n):
                    following[j] -= found[i] * basis[i, j]
                coefficients[i] += found[i]
        squares = length = 0.0
        for i in range(new):
            projected[i, new - 1] = coefficients[i]
            squares += coefficients[i] * coefficients[i]
        for j in range(n):
            length += following[j] * following[j]
        size, coupling = max(size, np.sqrt(squares)), np.sqrt(length)
        weak = not coupling > WEAK * size
        if not weak:
            for j in range(n):
                following[j] /= coupling
        if weak or new >= until:
            return new, coupling, size


def warm_up(kind: type) -> None:
    """Make a step with a matrix of one entry of this kind; see `box_passes.warm_up`."""
    half = HalfProduct(np.zeros((1, 1), dtype=kind), 1.0, lambda block: block)
    half.extend(np.ones((2, 1)), np.zeros((2, 2)), 0, 1, 0.0, kind == np.float64)


@dataclass(frozen=True)
class HalfProduct:
    """v -> factor A v for a symmetric A of which `lower` (n, n), in single or double precision, holds the entries on
    and below the diagonal; blocks: the same for the columns of a block (n, r).
    """

    lower: np.ndarray
    factor: float
    blocks: Callable[[np.ndarray], np.ndarray]

    def __call__(self, block: np.ndarray) -> np.ndarray:
        if block.ndim > 1:
            return self.blocks(block)
        return product(self.lower, (self.factor * block).astype(self.lower.dtype)).astype(float)

    @property
    def extends(self) -> bool:
        """Whether several steps at once are faster than one after the other."""
        return self.lower.shape[0] < ONE_THREAD_ORDER and pays(1, 0)

    def extend(
        self, basis: np.ndarray, projected: np.ndarray, new: int, until: int, size: float, twice: bool
    ) -> tuple[int, float, float]:
        """Steps of a Lanczos method, from `new` up to `until` multiplied rows of an orthonormal basis (m, n), until >
        new: A times the last row, less its part in the span of all of them, is the next one. projected (m, m): basis A
        basis^T, completed as far. twice: orthogonalise twice, which products in double precision deserve.

        Returns how many rows have been multiplied, the length of what was left of the last image, and the largest
        length of an image's part in the span, if it is larger than `size`. Ends early, with the last image not of
        length one, where no more than `WEAK` of the larger of those lengths is left of it.
        """
        return _extend(self.lower, self.factor, basis, projected, new, until, size, twice)
