"""The epsilon-insensitive penalty of support vector regression: what is within a tolerance costs nothing."""

from __future__ import annotations

import math
from typing import Any, ClassVar, Literal

import numpy as np
from pydantic import Field

from cgm_cli.blocks.fitting import positive
from cgm_cli.blocks.penalties.base import Dual, Penalty, Smoothing
from cgm_cli.blocks.penalties.epigraph import Epigraph, of_slopes
from cgm_cli.readers.context import BuildContext
from cgm_cli.spec.fields import BlockSpec, Positive


class EpsilonInsensitive(Penalty):
    """g(z) = c sum_i max(0, |z_i| - e), c = scale, or scale / n for the mean (Vapnik 1995).

    With w = clip(|z| - e, 0, beta c), entry by entry, y = sign(z) w / beta and p = z - sign(z) w. The conjugate is
    g*(y) = e sum |y_i| for |y_i| <= c, infinite elsewhere: it needs no p. L_g = c sqrt(n).
    """

    prox_is_exact = True
    minimum = 0.0
    uniform = True
    separable = True

    class Spec(BlockSpec):
        kind: Literal["epsilon-insensitive"]
        scale: Positive = Field(1.0, description="factor of the penalty")
        epsilon: Positive = Field(0.1, description="e: entries of at most that size cost nothing; in the units of z")
        reduction: Literal["sum", "mean"] = Field("sum", description="whether the entries are summed or averaged")

        examples: ClassVar[list[dict[str, Any]]] = [
            {"kind": "epsilon-insensitive"},
            {"kind": "epsilon-insensitive", "epsilon": 1.5, "scale": 2.5},
            {"kind": "epsilon-insensitive", "epsilon": 0.5, "reduction": "mean"},
        ]

        def build(self, context: BuildContext, shape: tuple[int, ...]) -> EpsilonInsensitive:
            return EpsilonInsensitive(shape, self.scale, self.epsilon, self.reduction == "mean")

    def __init__(self, shape: tuple[int, ...], scale: float = 1.0, epsilon: float = 0.1, mean: bool = False):
        """Raises ProblemError unless scale and epsilon are positive."""
        self.shape = shape
        size, scale = math.prod(shape), positive(scale, "the scale of a penalty")
        self.epsilon = positive(epsilon, "the epsilon of an epsilon-insensitive penalty")
        self.factor = scale / size if mean else scale
        self.lipschitz = self.factor * math.sqrt(size)

    @property
    def epigraph(self) -> Epigraph:
        size = math.prod(self.shape)
        end, price = np.full(size, self.epsilon), np.full(size, self.factor)
        return of_slopes(-end, end, price, price)

    def value(self, z: np.ndarray) -> float:
        return self.factor * float(np.maximum(np.abs(z) - self.epsilon, 0.0).sum())

    def prox(self, z: np.ndarray, step: float) -> np.ndarray:
        """Towards zero by step c, but not past e."""
        return z - self._excess(z, step)

    def subgradient(self, z: np.ndarray) -> np.ndarray:
        return np.where(np.abs(z) > self.epsilon, self.factor * np.sign(z), 0.0)

    def smoothed(self, z: np.ndarray, beta: float) -> Dual:
        return self._at(z, self.dual(z, beta))

    def dual(self, z: np.ndarray, step: Smoothing) -> np.ndarray:
        return self._excess(z, step) / step

    def conjugate_size(self, y: np.ndarray) -> float:
        return self._conjugate(y)

    def linearised(self, z: np.ndarray) -> Dual:
        return self._at(z, self.subgradient(z))

    def _excess(self, z: np.ndarray, step: Smoothing) -> np.ndarray:
        return np.copysign(np.clip(np.abs(z) - self.epsilon, 0.0, step * self.factor), z)

    def _conjugate(self, y: np.ndarray) -> float:
        return self.epsilon * float(np.abs(y).sum())

    def _at(self, z: np.ndarray, y: np.ndarray) -> Dual:
        return Dual(y, self._conjugate(y), self.value(z), 0.0, 0.0)
