"""Matrix completion: a matrix of low rank from some of its entries (paper, section 5.1), or from some of their signs.

The latter is 1-bit matrix completion (Davenport, Plan, van den Berg and Wootters, Information and Inference 3, 2014).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from pydantic import Field

from cgm_cli.blocks.atoms import Atom, LowRankAtom
from cgm_cli.blocks.domains.nuclear import NuclearBall
from cgm_cli.blocks.fitting import named, signs
from cgm_cli.blocks.iterates import Iterate
from cgm_cli.blocks.losses.least_squares import LeastSquares
from cgm_cli.blocks.losses.logistic import Logistic, expit
from cgm_cli.blocks.maps.sampling import Sampling
from cgm_cli.blocks.problem import CompositeProblem
from cgm_cli.errors import ProblemError, located
from cgm_cli.numerics.deadline import NEVER, Deadline
from cgm_cli.readers.context import BuildContext
from cgm_cli.solving.rounding import Rounding
from cgm_cli.spec.fields import ArrayField, ByKeys, NonNegative, Positive, Size, StrictModel, TemplateSpec
from cgm_cli.spec.metrics import Metric
from cgm_cli.templates.base import Template
from cgm_cli.templates.photographs import known_pixels
from cgm_cli.templates.views import Heatmap

WRITTEN_OUT = 1000
"""Smaller side up to which the singular values of a random matrix are those of the matrix, and not of its factors."""

AT_ONCE = 2**22
"""Entries that errors are computed of at once: 32 MB."""

NEGLIGIBLE = 1e-2
"""Singular values smaller than this part of the largest do not count for the rank."""


class RandomMatrix(StrictModel):
    """A random matrix L R^T of low rank, plus noise; drawn by the seed."""

    rows: Size = Field(description="number of rows")
    columns: Size = Field(description="number of columns")
    rank: Size = Field(description="columns of L and R")
    scale: Positive = Field(1.0, description="standard deviation of the entries, without the noise")
    noise: NonNegative = Field(0.0, description="standard deviation of the noise on each entry")


class MatrixCompletion(Template):
    """Minimise |A X - b|^2 / 2 or a logistic loss over |X|_* <= r; A picks the observed entries, others are the test.

    With `loss: logistic` the entries b are +1 or -1, and the loss is the mean of log(1 + exp(-b z)) over z = A X: X_ij
    is the log-odds of +1. Of a random matrix M, noise included, the signs are drawn from that model: +1 with
    probability 1 / (1 + exp(-M_ij)), which is the sign of M_ij plus standard logistic noise.

    Smooth: this is the classical conditional-gradient method, at its rate of O(1/k). X is kept as a sum of rank-one
    matrices, and never written out.
    """

    class Spec(TemplateSpec):
        template: Literal["matrix-completion"]
        matrix: Annotated[RandomMatrix | ArrayField, ByKeys()] = Field(
            description="the full matrix, or {rows: 60, columns: 40, rank: 3} for a random one"
        )
        loss: Literal["least-squares", "logistic"] = Field(
            "least-squares",
            description="half the sum of (z - b)^2; or the mean of log(1 + exp(-b z)) for entries b of +1 or -1. Of a "
            "random matrix M those are drawn: +1 with probability 1 / (1 + exp(-M_ij))",
        )
        missing: float = Field(
            0.5, ge=0, lt=1, description="fraction of the entries that are held out, drawn by the seed"
        )
        # Left to right, because 1 equals True.
        radius: Positive | Literal[True] = Field(
            True,
            union_mode="left_to_right",
            description="r; true: the nuclear norm of the full matrix, of a random one before noise and signs. Given "
            "signs need a number: a sqrt(k m n) for m x n log-odds of size a and rank k",
        )

        examples: ClassVar[list[dict[str, Any]]] = [
            {"template": "matrix-completion", "matrix": {"rows": 60, "columns": 40, "rank": 3, "noise": 0.1}},
            {"template": "matrix-completion", "matrix": [[1.0, 2.0], [2.0, 4.0], [3.0, 6.0]], "radius": 5.0},
            {
                "template": "matrix-completion",
                "matrix": {"rows": 60, "columns": 40, "rank": 2, "scale": 3.0},
                "loss": "logistic",
            },
            {
                "template": "matrix-completion",
                "matrix": [[1.0, -1.0], [-1.0, 1.0], [1.0, -1.0]],
                "loss": "logistic",
                "radius": 5.0,
            },
        ]

        def build(self, context: BuildContext) -> MatrixCompletion:
            with located("matrix"):
                full, nuclear_norm = self._matrix(context)
            if self.loss == "logistic" and self.radius is True and not isinstance(self.matrix, RandomMatrix):
                raise ProblemError(
                    "the nuclear norm of given signs says nothing of that of the log-odds: give `radius` a number, for "
                    f"instance {np.sqrt(full.size):.3g}, which goes with log-odds of size 1 and rank 1",
                    ("radius",),
                )
            context.reserve("observed and completed matrices", 3 * full.nbytes)
            observed = known_pixels(full.shape, self.missing, context.seed)
            if not observed.any():
                raise ProblemError("every entry is missing", ("missing",))
            radius = nuclear_norm() if self.radius is True else self.radius
            return MatrixCompletion(full, observed, radius, self.loss)

        def _matrix(self, context: BuildContext) -> tuple[np.ndarray, Callable[[], float]]:
            """The matrix that entries are observed of, and the nuclear norm of the one sought: without noise, log-odds
            instead of signs.
            """
            if not isinstance(self.matrix, RandomMatrix):
                full = context.array(self.matrix, copies=4)  # three for what is observed and completed
                if full.ndim != 2:
                    raise ProblemError(f"what is to be completed must be a matrix, but is {named(full.shape)}")
                return (signs(full, full.shape) if self.loss == "logistic" else full), partial(_nuclear_norm, full)
            drawn, rng = self.matrix, np.random.default_rng([context.seed, 8])
            arrays = 4 if self.loss == "logistic" else 2
            context.reserve("matrix", arrays * 8 * drawn.rows * drawn.columns)
            context.reserve("factors", 8 * drawn.rank * (drawn.rows + drawn.columns))
            left, right = (rng.standard_normal((side, drawn.rank)) for side in (drawn.rows, drawn.columns))
            truth = drawn.scale * (left @ right.T / np.sqrt(drawn.rank))
            full = truth + drawn.noise * rng.standard_normal(truth.shape)
            if self.loss == "logistic":
                full = np.where(rng.random(full.shape) < expit(full), 1.0, -1.0)
            if min(truth.shape) <= WRITTEN_OUT:
                return full, partial(_nuclear_norm, truth)
            factors = LowRankAtom(left, np.full(drawn.rank, drawn.scale / np.sqrt(drawn.rank)), right)
            return full, lambda: float(factors.singular_values().sum())

    measures = (
        Metric("train_error", "where observed: root mean squared error, or fraction of wrong signs", "lower", log=True),
        Metric("test_error", "the same where nothing was observed", "lower", log=True),
        Metric("rank", "number of singular values that are not negligible"),
    )

    views = (Heatmap("the completed matrix", "completed"),)

    def __init__(self, matrix: np.ndarray, observed: np.ndarray, radius: float, loss: str = "least-squares"):
        """matrix (m, n), of +1 and -1 if the loss is "logistic"; observed (m, n): True where an entry is known."""
        self.matrix, self.observed = matrix, observed
        sampling = Sampling(np.flatnonzero(observed), matrix.shape)
        self._error, fit = (_WRONG_SIGNS, Logistic) if loss == "logistic" else (_RMS, LeastSquares)
        self.problem = CompositeProblem(NuclearBall(matrix.shape, radius), fit(sampling, matrix[observed]))

    def metrics(self, iterate: Iterate) -> Mapping[str, float]:
        """train_error and, with entries missing, test_error, where observed and elsewhere: the root mean squared error,
        or the fraction of wrong signs of a logistic loss.
        """
        atom, width = iterate.point, max(1, AT_ONCE // self.matrix.shape[1])
        known = missing = 0.0
        for first in range(0, self.matrix.shape[0], width):
            rows = slice(first, first + width)
            off = self._error.entries(_rows(atom, rows), self.matrix[rows])
            seen = self.observed[rows]
            known, missing = known + float(off[seen].sum()), missing + float(off[~seen].sum())
        count = int(np.count_nonzero(self.observed))
        errors = {"train_error": self._error.whole(known / count)}
        if count < self.matrix.size:
            errors["test_error"] = self._error.whole(missing / (self.matrix.size - count))
        return errors

    def round(
        self, iterate: Iterate, bound: float | None, rng: np.random.Generator, deadline: Deadline = NEVER
    ) -> Rounding:
        """rank: the number of singular values that are not negligible. completed: the matrix written out (log-odds, if
        the loss is logistic).
        """
        atom = iterate.point
        values = (
            atom.singular_values() if isinstance(atom, LowRankAtom) else np.linalg.svd(atom.dense(), compute_uv=False)
        )
        rank = float(np.count_nonzero(values > NEGLIGIBLE * values.max(initial=0.0)))
        return Rounding({"rank": rank}, {"completed": atom.dense()})


def _nuclear_norm(matrix: np.ndarray) -> float:
    return float(np.linalg.norm(matrix, "nuc"))


def _rows(atom: Atom, rows: slice) -> np.ndarray:
    """Some rows of the matrix."""
    if isinstance(atom, LowRankAtom):
        return LowRankAtom(atom.left[rows], atom.weights, atom.right).dense()
    return atom.dense()[rows]


@dataclass(frozen=True)
class _Error:
    """entries(z, b): how far off each entry is; whole: the error, from the mean over the entries."""

    entries: Callable[[np.ndarray, np.ndarray], np.ndarray]
    whole: Callable[[float], float]


_RMS = _Error(lambda z, b: np.square(z - b), math.sqrt)
_WRONG_SIGNS = _Error(lambda z, b: z * b <= 0.0, float)
