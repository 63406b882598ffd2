"""The simplex: non-negative vectors, or arrays of any shape, whose entries sum to a radius, or to at most that."""

from __future__ import annotations

import math
from typing import Any, ClassVar, Literal

import numpy as np
import scipy.sparse as sp
from pydantic import Field

from cgm_cli.blocks.atoms import Atom, DenseAtom, SparseAtom
from cgm_cli.blocks.directions import Direction
from cgm_cli.blocks.domains.base import Domain, OracleAnswer, OracleRequest, Polyhedron
from cgm_cli.blocks.fitting import ShapeField, as_shape
from cgm_cli.numerics.projections import project_capped_simplex, project_simplex, safe_norm
from cgm_cli.readers.context import BuildContext
from cgm_cli.spec.fields import BlockSpec, Positive


class Simplex(Domain):
    """{x : x >= 0, sum x = r}, or sum x <= r with `sum: at-most`, for vectors or arrays of any shape."""

    projects = True

    class Spec(BlockSpec):
        kind: Literal["simplex"]
        size: ShapeField = Field(..., description="number of entries, or shape of a point")
        radius: Positive = Field(1.0, description="what the entries sum to")
        sum: Literal["equal", "at-most"] = Field("equal", description="whether the sum is the radius or at most that")

        examples: ClassVar[list[dict[str, Any]]] = [
            {"kind": "simplex", "size": 5},
            {"kind": "simplex", "size": 4, "radius": 2.5, "sum": "at-most"},
            {"kind": "simplex", "size": [2, 3], "radius": 2.0},
            {"kind": "simplex", "size": 1, "radius": 3.0},
            {"kind": "simplex", "size": 1, "radius": 3.0, "sum": "at-most"},
        ]

        def build(self, context: BuildContext) -> Simplex:
            return Simplex(as_shape(self.size), self.radius, self.sum == "at-most")

    def __init__(self, shape: int | tuple[int, ...], radius: float = 1.0, at_most: bool = False):
        """shape: of a point, or the number of its entries."""
        self.shape = (shape,) if isinstance(shape, int) else shape
        self.radius = radius
        self.at_most = at_most
        # Two vertices r e_i, r e_j are sqrt(2) r apart; with a single entry what is left is one point, or the segment
        # [0, r].
        self.diameter = float(np.sqrt(2.0) * radius) if math.prod(self.shape) > 1 else radius * at_most

    @property
    def sizing(self) -> str | None:
        return "radius" if self.at_most else None

    def lmo(self, direction: Direction, request: OracleRequest) -> OracleAnswer:
        """min <g, x> = r min_i g_i at r e_i (the lowest such i), or 0 at zero if the sum may be less and g >= 0."""
        g = direction.dense().reshape(-1)
        index = int(np.argmin(g))
        if self.at_most and g[index] >= 0.0:
            return OracleAnswer(SparseAtom.zero(self.shape), 0.0, 0.0, exact=True)
        value = self.radius * float(g[index])
        return OracleAnswer(SparseAtom.one_hot(self.shape, index, self.radius), value, value, exact=True)

    def contains(self, x: np.ndarray, tolerance: float = 1e-9) -> bool:
        return safe_norm(x - self.project(x)) <= tolerance * self.radius

    def project(self, x: np.ndarray) -> np.ndarray:
        return (project_capped_simplex if self.at_most else project_simplex)(x, self.radius)

    def parallel(self, direction: np.ndarray) -> np.ndarray:
        return direction if self.at_most else direction - direction.mean()

    @property
    def polyhedron(self) -> Polyhedron:
        ones, most = sp.csr_array(np.ones((1, math.prod(self.shape)))), np.array([self.radius])
        none = np.zeros(self.shape)
        return Polyhedron(none, none + self.radius, ones, np.array([-np.inf]) if self.at_most else most, most)

    def start(self) -> Atom:
        """Zero where allowed, otherwise the centre r/n (1, ..., 1)."""
        if self.at_most:
            return SparseAtom.zero(self.shape)
        return DenseAtom(np.full(self.shape, self.radius / math.prod(self.shape)))
