"""The nearest correlation matrix: what is positive semidefinite with a diagonal of ones, as near as can be."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Literal

import numpy as np
import scipy.sparse as sp
from pydantic import Field

from cgm_cli.blocks.domains.psd import PSDTrace
from cgm_cli.blocks.fitting import named
from cgm_cli.blocks.iterates import Iterate
from cgm_cli.blocks.losses.least_squares import LeastSquares
from cgm_cli.blocks.maps.diagonal import Diagonal
from cgm_cli.blocks.maps.identity import Identity
from cgm_cli.blocks.maps.matrix import MatrixMap
from cgm_cli.blocks.maps.sampling import Sampling
from cgm_cli.blocks.penalties.equals import Equals
from cgm_cli.blocks.problem import CompositeProblem, Term
from cgm_cli.errors import ErrorCollector, ProblemError
from cgm_cli.numerics.deadline import NEVER, Deadline
from cgm_cli.readers.context import BuildContext, called
from cgm_cli.readers.entries import named_arrays
from cgm_cli.solving.rounding import Rounding
from cgm_cli.spec.fields import ArrayField, TemplateSpec
from cgm_cli.spec.metrics import Metric
from cgm_cli.templates.base import Template
from cgm_cli.templates.claims import Claim, CorrelationDistance, DistanceBound
from cgm_cli.templates.listing import Listing
from cgm_cli.templates.spectrahedron_game import symmetric
from cgm_cli.templates.triangular import completed
from cgm_cli.templates.views import Heatmap


class NearestCorrelation(Template):
    """min 1/2 sum_ij (h_ij (X_ij - g_ij))^2 over correlation matrices X: positive semidefinite, with X_ii = 1.

    Higham, IMA J. Numer. Anal. 22, 2002. H weighs the entries, some of which may be unknown, with the weight zero, and
    others be kept as they are. The root of twice the bound is a distance that no correlation matrix is nearer than.

    The answer `correlation` is D X D, D = diag(X_ii^(-1/2)): a correlation matrix up to rounding, where x is one up to
    the tolerance. A factor structure, X = diag + B B^T with few columns of B, is not convex, and not offered.
    """

    iterate = "dense"

    class Spec(TemplateSpec):
        template: Literal["nearest-correlation"]
        matrix: ArrayField = Field(
            description="G, symmetric, or one triangle of it; in a file, what is NaN is unknown, and so is a missing "
            "cell of a table"
        )
        weights: ArrayField = Field(
            1.0,
            description="H, symmetric, at least 0; or a vector w, for h_ij = sqrt(w_i w_j); a number: all the same",
        )
        fixed: ArrayField | None = Field(
            None, description="entries that stay as they are in G: a row and a column, from 0, in each line"
        )

        examples: ClassVar[list[dict[str, Any]]] = [
            {
                "template": "nearest-correlation",
                "matrix": [[2, -1, 0, 0], [-1, 2, -1, 0], [0, -1, 2, -1], [0, 0, -1, 2]],
            },
            {
                "template": "nearest-correlation",
                "matrix": [[1, 0.9, 0.7], [0.9, 1, -0.9], [0.7, -0.9, 1]],
                "weights": [[1, 5, 1], [5, 1, 2], [1, 2, 1]],
            },
            {
                "template": "nearest-correlation",
                "matrix": [[1, 0.9, 0.7], [0.9, 1, -0.4], [0.7, -0.4, 1]],
                "weights": [1, 2, 1],
                "fixed": [[0, 1]],
            },
        ]

        def build(self, context: BuildContext) -> NearestCorrelation:
            faults, target, weights, fixed = ErrorCollector(), np.zeros((0, 0)), np.zeros((0, 0)), None
            with faults.part("matrix"):
                read = context.named_array(self.matrix, copies=8, takes_nan=True)
                target, unknown = _known(completed(context, read.array, called(self.matrix, "the matrix")))
            with faults.part("weights"):
                given = context.array(self.weights)
                given = completed(context, given, called(self.weights, "the weights"))
            faults.raise_all()
            n = len(target)
            # G, H, x, images, and what projections need.
            context.reserve("matrices", 8 * 16 * n * n)
            with faults.part("weights"):
                weights = np.where(unknown, 0.0, _weights(given, n))
                if not weights.any():
                    raise ProblemError("no entry has a weight: every correlation matrix is as near")
            with faults.part("fixed"):
                fixed = None if self.fixed is None else _pairs(context.array(self.fixed), unknown)
            faults.raise_all()
            return NearestCorrelation(target, weights, fixed, read.columns or read.rows)

    measures = (
        Metric("distance", "|H o (C - G)|, the weighted Frobenius norm, of the correlation matrix C", "lower", False),
        Metric("least_distance", "no correlation matrix is nearer: root of twice the certified bound", "higher", False),
        Metric("fixed_error", "the largest |c_ij - g_ij| of the fixed entries", "lower", log=True),
    )

    views = (Heatmap("the nearest correlation matrix", "correlation"),)

    listing = Listing("correlation", "variable", "correlations")

    def __init__(
        self,
        target: np.ndarray,
        weights: np.ndarray,
        fixed: np.ndarray | None = None,
        names: list[str] | None = None,
    ):
        """target, weights: symmetric (n, n); fixed: (k, 2) of rows and columns, above the diagonal, each once. names:
        of the variables.
        """
        self.names = names
        n = len(target)
        shape = (n, n)
        self.target, self.weights, self.fixed = target, weights, fixed
        terms = [Term("diagonal", Diagonal(shape), Equals((n,), np.ones(n)))]
        if fixed is not None:
            rows, columns = fixed.T
            kept = Equals((len(fixed),), target[rows, columns])
            terms.append(Term("fixed", Sampling(rows * n + columns, shape), kept))
        domain = PSDTrace(n, float(n), fixed_trace=True)
        self.problem = CompositeProblem(domain, _distance(target, weights), tuple(terms))

    def round(
        self, iterate: Iterate, bound: float | None, rng: np.random.Generator, deadline: Deadline = NEVER
    ) -> Rounding:
        """correlation (n, n): x, scaled to a diagonal of ones; where that of x is zero, its row and column are."""
        x = iterate.point.dense()
        squares = x.diagonal()
        lengths = np.sqrt(np.where(squares > 0.0, squares, 1.0))
        found = 0.5 * (x + x.T) / np.outer(lengths, lengths)
        np.fill_diagonal(found, 1.0)
        distance = float(np.linalg.norm(self.weights * (found - self.target)))
        metrics = {"distance": distance}
        if bound is not None:
            metrics["least_distance"] = float(np.sqrt(2.0 * max(bound, 0.0)))
        if self.fixed is not None:
            rows, columns = self.fixed.T
            metrics["fixed_error"] = float(np.abs(found - self.target)[rows, columns].max())
        return Rounding(metrics, {"correlation": found, **named_arrays(self.names)})

    def claims(self) -> Sequence[Claim]:
        distance = CorrelationDistance(self.target, self.weights, "correlation")
        return Claim("distance", distance), Claim("least_distance", DistanceBound())


def _distance(target: np.ndarray, weights: np.ndarray) -> LeastSquares:
    """1/2 |H o (X - G)|^2; without a map, where every weight is 1."""
    if (weights == 1.0).all():
        return LeastSquares(Identity(target.shape), target)
    scaling = sp.csr_array(sp.diags_array(weights.reshape(-1)))
    return LeastSquares(MatrixMap(scaling, target.shape), (weights * target).reshape(-1))


def _known(full: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """A matrix with zeros where it is not known, and where that is."""
    if full.ndim != 2 or full.shape[0] != full.shape[1]:
        raise ProblemError(f"a square matrix is needed, and this one is {named(full.shape)}")
    unknown = np.isnan(full)
    if (unknown != unknown.T).any():
        row, column = map(int, np.argwhere(unknown != unknown.T)[0])
        raise ProblemError(f"of entries ({row}, {column}) and ({column}, {row}), counted from 0, one is unknown")
    found = symmetric(np.where(unknown, 0.0, full))
    assert isinstance(found, np.ndarray)
    return found, unknown


def _weights(given: np.ndarray, n: int) -> np.ndarray:
    """H (n, n)."""
    if given.ndim == 0:
        given = np.full((n, n), float(given))
    elif given.shape == (n,):
        if (given < 0.0).any():
            raise ProblemError(f"weights are at least 0, and one is {given.min():g}")
        given = np.sqrt(np.outer(given, given))
    if given.shape != (n, n):
        raise ProblemError(f"the weights are {named(given.shape)}, but the matrix is {named((n, n))}")
    if (given < 0.0).any():
        raise ProblemError(f"weights are at least 0, and one is {given.min():g}")
    found = symmetric(given)
    assert isinstance(found, np.ndarray)
    return found


def _pairs(given: np.ndarray, unknown: np.ndarray) -> np.ndarray:
    """(k, 2): row and column of entries above the diagonal."""
    n, pairs = len(unknown), np.atleast_2d(given)
    if pairs.shape[1] != 2 or (pairs != np.floor(pairs)).any() or pairs.min() < 0 or pairs.max() >= n:
        raise ProblemError(f"fixed entries are pairs of a row and a column, whole numbers from 0 to {n - 1}")
    pairs = np.unique(np.sort(pairs.astype(int), axis=1), axis=0)
    if (pairs[:, 0] == pairs[:, 1]).any():
        raise ProblemError("the entries of the diagonal are fixed already, to 1")
    if (lost := unknown[pairs[:, 0], pairs[:, 1]]).any():
        row, column = map(int, pairs[np.flatnonzero(lost)[0]])
        raise ProblemError(f"entry ({row}, {column}) is unknown, and cannot stay as it is")
    return pairs
