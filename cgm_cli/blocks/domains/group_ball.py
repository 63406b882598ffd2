"""The ball of the group norm: vectors that are non-zero in few groups of entries."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

import numpy as np
from pydantic import Field, field_validator

from cgm_cli.blocks.atoms import Atom, SparseAtom
from cgm_cli.blocks.directions import Direction
from cgm_cli.blocks.domains.base import Domain, OracleAnswer, OracleRequest
from cgm_cli.blocks.groups import Groups, check_partition
from cgm_cli.numerics.projections import project_l1_ball, safe_norm
from cgm_cli.readers.context import BuildContext
from cgm_cli.spec.fields import BlockSpec, Count, Positive


class GroupL1Ball(Domain):
    """{x in R^n : sum_G |x_G|_2 <= r} for a partition of the entries into groups G."""

    projects = True

    class Spec(BlockSpec):
        kind: Literal["group-l1-ball"]
        groups: list[list[Count]] = Field(..., description="the indices in each group; together 0, ..., n-1, each once")
        radius: Positive = Field(1.0, description="radius of the ball")

        examples: ClassVar[list[dict[str, Any]]] = [
            {"kind": "group-l1-ball", "groups": [[0, 3], [1, 2, 5], [4]], "radius": 1.5},
            {"kind": "group-l1-ball", "groups": [[1, 0]]},
        ]

        @field_validator("groups")
        @classmethod
        def _partition(cls, groups: list[list[int]]) -> list[list[int]]:
            check_partition(groups)
            return groups

        def build(self, context: BuildContext) -> GroupL1Ball:
            return GroupL1Ball(self.groups, self.radius)

    def __init__(self, groups: list[list[int]], radius: float = 1.0, sizing: str | None = "radius"):
        """sizing: see `Domain.sizing`; None where the radius is no choice."""
        self._sizing = sizing
        self.groups = Groups(groups)
        self.members = [np.array(group, dtype=np.intp) for group in groups]
        self.shape = (self.groups.size,)
        self.radius = radius
        self.diameter = 2.0 * radius

    @property
    def sizing(self) -> str | None:
        return self._sizing

    def lmo(self, direction: Direction, request: OracleRequest) -> OracleAnswer:
        """min <g, x> = -r max_G |g_G|, at -r g_G / |g_G| on the first such group; zero for g = 0."""
        g = direction.dense()
        return steepest(g, self.groups.norms(g), self.members, self.radius)

    def contains(self, x: np.ndarray, tolerance: float = 1e-9) -> bool:
        return safe_norm(x - self.project(x)) <= tolerance * self.radius

    def project(self, x: np.ndarray) -> np.ndarray:
        """Each x_G shrinks along itself, to the norm that the projection of all norms onto the l1-ball leaves it."""
        out = np.zeros(self.shape)
        for members, left in zip(self.members, project_l1_ball(self.groups.norms(x), self.radius), strict=True):
            if left > 0.0:
                out[members] = x[members] * (left / safe_norm(x[members]))
        return out

    def start(self) -> Atom:
        return SparseAtom.zero(self.shape)


def steepest(g: np.ndarray, norms: np.ndarray, members: list[np.ndarray], radius: float) -> OracleAnswer:
    """The minimiser of <g, x> over the l2-balls of all groups: in that of the first group with the largest |g_G|."""
    chosen = members[int(np.argmax(norms))]
    part = g[chosen]
    length = safe_norm(part)
    if length == 0.0:
        return OracleAnswer(SparseAtom.zero(g.shape), 0.0, 0.0, exact=True)
    value = -radius * length
    return OracleAnswer(SparseAtom(g.shape, chosen, -radius * (part / length)), value, value, exact=True)
