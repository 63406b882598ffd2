"""Matrix completion: a matrix of low rank from some of its entries (paper, section 5.1)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from pydantic import Field

from cgm_cli.blocks.domains.nuclear import NuclearBall
from cgm_cli.blocks.fitting import named
from cgm_cli.blocks.iterates import Iterate
from cgm_cli.blocks.losses.least_squares import LeastSquares
from cgm_cli.blocks.maps.sampling import Sampling
from cgm_cli.blocks.problem import CompositeProblem
from cgm_cli.errors import ProblemError, located
from cgm_cli.readers.context import BuildContext
from cgm_cli.spec.fields import ArrayField, ByKeys, NonNegative, Positive, Size, StrictModel, TemplateSpec
from cgm_cli.templates.base import Rounding, Template
from cgm_cli.templates.photographs import known_pixels

NEGLIGIBLE = 1e-2
"""Singular values smaller than this part of the largest do not count for the rank."""


class RandomMatrix(StrictModel):
    """A random matrix L R^T of low rank, with entries of variance 1, plus noise; drawn by the seed."""

    rows: Size = Field(description="number of rows")
    columns: Size = Field(description="number of columns")
    rank: Size = Field(description="columns of L and R")
    noise: NonNegative = Field(0.0, description="standard deviation of the noise on each entry")


class MatrixCompletion(Template):
    """Minimise |A X - b|^2 / 2 over |X|_* <= r; A picks the observed entries, and the others are for the test.

    Smooth: this is the classical conditional-gradient method, at its rate of O(1/k). X is kept as a sum of rank-one
    matrices, and never written out.
    """

    class Spec(TemplateSpec):
        template: Literal["matrix-completion"]
        matrix: Annotated[RandomMatrix | ArrayField, ByKeys()] = Field(
            description="the full matrix, or {rows: 60, columns: 40, rank: 3} for a random one"
        )
        missing: float = Field(
            0.5, ge=0, lt=1, description="fraction of the entries that are held out, drawn by the seed"
        )
        # Left to right, because 1 equals True.
        radius: Positive | Literal[True] = Field(
            True, union_mode="left_to_right", description="r; true: the nuclear norm of the full matrix"
        )

        examples: ClassVar[list[dict[str, Any]]] = [
            {"template": "matrix-completion", "matrix": {"rows": 60, "columns": 40, "rank": 3, "noise": 0.1}},
            {"template": "matrix-completion", "matrix": [[1.0, 2.0], [2.0, 4.0], [3.0, 6.0]], "radius": 5.0},
        ]

        def build(self, context: BuildContext) -> MatrixCompletion:
            with located("matrix"):
                full, truth = self._matrix(context)
            context.reserve("observed and completed matrices", 3 * full.nbytes)
            observed = known_pixels(full.shape, self.missing, context.seed)
            if not observed.any():
                raise ProblemError("every entry is missing", ("missing",))
            radius = float(np.linalg.norm(truth, "nuc")) if self.radius is True else self.radius
            return MatrixCompletion(full, observed, radius)

        def _matrix(self, context: BuildContext) -> tuple[np.ndarray, np.ndarray]:
            """The matrix that entries are observed of, and the same without noise."""
            if not isinstance(self.matrix, RandomMatrix):
                full = context.array(self.matrix)
                if full.ndim != 2:
                    raise ProblemError(f"what is to be completed must be a matrix, but is {named(full.shape)}")
                return full, full
            drawn, rng = self.matrix, np.random.default_rng([context.seed, 8])
            context.reserve("matrix", 2 * 8 * drawn.rows * drawn.columns)
            context.reserve("factors", 8 * drawn.rank * (drawn.rows + drawn.columns))
            left, right = (rng.standard_normal((side, drawn.rank)) for side in (drawn.rows, drawn.columns))
            truth = left @ right.T / np.sqrt(drawn.rank)
            return truth + drawn.noise * rng.standard_normal(truth.shape), truth

    def __init__(self, matrix: np.ndarray, observed: np.ndarray, radius: float):
        """matrix (m, n); observed (m, n): True where an entry is known."""
        self.matrix, self.observed = matrix, observed
        sampling = Sampling(np.flatnonzero(observed), matrix.shape)
        hidden = np.flatnonzero(~observed)
        self._hidden = Sampling(hidden, matrix.shape) if hidden.size else None
        self.problem = CompositeProblem(NuclearBall(matrix.shape, radius), LeastSquares(sampling, matrix[observed]))

    def metrics(self, iterate: Iterate) -> Mapping[str, float]:
        """train_error and, with entries missing, test_error: root mean squared errors where observed and elsewhere."""
        atom, sampling = iterate.atom(), self.problem.loss.map
        errors = {"train_error": _rms(sampling.forward_atom(atom) - self.matrix[self.observed])}
        if self._hidden is not None:
            errors["test_error"] = _rms(self._hidden.forward_atom(atom) - self.matrix[~self.observed])
        return errors

    def round(self, iterate: Iterate, bound: float | None, rng: np.random.Generator) -> Rounding:
        """rank: the number of singular values that are not negligible. completed: the matrix written out."""
        completed = iterate.atom().dense()
        values = np.linalg.svd(completed, compute_uv=False)
        rank = float(np.count_nonzero(values > NEGLIGIBLE * values[0]))
        return Rounding({"rank": rank}, {"completed": completed})


def _rms(gap: np.ndarray) -> float:
    return float(np.sqrt(np.mean(gap**2)))
