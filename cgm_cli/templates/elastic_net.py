"""The elastic net: least squares with an l1 and a ridge penalty (paper, section 5.2)."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

import numpy as np
from pydantic import Field

from cgm_cli.blocks.maps.identity import Identity
from cgm_cli.blocks.penalties.norms import L1Norm
from cgm_cli.blocks.problem import Term
from cgm_cli.readers.context import BuildContext
from cgm_cli.spec.fields import NonNegative, Positive
from cgm_cli.templates.linear_model import LinearModel, ball
from cgm_cli.templates.tables import SampleTable, TableSpec


class ElasticNet(LinearModel):
    """Minimise |X w - y|^2 / (2 m) + l1 |w|_1 + ridge / 2 |w|^2 over a ball so large that it does not matter.

    These are scikit-learn's ElasticNet with alpha = l1 + ridge, l1_ratio = l1 / alpha. The domain must be compact, so
    there is a ball; see `enough` for a radius that is known to hold the solution.
    """

    class Spec(TableSpec):
        template: Literal["elastic-net"]
        l1: Positive = Field(0.1, description="factor of |w|_1")
        ridge: NonNegative = Field(0.1, description="factor of |w|^2 / 2")
        domain: Literal["l2", "linf"] = Field("l2", description="|w|_2 <= r, or |w_i| <= r for every i")
        radius: Positive | None = Field(
            None,
            description="r; left out: a radius that is sure to hold the solution. A smaller one that still does is "
            "faster; if weights end at the boundary, it was too small",
        )

        examples: ClassVar[list[dict[str, Any]]] = [
            {"template": "elastic-net", "data": "diabetes", "test_fraction": 0.2},
            {"template": "elastic-net", "data": "diabetes", "domain": "linf", "radius": 1.0, "ridge": 0.0},
        ]

        def build(self, context: BuildContext) -> ElasticNet:
            return ElasticNet(self.table(context, classes=False), self.l1, self.ridge, self.domain, self.radius)

    def __init__(self, table: SampleTable, l1: float, ridge: float, domain: str = "l2", radius: float | None = None):
        """radius: None for `enough`."""
        shape = (table.size,)
        penalty = Term("l1", Identity(shape), L1Norm(shape, l1))
        radius = enough(table, l1, ridge) if radius is None else radius
        super().__init__(table, "least-squares", ball(domain, table.size, radius), (penalty,), ridge)


def enough(table: SampleTable, l1: float, ridge: float) -> float:
    """A radius t that holds the solution: l1 t + ridge t^2 / 2 = |y|^2 / (2 m), the objective at zero.

    For a solution w, l1 |w|_1 + ridge / 2 |w|_2^2 is at most that, and |w|_inf <= |w|_2 <= |w|_1.
    """
    start = 0.5 * float(np.mean(table.target**2))
    # The root in the form that survives ridge = 0; no target at all has the solution 0, which any radius holds.
    return 2.0 * start / (l1 + float(np.sqrt(l1**2 + 2.0 * ridge * start))) or 1.0
