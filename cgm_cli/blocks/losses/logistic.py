"""The logistic loss of binary classification."""

from __future__ import annotations

import math
from typing import Any, ClassVar, Literal

import numpy as np
from pydantic import Field

from cgm_cli.blocks.fitting import signs
from cgm_cli.blocks.losses.base import Loss
from cgm_cli.blocks.maps.base import LinearMap
from cgm_cli.errors import located
from cgm_cli.readers.context import BuildContext
from cgm_cli.spec.fields import ArrayField, BlockSpec, MapField, identity_map


class Logistic(Loss):
    """f(x) = mean_i log(1 + exp(-b_i (M x)_i)) with labels b_i of +1 or -1, over the m entries of the image.

    h'' <= 1/4 for each entry, so L_f = |M|^2 / (4 m).
    """

    weak_convexity = 0.0
    convexity_proven = True
    has_hessian = True

    class Spec(BlockSpec):
        kind: Literal["logistic"]
        map: MapField = Field(
            default_factory=identity_map, description="the map M, one row per sample; identity if left out"
        )
        labels: ArrayField = Field(..., description="+1 or -1 for every entry of the image")

        examples: ClassVar[list[dict[str, Any]]] = [
            {
                "kind": "logistic",
                "map": {
                    "kind": "matrix",
                    "matrix": [[1.0, 2.0, 0.0], [0.0, -1.0, 3.0], [2.0, 2.0, 1.0], [0.5, 0.0, 0.0]],
                },
                "labels": [1, -1, -1, 1],
            },
            {"kind": "logistic", "labels": [1, -1]},
        ]

        def build(self, context: BuildContext, in_shape: tuple[int, ...]) -> Logistic:
            with located("map"):
                inner: LinearMap = self.map.build(context, in_shape)
            context.reserve("images", 2 * 8 * math.prod(inner.out_shape))  # of x, and the labels
            return Logistic(inner, context.array(self.labels))

    def __init__(self, map: LinearMap, labels: np.ndarray):
        """Raises ProblemError if the labels do not have the shape of the image, or are not all +1 or -1."""
        self.map = map
        self.labels = signs(labels, map.out_shape)
        quarter = 4 * self.labels.size
        self.lipschitz, self.lipschitz_bound = map.norm**2 / quarter, map.norm_bound**2 / quarter

    def value(self, z: np.ndarray) -> float:
        """logaddexp(0, t) = log(1 + e^t) for any t: a large margin costs 0, a large violation its size; no overflow."""
        return float(np.logaddexp(0.0, -self.labels * z).mean())

    def gradient(self, z: np.ndarray) -> np.ndarray:
        """-b_i / (1 + exp(b_i z_i)) / m."""
        return -self.labels * expit(-self.labels * z) / self.labels.size

    def entries_of_gradient(self, values: np.ndarray, places: np.ndarray) -> np.ndarray:
        labels = self.labels.reshape(-1)[places]
        return -labels * expit(-labels * values) / self.labels.size

    def hessian(self, z: np.ndarray, dz: np.ndarray) -> np.ndarray:
        return expit(z) * expit(-z) * dz / self.labels.size

    def curvature(self, z: np.ndarray, dz: np.ndarray) -> float:
        """mean_i s_i (1 - s_i) dz_i^2 with s = expit(z); 1 - s is taken as expit(-z), which keeps its digits."""
        return float((expit(z) * expit(-z) * dz * dz).mean())


def expit(z: np.ndarray) -> np.ndarray:
    """1 / (1 + exp(-z))."""
    # Imported here: `cgm list` looks at every block, and this library takes as long as a third of all that it loads.
    from scipy import special

    return special.expit(z)
