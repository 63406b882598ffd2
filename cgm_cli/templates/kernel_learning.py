"""Weights of kernels for a support vector machine: the largest margin of all their mixtures (Lanckriet et al. 2004)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from pydantic import Field

from cgm_cli.blocks.domains.group_ball import GroupL1Ball
from cgm_cli.blocks.iterates import DenseIterate, Iterate
from cgm_cli.blocks.maps.matrix import MatrixMap
from cgm_cli.blocks.penalties.maximum import MaxCoordinate
from cgm_cli.blocks.problem import CompositeProblem, Term
from cgm_cli.errors import ProblemError
from cgm_cli.numerics.deadline import NEVER, Deadline
from cgm_cli.readers.context import BuildContext
from cgm_cli.readers.entries import named_arrays
from cgm_cli.solving.rounding import Rounding
from cgm_cli.spec.fields import Positive, Size, StrictModel
from cgm_cli.spec.metrics import Metric
from cgm_cli.templates.base import Template
from cgm_cli.templates.listing import Listing
from cgm_cli.templates.tables import SampleTable, TableSpec

NEGLIGIBLE = 1e-3
"""A kernel of a smaller weight is not counted."""


class Kernel(StrictModel):
    """k(x, y): <x, y> (linear), (1 + <x, y> / d)^degree for d features, or exp(-|x - y|^2 / (2 width^2 d))."""

    kind: Literal["linear", "polynomial", "gaussian"] = Field(description="linear, polynomial or gaussian")
    degree: Size = Field(2, description="of a polynomial")
    width: Positive = Field(1.0, description="of a Gaussian, in units of sqrt(d), the distance of standardised samples")

    @property
    def called(self) -> str:
        return {
            "linear": "linear",
            "polynomial": f"polynomial {self.degree}",
            "gaussian": f"gaussian {self.width:g}",
        }[self.kind]

    def between(self, left: np.ndarray, right: np.ndarray) -> np.ndarray:
        """(m, n), of samples (m, d) and (n, d)."""
        products, d = left @ right.T, left.shape[1]
        if self.kind == "linear":
            return products
        if self.kind == "polynomial":
            return (1.0 + products / d) ** self.degree
        squares = np.square(left).sum(axis=1)[:, None] + np.square(right).sum(axis=1) - 2.0 * products
        return np.exp(-np.maximum(squares, 0.0) / (2.0 * d * self.width**2))


class KernelLearning(Template):
    """max over w of the margin min_(y_j = 1) <w, p_j> - max_(y_j = -1) <w, p_j>, subject to sum_i |w_i| <= 1.

    p_j has a part for every kernel, with inner products K_i + t I: each K_i of mean diagonal 1 over the samples, and
    t = `softness`, the 1 / C of a soft margin whose slacks are squared. The weight of kernel i is |w_i|. For given
    weights u the largest margin is that of a support vector machine with the kernel sum u_i K_i + t I, so this is the
    largest over all of them; dually, the distance of the convex hulls of the classes where the kernels are farthest:

        min over a >= 0 with sum 1 in each class of max_i sqrt((y o a)^T (K_i + t I) (y o a)).

    Lanckriet, Cristianini, Bartlett, El Ghaoui and Jordan, JMLR 5, 2004: of their program
    max 2 sum a - max_i (y o a)^T (K_i + t I) (y o a) over all a >= 0 with <y, a> = 0, the value is 4 / margin^2: that
    of the best multiple of the a above.
    """

    iterate = "dense"

    class Spec(TableSpec):
        template: Literal["kernel-learning"]
        kernels: Annotated[list[Kernel], Field(min_length=1)] = Field(description="{kind: gaussian, width: 0.5}, ...")
        softness: Positive = Field(0.1, description="t, what is added to the diagonal of the kernels")

        examples: ClassVar[list[dict[str, Any]]] = [
            {
                "template": "kernel-learning",
                "data": "breast-cancer",
                "test_fraction": 0.5,
                "kernels": [
                    {"kind": "linear"},
                    {"kind": "polynomial", "degree": 2},
                    {"kind": "gaussian", "width": 0.5},
                    {"kind": "gaussian", "width": 1.0},
                ],
            },
            {
                "template": "kernel-learning",
                "data": {"features": [[-1.0], [0.0], [1.0], [2.0]], "target": [0, 1, 1, 0]},
                "kernels": [{"kind": "linear"}, {"kind": "gaussian", "width": 0.5}],
                "softness": 0.01,
            },
        ]

        def build(self, context: BuildContext) -> KernelLearning:
            table = self.table(context, classes=True)
            if np.unique(table.target).size < 2:
                raise ProblemError("all samples to train on are of one class", ("test_fraction",))
            # Of each kernel: its matrix, eigenvectors, the part of the map, and what they are computed in.
            context.reserve("kernels", 8 * 5 * len(self.kernels) * table.samples**2)
            return KernelLearning(table, self.kernels, self.softness)

    measures = (
        Metric("margin", "of w over its length sum |w_i|: the distance between the two classes", "higher"),
        Metric("kernels", "number of kernels whose weight is not negligible"),
        Metric("train_error", "fraction of the samples of the objective on the wrong side", "lower", log=True),
        Metric("test_error", "the same of those held out", "lower", log=True),
    )
    listing = Listing("weights", "kernel", "weight")

    def __init__(self, table: SampleTable, kernels: Sequence[Kernel], softness: float):
        """table: with both classes among the samples to train on, as -1 and +1."""
        self.table, self.kernels, self.softness = table, kernels, softness
        n = table.samples
        # K = E diag(e) E^T: the samples are the rows of E sqrt(e + t).
        self.matrices = [kernel.between(table.features, table.features) for kernel in kernels]
        self.scales = [float(matrix.diagonal().mean()) or 1.0 for matrix in self.matrices]
        self.matrices = [matrix / scale for matrix, scale in zip(self.matrices, self.scales, strict=True)]
        spectra = [np.linalg.eigh(matrix) for matrix in self.matrices]
        roots = [np.sqrt(np.maximum(values, 0.0) + softness) for values, _ in spectra]
        self.inverses = [vectors / root for (_, vectors), root in zip(spectra, roots, strict=True)]
        self.features = np.hstack([vectors * root for (_, vectors), root in zip(spectra, roots, strict=True)])
        groups = np.arange(n * len(kernels)).reshape(len(kernels), n).tolist()
        domain = GroupL1Ball(groups, sizing=None)
        self.positive = table.target > 0.0
        above, below = -self.features[self.positive], self.features[~self.positive]
        self.problem = CompositeProblem(
            domain,
            terms=(
                Term("positive", MatrixMap(above, domain.shape), MaxCoordinate((len(above),))),
                Term("negative", MatrixMap(below, domain.shape), MaxCoordinate((len(below),))),
            ),
            sense="maximise",
        )

    def metrics(self, iterate: DenseIterate) -> Mapping[str, float]:
        """Errors of the classifier whose threshold is halfway between the classes."""
        parts = iterate.array.reshape(len(self.kernels), -1)
        sides = self.features @ iterate.array
        least, most = float(sides[self.positive].min()), float(sides[~self.positive].max())
        table, threshold = self.table, 0.5 * (least + most)
        coefficients = [inverse @ part for inverse, part in zip(self.inverses, parts, strict=True)]

        def error(matrices: Sequence[np.ndarray], target: np.ndarray) -> float:
            values = sum(matrix @ each for matrix, each in zip(matrices, coefficients, strict=True)) - threshold
            return float(np.mean(values * target <= 0.0))

        length = float(np.linalg.norm(parts, axis=1).sum())
        found = {"margin": (least - most) / (length or 1.0), "train_error": error(self.matrices, table.target)}
        if table.test_target.size:
            others = [
                kernel.between(table.test_features, table.features) / scale
                for kernel, scale in zip(self.kernels, self.scales, strict=True)
            ]
            found["test_error"] = error(others, table.test_target)
        return found

    def round(
        self, iterate: Iterate, bound: float | None, rng: np.random.Generator, deadline: Deadline = NEVER
    ) -> Rounding:
        """weights: of the kernels, with sum 1; 0 for w = 0."""
        lengths = np.linalg.norm(iterate.point.dense().reshape(len(self.kernels), -1), axis=1)
        weights = lengths / (float(lengths.sum()) or 1.0)
        names = named_arrays([kernel.called for kernel in self.kernels])
        return Rounding({"kernels": float(np.count_nonzero(weights > NEGLIGIBLE))}, {"weights": weights, **names})
