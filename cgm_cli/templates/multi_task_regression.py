"""Regression of several targets at once by a bound on the trace norm of their weights (Pong, Tseng, Ji and Ye 2010)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
import scipy.sparse as sp
from pydantic import Field

from cgm_cli.blocks.domains.nuclear import NuclearBall
from cgm_cli.blocks.fitting import named
from cgm_cli.blocks.iterates import Iterate
from cgm_cli.blocks.losses.least_squares import LeastSquares
from cgm_cli.blocks.maps.base import LinearMap
from cgm_cli.blocks.maps.kronecker import Kronecker
from cgm_cli.blocks.maps.matrix import MatrixMap
from cgm_cli.blocks.problem import CompositeProblem
from cgm_cli.errors import ErrorCollector, ProblemError, located
from cgm_cli.numerics.deadline import NEVER, Deadline
from cgm_cli.readers.checks import finished
from cgm_cli.readers.context import BuildContext
from cgm_cli.readers.entries import named_arrays
from cgm_cli.solving.rounding import Rounding
from cgm_cli.spec.fields import (
    ArrayField,
    ByKeys,
    ColumnName,
    NonNegative,
    Positive,
    Size,
    StrictModel,
    TableOptions,
    TemplateSpec,
)
from cgm_cli.spec.metrics import Metric
from cgm_cli.templates.base import Template
from cgm_cli.templates.listing import Listing
from cgm_cli.templates.tables import standardised
from cgm_cli.text import counted, visible

NEGLIGIBLE = 1e-2
"""Singular values smaller than this part of the largest do not count for the rank."""


class TaskArrays(StrictModel):
    """Samples of the user's own."""

    features: ArrayField = Field(description="one row per sample")
    targets: ArrayField = Field(description="the same rows, one column per task; in a file NaN where it is not known")


class TaskFile(TableOptions):
    """Features and targets in one table."""

    file: str = Field(min_length=1, description="a table (.csv, .tsv, .txt, .parquet, .feather, .xlsx)")
    targets: list[ColumnName] = Field(
        min_length=1, description="headings or numbers of the columns of the tasks, whose cells may be missing"
    )


class RandomTasks(StrictModel):
    """Weights of low rank, samples with independent features, and noise; drawn by the seed."""

    samples: Size = Field(description="rows of the table")
    features: Size = Field(description="of each sample")
    tasks: Size = Field(description="targets of each sample")
    rank: Size = Field(description="of the weights")
    noise: NonNegative = Field(0.0, description="of a target, in deviations of what it is without")
    missing: float = Field(0.0, ge=0, lt=1, description="fraction of the targets that are not known")


@dataclass(frozen=True)
class TaskTable:
    """features (m, d), targets (m, T), NaN where they are not known; what tasks are called, or None."""

    features: np.ndarray
    targets: np.ndarray
    names: list[str] | None = None

    def at(self, rows: np.ndarray | slice) -> TaskTable:
        """Some of the samples."""
        return TaskTable(self.features[rows], self.targets[rows], self.names)


