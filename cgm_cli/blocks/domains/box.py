"""The box: every entry between its own finite lower and upper bound."""

from __future__ import annotations

import math
from functools import cached_property
from typing import Any, ClassVar, Literal, Self

import numpy as np
import scipy.sparse as sp
from pydantic import Field, model_validator

from cgm_cli.blocks.atoms import Atom, DenseAtom, SparseAtom
from cgm_cli.blocks.bound_checks import check_bounds
from cgm_cli.blocks.directions import Direction
from cgm_cli.blocks.domains.base import Domain, OracleAnswer, OracleRequest, Polyhedron
from cgm_cli.blocks.fitting import ShapeField, as_shape, fit, numbers
from cgm_cli.errors import ProblemError
from cgm_cli.readers.context import BuildContext
from cgm_cli.spec.fields import ArrayField, BlockSpec

_EPS = float(np.finfo(float).eps)


class Box(Domain):
    """{x : lower <= x <= upper}, entry by entry; bounds of the shape of x."""

    projects = True

    class Spec(BlockSpec):
        kind: Literal["box"]
        lower: ArrayField | None = Field(..., description="lower bound: a number, or one per entry")
        upper: ArrayField | None = Field(..., description="upper bound: a number, or one per entry")
        size: ShapeField | None = Field(None, description="shape of a point; needed when both bounds are numbers")

        examples: ClassVar[list[dict[str, Any]]] = [
            {"kind": "box", "lower": 0.0, "upper": 1.0, "size": 5},
            {"kind": "box", "lower": [-1.0, 0.5, 2.0], "upper": [1.0, 3.0, 2.0]},
            {"kind": "box", "lower": -2.0, "upper": [[1.0, 2.0, 0.0], [0.5, 4.0, -1.0]]},
        ]

        @model_validator(mode="after")
        def _bounds(self) -> Self:
            if self.lower is None or self.upper is None:
                raise ValueError("a box needs finite bounds on both sides: without them it is not compact")
            check_bounds(self.lower, self.upper)
            if self.size is None and isinstance(self.lower, int | float) and isinstance(self.upper, int | float):
                raise ValueError("a box between two numbers needs a `size`")
            return self

        def build(self, context: BuildContext) -> Box:
            assert self.lower is not None and self.upper is not None
            lower, upper = context.array(self.lower), context.array(self.upper)
            shape = as_shape(self.size) if self.size is not None else (lower if lower.ndim else upper).shape
            if not shape:
                raise ProblemError("a box between two numbers needs a `size`")
            context.reserve("bounds", 2 * 8 * math.prod(shape))
            return Box(fit(lower, shape, "the lower bound", "the box"), fit(upper, shape, "the upper bound", "the box"))

    def __init__(self, lower: np.ndarray, upper: np.ndarray):
        """Raises ProblemError if a bound is not finite or a lower bound exceeds its upper bound."""
        lower, upper = numbers(lower, "the lower bound"), numbers(upper, "the upper bound")
        if not (np.all(np.isfinite(lower)) and np.all(np.isfinite(upper))):
            raise ProblemError("a box needs finite bounds: without them it is not compact")
        if np.any(lower > upper):
            raise ProblemError("a lower bound exceeds its upper bound")
        self.shape = lower.shape
        self.lower, self.upper = lower, upper
        # What is out of range is told of the whole problem, later on.
        with np.errstate(over="ignore"):
            self.radius = float(np.linalg.norm(self.entry_limits.reshape(-1)))
            self.diameter = float(np.linalg.norm((upper - lower).reshape(-1)))

    def lmo(self, direction: Direction, request: OracleRequest) -> OracleAnswer:
        """min <g, x> = sum_i min(g_i l_i, g_i u_i): the lower bound where g_i > 0, else the upper one."""
        g = direction.dense()
        vertex = self._vertex(g)
        value = float(np.vdot(g, vertex))
        return OracleAnswer(DenseAtom(vertex), value, value, exact=True)

    def rounding(self, direction: Direction) -> float:
        """Of <g, x> at the vertex where it is least, and which signs tell without an error: bounds that are wide, and
        not where x is least, cost nothing.
        """
        g = direction.dense()
        return g.size * _EPS * float(np.vdot(np.abs(g), np.abs(self._vertex(g))))

    def _vertex(self, g: np.ndarray) -> np.ndarray:
        return np.where(g > 0.0, self.lower, self.upper)

    def contains(self, x: np.ndarray, tolerance: float = 1e-9) -> bool:
        outside = x - np.clip(x, self.lower, self.upper)
        return float(np.linalg.norm(outside.reshape(-1))) <= tolerance * self.radius

    def project(self, x: np.ndarray) -> np.ndarray:
        return np.clip(x, self.lower, self.upper)

    def parallel(self, direction: np.ndarray) -> np.ndarray:
        return direction if self._is_full else np.where(self.lower < self.upper, direction, 0.0)

    @cached_property
    def _is_full(self) -> bool:
        """Whether no entry is fixed."""
        return bool((self.lower < self.upper).all())

    def gains(self, direction: Direction) -> dict[str, float]:
        """Of the bounds; one that is zero would not move, and where both are the same they are a value."""
        v, apart = direction.dense(), self.lower < self.upper
        return {
            "upper": float(np.vdot(np.maximum(-v, 0.0), np.abs(self.upper) * apart)),
            "lower": float(np.vdot(np.maximum(v, 0.0), np.abs(self.lower) * apart)),
        }

    @property
    def units(self) -> np.ndarray:
        return np.arange(math.prod(self.shape)).reshape(self.shape)

    @cached_property
    def entry_limits(self) -> np.ndarray:  # pyright: ignore[reportIncompatibleMethodOverride]
        return np.maximum(np.abs(self.lower), np.abs(self.upper))

    @property
    def polyhedron(self) -> Polyhedron:
        none = np.zeros(0)
        return Polyhedron(self.lower, self.upper, sp.csr_array((0, math.prod(self.shape))), none, none)

    def start(self) -> Atom:
        """The point nearest to zero."""
        nearest = np.clip(0.0, self.lower, self.upper)
        return DenseAtom(nearest) if nearest.any() else SparseAtom.zero(self.shape)
