"""The group lasso: features are used in groups, or not at all; groups may overlap (paper, section 5.2)."""

from __future__ import annotations

import math
from typing import Any, ClassVar, Literal

import numpy as np
import scipy.sparse as sp
from pydantic import Field, field_validator

from cgm_cli.blocks.domains.latent_group_ball import LatentGroupBall
from cgm_cli.blocks.domains.norm_balls import L2Ball
from cgm_cli.blocks.groups import apart, check_cover
from cgm_cli.blocks.maps.matrix import MatrixMap
from cgm_cli.blocks.penalties.group_norm import GroupNorm
from cgm_cli.blocks.problem import Term
from cgm_cli.errors import ProblemError
from cgm_cli.readers.context import BuildContext
from cgm_cli.spec.fields import Count, Positive
from cgm_cli.templates.linear_model import CLASSES, LinearModel
from cgm_cli.templates.tables import SampleTable, TableSpec
from cgm_cli.text import counted


class GroupLasso(LinearModel):
    """Minimise the mean loss of X w against y, with weights that are non-zero in few groups.

    Without a `penalty`, w is the sum of vectors v_G, each non-zero in one group, with sum |v_G|_2 <= r: the latent
    group lasso, which picks a union of groups. With one, penalty * sum_G |w_G|_2 is added over the ball |w|_2 <= r:
    where groups overlap, this drops unions of groups. Without overlap they are two forms of one problem.
    """

    class Spec(TableSpec):
        template: Literal["group-lasso"]
        loss: Literal["least-squares", "logistic"] = Field(
            "least-squares", description="mean of (z - y)^2 / 2, or of log(1 + exp(-y z)) for classes"
        )
        groups: list[list[Count]] = Field(
            description="the features in each group, counted from 0, each in at least one"
        )
        penalty: Positive | None = Field(None, description="factor of sum |w_G|; left out: the norm is bounded instead")
        radius: Positive | None = Field(
            None,
            description="r; left out: 1, or with a `penalty` one that is sure to hold the solution; a smaller one that "
            "still does is faster",
        )

        examples: ClassVar[list[dict[str, Any]]] = [
            {"template": "group-lasso", "data": "diabetes", "groups": [[0, 1], [2, 3], [3, 4, 5, 6, 7, 8, 9]]},
            {
                "template": "group-lasso",
                "data": "diabetes",
                "groups": [[0, 1], [2, 3], [4, 5, 6, 7, 8, 9]],
                "penalty": 0.1,
                "radius": 3.0,
                "test_fraction": 0.2,
            },
        ]

        @field_validator("groups")
        @classmethod
        def _cover(cls, groups):
            check_cover(groups)
            return groups

        def build(self, context: BuildContext) -> GroupLasso:
            table = self.table(context, CLASSES[self.loss])
            return GroupLasso(table, self.loss, self.groups, self.radius, self.penalty)

    def __init__(
        self,
        table: SampleTable,
        loss: str,
        groups: list[list[int]],
        radius: float | None = None,
        penalty: float | None = None,
    ):
        """radius: None for 1, or beside a penalty for `enough`. Raises ProblemError if the groups are not of the
        features of the table.
        """
        count = 1 + max(map(max, groups))
        if count != table.size:
            raise ProblemError(
                f"the groups are of {counted(count, 'feature')}, but there are {table.size}", ("groups",)
            )
        if penalty is None:
            super().__init__(table, loss, LatentGroupBall(groups, radius or 1.0))
        else:
            radius = enough(table, loss, penalty) if radius is None else radius
            super().__init__(table, loss, L2Ball((count,), radius), (_group_norms(groups, count, penalty),))


def enough(table: SampleTable, loss: str, penalty: float) -> float:
    """A radius that holds the solution w: penalty |w|_2 <= penalty sum_G |w_G|_2 <= the objective at zero, since no
    loss is negative, and every feature is in a group.
    """
    at_zero = 0.5 * float(np.mean(table.target**2)) if loss == "least-squares" else math.log(2.0)
    return at_zero / penalty or 1.0


def _group_norms(groups: list[list[int]], size: int, scale: float) -> Term:
    """scale * sum_G |w_G|: an entry of several groups is copied into each, and the copies are a partition."""
    entries, places = apart(groups)
    copies = sp.csc_array((np.ones(entries.size), (np.arange(entries.size), entries)), shape=(entries.size, size))
    return Term("groups", MatrixMap(copies, (size,)), GroupNorm((entries.size,), places, scale))
