"""Coded diffraction patterns: the intensities of Fourier transforms of a signal behind masks, by FFT. Not in the
registry: the template `phase-retrieval` makes it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy  # which loads scipy.fft when it is first asked for it

from cgm_cli.blocks.atoms import Atom, LowRankAtom
from cgm_cli.blocks.directions import Direction
from cgm_cli.blocks.maps.base import LinearMap
from cgm_cli.numerics.hermitian import embedded, folded, folded_factor, unfolded_factor
from cgm_cli.numerics.threads import allowed, look

AT_ONCE = 1 << 20
"""Numbers that are transformed at once, a few masks and columns; one column by one mask, if that is more."""

_EPS = float(np.finfo(float).eps)


class CodedDiffraction(LinearMap):
    """X -> (<a_lk, X a_lk>), a_lk^* = row k of F D_l: |F D_l x|^2, for every mask l, of X = x x^*.

    F is the discrete Fourier transform of an array of the signal's shape, with one axis or more and without a factor
    (`numpy.fft`), D_l = diag(d_l). Points are the real Z (2n, 2n) that stand for X (`cgm_cli.numerics.hermitian`), so
    that the adjoint is E(H), H = sum_l D_l^* F^* diag(y_l) F D_l. No vector a_lk is ever formed.

    With y constant on each mask, y_lk = c_l, H is diagonal, n sum_l c_l |d_l|^2, and A A^* y is constant on each mask
    again. No entry of A A^* is negative, so that one of these y is its largest eigenvector (Perron), and with P_lj =
    |d_lj|^2 the largest singular value of X -> A(X) is sqrt(n) |P|, and sqrt(2 n) |P| of Z -> A(X): |E(H)|^2 = 2 |H|^2.
    """

    needs_array = False

    def __init__(self, masks: np.ndarray):
        """masks: (L, *shape of the signal), complex or real."""
        self.masks = np.ascontiguousarray(masks, dtype=complex)
        count, self.shape = len(masks), masks.shape[1:]
        self.size = math.prod(self.shape)
        self.in_shape, self.out_shape = (2 * self.size, 2 * self.size), (count * self.size,)
        powers = np.square(np.abs(self.masks)).reshape(count, -1)
        peak = float(powers.max(initial=0.0)) or 1.0
        gram = (powers / peak) @ (powers / peak).T
        largest, trace = max(0.0, float(np.linalg.eigvalsh(gram)[-1])), float(np.trace(gram))
        rounding = (self.size + 2 * count + 8) * _EPS * trace
        unit = peak * math.sqrt(2.0 * self.size)
        self.norm = unit * math.sqrt(largest) * (1.0 + 1e-13)
        self.norm_bound = unit * math.sqrt(largest + rounding) * (1.0 + 2e-13)
        self.peaks = powers.max(axis=1)

    @property
    def work(self) -> int:
        return 5 * self.masks.size * max(1, int(math.log2(self.size)))

    def fields(self, columns: np.ndarray) -> Iterator[tuple[slice, slice, np.ndarray]]:
        """F D_l v for complex columns v (n, k): masks, columns, and (masks, columns, *shape) of what they give."""
        rows = np.ascontiguousarray(columns.T).reshape(-1, *self.shape)
        width = max(1, min(len(rows), AT_ONCE // self.size))
        depth = max(1, AT_ONCE // (width * self.size))
        for first in range(0, len(rows), width):
            some = slice(first, min(first + width, len(rows)))
            for start in range(0, len(self.masks), depth):
                look()
                masks = slice(start, min(start + depth, len(self.masks)))
                yield masks, some, self._transformed(self.masks[masks, None] * rows[some])

    def _transformed(self, arrays: np.ndarray, back: bool = False) -> np.ndarray:
        """F of each, or F^* = n F^-1, in its place."""
        axes = tuple(range(2, arrays.ndim))
        if back:
            return scipy.fft.ifftn(arrays, axes=axes, norm="forward", overwrite_x=True, workers=allowed())
        return scipy.fft.fftn(arrays, axes=axes, overwrite_x=True, workers=allowed())

    def intensities(self, columns: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """A(V diag(w) V^*), (m,), for complex V (n, k) and w (k,)."""
        out = np.zeros((len(self.masks), *self.shape))
        for masks, some, found in self.fields(columns):
            out[masks] += np.einsum(
                "lk...,k->l...", np.square(np.real(found)) + np.square(np.imag(found)), weights[some]
            )
        return out.reshape(-1)

    def product(self, y: np.ndarray, columns: np.ndarray) -> np.ndarray:
        """H V, complex, for complex V (n, k) and y (L, *shape)."""
        out = np.zeros((columns.shape[1], *self.shape), dtype=complex)
        for masks, some, found in self.fields(columns):
            found *= y[masks, None]
            back = self._transformed(found, back=True)
            out[some] += np.einsum("l...,lk...->k...", self.masks[masks].conj(), back)
        return out.reshape(len(out), -1).T

    def forward(self, x: np.ndarray) -> np.ndarray:
        """The diagonal of F D_l X D_l^* F^*, transformed from both sides."""
        columns, out = folded(x).T.reshape(-1, *self.shape), np.empty((len(self.masks), self.size))
        for place, mask in enumerate(self.masks):
            half = self._transformed((mask * columns)[None]).reshape(self.size, self.size)
            rows = half.T.conj().reshape(-1, *self.shape)
            whole = self._transformed((mask * rows)[None]).reshape(self.size, self.size)
            out[place] = np.real(whole.diagonal())
        return out.reshape(-1)

    def forward_atom(self, atom: Atom) -> np.ndarray:
        if atom.is_zero:
            return np.zeros(self.out_shape)
        if not isinstance(atom, LowRankAtom) or not atom.is_symmetric:
            return self.forward(atom.dense())
        return self.intensities(folded_factor(atom.left), atom.weights)

    def adjoint(self, y: np.ndarray) -> Direction:
        return DiffractionDirection(self, y.reshape(len(self.masks), *self.shape))


@dataclass(frozen=True)
class DiffractionDirection(Direction):
    """E(H), H = sum_l D_l^* F^* diag(y_l) F D_l, (2n, 2n). weights: y, (L, *shape of the signal).

    Entry (j, k) of H is the sum of conj(d_lj) d_lk f_l(j - k), f_l = F^* y_l.
    """

    map: CodedDiffraction
    weights: np.ndarray
    symmetric = True

    @property
    def shape(self) -> tuple[int, ...]:
        return self.map.in_shape

    def add_to(self, out: np.ndarray) -> None:
        out += embedded(self.map.product(self.weights, np.eye(self.map.size, dtype=complex)))

    def peak(self) -> float:
        return float(self.map.peaks @ self._spectrum.max(axis=1, initial=0.0))

    def size(self) -> float:
        """At most the sum of the masks' lengths: that of a circulant matrix is sqrt(n) |f|."""
        lengths = np.linalg.norm(self._spectrum, axis=1)
        return math.sqrt(2.0 * self.map.size) * float(self.map.peaks @ lengths)

    @cached_property
    def _spectrum(self) -> np.ndarray:
        """|f_l|, (L, n)."""
        axes = tuple(range(1, self.weights.ndim))
        return np.abs(scipy.fft.fftn(self.weights, axes=axes, workers=allowed())).reshape(len(self.weights), -1)

    def matmat(self, block: np.ndarray) -> np.ndarray:
        columns = block.reshape(len(block), -1)
        found = self.map.product(self.weights, folded_factor(columns))
        return unfolded_factor(found).reshape(block.shape)

    def transposed(self) -> Direction:
        return self

    def symmetrised(self) -> Direction:
        return self

    def scaled(self, factor: float) -> Direction:
        return self if factor == 1.0 else DiffractionDirection(self.map, factor * self.weights)
