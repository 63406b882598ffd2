"""The Huber penalty: a square near zero, an absolute value beyond."""

from __future__ import annotations

import math
from typing import Any, ClassVar, Literal

import numpy as np
from pydantic import Field

from cgm_cli.blocks.fitting import positive
from cgm_cli.blocks.penalties.base import Dual, Penalty, Smoothing
from cgm_cli.readers.context import BuildContext
from cgm_cli.spec.fields import BlockSpec, Positive


class Huber(Penalty):
    """g(z) = c sum_i h(z_i), h(t) = t^2 / (2 d) for |t| <= d, |t| - d / 2 beyond (Huber 1964, divided by d).

    h is the Moreau envelope of |t| with smoothing d. So y = c clip(z / (d + beta c), -1, 1) entry by entry, without a
    difference of z and p, and g*(y) = d |y|^2 / (2 c) where |y_i| <= c, infinite elsewhere. L_g = c sqrt(n).
    """

    prox_is_exact = True
    minimum = 0.0
    uniform = True
    separable = True

    class Spec(BlockSpec):
        kind: Literal["huber"]
        scale: Positive = Field(1.0, description="c, factor of the penalty: its slope beyond delta")
        delta: Positive = Field(1.0, description="d: up to there it is z^2 / (2 d), beyond |z| - d / 2")

        examples: ClassVar[list[dict[str, Any]]] = [
            {"kind": "huber"},
            {"kind": "huber", "scale": 2.5, "delta": 0.1},
            {"kind": "huber", "scale": 0.3, "delta": 4.0},
        ]

        def build(self, context: BuildContext, shape: tuple[int, ...]) -> Huber:
            return Huber(shape, self.scale, self.delta)

    def __init__(self, shape: tuple[int, ...], scale: float, delta: float):
        """Raises ProblemError unless both are positive."""
        self.shape = shape
        self.scale = positive(scale, "the scale of a penalty")
        self.delta = positive(delta, "the delta of a Huber penalty")
        self.lipschitz = scale * math.sqrt(math.prod(shape))

    def value(self, z: np.ndarray) -> float:
        """With m = min(|z|, d), h = m / d (|z| - m / 2): no square that could overflow."""
        size = np.abs(z)
        near = np.minimum(size, self.delta)
        return self.scale * float((near / self.delta * (size - 0.5 * near)).sum())

    def prox(self, z: np.ndarray, step: float) -> np.ndarray:
        """z d / (d + s) where |z| <= d + s, with s = step c; beyond, s nearer to zero."""
        pull = step * self.scale
        reach = self.delta + pull
        return np.where(np.abs(z) <= reach, z * (self.delta / reach), z - pull * np.sign(z))

    def subgradient(self, z: np.ndarray) -> np.ndarray:
        """The gradient, c clip(z / d, -1, 1)."""
        return self.scale * self._slopes(z, self.delta)

    def smoothed(self, z: np.ndarray, beta: float) -> Dual:
        return self._dual(z, self.delta + beta * self.scale)

    def dual(self, z: np.ndarray, step: Smoothing) -> np.ndarray:
        return self.scale * self._slopes(z, self.delta + step * self.scale)

    def linearised(self, z: np.ndarray) -> Dual:
        return self._dual(z, self.delta)

    def _slopes(self, z: np.ndarray, width: Smoothing) -> np.ndarray:
        """clip(z / width, -1, 1); clipped before it is divided, so that no quotient overflows."""
        return np.clip(z, -width, width) / width

    def _dual(self, z: np.ndarray, width: float) -> Dual:
        slopes = self._slopes(z, width)
        conjugate = 0.5 * self.scale * float(np.vdot(self.delta * slopes, slopes))
        return Dual(self.scale * slopes, conjugate, self.value(z), 0.0, 0.0)
