"""What the linear models share: how well w fits the samples, as a loss or a term, the domain of w, and the metrics."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from cgm_cli.blocks.domains.base import Domain
from cgm_cli.blocks.domains.norm_balls import L1Ball, L2Ball, LinfBall
from cgm_cli.blocks.domains.simplex import Simplex
from cgm_cli.blocks.iterates import DenseIterate, Iterate
from cgm_cli.blocks.losses.base import Loss
from cgm_cli.blocks.losses.least_squares import LeastSquares
from cgm_cli.blocks.losses.logistic import Logistic
from cgm_cli.blocks.maps.matrix import MatrixMap
from cgm_cli.blocks.penalties.hinge import Hinge
from cgm_cli.blocks.penalties.norms import L1Norm
from cgm_cli.blocks.penalties.shifted import Shifted
from cgm_cli.blocks.problem import CompositeProblem, Term
from cgm_cli.numerics.deadline import NEVER, Deadline
from cgm_cli.readers.entries import named_arrays
from cgm_cli.solving.rounding import Rounding
from cgm_cli.spec.metrics import Metric
from cgm_cli.templates.base import Template
from cgm_cli.templates.listing import Listing
from cgm_cli.templates.tables import SampleTable

CLASSES = {"least-squares": False, "logistic": True, "absolute": False, "hinge": True}
"""The kinds of fit, and whether the target is a class."""

NEGLIGIBLE = 1e-3
"""Weights smaller than this part of the largest count as zero: a conditional-gradient iterate keeps traces of every
atom."""

_ERROR = "mean squared (absolute deviations: absolute) error, or of classes the fraction on the wrong side"


def ball(kind: str, size: int, radius: float) -> Domain:
    """The ball (or simplex) called `kind` of vectors of `size` entries."""
    if kind == "simplex":
        return Simplex(size, radius)
    return {"l1": L1Ball, "l2": L2Ball, "linf": LinfBall}[kind]((size,), radius)


class LinearModel(Template):
    """min over w in a domain of the mean loss of X w against the target, plus penalties.

    The means: 1/2 (z - y)^2 for `least-squares`, log(1 + exp(-y z)) for `logistic`, |z - y| for `absolute`,
    max(0, 1 - y z) for `hinge`, with z = X w. There is no intercept: standardised features and targets need none.
    """

    iterate = "dense"
    listing = Listing("x", "feature", "coefficient")

    measures = (
        Metric("train_error", f"{_ERROR}, over the samples of the objective", "lower", log=True),
        Metric("test_error", f"{_ERROR}, over those held out", "lower", log=True),
        Metric("nonzeros", "number of weights that are not negligible"),
    )

    def __init__(
        self, table: SampleTable, fit: str, domain: Domain, penalties: tuple[Term, ...] = (), ridge: float = 0.0
    ):
        """fit: a key of CLASSES. ridge: adds ridge / 2 |w|^2 to least squares."""
        self.table, self.fit = table, fit
        loss, terms = None, penalties
        if fit == "least-squares":
            loss = _least_squares(table, ridge)
        elif fit == "logistic":
            loss = Logistic(MatrixMap(table.features, domain.shape), table.target)
        else:
            terms = (Term("fit", MatrixMap(table.features, domain.shape), _penalty(table, fit)), *penalties)
        self.problem = CompositeProblem(domain, loss, terms)

    def metrics(self, iterate: DenseIterate) -> Mapping[str, float]:
        """train_error and, with a test set, test_error: the mean squared (absolute) error of `least-squares`
        (`absolute`), else the fraction of the samples on the wrong side. nonzeros: weights that are not negligible.
        """
        w, table = iterate.array, self.table
        found = {"train_error": self.error(table.features @ w, table.target)}
        if table.test_target.size:
            found["test_error"] = self.error(table.test_features @ w, table.test_target)
        size = np.abs(w)
        return {**found, "nonzeros": float(np.count_nonzero(size > NEGLIGIBLE * size.max()))}

    def round(
        self, iterate: Iterate, bound: float | None, rng: np.random.Generator, deadline: Deadline = NEVER
    ) -> Rounding:
        """Nothing is rounded: the answer is w. With it goes what its entries are called."""
        return Rounding(arrays=named_arrays(self.table.names))

    def error(self, z: np.ndarray, target: np.ndarray) -> float:
        """The error of predictions z."""
        if CLASSES[self.fit]:
            return float(np.mean(z * target <= 0.0))
        gap = np.abs(z - target)
        return float(np.mean(gap if self.fit == "absolute" else gap**2))


def _least_squares(table: SampleTable, ridge: float) -> Loss:
    """|X w - y|^2 / (2 m) + ridge / 2 |w|^2, as the least squares of one matrix."""
    scale, matrix, target = np.sqrt(table.samples), table.features, table.target
    matrix, target = matrix / scale, target / scale
    if ridge > 0.0:
        matrix = np.vstack([matrix, np.sqrt(ridge) * np.eye(table.size)])
        target = np.concatenate([target, np.zeros(table.size)])
    return LeastSquares(MatrixMap(matrix, (table.size,)), target)


def _penalty(table: SampleTable, fit: str) -> Hinge | Shifted:
    shape = (table.samples,)
    if fit == "hinge":
        return Hinge(shape, 1.0, table.target, mean=True)
    return Shifted(L1Norm(shape, 1.0 / table.samples), table.target)
