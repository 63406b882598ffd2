"""The largest coordinate as a penalty: what turns a minimax problem into a composite one."""

from __future__ import annotations

import math
from typing import Any, ClassVar, Literal

import numpy as np
from pydantic import Field

from cgm_cli.blocks.penalties.epigraph import Epigraph, of_largest
from cgm_cli.blocks.penalties.support import SupportFunction
from cgm_cli.numerics.projections import project_simplex
from cgm_cli.readers.context import BuildContext
from cgm_cli.spec.fields import BlockSpec, Positive


class MaxCoordinate(SupportFunction):
    """g(z) = scale * max_i z_i; D is the simplex; L_g = scale."""

    prox_is_exact = True

    class Spec(BlockSpec):
        kind: Literal["max"]
        scale: Positive = Field(1.0, description="factor of the maximum")

        examples: ClassVar[list[dict[str, Any]]] = [{"kind": "max"}, {"kind": "max", "scale": 3.0}]

        def build(self, context: BuildContext, shape: tuple[int, ...]) -> MaxCoordinate:
            return MaxCoordinate(shape, self.scale)

    def __init__(self, shape: tuple[int, ...], scale: float = 1.0):
        super().__init__(shape, scale)
        self.lipschitz = scale

    @property
    def epigraph(self) -> Epigraph:
        size = math.prod(self.shape)
        return of_largest(size, size, self.scale, is_free=True)

    def value(self, z: np.ndarray) -> float:
        return self.scale * float(z.max())

    def project_dual(self, z: np.ndarray, radius: float) -> np.ndarray:
        return project_simplex(z, radius)

    def subgradient(self, z: np.ndarray) -> np.ndarray:
        """scale e_i for the first largest z_i."""
        out = np.zeros(z.shape)
        out.reshape(-1)[int(np.argmax(z))] = self.scale
        return out
