"""Directions that are matrices of low rank, known by their factors."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from cgm_cli.blocks.directions import Direction


@dataclass(frozen=True)
class FactoredDirection(Direction):
    """U diag(w) U^T, n x n, for `columns` U (n, k) and `weights` w (k,)."""

    columns: np.ndarray
    weights: np.ndarray
    symmetric = True

    @property
    def shape(self) -> tuple[int, ...]:
        return self.columns.shape[0], self.columns.shape[0]

    def add_to(self, out: np.ndarray) -> None:
        out += (self.columns * self.weights) @ self.columns.T

    def peak(self) -> float:
        """The sum of those of the columns."""
        return float(np.abs(self.weights) @ np.square(np.abs(self.columns).max(axis=0, initial=0.0)))

    def size(self) -> float:
        gram = self.columns.T @ self.columns
        largest = float(np.abs(gram).max(initial=0.0)) or 1.0  # or squares of it might be out of range
        return largest * math.sqrt(max(0.0, float(self.weights @ np.square(gram / largest) @ self.weights)))

    def matmat(self, block: np.ndarray) -> np.ndarray:
        inner = self.columns.T @ block
        return self.columns @ (self.weights * inner if block.ndim == 1 else self.weights[:, None] * inner)

    def transposed(self) -> Direction:
        return self

    def symmetrised(self) -> Direction:
        return self

    def scaled(self, factor: float) -> Direction:
        return self if factor == 1.0 else FactoredDirection(self.columns, factor * self.weights)
