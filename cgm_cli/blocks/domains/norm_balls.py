"""Balls of the l1-, l2- and linf-norm, of vectors or of the entries of an array of any shape."""

from __future__ import annotations

import math
from typing import Any, ClassVar, Literal

import numpy as np
from pydantic import Field

from cgm_cli.blocks.atoms import Atom, DenseAtom, SparseAtom
from cgm_cli.blocks.directions import Direction
from cgm_cli.blocks.domains.base import Domain, OracleAnswer, OracleRequest
from cgm_cli.blocks.domains.box import Box
from cgm_cli.blocks.fitting import ShapeField, as_shape
from cgm_cli.numerics.projections import project_l1_ball, project_l2_ball, safe_norm
from cgm_cli.readers.context import BuildContext
from cgm_cli.spec.fields import BlockSpec, Positive


class L1Ball(Domain):
    """{x : sum |x_i| <= r}."""

    projects = True

    class Spec(BlockSpec):
        kind: Literal["l1-ball"]
        size: ShapeField = Field(..., description="number of entries, or shape of a point")
        radius: Positive = Field(1.0, description="radius of the ball")

        examples: ClassVar[list[dict[str, Any]]] = [
            {"kind": "l1-ball", "size": 6, "radius": 2.0},
            {"kind": "l1-ball", "size": [2, 3]},
            {"kind": "l1-ball", "size": 1},
        ]

        def build(self, context: BuildContext) -> L1Ball:
            return L1Ball(as_shape(self.size), self.radius)

    def __init__(self, shape: tuple[int, ...], radius: float = 1.0):
        self.shape = shape
        self.radius = radius
        self.diameter = 2.0 * radius

    @property
    def sizing(self) -> str | None:
        return "radius"

    def lmo(self, direction: Direction, request: OracleRequest) -> OracleAnswer:
        """min <g, x> = -r max |g_i|, at -r sign(g_i) e_i for the lowest such i; -r e_0 for g = 0."""
        g = direction.dense().reshape(-1)
        largest, smallest = int(np.argmax(g)), int(np.argmin(g))
        # Two searches instead of argmax |g|, which would write out |g|; on a tie the lower index wins.
        up, down = (float(g[largest]), largest), (-float(g[smallest]), smallest)
        size, index = max(up, down, key=lambda pair: (pair[0], -pair[1]))
        sign = 1.0 if g[index] < 0.0 else -1.0
        value = -self.radius * size
        return OracleAnswer(SparseAtom.one_hot(self.shape, index, sign * self.radius), value, value, exact=True)

    def contains(self, x: np.ndarray, tolerance: float = 1e-9) -> bool:
        return safe_norm(x - self.project(x)) <= tolerance * self.radius

    def project(self, x: np.ndarray) -> np.ndarray:
        return project_l1_ball(x, self.radius)

    def start(self) -> Atom:
        return SparseAtom.zero(self.shape)


class L2Ball(Domain):
    """{x : |x|_2 <= r} (Frobenius norm for a matrix)."""

    projects = True

    class Spec(BlockSpec):
        kind: Literal["l2-ball"]
        size: ShapeField = Field(..., description="number of entries, or shape of a point")
        radius: Positive = Field(1.0, description="radius of the ball")

        examples: ClassVar[list[dict[str, Any]]] = [
            {"kind": "l2-ball", "size": 4},
            {"kind": "l2-ball", "size": [3, 2], "radius": 0.5},
            {"kind": "l2-ball", "size": 1},
        ]

        def build(self, context: BuildContext) -> L2Ball:
            return L2Ball(as_shape(self.size), self.radius)

    def __init__(self, shape: tuple[int, ...], radius: float = 1.0):
        self.shape = shape
        self.radius = radius
        self.diameter = 2.0 * radius

    @property
    def sizing(self) -> str | None:
        return "radius"

    def lmo(self, direction: Direction, request: OracleRequest) -> OracleAnswer:
        """min <g, x> = -r |g|, at -r g / |g|; zero for g = 0. g is divided by max |g_i| before it is squared."""
        g = direction.dense()
        peak = float(np.max(np.abs(g)))
        if peak == 0.0:
            return OracleAnswer(SparseAtom.zero(self.shape), 0.0, 0.0, exact=True)
        scaled = g / peak
        length = float(np.linalg.norm(scaled.reshape(-1)))
        value = -self.radius * peak * length
        return OracleAnswer(DenseAtom(scaled * (-self.radius / length)), value, value, exact=True)

    def contains(self, x: np.ndarray, tolerance: float = 1e-9) -> bool:
        return safe_norm(x) - self.radius <= tolerance * self.radius

    def project(self, x: np.ndarray) -> np.ndarray:
        return project_l2_ball(x, self.radius)

    def start(self) -> Atom:
        return SparseAtom.zero(self.shape)


class LinfBall(Box):
    """{x : max |x_i| <= r}: the box between -r and r."""

    # A ball is a box, but is written in another way.
    class Spec(BlockSpec):  # pyright: ignore[reportIncompatibleVariableOverride]
        kind: Literal["linf-ball"]
        size: ShapeField = Field(..., description="number of entries, or shape of a point")
        radius: Positive = Field(1.0, description="largest magnitude of an entry")

        examples: ClassVar[list[dict[str, Any]]] = [
            {"kind": "linf-ball", "size": 5, "radius": 1.5},
            {"kind": "linf-ball", "size": [2, 2]},
        ]

        def build(self, context: BuildContext) -> LinfBall:
            shape = as_shape(self.size)
            context.reserve("bounds", 2 * 8 * math.prod(shape))
            return LinfBall(shape, self.radius)

    def __init__(self, shape: tuple[int, ...], radius: float = 1.0):
        super().__init__(np.full(shape, -radius), np.full(shape, radius))

    @property
    def sizing(self) -> str | None:
        return "radius"
