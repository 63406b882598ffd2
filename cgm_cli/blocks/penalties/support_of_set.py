"""The support function of any bounded registered set: the inner maximum of a bilinear saddle point."""

from __future__ import annotations

import math
from typing import Any, ClassVar, Literal

import numpy as np
from pydantic import Field

from cgm_cli.blocks.penalties.base import ConvexSet, Penalty
from cgm_cli.blocks.penalties.epigraph import Epigraph, of_largest
from cgm_cli.blocks.penalties.simplex import SimplexSet
from cgm_cli.blocks.penalties.support import SupportFunction
from cgm_cli.errors import ProblemError, located
from cgm_cli.readers.context import BuildContext
from cgm_cli.spec.fields import BlockSpec, Positive, SetField


class SupportOfSet(SupportFunction):
    """g(z) = scale * max {<y, z> : y in D} for a bounded set D; its prox is z less a projection; L_g = scale max |y|.

    min over X of g(A x) is the saddle point min over x, max over y of scale <A x, y> (paper, section 5.4); the dual
    variable of the term is scale times the maximising player's y.
    """

    class Spec(BlockSpec):
        kind: Literal["support"]
        set: SetField = Field(..., description="D, a bounded set of points of the shape of the image")
        scale: Positive = Field(1.0, description="factor of the function")

        examples: ClassVar[list[dict[str, Any]]] = [
            {"kind": "support", "set": {"kind": "simplex"}},
            {"kind": "support", "set": {"kind": "simplex", "length": 2, "radius": 0.5}, "scale": 3.0},
            {"kind": "support", "set": {"kind": "simplex", "sum": "at-most"}},
            {"kind": "support", "set": {"kind": "l2-ball", "radius": 2.0}, "scale": 0.5},
            {"kind": "support", "set": {"kind": "l1-ball"}},
            {"kind": "support", "set": {"kind": "box", "lower": [-1.0, 0.0, 0.5], "upper": 2.0}},
        ]

        def build(self, context: BuildContext, shape: tuple[int, ...]) -> SupportOfSet:
            with located("set"):
                inner: Penalty = self.set.build(context, shape)
                if not isinstance(inner, ConvexSet):
                    raise ProblemError(f"a support function needs the projection, and `{self.set.kind}` has none")
                return SupportOfSet(inner, self.scale)

    def __init__(self, inner: ConvexSet, scale: float = 1.0):
        """Raises ProblemError for a set that is not bounded, where the function would not be finite."""
        if not np.isfinite(inner.reach):
            raise ProblemError("the support function of an unbounded set is not finite everywhere")
        super().__init__(inner.shape, scale)
        self.set, self.prox_is_exact, self.separable = inner, inner.prox_is_exact, inner.separable
        self.lipschitz = scale * inner.reach

    @property
    def epigraph(self) -> Epigraph | None:
        """Of simplices, one or many: the sum of the largest entries."""
        if not isinstance(self.set, SimplexSet):
            return None
        size = math.prod(self.shape)
        return of_largest(size, self.set.length or size, self.scale * self.set.radius, not self.set.at_most)

    def value(self, z: np.ndarray) -> float:
        return self.scale * float(np.vdot(self.set.farthest(z), z))

    def project_dual(self, z: np.ndarray, radius: float) -> np.ndarray:
        return radius * self.set.project(z / radius)

    def subgradient(self, z: np.ndarray) -> np.ndarray:
        return self.scale * self.set.farthest(z)
