"""Maximum-margin learning of labels, of points by themselves or in sequences (Taskar, Guestrin and Koller 2003)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar, Literal

import numpy as np
import scipy.sparse as sp
from pydantic import Field, model_validator

from cgm_cli.blocks.domains.chain_marginals import ChainMarginals
from cgm_cli.blocks.domains.product import Product
from cgm_cli.blocks.domains.simplex import Simplex
from cgm_cli.blocks.fitting import named
from cgm_cli.blocks.iterates import DenseIterate, Iterate
from cgm_cli.blocks.losses.factored_quadratic import FactoredQuadratic
from cgm_cli.blocks.problem import CompositeProblem
from cgm_cli.errors import DataError, ProblemError
from cgm_cli.numerics.deadline import NEVER, Deadline
from cgm_cli.numerics.viterbi import cheapest_path
from cgm_cli.readers.context import BuildContext
from cgm_cli.solving.rounding import Rounding
from cgm_cli.spec.fields import ArrayField, Positive, TemplateSpec
from cgm_cli.spec.metrics import Metric
from cgm_cli.templates.base import Template
from cgm_cli.templates.max_margin import iris, label_margins
from cgm_cli.templates.sequences import Sequences, digit_sequences, digits, grouped, single
from cgm_cli.text import counted

SHIPPED = ("iris", "digits", "digit-sequences")
"""Points that come with their labels, of scikit-learn."""


class StructuredSVM(Template):
    """min over w of t / 2 |w|^2 + the mean over i of max over y of [L_i(y) + <w, phi(x_i, y) - phi(x_i, y_i)>].

    y are all labellings of the sequence x_i, L_i(y) the fraction of labels that are wrong, and phi(x, y) adds up the
    points of each label, and counts neighbours of each two labels. A sequence of one point makes it the multiclass
    support vector machine of Crammer and Singer (2001), with C = 1 / (t n). Solved is the dual, of the same value: with
    mu_i the marginals of a distribution of labellings of sequence i,

        max of <b, mu> - |F mu|^2 / 2,    w = -F mu / sqrt(t),

    over a product of simplices, or of marginal polytopes of chains, whose oracle is decoding with L_i added to the
    scores. The bound of a mu is the objective of its w. Points get a last entry 1.
    """

    iterate = "dense"

    class Spec(TemplateSpec):
        template: Literal["structured-svm"]
        points: ArrayField | Literal["iris", "digits", "digit-sequences"] = Field(
            description="one point per row; or scikit-learn's `iris`, standardised, or `digits`, with their labels; or "
            "`digit-sequences` drawn of those, each five digits that mostly count up"
        )
        labels: ArrayField | None = Field(None, description="the label of each point, any numbers")
        sequences: ArrayField | None = Field(
            None, description="the number of the sequence of each point, in the order of rows; left out: one for each"
        )
        regularisation: Positive = Field(0.01, description="t, what |w|^2 / 2 is weighed by")
        test_fraction: float = Field(0.0, ge=0, lt=1, description="of the sequences held out, drawn by the seed")

        examples: ClassVar[list[dict[str, Any]]] = [
            {"template": "structured-svm", "points": "iris", "test_fraction": 0.2},
            {
                "template": "structured-svm",
                "points": [[0.0], [1.0], [2.0], [1.0], [0.5]],
                "labels": [0, 1, 2, 1, 0],
                "sequences": [0, 0, 0, 1, 1],
                "regularisation": 0.1,
            },
        ]

        @model_validator(mode="after")
        def _labels_of_points(self):
            if (self.points in SHIPPED) != (self.labels is None):
                raise ValueError(f"points need `labels`, and {', '.join(SHIPPED)} come with their own")
            if self.sequences is not None and self.labels is None:
                raise ValueError(f"`sequences` are of points of your own: {self.points} come as they are")
            return self

        def build(self, context: BuildContext) -> StructuredSVM:
            found = self._read(context)
            labels = np.unique(found.labels, return_inverse=True)[1]
            classes, (count, size) = int(labels.max()) + 1, found.points.shape
            if classes == 1:
                raise ProblemError("there is one label only: nothing to tell apart", ("labels",))
            entries = count * classes * (2 * (size + 1) + (0 if found.are_single else 2 * classes))
            context.reserve("features of labellings", 3 * 12 * entries)
            found = Sequences(found.points, labels, found.lengths)
            order = np.random.default_rng([context.seed, 6]).permutation(found.count)
            held_out = round(self.test_fraction * found.count)
            if held_out == found.count:
                raise ProblemError("no sequence is left to train on", ("test_fraction",))
            train = np.arange(found.count) if held_out == 0 else order[held_out:]
            return StructuredSVM(found.at(train), classes, self.regularisation, found.at(order[:held_out]))

        def _read(self, context: BuildContext) -> Sequences:
            if self.points == "digit-sequences":
                return digit_sequences(np.random.default_rng([context.seed, 7]))
            if isinstance(self.points, str):
                return single(*{"iris": iris, "digits": digits}[self.points]())
            assert self.labels is not None
            points, labels = context.labelled(self.points, self.labels)
            if points.ndim != 2:
                raise DataError(
                    f"the points must be a matrix with one point per row, not {named(points.shape)}", ("points",)
                )
            labels = labels.reshape(-1)
            if labels.size != points.shape[0]:
                raise ProblemError(
                    f"{counted(labels.size, 'label')} of {counted(points.shape[0], 'point')}: each needs one",
                    ("labels",),
                )
            if self.sequences is None:
                return single(points, labels)
            groups = context.array(self.sequences)
            if groups.size != labels.size:
                raise ProblemError(
                    f"{counted(groups.size, 'number')} for {counted(labels.size, 'point')}: each needs one",
                    ("sequences",),
                )
            return grouped(points, labels, groups.reshape(-1))

    measures = (
        Metric("train_error", "fraction of the labels that are wrong, in the sequences of the objective", "lower"),
        Metric("test_error", "the same of those held out", "lower"),
        Metric("loss", "the objective of the support vector machine at w, which no w has below the bound", "lower"),
    )

    def __init__(self, train: Sequences, classes: int, regularisation: float, test: Sequences):
        """Labels are 0 to `classes` less one; `test` may be empty."""
        self.train, self.test, self.classes, self.regularisation = train, test, classes, regularisation
        self.order = _order(train, classes)
        features = _features(train, classes)[self.order]
        n = train.count
        factor = sp.csc_array(features.T) / (np.sqrt(regularisation) * n)
        wrong = np.arange(classes) != train.labels[:, None]
        lengths = np.repeat(train.lengths, train.lengths)
        self.costs = wrong / lengths[:, None]
        linear = np.zeros(features.shape[0])
        linear[: self.costs.size] = -self.costs.reshape(-1) / n
        self.problem = CompositeProblem(
            Product(tuple(_labellings(int(length), classes) for length in train.lengths)),
            FactoredQuadratic(factor, linear[self.order], (features.shape[0],)),
            sense="maximise",
        )

    def metrics(self, iterate: DenseIterate) -> Mapping[str, float]:
        weights, transitions = self._weights(iterate.array)
        found = {"train_error": self._error(self.train, weights, transitions)}
        if self.test.count:
            found["test_error"] = self._error(self.test, weights, transitions)
        return found

    def round(
        self, iterate: Iterate, bound: float | None, rng: np.random.Generator, deadline: Deadline = NEVER
    ) -> Rounding:
        """weights (K, d + 1), and transitions (K, K) of sequences: w. labels: of the points held out, or of all."""
        weights, transitions = self._weights(iterate.point.dense())
        shown = self.test if self.test.count else self.train
        arrays = {"weights": weights, "classes": self._labels(shown, _scores(shown, weights), transitions)}
        if not self.train.are_single:
            arrays["transitions"] = transitions
        return Rounding({"loss": self.objective(weights, transitions)}, arrays)

    def objective(self, weights: np.ndarray, transitions: np.ndarray) -> float:
        """What is minimised over w, at weights (K, d + 1) and transitions (K, K)."""
        train, scores = self.train, _scores(self.train, weights)
        most = 0.0
        for start, worst in zip(train.starts, self._decoded(train, scores + self.costs, transitions), strict=True):
            rows, own = np.arange(start, start + worst.size), train.labels[start : start + worst.size]
            most += float((scores[rows, worst] + self.costs[rows, worst] - scores[rows, own]).sum())
            most += float((transitions[worst[:-1], worst[1:]] - transitions[own[:-1], own[1:]]).sum())
        squares = float(np.square(weights).sum() + np.square(transitions).sum())
        return 0.5 * self.regularisation * squares + most / train.count

    def _weights(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """w of the marginals x."""
        loss = self.problem.loss
        assert loss is not None
        w = -loss.map.forward(x)[:-1] / np.sqrt(self.regularisation)
        size = self.classes * (self.train.points.shape[1] + 1)
        transitions = np.zeros(self.classes**2) if self.train.are_single else w[size:]
        return w[:size].reshape(self.classes, -1), transitions.reshape(self.classes, self.classes)

    def _error(self, sequences: Sequences, weights: np.ndarray, transitions: np.ndarray) -> float:
        found = self._labels(sequences, _scores(sequences, weights), transitions)
        return float(np.mean(found != sequences.labels))

    def _labels(self, sequences: Sequences, scores: np.ndarray, transitions: np.ndarray) -> np.ndarray:
        return np.concatenate(list(self._decoded(sequences, scores, transitions)))

    def _decoded(self, sequences: Sequences, scores: np.ndarray, transitions: np.ndarray) -> Iterator[np.ndarray]:
        """The best labelling of each, by the scores (N, K) of labels and those of neighbours."""
        for start, length in zip(sequences.starts, sequences.lengths, strict=True):
            between = np.broadcast_to(-transitions, (length - 1, *transitions.shape))
            yield cheapest_path(-scores[start : start + length], between)[0]


def _with_one(points: np.ndarray) -> np.ndarray:
    return np.column_stack([points, np.ones(len(points))])


def _scores(sequences: Sequences, weights: np.ndarray) -> np.ndarray:
    """(N, K), of points and labels."""
    return _with_one(sequences.points) @ weights.T


def _labellings(length: int, classes: int) -> Simplex | ChainMarginals:
    return Simplex(classes) if length == 1 else ChainMarginals(length, classes)


def _features(sequences: Sequences, classes: int) -> sp.csr_array:
    """phi with one label changed less phi of the true ones: a row for each point and label, then, where there are
    neighbours, for each two of them and their labels; columns are the weights, then the transitions.
    """
    labels = sequences.labels
    points = label_margins(_with_one(sequences.points), labels, classes)
    if sequences.are_single:
        return points
    first = _firsts(sequences)
    own = np.repeat(labels[first] * classes + labels[first + 1], classes**2)
    pairs = sp.csr_array(sp.vstack([sp.eye_array(classes**2)] * first.size))
    truth = sp.csr_array((np.ones(own.size), (np.arange(own.size), own)), shape=(own.size, classes**2))
    return sp.csr_array(sp.block_diag([points, pairs - truth]))


def _firsts(sequences: Sequences) -> np.ndarray:
    """The points that have one after them in their sequence."""
    last = sequences.starts + sequences.lengths - 1
    return np.setdiff1d(np.arange(sequences.labels.size), last)


def _order(sequences: Sequences, classes: int) -> np.ndarray:
    """Of the entries of a point of the product, which row of `_features` each is: sequence by sequence, first points,
    then neighbours.
    """
    places = np.repeat(np.arange(sequences.count), sequences.lengths)
    pairs = places[_firsts(sequences)]
    owners = np.concatenate([np.repeat(places, classes), np.repeat(pairs, classes**2)])
    return np.argsort(owners, kind="stable")
