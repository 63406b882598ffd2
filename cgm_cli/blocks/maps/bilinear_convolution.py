"""Convolutions of two unknowns in known subspaces, by FFT. Not in the registry: `blind-deconvolution` makes it."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import scipy  # which loads scipy.fft when it is first asked for it

from cgm_cli.blocks.atoms import Atom, LowRankAtom
from cgm_cli.blocks.directions import Direction
from cgm_cli.blocks.maps.base import LinearMap
from cgm_cli.numerics.norms import GRAM_SIDE, norm_bound, operator_norm
from cgm_cli.numerics.threads import allowed

TURNS = 100
"""Of the power method that finds the norm."""


class BilinearConvolution(LinearMap):
    """Z -> sum_kn X_kn B_k * C_n, of the block X (K, N) beside the diagonal of a symmetric Z = [[., X], [X^T, .]].

    * is circular. Of X = h m^T it is B h * C m (Ahmed, Recht and Romberg, IEEE Trans. Inf. Theory 60, 2014). The
    adjoint has G / 2 there, G_kn = <B_k * C_n, y>, so that G v = B^T (C v correlated with y), and no G is formed.

    With A the map of X, that of Z has the norm |A| / sqrt(2). In the basis of Fourier A A^* is the product, entry by
    entry, of the semidefinite F B (F B)^* and F C (F C)^*, over L, whence |A| <= max_l |b_l| |C| for the rows b_l of
    F B, and the other way about (Schur).
    """

    needs_array = False

    def __init__(self, left: np.ndarray, right: np.ndarray):
        """left, right: B (L, K) and C (L, N), real."""
        self.left, self.right = np.ascontiguousarray(left, dtype=float), np.ascontiguousarray(right, dtype=float)
        (length, k), n = self.left.shape, self.right.shape[1]
        self.in_shape, self.out_shape = (k + n, k + n), (length,)
        self.lengths = tuple(float(np.linalg.norm(side, axis=0).max()) for side in (self.left, self.right))
        bounds = list[float]()
        for one, other in ((self.left, self.right), (self.right, self.left)):
            rows = float(np.linalg.norm(scipy.fft.rfft(one, axis=0), axis=1).max())
            bounds.append(rows * norm_bound(other, operator_norm(other)))
        self.norm_bound = min(bounds) * math.sqrt(0.5) * (1.0 + 1e-12)
        self.norm = min(self._norm(), self.norm_bound)

    def _norm(self) -> float:
        """By a full factorisation, of few entries; else by the power method, raised by what may be left."""
        if self.out_shape[0] <= GRAM_SIDE:
            first, second = (scipy.fft.fft(side, axis=0) for side in (self.left, self.right))
            gram = (first @ first.conj().T) * (second @ second.conj().T)
            largest = float(np.linalg.eigvalsh(gram)[-1]) / self.out_shape[0]
            return math.sqrt(0.5 * max(0.0, largest)) * (1.0 + 1e-13)
        y, size, found = np.random.default_rng(0).standard_normal(self.out_shape), 0.0, 0.0
        for _ in range(TURNS):
            y /= float(np.linalg.norm(y)) or 1.0
            ahead = self.of_block(self.gradient(y))
            found = float(np.linalg.norm(ahead))
            if abs(found - size) <= 1e-7 * found:
                break
            y, size = ahead, found
        return math.sqrt(0.5 * found) * (1.0 + 1e-3)

    @property
    def work(self) -> int:
        return self.left.size + self.right.size + 10 * self.out_shape[0]

    def _spectra(self, side: np.ndarray, columns: np.ndarray) -> np.ndarray:
        return scipy.fft.rfft(side @ columns, axis=0, workers=allowed())

    def _back(self, spectra: np.ndarray) -> np.ndarray:
        return scipy.fft.irfft(spectra, n=self.out_shape[0], axis=0, workers=allowed())

    def gradient(self, y: np.ndarray) -> np.ndarray:
        """G, written out, by transforms of as many columns as its shorter side has."""
        k, n = int(self.left.shape[1]), int(self.right.shape[1])
        if k < n:
            return self.times(y, np.eye(k), self.left, self.right).T
        return self.times(y, np.eye(n), self.right, self.left)

    def times(self, y: np.ndarray, columns: np.ndarray, inner: np.ndarray, outer: np.ndarray) -> np.ndarray:
        """outer^T (inner columns, correlated with y): G V for inner C and outer B, or G^T U the other way about."""
        spectrum = scipy.fft.rfft(y)[:, None]
        return outer.T @ self._back(self._spectra(inner, columns).conj() * spectrum)

    def of_block(self, block: np.ndarray) -> np.ndarray:
        """A(X), of X (K, N) written out, in the same way."""
        k, n = int(self.left.shape[1]), int(self.right.shape[1])
        if k < n:
            return self.convolved(np.eye(k), block.T, np.ones(k))
        return self.convolved(block, np.eye(n), np.ones(n))

    def convolved(self, left: np.ndarray, right: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """A(U diag(w) V^T), for U (K, r), V (N, r), w (r,)."""
        return self._back((self._spectra(self.left, left) * self._spectra(self.right, right)) @ weights)

    def forward(self, x: np.ndarray) -> np.ndarray:
        k = self.left.shape[1]
        return self.of_block(0.5 * (x[:k, k:] + x[k:, :k].T))

    def forward_atom(self, atom: Atom) -> np.ndarray:
        if atom.is_zero:
            return np.zeros(self.out_shape)
        if not isinstance(atom, LowRankAtom) or not atom.is_symmetric:
            return self.forward(atom.dense())
        k = self.left.shape[1]
        return self.convolved(atom.left[:k], atom.left[k:], atom.weights)

    def adjoint(self, y: np.ndarray) -> Direction:
        return CorrelationDirection(self, y)


@dataclass(frozen=True)
class CorrelationDirection(Direction):
    """[[0, G], [G^T, 0]] / 2 of a BilinearConvolution, for y (L,)."""

    map: BilinearConvolution
    y: np.ndarray
    symmetric = True

    @property
    def shape(self) -> tuple[int, ...]:
        return self.map.in_shape

    def add_to(self, out: np.ndarray) -> None:
        half, k = 0.5 * self.map.gradient(self.y), self.map.left.shape[1]
        out[:k, k:] += half
        out[k:, :k] += half.T

    def peak(self) -> float:
        """|B_k| |C_n| max |F y| / 2 for the longest columns."""
        return 0.5 * math.prod(self.map.lengths) * float(np.abs(scipy.fft.rfft(self.y)).max())

    def matmat(self, block: np.ndarray) -> np.ndarray:
        k, columns = self.map.left.shape[1], block.reshape(len(block), -1)
        above = self.map.times(self.y, columns[k:], self.map.right, self.map.left)
        below = self.map.times(self.y, columns[:k], self.map.left, self.map.right)
        return 0.5 * np.concatenate([above, below]).reshape(block.shape)

    def transposed(self) -> Direction:
        return self

    def symmetrised(self) -> Direction:
        return self

    def scaled(self, factor: float) -> Direction:
        return self if factor == 1.0 else CorrelationDirection(self.map, factor * self.y)
