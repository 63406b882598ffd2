"""Two-person zero-sum games: the smallest saddle points (von Neumann 1944; paper, section 5.4)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from pydantic import Field

from cgm_cli.blocks.domains.simplex import Simplex
from cgm_cli.blocks.iterates import Iterate
from cgm_cli.blocks.maps.matrix import MatrixMap
from cgm_cli.blocks.penalties.simplex import SimplexSet
from cgm_cli.blocks.penalties.support_of_set import SupportOfSet
from cgm_cli.blocks.problem import CompositeProblem, Term
from cgm_cli.errors import ProblemError, located
from cgm_cli.numerics.arrays import Matrix
from cgm_cli.numerics.deadline import NEVER, Deadline
from cgm_cli.readers.context import BuildContext
from cgm_cli.solving.rounding import Rounding
from cgm_cli.spec.fields import ArrayField, ByKeys, Size, StrictModel, TemplateSpec
from cgm_cli.spec.metrics import Metric
from cgm_cli.templates.base import Template
from cgm_cli.templates.claims import AgainstBound, Claim, LargestEntry


class RandomGame(StrictModel):
    """A payoff matrix drawn from the seed of the spec: entries uniform between -1 and 1."""

    rows: Size = Field(description="number of pure strategies of the maximising player")
    columns: Size = Field(description="number of pure strategies of the minimising player")


class MatrixGame(Template):
    """min over x, max over y of <y, A x>, x and y in simplices: y's player gains A_ij from x's when they play i and j.

    The duals of the term `payoff` are the strategy y that the bound rests on: no x makes y gain less than the bound.
    """

    iterate = "dense"

    class Spec(TemplateSpec):
        template: Literal["matrix-game"]
        payoff: Annotated[ArrayField | RandomGame, ByKeys()] = Field(
            description="A: a row for each strategy of the maximiser, a column for each of the minimiser; or its sizes"
        )

        examples: ClassVar[list[dict[str, Any]]] = [
            {"template": "matrix-game", "payoff": [[0, -1, 1], [1, 0, -1], [-1, 1, 0]]},
            {"template": "matrix-game", "payoff": {"rows": 40, "columns": 60}},
        ]

        def build(self, context: BuildContext) -> MatrixGame:
            with located("payoff"):
                if isinstance(self.payoff, RandomGame):
                    shape = self.payoff.rows, self.payoff.columns
                    context.reserve("payoffs", 8 * shape[0] * shape[1])
                    return MatrixGame(np.random.default_rng([context.seed, 3]).uniform(-1.0, 1.0, shape))
                return MatrixGame(context.matrix(self.payoff, copies=3))  # two for its norm

    measures = (
        Metric("exploitability", "what the best answer to x gains above the certified bound on the value", "lower"),
    )

    def __init__(self, payoff: Matrix):
        """payoff: A (m, n). Raises ProblemError for anything but a matrix."""
        if payoff.ndim != 2:
            raise ProblemError("the payoffs must be a matrix", ())
        rows, columns = payoff.shape
        self.payoff = payoff
        self.problem = CompositeProblem(
            Simplex(columns),
            terms=(Term("payoff", MatrixMap(payoff, (columns,)), SupportOfSet(SimplexSet((rows,)))),),
        )

    def round(
        self, iterate: Iterate, bound: float | None, rng: np.random.Generator, deadline: Deadline = NEVER
    ) -> Rounding:
        """exploitability: what the maximiser's best answer to x gains above the certified bound on the value."""
        gain = float(np.max(self.payoff @ iterate.point.dense()))
        return Rounding({} if bound is None else {"exploitability": gain - bound})

    def claims(self) -> Sequence[Claim]:
        return (Claim("exploitability", AgainstBound(LargestEntry(self.payoff, "x"), "difference")),)
