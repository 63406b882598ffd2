"""Maximum-margin classification with several classes, as a bilinear saddle point (paper, section 5.4)."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

import numpy as np
import scipy.sparse as sp
from pydantic import Field, model_validator

from cgm_cli.blocks.domains.norm_balls import L2Ball
from cgm_cli.blocks.fitting import named
from cgm_cli.blocks.iterates import Iterate
from cgm_cli.blocks.maps.matrix import MatrixMap
from cgm_cli.blocks.penalties.shifted import Shifted
from cgm_cli.blocks.penalties.simplex import SimplexSet
from cgm_cli.blocks.penalties.support_of_set import SupportOfSet
from cgm_cli.blocks.problem import CompositeProblem, Term
from cgm_cli.errors import DataError, ProblemError
from cgm_cli.numerics.deadline import NEVER, Deadline
from cgm_cli.readers.context import BuildContext
from cgm_cli.solving.rounding import Rounding
from cgm_cli.spec.fields import ArrayField, Positive, TemplateSpec
from cgm_cli.spec.metrics import Metric
from cgm_cli.templates.base import Template
from cgm_cli.text import counted


class MaxMargin(Template):
    """min over |W| <= r of the mean over i of max over c of [c is not c_i] + <w_c - w_(c_i), a_i>, a row w_c per class.

    The inner maxima are one maximum over a product of simplices, of a function that is bilinear in W and their points
    (Taskar, Lacoste-Julien and Jordan, JMLR 2006, for labels without structure). Points get a last entry 1.
    """

    iterate = "dense"

    class Spec(TemplateSpec):
        template: Literal["max-margin"]
        points: ArrayField | Literal["iris"] = Field(
            "iris", description="one point per row; or `iris`, scikit-learn's, with its labels, standardised"
        )
        labels: ArrayField | None = Field(None, description="the class of each point, any numbers")
        radius: Positive = Field(5.0, description="r, the bound on the Frobenius norm of W")

        examples: ClassVar[list[dict[str, Any]]] = [
            {"template": "max-margin", "points": "iris", "radius": 5.0},
            {"template": "max-margin", "points": [[0.0], [1.0], [2.0]], "labels": [0, 1, 2], "radius": 2.0},
        ]

        @model_validator(mode="after")
        def _labels_of_points(self):
            if (self.points == "iris") != (self.labels is None):
                raise ValueError("points need `labels`, and `iris` comes with its own")
            return self

        def build(self, context: BuildContext) -> MaxMargin:
            if self.points == "iris":
                return MaxMargin(*iris(), self.radius)
            assert self.labels is not None
            points, labels = context.labelled(self.points, self.labels)
            labels = np.unique(labels.reshape(-1), return_inverse=True)[1]
            if points.ndim != 2:
                raise DataError(
                    f"the points must be a matrix with one point per row, not {named(points.shape)}", ("points",)
                )
            if labels.size != points.shape[0]:
                raise ProblemError(
                    f"{counted(labels.size, 'label')} of {counted(points.shape[0], 'point')}: each needs one",
                    ("labels",),
                )
            if labels.max() == 0:
                raise ProblemError("there is one class only: nothing to tell apart", ("labels",))
            context.reserve("margins", 32 * (labels.max() + 1) * points.size)
            return MaxMargin(points, labels, self.radius)

    measures = (Metric("errors", "fraction of the points that W puts into another class", "lower"),)

    def __init__(self, points: np.ndarray, labels: np.ndarray, radius: float):
        """points (n, d); labels (n,), 0 to the number of classes less one."""
        self.points, self.labels = np.column_stack([points, np.ones(len(points))]), labels
        count, size = self.points.shape
        classes = int(labels.max()) + 1
        shape = (classes, size)
        loss = (np.arange(classes) != labels[:, None]).astype(float).reshape(-1)
        inner = SupportOfSet(SimplexSet(loss.shape, 1.0 / count, length=classes))
        margins = MatrixMap(label_margins(self.points, labels, classes), shape)
        self.problem = CompositeProblem(L2Ball(shape, radius), terms=(Term("margins", margins, Shifted(inner, -loss)),))

    def round(
        self, iterate: Iterate, bound: float | None, rng: np.random.Generator, deadline: Deadline = NEVER
    ) -> Rounding:
        """errors: the fraction of points that W puts into another class."""
        chosen = np.argmax(self.points @ iterate.point.dense().T, axis=1)
        return Rounding({"errors": float(np.mean(chosen != self.labels))}, {"classes": chosen})


def label_margins(points: np.ndarray, labels: np.ndarray, classes: int) -> sp.csr_array:
    """W -> <w_c - w_(c_i), a_i> at row i * classes + c, of the raveled W."""
    count, size = points.shape
    chosen = np.tile(np.arange(classes), count)
    own = np.repeat(labels, classes)
    picks = sp.eye_array(classes, format="csr")[chosen] - sp.eye_array(classes, format="csr")[own]
    # The row of sample i is the Kronecker product of its difference of unit vectors with a_i.
    rows = picks.tocoo()
    at, (row, block) = rows.data, rows.coords
    values = (at[:, None] * points[row // classes]).reshape(-1)
    columns = (block[:, None] * size + np.arange(size)).reshape(-1)
    return sp.coo_array((values, (np.repeat(row, size), columns)), shape=(count * classes, classes * size)).tocsr()


def iris() -> tuple[np.ndarray, np.ndarray]:
    """150 points of 4 measurements, each of mean 0 and deviation 1, and their 3 classes."""
    from sklearn.datasets import load_iris

    points, labels = load_iris(return_X_y=True)
    return (points - points.mean(axis=0)) / points.std(axis=0), labels
