"""Tables of samples: where they come from, standardising, holding out, and what is no table."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes

from cgm_cli.errors import CgmError, DataError, ProblemError
from tests.templates.support import spec, template

FEATURES = [[1.0, 0.0, 4.0], [0.0, 2.0, 4.0], [1.0, 1.0, 4.0], [5.0, -1.0, 4.0]]


def table(name="sparse-regression", seed=0, **fields):
    return template(name, seed=seed, **fields).table


def test_the_data_sets_are_those_of_scikit_learn():
    raw = table(data="diabetes", standardise=False)
    features, target = load_diabetes(return_X_y=True, scaled=False)
    np.testing.assert_array_equal(raw.features, features)
    np.testing.assert_array_equal(raw.target, target)
    raw = table("svm", data="breast-cancer", standardise=False)
    features, target = load_breast_cancer(return_X_y=True)
    np.testing.assert_array_equal(raw.features, features)
    np.testing.assert_array_equal(raw.target, 2 * target - 1)


def test_standardised_by_the_training_samples():
    whole = table(data="diabetes", standardise=False, test_fraction=0.25, seed=3)
    made = table(data="diabetes", test_fraction=0.25, seed=3)
    assert made.features.mean(axis=0) == pytest.approx(np.zeros(10), abs=1e-12)
    assert made.features.std(axis=0) == pytest.approx(np.ones(10))
    assert (made.target.mean(), made.target.std()) == pytest.approx((0.0, 1.0))
    mean, deviation = whole.features.mean(axis=0), whole.features.std(axis=0)
    np.testing.assert_allclose(made.test_features, (whole.test_features - mean) / deviation)
    np.testing.assert_allclose(made.test_target, (whole.test_target - whole.target.mean()) / whole.target.std())


def test_a_constant_feature_becomes_zero_and_classes_stay():
    made = table(data={"features": FEATURES, "target": [7, 7, 9, 9]}, loss="logistic")
    assert not made.features[:, 2].any()
    assert made.target.tolist() == [-1.0, -1.0, 1.0, 1.0]


def test_the_test_set_is_a_part_drawn_by_the_seed():
    one, again, other = (table(data="diabetes", test_fraction=0.2, standardise=False, seed=s) for s in (1, 1, 2))
    assert one.test_target.size == 88
    assert one.samples == 354
    np.testing.assert_array_equal(one.test_features, again.test_features)
    assert not np.array_equal(one.test_features, other.test_features)
    everything = np.concatenate([one.target, one.test_target])
    assert sorted(everything) == sorted(load_diabetes().target)


def test_from_files(tmp_path):
    np.save(tmp_path / "X.npy", np.array(FEATURES))
    np.savetxt(tmp_path / "y.csv", [1.0, 2.0, 3.0, 5.0])
    data = {"features": {"file": "X.npy"}, "target": {"file": "y.csv"}}
    made = template("elastic-net", tmp_path, data=data, standardise=False).table
    assert made.features.tolist() == FEATURES
    assert made.target.tolist() == [1.0, 2.0, 3.0, 5.0]


@pytest.mark.parametrize(
    ("fields", "message", "path"),
    [
        ({"data": {"features": [1.0, 2.0], "target": [1.0, 2.0]}}, "must be a matrix", ("data", "features")),
        ({"data": {"features": FEATURES, "target": [1.0, 2.0]}}, "vector of 2, but", ("data", "target")),
        ({"data": "diabetes", "loss": "logistic"}, "two classes, but this one has 214", ("data",)),
        ({"data": {"features": FEATURES, "target": [1, 1, 1, 1]}, "loss": "logistic"}, "has 1 value", ("data",)),
        (
            {"data": {"features": [[1.0]], "target": [1.0]}, "test_fraction": 0.9},
            "no sample is left",
            ("test_fraction",),
        ),
    ],
)
def test_what_is_no_table(fields, message, path):
    with pytest.raises(ProblemError, match=message) as raised:
        table(**fields)
    assert raised.value.path == path


def test_a_missing_file_names_it(tmp_path):
    data = {"features": {"file": "X.npy"}, "target": 1.0}
    with pytest.raises(DataError, match=r"no data file `X\.npy`") as raised:
        template("svm", tmp_path, data=data)
    assert raised.value.path == ("data", "features")


@pytest.mark.parametrize(
    "fields",
    [
        {"data": "iris"},
        {"test_fraction": 1.0},
        {"test_fraction": -0.1},
        {"radius": 0.0},
        {"domain": "l3"},
        {"data": {}},
    ],
)
def test_fields_that_are_refused(fields):
    with pytest.raises(CgmError):
        spec({"template": "sparse-regression", "data": "diabetes", **fields})
