"""Matrix completion: a matrix of low rank from some of its entries (paper, section 5.1), or from some of their signs.

The latter is 1-bit matrix completion (Davenport, Plan, van den Berg and Wootters, Information and Inference 3, 2014).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Annotated, Any, ClassVar, Literal, Self

import numpy as np
from pydantic import Field, model_validator

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
from cgm_cli.readers.entries import BYTES, COLUMN_IDS, ROW_IDS, Entries, packed
from cgm_cli.readers.ratings import RatingsFile
from cgm_cli.solving.rounding import Rounding
from cgm_cli.spec.fields import ArrayField, ByKeys, NonNegative, Positive, Size, StrictModel, TemplateSpec
from cgm_cli.spec.metrics import Metric
from cgm_cli.templates.base import Template
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
    """Minimise |A X - b|^2 / 2 or a logistic loss over |X|_* <= r; A picks the known entries, others are the test.

    Known are all entries of an array that are not NaN, those that a sparse file stores, or the ratings of a table.
    With `loss: logistic` the entries b are +1 or -1, and the loss is the mean of log(1 + exp(-b z)) over z = A X: X_ij
    is the log-odds of +1. Of a random matrix M, noise included, the signs are drawn from that model: +1 with
    probability 1 / (1 + exp(-M_ij)), which is the sign of M_ij plus standard logistic noise.

    Smooth: this is the classical conditional-gradient method, at its rate of O(1/k). X is kept as a sum of rank-one
    matrices, and written out only where the matrix was given so.
    """

    class Spec(TemplateSpec):
        template: Literal["matrix-completion"]
        matrix: Annotated[RandomMatrix | ArrayField | None, ByKeys()] = Field(
            None,
            description="the matrix, or {rows: 60, columns: 40, rank: 3} for a random one. In a file, what is NaN or, "
            "of a sparse matrix, not there is unknown, not zero; of a table with `columns`, what is missing, too",
        )
        ratings: RatingsFile | None = Field(
            None,
            description="in place of `matrix` a table with a user, an item and a rating a line, {file: ratings.csv}: "
            "the first three columns, or say which by `user`, `item` and `value`",
        )
        loss: Literal["least-squares", "logistic"] = Field(
            "least-squares",
            description="half the sum of (z - b)^2; or the mean of log(1 + exp(-b z)) for entries b of +1 or -1. Of a "
            "random matrix M those are drawn: +1 with probability 1 / (1 + exp(-M_ij))",
        )
        missing: float | None = Field(
            None,
            ge=0,
            lt=1,
            description="fraction of the known entries that are hidden, for `test_error`, drawn by the seed; left out: "
            "0.5 of a matrix all of whose entries are known, else 0",
        )
        held_out: float = Field(
            0.0,
            ge=0,
            lt=1,
            description="fraction of the entries left that are held out, for `held_out_rmse`, drawn by the seed",
        )
        # Left to right, because 1 equals True.
        radius: Positive | Literal[True] = Field(
            True,
            union_mode="left_to_right",
            description="r; true: the nuclear norm of the full matrix, of a random one before noise and signs; where "
            "entries are unknown a sqrt(m n) for m x n entries of size a, which goes with rank 1 (a sqrt(k m n) with "
            "rank k); of a sweep over several take the one with the least `held_out_rmse`. Given signs need a number",
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
                "missing": 0.0,
                "held_out": 0.2,
                "radius": 5.0,
            },
            {
                "template": "matrix-completion",
                "ratings": {"file": "ratings.csv", "user": "userId", "item": "movieId", "value": "rating"},
                "held_out": 0.1,
                "radius": 4000.0,
            },
            {
                "template": "matrix-completion",
                "matrix": [[5.0, 3.0, 4.0], [4.0, 3.0, 5.0], [1.0, 5.0, 2.0]],
                "missing": 0.0,
                "held_out": 0.2,
                "radius": 12.0,
            },
        ]

        @model_validator(mode="after")
        def _one_of_both(self) -> Self:
            if (self.matrix is None) == (self.ratings is None):
                raise ValueError("completion needs either a `matrix` or `ratings`")
            return self

        def build(self, context: BuildContext) -> MatrixCompletion:
            with located("matrix" if self.ratings is None else "ratings"):
                known, nuclear_norm = self._known(context)
            context.reserve("known entries", BYTES * known.count)
            missing = (0.5 if known.complete else 0.0) if self.missing is None else self.missing
            left, hidden = known.split(missing, np.random.default_rng([context.seed, 3]))
            if not left.count:
                raise ProblemError("every entry is missing", ("missing",))
            if self.missing is None and hidden.count and not isinstance(self.matrix, RandomMatrix):
                context.remarks.append(
                    f"Every entry is known, so that there is nothing to complete: {hidden.count} of {known.count}, "
                    "drawn by the seed, are hidden, and tell `test_error`; `missing: 0` has all of them fitted."
                )
            seen, held_out = left.split(self.held_out, np.random.default_rng([context.seed, 11]))
            if not seen.count:
                raise ProblemError("every entry is held out", ("held_out",))
            radius = self._radius(seen, nuclear_norm, context) if self.radius is True else self.radius
            return MatrixCompletion(seen, hidden, held_out, radius, self.loss)

        def _known(self, context: BuildContext) -> tuple[Entries, Callable[[], float] | None]:
            """The known entries, and the nuclear norm of the matrix sought, where that is known: without noise."""
            if isinstance(self.matrix, RandomMatrix):
                full, nuclear_norm = self._drawn(self.matrix, context)
                return Entries.of(full), nuclear_norm
            if self.ratings is not None:
                known, full = context.ratings(self.ratings), None
            else:
                assert self.matrix is not None
                full = context.matrix(self.matrix, copies=4, takes_nan=True)  # of what is observed and completed
                if full.ndim != 2:
                    raise ProblemError(f"what is to be completed must be a matrix, but is {named(full.shape)}")
                known = Entries.of(full)
            if not known.count:
                raise ProblemError("no entry is known")
            if self.loss == "logistic":
                return replace(known, values=signs(known.values, known.values.shape)), None
            dense = full if isinstance(full, np.ndarray) and known.complete else None
            return known, None if dense is None else partial(_nuclear_norm, dense)

        def _drawn(self, drawn: RandomMatrix, context: BuildContext) -> tuple[np.ndarray, Callable[[], float]]:
            """The matrix that entries are observed of, and the nuclear norm of the one sought: without noise, log-odds
            instead of signs.
            """
            rng = np.random.default_rng([context.seed, 8])
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

        def _radius(self, seen: Entries, nuclear_norm: Callable[[], float] | None, context: BuildContext) -> float:
            """That of `true`: the nuclear norm, where it is known; of some entries one that goes with a matrix of their
            size and rank 1, which is told. ProblemError for signs, which say nothing of the size.
            """
            if nuclear_norm is not None:
                return nuclear_norm()
            cells = math.prod(seen.shape)
            if self.loss == "logistic":
                raise ProblemError(
                    "the nuclear norm of given signs says nothing of that of the log-odds: give `radius` a number, for "
                    f"instance {math.sqrt(cells):.3g}, which goes with log-odds of size 1 and rank 1",
                    ("radius",),
                )
            size = math.sqrt(float(np.square(seen.values).mean()))
            radius = float(f"{size * math.sqrt(cells):.3g}") or 1.0
            context.remarks.append(
                f"The radius is {radius:g}, which goes with entries of this size and rank 1; some entries do not tell "
                "the nuclear norm of a matrix. Compare the `held_out_rmse` of a few radii, with `held_out: 0.1`."
            )
            return radius

    measures = (
        Metric("train_error", "where observed: root mean squared error, or fraction of wrong signs", "lower", log=True),
        Metric("test_error", "the same on the entries that are `missing`", "lower", log=True),
        Metric("held_out_rmse", "root mean squared error on the entries that are held out", "lower", log=True),
        Metric("held_out_error", "fraction of wrong signs among those that are held out", "lower", log=True),
        Metric("rank", "number of singular values that are not negligible"),
    )

    views = (Heatmap("the completed matrix", "completed"),)

    def __init__(self, seen: Entries, hidden: Entries, held_out: Entries, radius: float, loss: str = "least-squares"):
        """Entries of one matrix, of +1 and -1 if the loss is "logistic": to be fitted, and two sets, which may be
        empty, that the fit is tested on.
        """
        self.seen, self.hidden, self.held_out = seen, hidden, held_out
        self._error, fit = (_WRONG_SIGNS, Logistic) if loss == "logistic" else (_RMS, LeastSquares)
        sampling = Sampling(seen.indices, seen.shape)
        self.problem = CompositeProblem(NuclearBall(seen.shape, radius), fit(sampling, seen.values))

    def metrics(self, iterate: Iterate) -> Mapping[str, float]:
        """The root mean squared errors, or fractions of wrong signs of a logistic loss: train_error where observed, and
        test_error and held_out_rmse or held_out_error, if there are any such entries.
        """
        sets = {"train_error": self.seen, "test_error": self.hidden, self._error.held_out: self.held_out}
        return {name: self._error.on(iterate.point, entries) for name, entries in sets.items() if entries.count}

    def round(
        self, iterate: Iterate, bound: float | None, rng: np.random.Generator, deadline: Deadline = NEVER
    ) -> Rounding:
        """rank: the number of singular values that are not negligible. completed: the matrix written out (log-odds, if
        the loss is logistic), if it was given so. row_ids and column_ids: of ratings, as `packed`.
        """
        atom, arrays = iterate.point, dict[str, np.ndarray]()
        values = (
            atom.singular_values() if isinstance(atom, LowRankAtom) else np.linalg.svd(atom.dense(), compute_uv=False)
        )
        rank = float(np.count_nonzero(values > NEGLIGIBLE * values.max(initial=0.0)))
        if self.seen.dense:
            arrays["completed"] = atom.dense()
        if self.seen.ids is not None:
            arrays |= zip((ROW_IDS, COLUMN_IDS), map(packed, self.seen.ids), strict=True)
        return Rounding({"rank": rank}, arrays)


def _nuclear_norm(matrix: np.ndarray) -> float:
    return float(np.linalg.norm(matrix, "nuc"))


@dataclass(frozen=True)
class _Error:
    """entry(z, b): how far off each entry is; whole: the error, from the mean over the entries. held_out: its name."""

    entry: Callable[[np.ndarray, np.ndarray], np.ndarray]
    whole: Callable[[float], float]
    held_out: str

    def on(self, atom: Atom, known: Entries) -> float:
        """The error of a matrix on some entries."""
        total = 0.0
        for first in range(0, known.count, AT_ONCE):
            part = slice(first, first + AT_ONCE)
            found = atom.at(*np.divmod(known.indices[part], known.shape[1]))
            total += float(self.entry(found, known.values[part]).sum())
        return self.whole(total / known.count)


_RMS = _Error(lambda z, b: np.square(z - b), math.sqrt, "held_out_rmse")
_WRONG_SIGNS = _Error(lambda z, b: z * b <= 0.0, float, "held_out_error")
