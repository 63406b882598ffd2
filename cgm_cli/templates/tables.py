"""Tables of samples for the linear models: from files or from scikit-learn, standardised, some rows held out."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated, Literal, Self

import numpy as np
from pydantic import Field, model_validator

from cgm_cli.blocks.fitting import fit, named
from cgm_cli.errors import ProblemError, located
from cgm_cli.readers.checks import finished
from cgm_cli.readers.context import BuildContext
from cgm_cli.readers.svmlight import read_svmlight
from cgm_cli.spec.fields import ArrayField, ByKeys, ColumnName, StrictModel, TableOptions, TemplateSpec
from cgm_cli.text import counted, quoted, visible


class Arrays(StrictModel):
    """Samples of the user's own."""

    features: ArrayField = Field(description="one row per sample")
    target: ArrayField = Field(description="one number per sample; of two classes, the larger one counts as +1")


class SampleFile(TableOptions):
    """Features and target in one file: with a `target` a table, else lines of LIBSVM."""

    file: str = Field(min_length=1, description="a table; or lines `target index:value ...`, as of LIBSVM and SVMlight")
    target: ColumnName | None = Field(None, description="of a table: heading or number of the column with the target")

    @model_validator(mode="after")
    def _of_a_table(self) -> Self:
        # By their values: a resolved spec writes defaults out.
        fields = TableOptions.model_fields
        unheard = [name for name, field in fields.items() if getattr(self, name) != field.default]
        if self.target is None and unheard:
            names = " and ".join(f"`{fields[name].alias or name}`" for name in unheard)
            raise ValueError(f"only a table has {names}: name the column of its `target`")
        return self


class TableSpec(TemplateSpec):
    """What every linear model takes: the samples, and what is done to them first."""

    data: Annotated[Literal["diabetes", "breast-cancer"] | Arrays | SampleFile, ByKeys()] = Field(
        description="the samples: a data set of scikit-learn, {features: ..., target: ...}, {file: ..., "
        "target: ...} of a table, or {file: ...} of LIBSVM"
    )
    standardise: bool = Field(
        True, description="give each feature, and a target that is no class, mean 0 and variance 1"
    )
    test_fraction: float = Field(0.0, ge=0, lt=1, description="fraction of the samples held out, drawn by the seed")

    def table(self, context: BuildContext, classes: bool) -> SampleTable:
        """The samples. classes: the target is one of two classes, and becomes -1 or +1.

        Raises ProblemError if the shapes do not fit, if there are other than two classes, or if nothing is left to
        train on.
        """
        with located("data"):
            features, target, names = _read(self.data, context)
            if classes:
                target = _signs(target)
        context.reserve("samples", 2 * features.nbytes)
        held_out = round(self.test_fraction * target.size)
        if held_out == target.size:
            raise ProblemError("no sample is left to train on", ("test_fraction",))
        order = np.random.default_rng([context.seed, 5]).permutation(target.size)
        # Without a test set the rows stay in their order.
        test, train = order[:held_out], order[held_out:] if held_out else slice(None)
        table = SampleTable(features[train], target[train], features[test], target[test], names)
        return table.standardised(classes) if self.standardise else table


@dataclass(frozen=True)
class SampleTable:
    """features (m, n) and target (m,) to train on, and the same of the samples that are held out, perhaps none.

    names: what the n features are called; None where they are told by their numbers.
    """

    features: np.ndarray
    target: np.ndarray
    test_features: np.ndarray
    test_target: np.ndarray
    names: list[str] | None = None

    @property
    def samples(self) -> int:
        return self.target.size

    @property
    def size(self) -> int:
        """Number of features."""
        return self.features.shape[1]

    def standardised(self, classes: bool) -> SampleTable:
        """By the means and deviations of the training samples; a constant feature becomes 0."""
        features, test_features = standardised(self.features, self.test_features)
        target, test_target = self.target, self.test_target
        if not classes:
            target, test_target = standardised(target, test_target)
        return replace(self, features=features, target=target, test_features=test_features, test_target=test_target)


def standardised(train: np.ndarray, test: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    mean, deviation = train.mean(axis=0), train.std(axis=0)
    # What is left of a constant by rounding is no variation.
    scale = np.where(deviation > 1e-12 * np.abs(mean), deviation, 1.0)
    return (train - mean) / scale, (test - mean) / scale


_Samples = tuple[np.ndarray, np.ndarray, list[str] | None]
"""Features, target, and what the features are called."""


def _read(data: str | Arrays | SampleFile, context: BuildContext) -> _Samples:
    if data == "diabetes":
        from sklearn.datasets import load_diabetes

        found = load_diabetes(scaled=False)
        return found.data, found.target, list(map(str, found.feature_names))
    if data == "breast-cancer":
        from sklearn.datasets import load_breast_cancer

        found = load_breast_cancer()
        return found.data, found.target, list(map(str, found.feature_names))
    if isinstance(data, SampleFile):
        with located("file"):
            if data.target is not None:
                return _of_table(data, data.target, context)
            return *read_svmlight(context.find(data.file), visible(data.file)), None
    assert isinstance(data, Arrays)
    with located("features"):
        context.headings = None
        features = context.array(data.features, copies=3)  # two for what is made of them
        names = context.headings
        if features.ndim != 2:
            raise ProblemError(f"the features must be a matrix, one row per sample, but are {named(features.shape)}")
    with located("target"):
        target = fit(context.array(data.target), (features.shape[0],), "the target", "the column of samples")
    return features, target, names


def _of_table(data: SampleFile, target: ColumnName, context: BuildContext) -> _Samples:
    """Features with their headings, and the target, whose words become -1 and +1, in the order of the alphabet."""
    table = context.table(data.file, data, (target,))
    goal = table.place(target)
    places = [place for place in table.places(data, (goal,)) if place != goal]
    table, remarks = table.known([*places, goal], data.missing == "drop")
    context.remarks += remarks
    features, found = table.numbers(places), table.classes(goal)
    if isinstance(found, list):
        words, codes = np.unique(found, return_inverse=True)
        if words.size != 2:
            raise ProblemError(
                f"the target has {counted(words.size, 'word')}, and needs numbers, or two words, for two classes"
            )
        context.remarks.append(f"Of the target, {quoted(words[0])} counts as -1, and {quoted(words[1])} as +1.")
        found = 2.0 * codes - 1.0
    name = visible(data.file)
    return np.asarray(finished(name, features)), np.asarray(finished(name, found)), table.titles(places)


def _signs(target: np.ndarray) -> np.ndarray:
    classes = np.unique(target)
    if classes.size != 2:
        raise ProblemError(
            f"a classifier needs a target of two classes, but this one has {counted(classes.size, 'value')}"
        )
    return np.where(target == classes[1], 1.0, -1.0)
