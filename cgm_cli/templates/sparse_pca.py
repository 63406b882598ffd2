"""Sparse principal components: the semidefinite relaxation of d'Aspremont, El Ghaoui, Jordan and Lanckriet."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated, Any, ClassVar, Literal, Self

import numpy as np
from pydantic import Field, model_validator

from cgm_cli.blocks.domains.psd import PSDTrace
from cgm_cli.blocks.iterates import Iterate
from cgm_cli.blocks.losses.linear import Linear
from cgm_cli.blocks.maps.identity import Identity
from cgm_cli.blocks.penalties.balls import L1BallSet
from cgm_cli.blocks.penalties.norms import L1Norm
from cgm_cli.blocks.problem import CompositeProblem, Term
from cgm_cli.errors import ProblemError, located
from cgm_cli.numerics.deadline import NEVER, Deadline
from cgm_cli.readers.context import BuildContext
from cgm_cli.readers.entries import named_arrays
from cgm_cli.solving.rounding import Rounding, certified_ratio
from cgm_cli.spec.fields import ArrayField, ByKeys, NonNegative, Positive, Size, StrictModel, TemplateSpec
from cgm_cli.spec.metrics import Metric
from cgm_cli.templates.base import Template
from cgm_cli.templates.claims import AgainstBound, Claim, ExplainedVariance
from cgm_cli.templates.covariances import Covariance, covariance_of, read_covariance
from cgm_cli.templates.listing import Listing
from cgm_cli.templates.pitprops import NAMES, pitprops
from cgm_cli.templates.sparse_components import needed, penalised_variance, sparse_vector

PARALLEL = 1e-9
"""A direction to deflate by counts as new where so much of its length is left outside of the others."""


class RandomGenes(StrictModel):
    """Samples drawn from the seed of the spec: noise of variance 1, and factors that a few genes each take part in."""

    genes: Size = Field(description="n, the number of variables")
    samples: Size = Field(200, description="from which their covariance is taken")
    factors: Size = Field(3, description="how many factors, each with genes of its own")
    active: Size = Field(10, description="genes of a factor")
    strength: NonNegative = Field(2.0, description="deviation of the first factor; of the others each a tenth less")

    @model_validator(mode="after")
    def _fits(self) -> Self:
        if self.factors * self.active > self.genes:
            raise ValueError(f"{self.factors} factors of {self.active} genes are more than {self.genes} genes")
        return self

    def covariance(self, context: BuildContext) -> np.ndarray:
        context.reserve("samples", 8 * 2 * self.samples * self.genes)
        rng = np.random.default_rng([context.seed, 12])
        points = rng.standard_normal((self.samples, self.genes))
        chosen = rng.permutation(self.genes)[: self.factors * self.active].reshape(self.factors, self.active)
        for number, genes in enumerate(chosen):
            deviation = self.strength * 0.9**number
            signs = rng.choice([-1.0, 1.0], size=self.active)
            points[:, genes] += deviation * rng.standard_normal((self.samples, 1)) * signs
        return covariance_of(points, standardise=False)


class SparsePCA(Template):
    """max <S, X> - rho sum |X_ij|, or max <S, X> subject to sum |X_ij| <= k, over X positive semidefinite of trace 1.

    d'Aspremont, El Ghaoui, Jordan and Lanckriet, SIAM Review 49, 2007. S is a covariance. For a unit vector x of at
    most k entries that are not zero, X = x x^T is feasible, with <S, X> the variance x^T S x of its component: so the
    optimum of the second form bounds every such variance from above, and that of the first every
    x^T S x - rho (sum |x_i|)^2.

    With `penalty`, variables that the optimum does not need are left out first: those that no |S_ij| > rho joins to
    the one of largest variance, nor to others whose bound passes that variance. x is then the matrix of the others.
    More components are found by deflation: S is projected onto what is orthogonal to those in `deflate` (Mackey 2008).
    """

    iterate = "dense"

    class Spec(TemplateSpec):
        template: Literal["sparse-pca"]
        covariance: Annotated[Literal["pitprops"] | RandomGenes | ArrayField | None, ByKeys()] = Field(
            None,
            description="S, symmetric, or one triangle of it; `pitprops`: correlations of 13 measurements (Jeffers "
            "1967); or {genes: 500} of random samples",
        )
        points: ArrayField | None = Field(None, description="or samples, one per row, whose covariance is taken")
        standardise: bool = Field(False, description="of `points`: their correlations in place of covariances")
        cardinality: Annotated[float, Field(ge=1, allow_inf_nan=False)] | None = Field(
            None, description="k, the number of variables of a component"
        )
        penalty: Positive | None = Field(None, description="or rho, by which sum |X_ij| is penalised")
        deflate: list[ArrayField] = Field(
            default_factory=list,
            description="components that are there already, each a vector, or the rows of a matrix: such as "
            "{file: run.h5, key: solution/loadings} of another run",
        )

        examples: ClassVar[list[dict[str, Any]]] = [
            {"template": "sparse-pca", "covariance": "pitprops", "cardinality": 5},
            {"template": "sparse-pca", "covariance": "pitprops", "penalty": 0.1},
            {
                "template": "sparse-pca",
                "points": [[1.0, 2.0, 0.0], [-1.0, -2.0, 1.0], [0.0, 1.0, -1.0]],
                "standardise": True,
                "cardinality": 2,
                "deflate": [[0.0, 0.0, 1.0]],
            },
            {"template": "sparse-pca", "covariance": {"genes": 60, "samples": 50}, "penalty": 0.8},
        ]

        @model_validator(mode="after")
        def _one_of_each(self) -> Self:
            if (self.covariance is None) == (self.points is None):
                raise ValueError("give a `covariance` or `points`, and not both")
            if (self.cardinality is None) == (self.penalty is None):
                raise ValueError("give a `cardinality` or a `penalty`, and not both")
            return self

        def build(self, context: BuildContext) -> SparsePCA:
            covariance, names = self._covariance(context)
            if self.deflate:
                covariance = _deflated(covariance, self._components(context, len(covariance)))
            if not covariance.any():
                raise ProblemError("no variance is left: every component has the value 0")
            # The cost, x, what is smoothed, products and images.
            context.reserve("matrices", 8 * 12 * covariance.size)
            return SparsePCA(covariance, self.cardinality, self.penalty, names)

        def _covariance(self, context: BuildContext) -> Covariance:
            if self.covariance == "pitprops":
                return Covariance(pitprops(), list(NAMES))
            if isinstance(self.covariance, RandomGenes):
                with located("covariance"):
                    context.reserve("covariance", 8 * self.covariance.genes**2)
                    return Covariance(self.covariance.covariance(context))
            return read_covariance(context, self.covariance, self.points, self.standardise)

        def _components(self, context: BuildContext, n: int) -> np.ndarray:
            rows = list[np.ndarray]()
            for number, value in enumerate(self.deflate):
                with located("deflate", number):
                    found = np.atleast_2d(context.array(value))
                    if found.shape[1] != n:
                        raise ProblemError(f"a component has {n} entries here, and this one {found.shape[1]}")
                    rows.append(found)
            return np.vstack(rows)

    measures = (
        Metric("explained_variance", "x^T S x of the sparse unit vector x", "higher", comparable=False),
        Metric("explained_share", "the same over tr S, the variance of all variables", "higher"),
        Metric("penalised_variance", "x^T S x - rho (sum |x_i|)^2, with `penalty`", "higher", comparable=False),
        Metric("nonzeros", "variables of x", "lower"),
        Metric("certified_ratio", "the value at x x^T over the certified bound: over the best it is no less", "higher"),
    )

    listing = Listing("loadings", "variable", "loading")

    def __init__(
        self,
        covariance: np.ndarray,
        cardinality: float | None = None,
        penalty: float | None = None,
        names: list[str] | None = None,
    ):
        """covariance: symmetric (n, n), not zero. A cardinality, at least 1, or a penalty. names: of variables."""
        self.covariance, self.names = covariance, names
        self.penalty = penalty or 0.0
        self.most = None if cardinality is None else math.floor(cardinality)
        self.variables = np.arange(len(covariance)) if penalty is None else needed(covariance, penalty)
        inner = covariance[np.ix_(self.variables, self.variables)]
        shape = inner.shape
        if penalty is None:
            assert cardinality is not None
            sparsity = Term("sparsity", Identity(shape), L1BallSet(shape, cardinality))
        else:
            sparsity = Term("sparsity", Identity(shape), L1Norm(shape, penalty))
        self.problem = CompositeProblem(
            PSDTrace(len(inner), 1.0, fixed_trace=True), Linear(-inner, shape), (sparsity,), sense="maximise"
        )

    def round(
        self, iterate: Iterate, bound: float | None, rng: np.random.Generator, deadline: Deadline = NEVER
    ) -> Rounding:
        """loadings (n,): x, of length 1, its largest entry positive."""
        values, vectors = np.linalg.eigh(iterate.point.dense())
        guess = vectors[:, int(np.argmax(values))]
        inner = self.covariance[np.ix_(self.variables, self.variables)]
        loadings = np.zeros(len(self.covariance))
        loadings[self.variables] = sparse_vector(inner, guess, self.most, self.penalty)
        loadings *= np.sign(loadings[np.argmax(np.abs(loadings))])
        value = penalised_variance(self.covariance, loadings, self.penalty)
        variance = penalised_variance(self.covariance, loadings, 0.0)
        metrics = {"explained_variance": variance, "nonzeros": float(np.count_nonzero(loadings))}
        if self._total > 0.0:
            metrics["explained_share"] = variance / self._total
        if self.penalty:
            metrics["penalised_variance"] = value
        metrics |= certified_ratio(value, bound, float(abs(self.covariance).sum()))
        return Rounding(metrics, {"loadings": loadings, **named_arrays(self.names)})

    @property
    def _total(self) -> float:
        return float(np.trace(self.covariance))

    def claims(self) -> Sequence[Claim]:
        plain = ExplainedVariance(self.covariance, "loadings", most=self.most)
        value = replace(plain, penalty=self.penalty)
        penalised = (Claim("penalised_variance", value, limit=1.0),) if self.penalty else ()
        return (
            Claim("explained_variance", plain, limit=None if self.penalty else 1.0),
            Claim("explained_share", replace(plain, whole=self._total)),
            *penalised,
            Claim("certified_ratio", AgainstBound(value, "ratio")),
        )


def _deflated(covariance: np.ndarray, components: np.ndarray) -> np.ndarray:
    """P S P, P the projection onto what is orthogonal to the rows of `components`."""
    left, values, _ = np.linalg.svd(components.T, full_matrices=False)
    basis = left[:, values > PARALLEL * values.max(initial=0.0)]
    inside = covariance - basis @ (basis.T @ covariance)
    inside -= (inside @ basis) @ basis.T
    return 0.5 * (inside + inside.T)
