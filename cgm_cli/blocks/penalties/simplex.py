"""The simplex as a constraint."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

import numpy as np
from pydantic import Field

from cgm_cli.blocks.penalties.base import ConvexSet
from cgm_cli.numerics.projections import project_capped_simplex, project_simplex
from cgm_cli.spec.fields import BlockSpec, Positive


class SimplexSet(ConvexSet):
    """K = {z >= 0 : sum z = r}, or sum z <= r with `sum: at-most`."""

    uniform = True

    class Spec(BlockSpec):
        kind: Literal["simplex"]
        radius: Positive = Field(1.0, description="what the entries sum to")
        sum: Literal["equal", "at-most"] = Field("equal", description="whether the sum is the radius or at most that")

        examples: ClassVar[list[dict[str, Any]]] = [
            {"kind": "simplex"},
            {"kind": "simplex", "radius": 2.0, "sum": "at-most"},
        ]

        def build(self, context, shape: tuple[int, ...]) -> SimplexSet:
            return SimplexSet(shape, self.radius, self.sum == "at-most")

    def __init__(self, shape: tuple[int, ...], radius: float = 1.0, at_most: bool = False):
        self.shape = shape
        self.radius = radius
        self.at_most = at_most

    def project(self, z: np.ndarray) -> np.ndarray:
        return (project_capped_simplex if self.at_most else project_simplex)(z, self.radius)
