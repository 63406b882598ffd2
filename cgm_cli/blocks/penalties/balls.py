"""The l1- and the l2-ball as constraints."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

import numpy as np
from pydantic import Field

from cgm_cli.blocks.fitting import positive
from cgm_cli.blocks.penalties.base import ConvexSet
from cgm_cli.numerics.projections import project_l1_ball, project_l2_ball
from cgm_cli.readers.context import BuildContext
from cgm_cli.spec.fields import BlockSpec, Positive


class L1BallSet(ConvexSet):
    """K = {z : sum |z_i| <= r}."""

    prox_is_exact = True
    uniform = True

    class Spec(BlockSpec):
        kind: Literal["l1-ball"]
        radius: Positive = Field(1.0, description="radius of the ball")

        examples: ClassVar[list[dict[str, Any]]] = [{"kind": "l1-ball"}, {"kind": "l1-ball", "radius": 4.0}]

        def build(self, context: BuildContext, shape: tuple[int, ...]) -> L1BallSet:
            return L1BallSet(shape, self.radius)

    def __init__(self, shape: tuple[int, ...], radius: float = 1.0):
        """Raises ProblemError unless the radius is positive."""
        self.shape = shape
        self.radius = positive(radius, "the radius of a ball")

    def project(self, z: np.ndarray) -> np.ndarray:
        return project_l1_ball(z, self.radius)

    @property
    def away(self) -> float:
        return 0.0

    @property
    def reach(self) -> float:
        return self.radius

    def farthest(self, z: np.ndarray) -> np.ndarray:
        """r sign(z_i) e_i for the first largest |z_i|."""
        out = np.zeros(z.shape)
        index = int(np.argmax(np.abs(z)))
        out.reshape(-1)[index] = np.copysign(self.radius, z.reshape(-1)[index])
        return out


class L2BallSet(ConvexSet):
    """K = {z : |z|_2 <= r}."""

    prox_is_exact = True
    uniform = True

    class Spec(BlockSpec):
        kind: Literal["l2-ball"]
        radius: Positive = Field(1.0, description="radius of the ball")

        examples: ClassVar[list[dict[str, Any]]] = [{"kind": "l2-ball"}, {"kind": "l2-ball", "radius": 0.5}]

        def build(self, context: BuildContext, shape: tuple[int, ...]) -> L2BallSet:
            return L2BallSet(shape, self.radius)

    def __init__(self, shape: tuple[int, ...], radius: float = 1.0):
        """Raises ProblemError unless the radius is positive."""
        self.shape = shape
        self.radius = positive(radius, "the radius of a ball")

    def project(self, z: np.ndarray) -> np.ndarray:
        return project_l2_ball(z, self.radius)

    @property
    def away(self) -> float:
        return 0.0

    @property
    def reach(self) -> float:
        return self.radius

    def farthest(self, z: np.ndarray) -> np.ndarray:
        """r z / |z|, and 0 for z = 0. z is divided by max |z_i| first, so that a tiny z keeps its direction."""
        peak = float(np.max(np.abs(z)))
        if peak == 0.0:
            return np.zeros(z.shape)
        unit = z / peak
        return unit * (self.radius / float(np.linalg.norm(unit.reshape(-1))))