class MultiTaskRegression(Template):
    """min over |W|_* <= r of the mean of (<x_i, w_t> - y_it)^2 / 2 over what is known, W (d, T) with a column per task.

    The bound on the sum of singular values leaves W a low rank: tasks share a few directions of the features (Argyriou,
    Evgeniou and Pontil 2008). A sample may have targets of some of the tasks only, or of one.
    """

    class Spec(TemplateSpec):
        template: Literal["multi-task-regression"]
        data: Annotated[Literal["linnerud"] | TaskArrays | TaskFile | RandomTasks, ByKeys()] = Field(
            description="scikit-learn's `linnerud`, {features: ..., targets: ...}, {file: ..., targets: [...]} of a "
            "table, or {samples: 200, features: 30, tasks: 10, rank: 3, noise: 0.5} for random ones"
        )
        radius: Positive = Field(1.0, description="r, the bound on the trace norm of W")
        standardise: bool = Field(True, description="give each feature and each target mean 0 and variance 1")
        test_fraction: float = Field(0.0, ge=0, lt=1, description="of the samples held out, drawn by the seed")

        examples: ClassVar[list[dict[str, Any]]] = [
            {"template": "multi-task-regression", "data": "linnerud", "radius": 0.8},
            {
                "template": "multi-task-regression",
                "data": {"samples": 60, "features": 8, "tasks": 5, "rank": 2, "noise": 0.5, "missing": 0.3},
                "radius": 4.0,
                "test_fraction": 0.25,
            },
            {
                "template": "multi-task-regression",
                "data": {"features": [[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]], "targets": [[1, 2], [2, 4], [3, 6]]},
                "standardise": False,
                "radius": 4.0,
            },
        ]

        def build(self, context: BuildContext) -> MultiTaskRegression:
            with located("data"):
                table = _read(self.data, context)
            samples, tasks = table.targets.shape
            order = np.random.default_rng([context.seed, 5]).permutation(samples)
            held_out = round(self.test_fraction * samples)
            if held_out == samples:
                raise ProblemError("no sample is left to train on", ("test_fraction",))
            # Without a test set the rows stay in their order.
            train, test = table.at(order[held_out:] if held_out else slice(None)), table.at(order[:held_out])
            known = ~np.isnan(train.targets)
            if not known.any(axis=0).all():
                task = int(np.argmin(known.any(axis=0)))
                name = str(task + 1) if table.names is None else table.names[task]
                raise ProblemError(f"no target of task {name} is known among the samples to train on", ("data",))
            rows = 1 if known.all() else tasks
            context.reserve("samples", 4 * 12 * rows * table.features.size + 4 * table.targets.nbytes)
            if self.standardise:
                train, test = _standardised(train, test)
            return MultiTaskRegression(train, test, self.radius)

    measures = (
        Metric("train_error", "mean squared error, over the targets of the objective", "lower", log=True),
        Metric("test_error", "mean squared error, over those held out", "lower", log=True),
        Metric("worst_task", "the largest of the mean squared errors of one task, on what is held out, if anything"),
        Metric("rank", "number of singular values of W that are not negligible"),
    )
    listing = Listing("task_errors", "task", "mean squared error")

    def __init__(self, train: TaskTable, test: TaskTable, radius: float):
        """test: may have no rows."""
        self.train, self.test = train, test
        shape = train.features.shape[1], train.targets.shape[1]
        known = ~np.isnan(train.targets)
        scale = 1.0 / np.sqrt(known.sum())
        fit = LeastSquares(_predictions(scale * train.features, known, shape), scale * _seen(train.targets, known))
        self.problem = CompositeProblem(NuclearBall(shape, radius), fit)

    def metrics(self, iterate: Iterate) -> Mapping[str, float]:
        w = iterate.point.dense()
        sets = {"train_error": self.train, "test_error": self.test}
        return {name: float(np.nanmean(_squares(table, w))) for name, table in sets.items() if _any_known(table)}

    def round(
        self, iterate: Iterate, bound: float | None, rng: np.random.Generator, deadline: Deadline = NEVER
    ) -> Rounding:
        """Nothing is rounded: the answer is W. task_errors (T,): mean squared errors of the tasks, on what is held out,
        if anything; NaN where a task has none there.
        """
        w = iterate.point.dense()
        squares = _squares(self.test if _any_known(self.test) else self.train, w)
        counts = np.count_nonzero(~np.isnan(squares), axis=0)
        errors = np.divide(np.nansum(squares, axis=0), counts, out=np.full(counts.size, np.nan), where=counts > 0)
        values = np.linalg.svd(w, compute_uv=False)
        rank = float(np.count_nonzero(values > NEGLIGIBLE * values.max(initial=0.0)))
        figures = {"rank": rank, "worst_task": float(np.nanmax(errors))}
        return Rounding(figures, {"task_errors": errors, **named_arrays(self.train.names)})


def _squares(table: TaskTable, w: np.ndarray) -> np.ndarray:
    """(m, T), NaN where no target is known."""
    return np.square(table.features @ w - table.targets)


def _any_known(table: TaskTable) -> bool:
    return bool((~np.isnan(table.targets)).any())


