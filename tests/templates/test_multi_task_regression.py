"""Regression of several tasks against Clarabel, and against a closed form; tables, and what does not fit."""

from __future__ import annotations

import numpy as np
import pytest

from cgm_cli import solve
from cgm_cli.cli import main
from cgm_cli.errors import CgmError
from cgm_cli.readers.entries import LABELS, unpacked
from tests.templates.programs import tasks_together
from tests.templates.support import template

RANDOM = {"samples": 40, "features": 6, "tasks": 4, "rank": 2, "noise": 0.5}


@pytest.mark.parametrize("missing", [0.0, 0.4])
def test_against_a_cone_program(missing, tmp_path):
    fields = {"data": {**RANDOM, "missing": missing}, "radius": 1.2, "test_fraction": 0.25}
    problem = {"template": "multi-task-regression", **fields}
    answer = solve({"problem": problem, "stop": {"gap": 1e-7}}, out=tmp_path / "run")
    built = template("multi-task-regression", **fields)
    best = tasks_together(built)
    assert answer.status.value == "converged" and answer.bound_is == "certified"
    assert answer.objective == pytest.approx(best, rel=1e-6) and answer.bound <= best * (1 + 1e-7)
    # The objective is half the mean squared error, and the error of tasks the mean of their samples'.
    assert answer.metrics["train_error"] == pytest.approx(2.0 * answer.objective, rel=1e-9)
    w, test = answer.x, built.test
    squares = np.square(test.features @ w - test.targets)
    np.testing.assert_allclose(answer.solution["task_errors"], np.nanmean(squares, axis=0), rtol=1e-9)
    assert answer.metrics["worst_task"] == pytest.approx(np.nanmean(squares, axis=0).max())
    with pytest.raises(SystemExit) as code:
        main(["verify", str(tmp_path / "run")])
    assert not code.value.code


def test_of_orthonormal_features_singular_values_are_cut(tmp_path):
    """W is X^T Y with its singular values projected onto the simplex."""
    rng = np.random.default_rng(2)
    features = np.linalg.qr(rng.standard_normal((12, 5)))[0]
    targets = rng.standard_normal((12, 3))
    left, values, right = np.linalg.svd(features.T @ targets, full_matrices=False)
    shift = (values.sum() - 4.0) / 3
    assert (values > shift).all()
    problem = {
        "template": "multi-task-regression",
        "data": {"features": features, "targets": targets},
        "standardise": False,
        "radius": 4.0,
    }
    answer = solve({"problem": problem, "stop": {"gap": 1e-12}}, out=tmp_path / "run")
    np.testing.assert_allclose(answer.x, (left * (values - shift)) @ right, atol=1e-5)


def test_several_columns_of_a_table_are_tasks(tmp_path):
    """Cells of targets may be missing; a row without a feature is refused, or left out."""
    rows = ["a,b,first,second", "1,2,3,", "2,1,,1", "0,1,1,2", "1,1,2,2"]
    (tmp_path / "table.csv").write_text("\n".join(rows), encoding="utf-8")
    data = {"file": "table.csv", "targets": ["first", "second"]}
    built = template("multi-task-regression", tmp_path, data=data, standardise=False)
    assert built.train.features.tolist() == [[1, 2], [2, 1], [0, 1], [1, 1]]
    assert np.isnan(built.train.targets).sum() == 2 and built.train.names == ["first", "second"]
    (tmp_path / "table.csv").write_text("\n".join([*rows, "NA,1,2,2"]), encoding="utf-8")
    with pytest.raises(CgmError, match=r"table.csv: line 6, column 1 .`a`.: the value is missing"):
        template("multi-task-regression", tmp_path, data=data)
    left = template("multi-task-regression", tmp_path, data={**data, "missing": "drop"})
    assert left.train.features.shape == (4, 2)
    everything = {**data, "targets": ["a", "b", "first", "second"]}
    with pytest.raises(CgmError, match="no column is left"):
        template("multi-task-regression", tmp_path, data=everything)


def test_names_of_tasks_are_listed(tmp_path):
    problem = {"template": "multi-task-regression", "data": "linnerud", "radius": 0.8}
    answer = solve({"problem": problem}, out=tmp_path / "run")
    assert unpacked(answer.solution[LABELS]) == ["Weight", "Waist", "Pulse"]
    with pytest.raises(SystemExit) as code:
        main(["export", str(tmp_path / "run"), "--table", str(tmp_path / "tasks.csv")])
    assert not code.value.code
    assert (tmp_path / "tasks.csv").read_text().splitlines()[0] == "task,mean squared error"


@pytest.mark.parametrize(
    ("data", "fields", "message"),
    [
        ({"features": [1.0, 2.0], "targets": [[1.0], [2.0]]}, {}, "one row per sample, but are a vector of 2"),
        ({"features": [[1.0], [2.0]], "targets": [[1.0]]}, {}, "targets are 1 x 1, but there are 2 samples"),
        ("linnerud", {"test_fraction": 0.99}, "no sample is left to train on"),
        ({**RANDOM, "samples": 2, "missing": 0.9}, {}, "no target of task . is known"),
    ],
)
def test_what_does_not_fit(data, fields, message):
    with pytest.raises(CgmError, match=message):
        template("multi-task-regression", data=data, **fields)
