"""Linear programs over a box, with equations (paper, section 5.5)."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

import numpy as np
from pydantic import Field, model_validator

from cgm_cli.blocks.bound_checks import check_bounds
from cgm_cli.blocks.domains.box import Box
from cgm_cli.blocks.fitting import fit, named
from cgm_cli.blocks.losses.linear import Linear
from cgm_cli.blocks.maps.matrix import MatrixMap
from cgm_cli.blocks.penalties.equals import Equals
from cgm_cli.blocks.problem import CompositeProblem, Term
from cgm_cli.errors import ErrorCollector, ProblemError
from cgm_cli.numerics.arrays import Matrix
from cgm_cli.readers.context import BuildContext
from cgm_cli.spec.fields import ArrayField, TemplateSpec
from cgm_cli.templates.base import Template


class LinearProgram(Template):
    """min <c, x> subject to A x = b and lower <= x <= upper, with finite bounds.

    Meant for very large or badly structured A; where a simplex or interior-point code fits, it is faster.
    """

    iterate = "dense"

    class Spec(TemplateSpec):
        template: Literal["linear-program"]
        cost: ArrayField = Field(description="c, one number per variable")
        matrix: ArrayField = Field(description="A, one row per equation, dense or sparse")
        equals: ArrayField = Field(description="b, one number per equation; a number: the same for all")
        lower: ArrayField = Field(0.0, description="lower bound: a number, or one per variable")
        upper: ArrayField = Field(1.0, description="upper bound: a number, or one per variable")

        examples: ClassVar[list[dict[str, Any]]] = [
            {
                "template": "linear-program",
                "cost": [1.0, 2.0, 3.0, 1.5],
                "matrix": [[1, 1, 1, 1], [1, -1, 0, 2]],
                "equals": [2.0, 0.5],
            },
            {
                "template": "linear-program",
                "cost": [1, -1],
                "matrix": [[1, 1]],
                "equals": 0,
                "lower": -1,
                "upper": [1, 2],
            },
        ]

        @model_validator(mode="after")
        def _bounds(self):
            check_bounds(self.lower, self.upper)
            return self

        def build(self, context: BuildContext) -> LinearProgram:
            faults, parts = ErrorCollector(), {}
            for name in ("cost", "matrix", "equals", "lower", "upper"):
                with faults.part(name):
                    parts[name] = (context.matrix if name == "matrix" else context.array)(getattr(self, name))
            with faults.part("matrix"):
                if "matrix" in parts and parts["matrix"].ndim != 2:
                    raise ProblemError(f"A must be a matrix, not {named(parts['matrix'].shape)}")
            faults.raise_all()
            rows, columns = parts["matrix"].shape
            for name, what in (("cost", "the cost"), ("lower", "the lower bound"), ("upper", "the upper bound")):
                with faults.part(name):
                    parts[name] = fit(parts[name], (columns,), what, "a row of A")
            with faults.part("equals"):
                parts["equals"] = fit(parts["equals"], (rows,), "b", "a column of A")
            faults.raise_all()
            return LinearProgram(**parts)

    def __init__(
        self,
        cost: np.ndarray,
        matrix: Matrix,
        equals: np.ndarray,
        lower: np.ndarray,
        upper: np.ndarray,
    ):
        """cost, lower, upper (n,), matrix (m, n), equals (m,)."""
        self.cost, self.matrix, self.equals, self.lower, self.upper = cost, matrix, equals, lower, upper
        self.problem = CompositeProblem(
            Box(lower, upper),
            Linear(cost, cost.shape),
            (Term("equations", MatrixMap(matrix, cost.shape), Equals(equals.shape, equals)),),
        )
