"""The linear objective."""

from __future__ import annotations

import math
from typing import Any, ClassVar, Literal

import numpy as np
from pydantic import Field

from cgm_cli.blocks.directions import Direction
from cgm_cli.blocks.losses.base import Loss
from cgm_cli.blocks.maps.inner_product import Cost, InnerProduct
from cgm_cli.numerics.arrays import is_sparse
from cgm_cli.readers.context import BuildContext
from cgm_cli.spec.fields import ArrayField, BlockSpec


class Linear(Loss):
    """f(x) = <C, x>: the map is the inner product with C, and h(t) = t."""

    lipschitz = lipschitz_bound = weak_convexity = 0.0
    convexity_proven = True

    class Spec(BlockSpec):
        kind: Literal["linear"]
        cost: ArrayField = Field(
            ..., description="the cost, of the shape of a point (a number: the same for every entry)"
        )

        examples: ClassVar[list[dict[str, Any]]] = [
            {"kind": "linear", "cost": [1.0, -2.0, 0.5, 3.0]},
            {"kind": "linear", "cost": [[2.0, 1.0, 0.0], [1.0, -1.0, 0.5], [0.0, 0.5, 3.0]]},
            {"kind": "linear", "cost": 0.0},
        ]

        def build(self, context: BuildContext, in_shape: tuple[int, ...], negated: bool = False) -> Linear:
            """negated: -f, which is minimised where f is maximised."""
            cost = context.matrix(self.cost)
            if not is_sparse(cost):
                context.reserve("cost", 8 * math.prod(in_shape))
                context.reserve("direction", 8 * math.prod(in_shape))  # as large as the cost, whatever the iterate
                if negated:
                    context.reserve("negative of the cost", 8 * math.prod(in_shape))
            return Linear(-cost if negated else cost, in_shape)

    def __init__(self, cost: Cost, in_shape: tuple[int, ...]):
        self.map = InnerProduct(cost, in_shape)
        self._one = np.ones(())

    @property
    def cost(self) -> Direction:
        return self.map.adjoint(self._one)

    def value(self, z: np.ndarray) -> float:
        return float(z)

    def gradient(self, z: np.ndarray) -> np.ndarray:
        return self._one

    def curvature(self, z: np.ndarray, dz: np.ndarray) -> float:
        return 0.0
