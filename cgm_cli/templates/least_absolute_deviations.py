"""Least absolute deviations: regression that a few wild samples do not spoil (paper, section 5.3)."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

from pydantic import Field

from cgm_cli.readers.context import BuildContext
from cgm_cli.spec.fields import Positive
from cgm_cli.templates.linear_model import LinearModel, ball
from cgm_cli.templates.tables import TableSpec


class LeastAbsoluteDeviations(LinearModel):
    """Minimise the mean of |X w - y| over the samples, over an l1- or an l2-ball.

    Nothing is smooth here: the rate is O(1/sqrt k).
    """

    class Spec(TableSpec):
        template: Literal["least-absolute-deviations"]
        domain: Literal["l1", "l2"] = Field("l1", description="|w|_1 <= r, for few features; or |w|_2 <= r")
        radius: Positive = Field(1.0, description="r")

        examples: ClassVar[list[dict[str, Any]]] = [
            {"template": "least-absolute-deviations", "data": "diabetes", "test_fraction": 0.2},
            {"template": "least-absolute-deviations", "data": "diabetes", "domain": "l2", "radius": 0.5},
        ]

        def build(self, context: BuildContext) -> LeastAbsoluteDeviations:
            table = self.table(context, classes=False)
            return LeastAbsoluteDeviations(table, "absolute", ball(self.domain, table.size, self.radius))
