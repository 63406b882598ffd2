"""The largest of affine functions over a ball: any convex piecewise linear function (paper, section 5.3)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from pydantic import Field

from cgm_cli.blocks.fitting import fit, named
from cgm_cli.blocks.iterates import DenseIterate
from cgm_cli.blocks.maps.matrix import MatrixMap
from cgm_cli.blocks.penalties.maximum import MaxCoordinate
from cgm_cli.blocks.penalties.shifted import Shifted
from cgm_cli.blocks.problem import CompositeProblem, Term
from cgm_cli.errors import ProblemError, located
from cgm_cli.readers.context import BuildContext
from cgm_cli.spec.fields import ArrayField, ByKeys, Positive, Size, StrictModel, TemplateSpec
from cgm_cli.spec.metrics import Metric
from cgm_cli.templates.base import Template
from cgm_cli.templates.linear_model import ball

TOUCHING = 1e-2
"""A piece is active if its value is within this part of the largest magnitude of a value, of the largest value."""


class RandomPieces(StrictModel):
    """Gaussian slopes, and offsets if none are given, drawn by the seed."""

    pieces: Size = Field(description="how many affine functions")
    size: Size = Field(description="number of variables")


class MaxAffine(Template):
    """Minimise max_i (<a_i, x> + b_i) over a ball of radius r.

    Nothing is smooth here: the rate is O(1/sqrt k). Over an l1- or linf-ball this is a linear program.
    """

    iterate = "dense"

    class Spec(TemplateSpec):
        template: Literal["max-affine"]
        slopes: Annotated[RandomPieces | ArrayField, ByKeys()] = Field(
            description="one row a_i per affine function, or {pieces: 50, size: 10} for random ones"
        )
        offsets: ArrayField | None = Field(None, description="b_i; left out: 0, or Gaussian with random slopes")
        domain: Literal["l2", "l1", "linf"] = Field("l2", description="which norm of x is at most r")
        radius: Positive = Field(1.0, description="r")

        examples: ClassVar[list[dict[str, Any]]] = [
            {"template": "max-affine", "slopes": {"pieces": 30, "size": 10}},
            {"template": "max-affine", "slopes": [[1.0, 0.0], [-1.0, 2.0]], "offsets": [0.0, 1.0], "domain": "linf"},
        ]

        def build(self, context: BuildContext) -> MaxAffine:
            slopes, offsets = self._pieces(context)
            if self.offsets is not None:
                with located("offsets"):
                    offsets = fit(
                        context.array(self.offsets), offsets.shape, "the array of offsets", "that of the rows of slopes"
                    )
            return MaxAffine(slopes, offsets, self.domain, self.radius)

        def _pieces(self, context: BuildContext) -> tuple[np.ndarray, np.ndarray]:
            """The slopes, and the offsets where the spec has none."""
            with located("slopes"):
                if isinstance(self.slopes, RandomPieces):
                    shape = self.slopes.pieces, self.slopes.size
                    context.reserve("slopes", 8 * shape[0] * (shape[1] + 1))
                    rng = np.random.default_rng([context.seed, 6])
                    return rng.standard_normal(shape), rng.standard_normal(shape[0])
                slopes = context.array(self.slopes)
                if slopes.ndim != 2:
                    raise ProblemError(f"the slopes must be a matrix, one row per piece, but are {named(slopes.shape)}")
                return slopes, np.zeros(slopes.shape[0])

    measures = (Metric("active", "number of pieces whose value is close to the largest"),)

    def __init__(self, slopes: np.ndarray, offsets: np.ndarray, domain: str = "l2", radius: float = 1.0):
        """slopes (m, n), offsets (m,)."""
        self.slopes, self.offsets = slopes, offsets
        region = ball(domain, slopes.shape[1], radius)
        # max (z + b) is max shifted by -b.
        largest = Shifted(MaxCoordinate(offsets.shape), -offsets)
        self.problem = CompositeProblem(region, terms=(Term("max", MatrixMap(slopes, region.shape), largest),))

    def metrics(self, iterate: DenseIterate) -> Mapping[str, float]:
        """active: the pieces whose value is close to the largest."""
        values = self.slopes @ iterate.array + self.offsets
        least = values.max() - TOUCHING * np.abs(values).max()
        return {"active": float(np.count_nonzero(values >= least))}
