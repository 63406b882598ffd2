"""The constraint that an image equals a given value."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

import numpy as np
from pydantic import Field

from cgm_cli.blocks.fitting import fit, numbers
from cgm_cli.blocks.penalties.base import ConvexSet
from cgm_cli.readers.context import BuildContext
from cgm_cli.spec.fields import ArrayField, BlockSpec


class Equals(ConvexSet):
    """K = {b}; the projection is b, whatever z."""

    prox_is_exact = True
    separable = True
    takes_rounded_duals = True
    is_point = True

    class Spec(BlockSpec):
        kind: Literal["equals"]
        value: ArrayField = Field(..., description="b, of the shape of the image; a number: the same for every entry")

        examples: ClassVar[list[dict[str, Any]]] = [
            {"kind": "equals", "value": 1.0},
            {"kind": "equals", "value": [1.0, -2.0, 0.0, 3.0]},
        ]

        def build(self, context: BuildContext, shape: tuple[int, ...]) -> Equals:
            return Equals(shape, context.array(self.value))

    def __init__(self, shape: tuple[int, ...], target: np.ndarray):
        """Raises ProblemError if the target does not have that shape."""
        target = numbers(target, "the value")
        self.shape = shape
        self.uniform = target.ndim == 0
        self.target = fit(target, shape, "the value", "the image")

    def project(self, z: np.ndarray) -> np.ndarray:
        return self.target.copy()

    @property
    def only_point(self) -> np.ndarray:
        return self.target

    @property
    def intervals(self) -> tuple[np.ndarray, np.ndarray]:
        return self.target, self.target

    def conjugate_size(self, y: np.ndarray) -> float:
        return float(np.vdot(np.abs(y), np.abs(self.target)))

    @property
    def reach(self) -> float:
        return float(np.linalg.norm(self.target.reshape(-1)))

    def farthest(self, z: np.ndarray) -> np.ndarray:
        return self.target.copy()
