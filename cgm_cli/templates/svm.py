"""The support vector machine, in its constrained form (paper, section 5.3)."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

from pydantic import Field

from cgm_cli.readers.context import BuildContext
from cgm_cli.spec.fields import Positive
from cgm_cli.templates.linear_model import LinearModel, ball
from cgm_cli.templates.tables import TableSpec


class SVM(LinearModel):
    """Minimise the mean of max(0, 1 - y X w) over the samples, over an l2-ball or an l1-ball; y = -1 or +1.

    1/r is the margin that is asked for. Nothing is smooth here: the rate is O(1/sqrt k).
    """

    class Spec(TableSpec):
        template: Literal["svm"]
        domain: Literal["l2", "l1"] = Field("l2", description="|w|_2 <= r; or |w|_1 <= r, for few features")
        radius: Positive = Field(1.0, description="r")

        examples: ClassVar[list[dict[str, Any]]] = [
            {"template": "svm", "data": "breast-cancer", "test_fraction": 0.2},
            {"template": "svm", "data": "breast-cancer", "domain": "l1", "radius": 2.0},
        ]

        def build(self, context: BuildContext) -> SVM:
            table = self.table(context, classes=True)
            return SVM(table, "hinge", ball(self.domain, table.size, self.radius))
