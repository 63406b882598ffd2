"""The group norm as a penalty."""

from __future__ import annotations

import math
from typing import Any, ClassVar, Literal

import numpy as np
from pydantic import Field, field_validator

from cgm_cli.blocks.fitting import named
from cgm_cli.blocks.groups import Groups, check_partition
from cgm_cli.blocks.penalties.support import SupportFunction
from cgm_cli.errors import ProblemError
from cgm_cli.readers.context import BuildContext
from cgm_cli.spec.fields import BlockSpec, Count, Positive
from cgm_cli.text import counted


class GroupNorm(SupportFunction):
    """g(z) = scale * sum_G |z_G|_2 over a partition into groups; D is the product of the groups' l2-balls.

    L_g = scale sqrt(number of groups). Groups list flat (C-order) positions.
    """

    prox_is_exact = True
    minimum = 0.0

    class Spec(BlockSpec):
        kind: Literal["group-norm"]
        groups: list[list[Count]] = Field(..., description="the indices in each group; together 0, ..., n-1, each once")
        scale: Positive = Field(1.0, description="factor of the norm")

        examples: ClassVar[list[dict[str, Any]]] = [
            {"kind": "group-norm", "groups": [[0, 2], [1, 3, 4], [5]], "scale": 0.8},
            {"kind": "group-norm", "groups": [[2, 0, 1]]},
        ]

        @field_validator("groups")
        @classmethod
        def _partition(cls, groups: list[list[int]]) -> list[list[int]]:
            check_partition(groups)
            return groups

        def build(self, context: BuildContext, shape: tuple[int, ...]) -> GroupNorm:
            return GroupNorm(shape, self.groups, self.scale)

    def __init__(self, shape: tuple[int, ...], groups: list[list[int]], scale: float = 1.0):
        """Raises ProblemError if the groups do not cover the entries of an array of that shape."""
        super().__init__(shape, scale)
        self.groups = Groups(groups)
        if self.groups.size != math.prod(shape):
            raise ProblemError(
                f"the groups cover {counted(self.groups.size, 'entry')}, but the image is {named(shape)}"
            )
        self.lipschitz = scale * float(np.sqrt(self.groups.count))

    def value(self, z: np.ndarray) -> float:
        return self.scale * float(self.groups.norms(z).sum())

    def project_dual(self, z: np.ndarray, radius: float) -> np.ndarray:
        """z_G min(1, radius / |z_G|): a group inside its ball, the zero group among them, stays."""
        norms = self.groups.norms(z)
        factors = np.divide(radius, norms, out=np.ones_like(norms), where=~(norms <= radius))
        return (z.reshape(-1) * self.groups.spread(factors)).reshape(z.shape)

    def subgradient(self, z: np.ndarray) -> np.ndarray:
        """scale z_G / |z_G| on each group, and 0 on a zero group."""
        norms = self.groups.spread(self.groups.norms(z))
        flat = z.reshape(-1)
        return self.scale * np.divide(flat, norms, out=np.zeros(flat.shape), where=norms != 0.0).reshape(z.shape)
