"""The simplex as a constraint."""

from __future__ import annotations

import math
from typing import Any, ClassVar, Literal

import numpy as np
from pydantic import Field

from cgm_cli.blocks.fitting import positive
from cgm_cli.blocks.penalties.base import ConvexSet
from cgm_cli.errors import ProblemError
from cgm_cli.numerics.projections import project_capped_simplex, project_simplex, project_simplex_rows
from cgm_cli.readers.context import BuildContext
from cgm_cli.spec.fields import BlockSpec, Positive, Size
from cgm_cli.text import counted


class SimplexSet(ConvexSet):
    """K = {z >= 0 : sum z = r}, or sum z <= r with `sum: at-most`; with `length`, each run of z in one of its own."""

    prox_is_exact = True

    class Spec(BlockSpec):
        kind: Literal["simplex"]
        radius: Positive = Field(1.0, description="what the entries sum to")
        sum: Literal["equal", "at-most"] = Field("equal", description="whether the sum is the radius or at most that")
        length: Size | None = Field(
            None, description="entries are taken in runs of this length, in C order; all together when left out"
        )

        examples: ClassVar[list[dict[str, Any]]] = [
            {"kind": "simplex"},
            {"kind": "simplex", "radius": 2.0, "sum": "at-most"},
            {"kind": "simplex", "length": 2, "radius": 0.5},
            {"kind": "simplex", "length": 3, "sum": "at-most"},
        ]

        def build(self, context: BuildContext, shape: tuple[int, ...]) -> SimplexSet:
            return SimplexSet(shape, self.radius, self.sum == "at-most", self.length)

    def __init__(self, shape: tuple[int, ...], radius: float = 1.0, at_most: bool = False, length: int | None = None):
        """Raises ProblemError if the entries do not divide into runs of that length, or the radius is not positive."""
        size = math.prod(shape)
        if length is not None and size % length:
            raise ProblemError(f"runs of {length} are no division of {counted(size, 'entry')}", ("length",))
        self.shape = shape
        self.radius = positive(radius, "the radius of a simplex")
        self.at_most = at_most
        self.length = length
        self.uniform = length is None

    def project(self, z: np.ndarray) -> np.ndarray:
        if self.length is None:
            return (project_capped_simplex if self.at_most else project_simplex)(z, self.radius)
        runs = np.asarray(z, dtype=float).reshape(-1, self.length)
        out = project_simplex_rows(runs, self.radius)
        if self.at_most:
            positive = np.maximum(runs, 0.0)
            with np.errstate(over="ignore"):
                inside = positive.sum(axis=1) <= self.radius
            out[inside] = positive[inside]
        return out.reshape(z.shape)

    @property
    def reach(self) -> float:
        runs = 1 if self.length is None else math.prod(self.shape) // self.length
        return self.radius * float(np.sqrt(runs))

    def farthest(self, z: np.ndarray) -> np.ndarray:
        """r e_i for the first largest z_i of each run; 0 where it is negative and only sum z <= r is asked."""
        runs = z.reshape(-1, self.length or z.size)
        first = runs.argmax(axis=1)[:, None]
        heights = np.full(first.shape, self.radius)
        if self.at_most:
            heights[np.take_along_axis(runs, first, axis=1) < 0.0] = 0.0
        out = np.zeros(runs.shape)
        np.put_along_axis(out, first, heights, axis=1)
        return out.reshape(z.shape)
