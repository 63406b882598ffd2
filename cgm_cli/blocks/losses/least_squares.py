"""Least squares."""

from __future__ import annotations

import math
from typing import Any, ClassVar, Literal

import numpy as np
from pydantic import Field

from cgm_cli.blocks.fitting import fit
from cgm_cli.blocks.losses.base import Loss
from cgm_cli.blocks.maps.base import LinearMap
from cgm_cli.errors import located
from cgm_cli.readers.context import BuildContext
from cgm_cli.spec.fields import ArrayField, BlockSpec, MapField, identity_map


class LeastSquares(Loss):
    """f(x) = |M x - b|^2 / 2, h(z) = |z - b|^2 / 2; L_f = |M|^2."""

    weak_convexity = 0.0
    convexity_proven = True
    has_hessian = True

    class Spec(BlockSpec):
        kind: Literal["least-squares"]
        map: MapField = Field(default_factory=identity_map, description="the map M; identity when left out")
        target: ArrayField = Field(..., description="b, of the shape of the image; a number: the same for every entry")

        examples: ClassVar[list[dict[str, Any]]] = [
            {"kind": "least-squares", "target": [1.0, 0.0, -1.0]},
            {
                "kind": "least-squares",
                "map": {"kind": "matrix", "matrix": [[1.0, 2.0, 0.0, 1.0], [0.0, -1.0, 3.0, 0.5]]},
                "target": [1.0, 2.0],
            },
            {"kind": "least-squares", "map": {"kind": "sampling", "indices": [0, 4, 3]}, "target": 0.5},
        ]

        def build(self, context: BuildContext, in_shape: tuple[int, ...]) -> LeastSquares:
            with located("map"):
                inner: LinearMap = self.map.build(context, in_shape)
            context.reserve("images", 2 * 8 * math.prod(inner.out_shape))  # of x, and the target
            return LeastSquares(inner, context.array(self.target))

    def __init__(self, map: LinearMap, target: np.ndarray):
        """Raises ProblemError if the target does not have the shape of the image."""
        self.map = map
        self.target = fit(target, map.out_shape, "the target", "the image under the map")
        self.lipschitz, self.lipschitz_bound = map.norm**2, map.norm_bound**2

    @property
    def squares(self) -> np.ndarray:
        return self.target

    @property
    def lowest(self) -> np.ndarray:
        return self.target

    def value(self, z: np.ndarray) -> float:
        gap = z - self.target
        return 0.5 * float(np.vdot(gap, gap))

    def gradient(self, z: np.ndarray) -> np.ndarray:
        return z - self.target

    def entries_of_gradient(self, values: np.ndarray, places: np.ndarray) -> np.ndarray:
        return values - self.target.reshape(-1)[places]

    def hessian(self, z: np.ndarray, dz: np.ndarray) -> np.ndarray:
        return dz

    def curvature(self, z: np.ndarray, dz: np.ndarray) -> float:
        return float(np.vdot(dz, dz))
