"""Bounds on every entry as constraints: a box, possibly open on either side, and the non-negative orthant."""

from __future__ import annotations

import math
from typing import Any, ClassVar, Literal, Self

import numpy as np
from pydantic import Field, model_validator

from cgm_cli.blocks.bound_checks import check_bounds
from cgm_cli.blocks.fitting import fit, numbers
from cgm_cli.blocks.penalties.base import ConvexSet, Dual
from cgm_cli.errors import ProblemError
from cgm_cli.numerics.box_passes import box_dual, box_slope
from cgm_cli.numerics.projections import safe_norm
from cgm_cli.readers.context import BuildContext
from cgm_cli.spec.fields import ArrayField, BlockSpec


class BoxSet(ConvexSet):
    """K = {z : lower <= z <= upper}, entry by entry; a bound may be left out."""

    prox_is_exact = True
    separable = True
    takes_rounded_duals = True

    class Spec(BlockSpec):
        kind: Literal["box"]
        lower: ArrayField | None = Field(
            None, description="lower bound: a number, or one per entry; none when left out"
        )
        upper: ArrayField | None = Field(
            None, description="upper bound: a number, or one per entry; none when left out"
        )

        examples: ClassVar[list[dict[str, Any]]] = [
            {"kind": "box", "lower": 0.0, "upper": 1.0},
            {"kind": "box", "lower": [-1.0, 0.0, 0.5, 2.0], "upper": 2.0},
            {"kind": "box", "upper": -0.5},
            {"kind": "box", "lower": [0.0, 1.0, -1.0]},
        ]

        @model_validator(mode="after")
        def _bounds(self) -> Self:
            if self.lower is None and self.upper is None:
                raise ValueError("a box needs a `lower` or an `upper` bound: without either it constrains nothing")
            check_bounds(self.lower, self.upper)
            return self

        def build(self, context: BuildContext, shape: tuple[int, ...]) -> BoxSet:
            lower = np.array(-np.inf) if self.lower is None else context.array(self.lower)
            upper = np.array(np.inf) if self.upper is None else context.array(self.upper)
            return BoxSet(shape, lower, upper)

    def __init__(self, shape: tuple[int, ...], lower: np.ndarray, upper: np.ndarray):
        """Bounds of shape () or `shape`. Raises ProblemError if they do not fit, or a lower exceeds an upper one."""
        lower, upper = numbers(lower, "the lower bound"), numbers(upper, "the upper bound")
        self.shape = shape
        self.uniform = lower.ndim == 0 and upper.ndim == 0
        if not self.uniform:
            lower = np.ascontiguousarray(fit(lower, shape, "the lower bound", "the image"))
            upper = np.ascontiguousarray(fit(upper, shape, "the upper bound", "the image"))
        if np.any(np.isnan(lower)) or np.any(np.isnan(upper)):
            raise ProblemError("a bound is not a number")
        if np.any(lower > upper):
            raise ProblemError("a lower bound exceeds its upper bound")
        self.lower, self.upper = lower, upper

    @property
    def entry_bounds(self) -> tuple[float, float] | None:
        return (float(self.lower), float(self.upper)) if self.uniform else None

    @property
    def intervals(self) -> tuple[np.ndarray, np.ndarray]:
        lower, upper = np.broadcast_arrays(self.lower, self.upper, np.empty(self.shape))[:2]
        return lower, upper

    def project(self, z: np.ndarray) -> np.ndarray:
        return np.clip(np.asarray(z, dtype=float), self.lower, self.upper)

    @property
    def away(self) -> float:
        nearest = np.clip(0.0, self.lower, self.upper)
        return safe_norm(nearest) * (math.sqrt(math.prod(self.shape)) if self.uniform else 1.0)

    @property
    def reach(self) -> float:
        largest = np.maximum(np.abs(self.lower), np.abs(self.upper))
        return float(np.linalg.norm(np.broadcast_to(largest, self.shape).reshape(-1)))

    def farthest(self, z: np.ndarray) -> np.ndarray:
        """The upper bound where z_i > 0, else the lower one."""
        if not np.isfinite(self.reach):
            return super().farthest(z)
        return np.where(z > 0.0, self.upper, self.lower)

    def smoothed(self, z: np.ndarray, beta: float) -> Dual:
        """As for any set, in one pass: y > 0 only where p is the upper bound, y < 0 only where p is the lower one."""
        y, distance, pairing, reference = box_dual(z, self.lower, self.upper, beta)
        return Dual(y, pairing, 0.0, distance, reference)

    def conjugate_size(self, y: np.ndarray) -> float:
        ends = np.where(y > 0.0, self.upper, np.where(y < 0.0, self.lower, 0.0))
        return float(np.vdot(np.abs(y), np.abs(ends)))

    def slope(self, z: np.ndarray, dz: np.ndarray, t: float, beta: float) -> float:
        if not self.uniform:
            return super().slope(z, dz, t, beta)
        return box_slope(z, dz, t, float(self.lower), float(self.upper), beta)


class Nonnegative(BoxSet):
    """K = {z : z >= 0}."""

    # The orthant is a box, but is written in another way.
    class Spec(BlockSpec):  # pyright: ignore[reportIncompatibleVariableOverride]
        kind: Literal["nonnegative"]

        examples: ClassVar[list[dict[str, Any]]] = [{"kind": "nonnegative"}]

        def build(self, context: BuildContext, shape: tuple[int, ...]) -> Nonnegative:
            return Nonnegative(shape)

    def __init__(self, shape: tuple[int, ...]):
        super().__init__(shape, np.array(0.0), np.array(np.inf))
