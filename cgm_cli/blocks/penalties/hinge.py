"""The hinge penalty of binary classification, and of soft inequality constraints."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

import numpy as np
from pydantic import Field

from cgm_cli.blocks.fitting import numbers, positive, signs
from cgm_cli.blocks.penalties.base import Dual, Penalty, Smoothing
from cgm_cli.blocks.penalties.epigraph import Epigraph, of_slopes
from cgm_cli.readers.context import BuildContext
from cgm_cli.spec.fields import ArrayField, BlockSpec, Positive


class Hinge(Penalty):
    """g(z) = c sum_i max(0, 1 - b_i z_i), b_i = +1 or -1, c = scale, or scale / n for the mean.

    With u = b z, entry by entry, y = -b w where w = clip((1 - u) / beta, 0, c) and p = z + beta b w. The conjugate is
    g*(-b w) = -sum w for 0 <= w <= c: linear, so it needs no p. L_g = c sqrt(n).
    """

    prox_is_exact = True
    minimum = 0.0
    separable = True

    class Spec(BlockSpec):
        kind: Literal["hinge"]
        scale: Positive = Field(1.0, description="factor of the penalty")
        labels: ArrayField = Field(1.0, description="+1 or -1 for every entry of the image; a number: the same for all")
        reduction: Literal["sum", "mean"] = Field("sum", description="whether the entries are summed or averaged")

        examples: ClassVar[list[dict[str, Any]]] = [
            {"kind": "hinge"},
            {"kind": "hinge", "labels": [1, -1, -1, 1], "reduction": "mean", "scale": 2.0},
            {"kind": "hinge", "labels": -1, "scale": 0.5},
        ]

        def build(self, context: BuildContext, shape: tuple[int, ...]) -> Hinge:
            return Hinge(shape, self.scale, context.array(self.labels), self.reduction == "mean")

    def __init__(self, shape: tuple[int, ...], scale: float, labels: np.ndarray, mean: bool = False):
        """Raises ProblemError if labels do not fit the shape or are not +1 or -1, or the scale is not positive."""
        labels, scale = numbers(labels, "the array of labels"), positive(scale, "the scale of a penalty")
        self.shape = shape
        self.uniform = labels.ndim == 0
        self.labels = signs(labels, shape)
        self.factor = scale / self.labels.size if mean else scale
        self.lipschitz = self.factor * float(np.sqrt(self.labels.size))

    @property
    def epigraph(self) -> Epigraph:
        labels = self.labels.reshape(-1)
        price = np.full(labels.size, self.factor)
        return of_slopes(labels, labels, np.where(labels > 0.0, price, 0.0), np.where(labels < 0.0, price, 0.0))

    def value(self, z: np.ndarray) -> float:
        return self.factor * float(np.maximum(0.0, 1.0 - self.labels * z).sum())

    def prox(self, z: np.ndarray, step: float) -> np.ndarray:
        """z + b min(max(1 - b z, 0), step c): towards the margin, never past it."""
        return z + self.labels * np.clip(1.0 - self.labels * z, 0.0, step * self.factor)

    def subgradient(self, z: np.ndarray) -> np.ndarray:
        """-c b where the margin is not met, 0 where it is."""
        return np.where(self.labels * z < 1.0, -self.factor * self.labels, 0.0)

    def smoothed(self, z: np.ndarray, beta: float) -> Dual:
        y = self.dual(z, beta)
        return Dual(y, float(np.vdot(self.labels, y)), self.value(z), 0.0, 0.0)

    def dual(self, z: np.ndarray, step: Smoothing) -> np.ndarray:
        return -self.labels * (np.clip(1.0 - self.labels * z, 0.0, step * self.factor) / step)

    def conjugate_size(self, y: np.ndarray) -> float:
        return float(np.abs(y).sum())

    def linearised(self, z: np.ndarray) -> Dual:
        y = self.subgradient(z)
        return Dual(y, float(np.vdot(self.labels, y)), self.value(z), 0.0, 0.0)