def _predictions(features: np.ndarray, known: np.ndarray, shape: tuple[int, int]) -> LinearMap:
    """W -> X W, (m, T); where some targets are not known, of those that are, in C order."""
    if known.all():
        return Kronecker(features, sp.csr_array(sp.eye_array(shape[1])), shape)
    samples, tasks = np.nonzero(known)
    columns = np.arange(shape[0]) * shape[1] + tasks[:, None]
    places = np.repeat(np.arange(samples.size), shape[0]), columns.reshape(-1)
    rows = sp.coo_array((features[samples].reshape(-1), places), shape=(samples.size, shape[0] * shape[1]))
    return MatrixMap(rows.tocsr(), shape)


def _seen(targets: np.ndarray, known: np.ndarray) -> np.ndarray:
    return targets if known.all() else targets[known]


def _standardised(train: TaskTable, test: TaskTable) -> tuple[TaskTable, TaskTable]:
    """By the means and deviations of what is known of the training samples; what is constant becomes 0."""
    features, test_features = standardised(train.features, test.features)
    targets, test_targets = np.empty_like(train.targets), np.empty_like(test.targets)
    for task in range(targets.shape[1]):
        known = ~np.isnan(train.targets[:, task])
        own, others = train.targets[known, task], np.concatenate([train.targets[:, task], test.targets[:, task]])
        both = standardised(own, others)[1]
        targets[:, task], test_targets[:, task] = both[: known.size], both[known.size :]
    return TaskTable(features, targets, train.names), TaskTable(test_features, test_targets, train.names)


def _read(data: str | TaskArrays | TaskFile | RandomTasks, context: BuildContext) -> TaskTable:
    if isinstance(data, str):
        from sklearn.datasets import load_linnerud

        found = load_linnerud()
        return TaskTable(found.data, found.target, list(map(str, found.target_names)))
    if isinstance(data, RandomTasks):
        return _drawn(data, context)
    if isinstance(data, TaskFile):
        with located("file"):
            return _of_table(data, context)
    faults = ErrorCollector()
    features, targets, names = np.empty(0), np.empty(0), None
    with faults.part("features"):
        features = context.array(data.features, copies=3)
        if features.ndim != 2:
            raise ProblemError(f"the features must be a matrix, one row per sample, but are {named(features.shape)}")
    with faults.part("targets"):
        context.headings = None
        found = context.matrix(data.targets, copies=3, takes_nan=True)
        targets = np.asarray(found.todense() if sp.issparse(found) else found, dtype=float)
        names = context.headings
        targets = targets[:, None] if targets.ndim == 1 else targets
    faults.raise_all()
    if targets.ndim != 2 or targets.shape[0] != features.shape[0]:
        raise ProblemError(
            f"the targets are {named(targets.shape)}, but there are {counted(features.shape[0], 'sample')}: each has "
            "a row",
            ("targets",),
        )
    return TaskTable(features, targets, names)


def _of_table(data: TaskFile, context: BuildContext) -> TaskTable:
    """Rows that miss a feature are refused or left out, as `missing` says; a target may be missing."""
    table = context.table(data.file, data, tuple(data.targets))
    goals = [table.place(target) for target in data.targets]
    places = [place for place in table.places(data, tuple(goals)) if place not in goals]
    if not places:
        raise ProblemError("every column is a target: no feature is left")
    table, remarks = table.known(places, data.missing == "drop")
    context.remarks += remarks
    name = visible(data.file)
    features = np.asarray(finished(name, table.numbers(places)))
    targets = np.asarray(finished(name, table.numbers(goals), takes_nan=True))
    return TaskTable(features, targets, table.titles(goals))


def _drawn(data: RandomTasks, context: BuildContext) -> TaskTable:
    rng = np.random.default_rng([context.seed, 12])
    context.reserve("samples", 3 * 8 * data.samples * (data.features + data.tasks))
    left, right = rng.standard_normal((data.features, data.rank)), rng.standard_normal((data.rank, data.tasks))
    features = rng.standard_normal((data.samples, data.features))
    clean = features @ left @ right / np.sqrt(data.features * data.rank)
    targets = clean + data.noise * rng.standard_normal(clean.shape)
    targets[rng.random(clean.shape) < data.missing] = np.nan
    return TaskTable(features, targets)
