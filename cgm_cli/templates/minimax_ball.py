"""The largest coordinate over a Euclidean ball: the small problem that plain conditional gradients cannot solve."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Literal

import numpy as np
from pydantic import Field

from cgm_cli.blocks.atoms import Atom, SparseAtom
from cgm_cli.blocks.domains.norm_balls import L2Ball
from cgm_cli.blocks.fitting import starting_point
from cgm_cli.blocks.iterates import DenseIterate
from cgm_cli.blocks.maps.identity import Identity
from cgm_cli.blocks.penalties.maximum import MaxCoordinate
from cgm_cli.blocks.problem import CompositeProblem, Term
from cgm_cli.errors import located
from cgm_cli.readers.context import BuildContext
from cgm_cli.spec.fields import ArrayField, Positive, Size, TemplateSpec
from cgm_cli.spec.metrics import Metric
from cgm_cli.templates.base import Template
from cgm_cli.templates.views import Trajectory


class MinimaxBall(Template):
    """Minimise max(x_1, ..., x_n) over the Euclidean ball of radius r; the solution has -r / sqrt(n) everywhere.

    A subgradient of the maximum is a unit vector e_i, so a subgradient method (`method: cgm`) only ever meets the atoms
    -r e_i and stays in their convex hull with the start, which does not hold the solution (paper, section 5.3 and
    appendix A3).
    """

    iterate = "dense"

    class Spec(TemplateSpec):
        template: Literal["minimax-ball"]
        size: Size = Field(2, description="n, the number of coordinates")
        radius: Positive = Field(1.0, description="r, the radius of the ball")
        start: ArrayField | None = Field(None, description="where to start, a point of the ball; r e_1 when left out")

        examples: ClassVar[list[dict[str, Any]]] = [
            {"template": "minimax-ball", "size": 2, "radius": 1.0},
            {"template": "minimax-ball", "size": 3, "radius": 2.0, "start": [0.0, -1.0, 1.0]},
            {"template": "minimax-ball", "size": 1},
        ]

        def build(self, context: BuildContext) -> MinimaxBall:
            context.reserve("point", 8 * 4 * self.size)
            with located("start"):
                start = None if self.start is None else context.array(self.start)
            return MinimaxBall(self.size, self.radius, start)

    measures = (
        Metric("distance", "|x - x*|, the distance to the solution", "lower", log=True),
        Metric("x_1", "in two dimensions: the first coordinate of x"),
        Metric("x_2", "in two dimensions: the second coordinate of x"),
    )

    views = (
        Trajectory(
            "the path",
            ("x_1", "x_2"),
            radius="radius",
            end=(-(0.5**0.5), -(0.5**0.5)),
            objective=np.maximum,
            alt="From ({first[0]:.4f}, {first[1]:.4f}) to ({last[0]:.4f}, {last[1]:.4f}) in {iterations} iterations; "
            "the solution is ({end[0]:.4f}, {end[1]:.4f}).",
        ),
    )

    def __init__(self, size: int, radius: float = 1.0, start: np.ndarray | None = None):
        """start: (size,), or None for radius * e_1. Raises ProblemError if it is no point of the ball."""
        shape = (size,)
        ball = L2Ball(shape, radius)
        first: Atom = SparseAtom.one_hot(shape, 0, radius)
        if start is not None:
            with located("start"):
                first = starting_point(start, ball, "ball")
        self.solution = np.full(shape, -radius / np.sqrt(size))
        self.optimum = -radius / float(np.sqrt(size))
        self.problem = CompositeProblem(
            ball,
            terms=(Term("max", Identity(shape), MaxCoordinate(shape)),),
            start=first,
        )

    def metrics(self, iterate: DenseIterate) -> Mapping[str, float]:
        """distance: |x - x*|, the Euclidean distance to the solution; in two dimensions x_1 and x_2, the path."""
        x = iterate.array
        path = {f"x_{i + 1}": float(value) for i, value in enumerate(x)} if x.size == 2 else {}
        return {"distance": float(np.linalg.norm(x - self.solution)), **path}
