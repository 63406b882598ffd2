"""The quantile (pinball) penalty: an absolute value whose two sides differ."""

from __future__ import annotations

import math
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from pydantic import Field

from cgm_cli.blocks.penalties.epigraph import Epigraph, of_slopes
from cgm_cli.blocks.penalties.support import SupportFunction
from cgm_cli.errors import ProblemError
from cgm_cli.readers.context import BuildContext
from cgm_cli.spec.fields import BlockSpec, Positive


class Quantile(SupportFunction):
    """g(z) = scale * sum max(-q z_i, (1 - q) z_i), 0 < q < 1; D is the box -q <= y_i <= 1 - q.

    The check function of Koenker and Bassett ("Regression quantiles", Econometrica 46, 1978): with
    z = prediction - target it is least where a share q of the targets lies below the predictions.
    L_g = scale max(q, 1 - q) sqrt(n).
    """

    prox_is_exact = True
    minimum = 0.0
    uniform = True
    separable = True

    class Spec(BlockSpec):
        kind: Literal["quantile"]
        scale: Positive = Field(1.0, description="factor of the penalty")
        q: Annotated[float, Field(gt=0.0, lt=1.0)] = Field(
            0.5, description="which quantile of the targets b predictions z + b go for"
        )

        examples: ClassVar[list[dict[str, Any]]] = [
            {"kind": "quantile"},
            {"kind": "quantile", "q": 0.9, "scale": 2.0},
            {"kind": "quantile", "q": 0.05},
        ]

        def build(self, context: BuildContext, shape: tuple[int, ...]) -> Quantile:
            return Quantile(shape, self.scale, self.q)

    def __init__(self, shape: tuple[int, ...], scale: float = 1.0, q: float = 0.5):
        """Raises ProblemError unless the scale is positive and q between 0 and 1."""
        super().__init__(shape, scale)
        if not 0.0 < q < 1.0:
            raise ProblemError(f"q of a quantile penalty lies between 0 and 1, but is {q:g}")
        self.below, self.above = q, 1.0 - q
        self.lipschitz = scale * max(self.below, self.above) * math.sqrt(math.prod(shape))

    @property
    def epigraph(self) -> Epigraph:
        size = math.prod(self.shape)
        zero = np.zeros(size)
        return of_slopes(zero, zero, np.full(size, self.scale * self.below), np.full(size, self.scale * self.above))

    def value(self, z: np.ndarray) -> float:
        return self.scale * float(np.maximum(-self.below * z, self.above * z).sum())

    def project_dual(self, z: np.ndarray, radius: float) -> np.ndarray:
        return np.clip(z, -self.below * radius, self.above * radius)

    def subgradient(self, z: np.ndarray) -> np.ndarray:
        return self.scale * np.where(z > 0.0, self.above, np.where(z < 0.0, -self.below, 0.0))
