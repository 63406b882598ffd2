"""Norms and the like: penalties that are the support function of a simple dual set, handled through its projection."""

from __future__ import annotations

from abc import abstractmethod

import numpy as np

from cgm_cli.blocks.fitting import positive
from cgm_cli.blocks.penalties.base import Dual, Penalty, Smoothing


class SupportFunction(Penalty):
    """g(z) = scale * max {<y, z> : y in D}, for a compact convex D.

    g* is 0 on scale D and infinite elsewhere, so Moreau's identity gives, with P_r the projection onto r D,

        prox_{s g}(z) = z - P_{s scale}(z)      y = (z - prox_{beta g}(z)) / beta = P_{beta scale}(z) / beta   g*(y) = 0

    Taking y from the projection instead of from the difference keeps its digits however small beta is, and keeps y in
    scale D, where the conjugate is 0 without rounding.
    """

    def __init__(self, shape: tuple[int, ...], scale: float = 1.0):
        """Raises ProblemError unless the scale is positive."""
        self.shape = shape
        self.scale = positive(scale, "the scale of a penalty")

    @abstractmethod
    def project_dual(self, z: np.ndarray, radius: float) -> np.ndarray:
        """The projection of z onto radius D; a new array."""

    def prox(self, z: np.ndarray, step: float) -> np.ndarray:
        return z - self.project_dual(z, step * self.scale)

    def smoothed(self, z: np.ndarray, beta: float) -> Dual:
        return Dual(self.project_dual(z, beta * self.scale) / beta, 0.0, self.value(z), 0.0, 0.0)

    def dual(self, z: np.ndarray, step: Smoothing) -> np.ndarray:
        return self.project_dual(z, step * self.scale) / step  # pyright: ignore[reportArgumentType]

    def conjugate_size(self, y: np.ndarray) -> float:
        return 0.0

    def linearised(self, z: np.ndarray) -> Dual:
        return Dual(self.subgradient(z), 0.0, self.value(z), 0.0, 0.0)
