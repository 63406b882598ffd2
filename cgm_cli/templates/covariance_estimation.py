"""Covariances that are sparse and of low rank, or sums of such, from few samples."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal, Self

import numpy as np
from pydantic import Field, model_validator

from cgm_cli.blocks.domains.psd import PSDTrace
from cgm_cli.blocks.iterates import Iterate
from cgm_cli.blocks.losses.least_squares import LeastSquares
from cgm_cli.blocks.maps.diagonal import Diagonal
from cgm_cli.blocks.maps.identity import Identity
from cgm_cli.blocks.maps.sampling import Sampling
from cgm_cli.blocks.penalties.box import BoxSet
from cgm_cli.blocks.penalties.huber import Huber
from cgm_cli.blocks.penalties.norms import L1Norm
from cgm_cli.blocks.penalties.shifted import Shifted
from cgm_cli.blocks.problem import CompositeProblem, Term
from cgm_cli.errors import ProblemError, located
from cgm_cli.numerics.deadline import NEVER, Deadline
from cgm_cli.readers.context import BuildContext
from cgm_cli.readers.entries import named_arrays
from cgm_cli.solving.rounding import Rounding
from cgm_cli.spec.fields import ArrayField, ByKeys, Count, NonNegative, Positive, Size, StrictModel, TemplateSpec
from cgm_cli.spec.metrics import Metric
from cgm_cli.templates.base import Template
from cgm_cli.templates.covariances import Covariance, covariance_of, read_covariance
from cgm_cli.templates.listing import Listing
from cgm_cli.templates.views import Heatmap

NEGLIGIBLE = 1e-2
"""Eigenvalues, and entries off the diagonal, that are smaller than this part of the largest do not count."""


class RandomSamples(StrictModel):
    """Samples with a covariance that is a sum of u u^T, of vectors that are zero outside of a block of variables, of
    factors that all variables share, and of noise; drawn by the seed.
    """

    variables: Size = Field(description="n, the number of variables")
    samples: Size = Field(description="m, from which their covariance is taken")
    blocks: Count = Field(4, description="blocks of variables of about one size, each with a vector of its own")
    factors: Count = Field(0, description="vectors that are zero nowhere")
    noise: NonNegative = Field(0.5, description="standard deviation of what is independent in each variable")

    @model_validator(mode="after")
    def _something(self) -> Self:
        if self.blocks + self.factors == 0:
            raise ValueError("there is nothing but noise: `blocks` or `factors`")
        if self.blocks > self.variables:
            raise ValueError(f"{self.blocks} blocks are more than {self.variables} variables")
        return self

    def drawn(self, context: BuildContext) -> tuple[np.ndarray, np.ndarray]:
        """The covariance of the samples, and that of what they are drawn from, without the noise, both (n, n)."""
        n, count = self.variables, self.blocks + self.factors
        context.reserve("samples", 8 * 2 * (self.samples + count) * n)
        rng = np.random.default_rng([context.seed, 13])
        vectors = rng.choice([-1.0, 1.0], (count, n)) * rng.uniform(0.5, 1.5, (count, n))
        if self.blocks:
            vectors[: self.blocks] *= np.arange(n) * self.blocks // n == np.arange(self.blocks)[:, None]
        noise = self.noise * rng.standard_normal((self.samples, n))
        return covariance_of(rng.standard_normal((self.samples, count)) @ vectors + noise, False), vectors.T @ vectors


class CovarianceEstimation(Template):
    """A covariance near that of samples, C, by a bound r on a trace and a penalty rho on entries.

    `both`: one matrix that is sparse and of low rank (Richard, Savalle and Vayatis 2012),

        min |X - C|^2 / 2 + rho sum |X_ij|    over X positive semidefinite with tr X <= r.

    `sum`: one of low rank and a sparse one, as of factors that all variables share and what is left between some of
    them (Chandrasekaran, Parrilo and Willsky 2012),

        min |X + S - C|^2 / 2 + rho sum_(i != j) |S_ij|    over X as above with X_ii <= C_ii, and symmetric S.

    There the best S is C - X on the diagonal, and C - X moved to zero by rho off it, which leaves a Huber penalty of
    every X_ij - C_ij with i != j, as a problem in X alone.
    """

    iterate = "dense"

    class Spec(TemplateSpec):
        template: Literal["covariance-estimation"]
        covariance: Annotated[RandomSamples | ArrayField | None, ByKeys()] = Field(
            None, description="C, symmetric, or one triangle of it; or {variables: 40, samples: 30} of random samples"
        )
        points: ArrayField | None = Field(None, description="or samples, one per row, whose covariance is taken")
        standardise: bool = Field(False, description="of `points`: their correlations in place of covariances")
        structure: Literal["both", "sum"] = Field(
            "both", description="both: sparse and of low rank; sum: a matrix of low rank and a sparse one"
        )
        penalty: Positive = Field(description="rho, of the entries")
        radius: Positive | None = Field(
            None, description="r, the bound on the trace; left out, with `both`: the trace of C"
        )

        examples: ClassVar[list[dict[str, Any]]] = [
            {
                "template": "covariance-estimation",
                "covariance": {"variables": 24, "samples": 20, "blocks": 4},
                "penalty": 0.3,
                "radius": 24.0,
            },
            {
                "template": "covariance-estimation",
                "covariance": [[2.0, 1.0, 0.9], [1.0, 2.0, 0.2], [0.9, 0.2, 1.0]],
                "structure": "sum",
                "penalty": 0.2,
                "radius": 2.0,
            },
            {
                "template": "covariance-estimation",
                "points": [[1.0, 2.0, 0.0], [-1.0, -2.0, 1.0], [0.0, 1.0, -1.0]],
                "standardise": True,
                "penalty": 0.1,
            },
        ]

        @model_validator(mode="after")
        def _fits(self) -> Self:
            if (self.covariance is None) == (self.points is None):
                raise ValueError("give a `covariance` or `points`, and not both")
            if self.structure == "sum" and self.radius is None:
                raise ValueError("`structure: sum` needs a `radius`: how much of the trace of C is of low rank")
            return self

        def build(self, context: BuildContext) -> CovarianceEstimation:
            (covariance, names), truth = self._read(context)
            n = len(covariance)
            # C, x, its images, multipliers, and what projections need.
            context.reserve("matrices", 8 * 16 * covariance.size)
            if (covariance.diagonal() < 0.0).any():
                raise ProblemError(f"a variance is at least 0, and one is {covariance.diagonal().min():g}")
            if self.structure == "sum" and n == 1:
                raise ProblemError("of one variable there is nothing off the diagonal: `structure: both`")
            radius = float(np.trace(covariance)) if self.radius is None else self.radius
            if radius == 0.0:
                raise ProblemError("no variable varies: the covariance is 0")
            return CovarianceEstimation(covariance, self.structure, self.penalty, radius, truth, names)

        def _read(self, context: BuildContext) -> tuple[Covariance, np.ndarray | None]:
            """C, and what samples were drawn from, if they were."""
            if not isinstance(self.covariance, RandomSamples):
                return read_covariance(context, self.covariance, self.points, self.standardise), None
            with located("covariance"):
                context.reserve("covariance", 2 * 8 * self.covariance.variables**2)
                covariance, truth = self.covariance.drawn(context)
            spread = self.covariance.noise**2 * np.eye(len(truth))
            return Covariance(covariance), truth if self.structure == "both" else truth + spread

    measures = (
        Metric("rank", "eigenvalues of X that are not negligible"),
        Metric("nonzeros", "share of the entries off the diagonal, of X or S, that are not negligible"),
        Metric("error", "|estimate - truth| over |truth|, of random samples", "lower"),
        Metric("sample_error", "the same of C"),
    )
    views = (
        Heatmap("the estimate", "estimate"),
        Heatmap("the part of low rank", "low_rank"),
        Heatmap("the sparse part", "sparse"),
    )

    listing = Listing("estimate", "variable", "estimates")

    def __init__(
        self,
        covariance: np.ndarray,
        structure: str,
        penalty: float,
        radius: float,
        truth: np.ndarray | None = None,
        names: list[str] | None = None,
    ):
        """covariance, truth: symmetric (n, n), of two variables at least with the structure `sum`. names: of them."""
        self.covariance, self.structure, self.penalty, self.truth = covariance, structure, penalty, truth
        self.names = names
        n, shape = len(covariance), covariance.shape
        domain = PSDTrace(n, radius, fixed_trace=False)
        if structure == "both":
            sparsity = Term("sparsity", Identity(shape), L1Norm(shape, penalty))
            self.problem = CompositeProblem(domain, LeastSquares(Identity(shape), covariance), (sparsity,))
            return
        off = np.flatnonzero(~np.eye(n, dtype=bool))
        beside = Shifted(Huber(off.shape, penalty, penalty), covariance.reshape(-1)[off])
        variances = BoxSet((n,), np.full(n, -np.inf), covariance.diagonal())
        self.problem = CompositeProblem(
            domain,
            terms=(Term("beside", Sampling(off, shape), beside), Term("variances", Diagonal(shape), variances)),
        )

    def metrics(self, iterate: Iterate) -> Mapping[str, float]:
        if self.truth is None:
            return {}
        scale = float(np.linalg.norm(self.truth)) or 1.0
        x = iterate.point.dense()
        found = x if self.structure == "both" else x + self.sparse_part(x)
        errors = {"error": found, "sample_error": self.covariance}
        return {name: float(np.linalg.norm(each - self.truth)) / scale for name, each in errors.items()}

    def round(
        self, iterate: Iterate, bound: float | None, rng: np.random.Generator, deadline: Deadline = NEVER
    ) -> Rounding:
        """estimate (n, n): X; with `sum`, X + S, and low_rank and sparse are its parts."""
        x = iterate.point.dense()
        x = 0.5 * (x + x.T)
        values = np.linalg.eigvalsh(x)
        sparse = x if self.structure == "both" else self.sparse_part(x)
        off = np.abs(sparse[~np.eye(len(x), dtype=bool)])
        figures = {
            "rank": float(np.count_nonzero(values > NEGLIGIBLE * values.max())),
            "nonzeros": float(np.mean(off > NEGLIGIBLE * np.abs(self.covariance).max())) if off.size else 0.0,
        }
        if self.structure == "both":
            return Rounding(figures, {"estimate": x, **named_arrays(self.names)})
        parts = {"estimate": x + sparse, "low_rank": x, "sparse": sparse}
        return Rounding(figures, {**parts, **named_arrays(self.names)})

    def sparse_part(self, x: np.ndarray) -> np.ndarray:
        """The best S beside X, of the structure `sum`."""
        rest = self.covariance - x
        sparse = np.sign(rest) * np.maximum(np.abs(rest) - self.penalty, 0.0)
        np.fill_diagonal(sparse, rest.diagonal())
        return sparse
