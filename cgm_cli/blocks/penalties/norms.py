"""The l1-, l2- and linf-norm as penalties."""

from __future__ import annotations

import math
from typing import Any, ClassVar, Literal

import numpy as np
from pydantic import Field

from cgm_cli.blocks.penalties.support import SupportFunction
from cgm_cli.numerics.projections import project_l1_ball, project_l2_ball, safe_norm
from cgm_cli.readers.context import BuildContext
from cgm_cli.spec.fields import BlockSpec, Positive


class L1Norm(SupportFunction):
    """g(z) = scale * sum |z_i|; D is the linf-ball; prox: soft thresholding; L_g = scale sqrt(n)."""

    prox_is_exact = True
    minimum = 0.0
    uniform = True
    separable = True
    takes_rounded_duals = True

    class Spec(BlockSpec):
        kind: Literal["l1"]
        scale: Positive = Field(1.0, description="factor of the norm")

        examples: ClassVar[list[dict[str, Any]]] = [{"kind": "l1"}, {"kind": "l1", "scale": 0.3}]

        def build(self, context: BuildContext, shape: tuple[int, ...]) -> L1Norm:
            return L1Norm(shape, self.scale)

    def __init__(self, shape: tuple[int, ...], scale: float = 1.0):
        super().__init__(shape, scale)
        self.lipschitz = scale * math.sqrt(math.prod(shape))

    def value(self, z: np.ndarray) -> float:
        return self.scale * float(np.abs(z).sum())

    def project_dual(self, z: np.ndarray, radius: float) -> np.ndarray:
        return np.clip(z, -radius, radius)

    def subgradient(self, z: np.ndarray) -> np.ndarray:
        return self.scale * np.sign(z)


class L2Norm(SupportFunction):
    """g(z) = scale * |z|_2, not squared; D is the l2-ball; L_g = scale."""

    prox_is_exact = True
    minimum = 0.0
    uniform = True

    class Spec(BlockSpec):
        kind: Literal["l2"]
        scale: Positive = Field(1.0, description="factor of the norm")

        examples: ClassVar[list[dict[str, Any]]] = [{"kind": "l2"}, {"kind": "l2", "scale": 2.5}]

        def build(self, context: BuildContext, shape: tuple[int, ...]) -> L2Norm:
            return L2Norm(shape, self.scale)

    def __init__(self, shape: tuple[int, ...], scale: float = 1.0):
        super().__init__(shape, scale)
        self.lipschitz = scale

    def value(self, z: np.ndarray) -> float:
        return self.scale * safe_norm(z)

    def project_dual(self, z: np.ndarray, radius: float) -> np.ndarray:
        return project_l2_ball(z, radius)

    def subgradient(self, z: np.ndarray) -> np.ndarray:
        """scale z / |z|, and 0 at 0. z is divided by max |z_i| first, so that a tiny z keeps its direction."""
        peak = float(np.max(np.abs(z)))
        if peak == 0.0:
            return np.zeros(z.shape)
        unit = z / peak
        return unit * (self.scale / float(np.linalg.norm(unit.reshape(-1))))


class LinfNorm(SupportFunction):
    """g(z) = scale * max |z_i|; D is the l1-ball; L_g = scale."""

    prox_is_exact = True
    minimum = 0.0

    class Spec(BlockSpec):
        kind: Literal["linf"]
        scale: Positive = Field(1.0, description="factor of the norm")

        examples: ClassVar[list[dict[str, Any]]] = [{"kind": "linf"}, {"kind": "linf", "scale": 0.7}]

        def build(self, context: BuildContext, shape: tuple[int, ...]) -> LinfNorm:
            return LinfNorm(shape, self.scale)

    def __init__(self, shape: tuple[int, ...], scale: float = 1.0):
        super().__init__(shape, scale)
        self.lipschitz = scale

    def value(self, z: np.ndarray) -> float:
        return self.scale * float(np.abs(z).max())

    def project_dual(self, z: np.ndarray, radius: float) -> np.ndarray:
        return project_l1_ball(z, radius)

    def subgradient(self, z: np.ndarray) -> np.ndarray:
        """scale sign(z_i) e_i for the first largest |z_i|; 0 at 0."""
        out = np.zeros(z.shape)
        index = int(np.argmax(np.abs(z)))
        out.reshape(-1)[index] = self.scale * np.sign(z.reshape(-1)[index])
        return out
