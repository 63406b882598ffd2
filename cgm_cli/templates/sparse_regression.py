"""Sparse regression: the lasso in its constrained form, and its logistic sister (paper, section 5.1)."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

from pydantic import Field

from cgm_cli.readers.context import BuildContext
from cgm_cli.spec.fields import Positive
from cgm_cli.templates.linear_model import CLASSES, LinearModel, ball
from cgm_cli.templates.tables import TableSpec


class SparseRegression(LinearModel):
    """Minimise the mean loss of X w against y over an l1-ball or a simplex, whose corners have one non-zero weight.

    Smooth: this is the classical conditional-gradient method, at its rate of O(1/k).
    """

    class Spec(TableSpec):
        template: Literal["sparse-regression"]
        loss: Literal["least-squares", "logistic"] = Field(
            "least-squares", description="mean of (z - y)^2 / 2, or of log(1 + exp(-y z)) for classes"
        )
        domain: Literal["l1", "simplex"] = Field("l1", description="|w|_1 <= r; or w >= 0 with sum r")
        radius: Positive = Field(1.0, description="r: the smaller, the fewer features are used")

        examples: ClassVar[list[dict[str, Any]]] = [
            {"template": "sparse-regression", "data": "diabetes", "test_fraction": 0.2},
            {"template": "sparse-regression", "data": "breast-cancer", "loss": "logistic", "radius": 5.0},
            {
                "template": "sparse-regression",
                "data": {"features": [[1.0, 0.0], [0.0, 2.0], [1.0, 1.0]], "target": [1.0, 0.0, 2.0]},
                "domain": "simplex",
                "standardise": False,
            },
        ]

        def build(self, context: BuildContext) -> SparseRegression:
            table = self.table(context, CLASSES[self.loss])
            return SparseRegression(table, self.loss, ball(self.domain, table.size, self.radius))
