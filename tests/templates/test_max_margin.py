"""Multiclass maximum margin: the objective, the optimum against a quadratic programming solver, what is refused."""

from __future__ import annotations

import numpy as np
import pytest

from cgm_cli.errors import CgmError, DataError, ProblemError
from cgm_cli.templates.max_margin import MaxMargin, iris
from tests.templates.programs import margin_optimum
from tests.templates.support import solve, spec, template


def loss(weights, points, labels):
    """The mean over i of max over c of [c is not c_i] + <w_c - w_(c_i), a_i>, written out."""
    total = 0.0
    for point, label in zip(points, labels, strict=True):
        scores = weights @ point
        total += max(float(c != label) + scores[c] - scores[label] for c in range(len(weights)))
    return total / len(points)


def test_the_objective_is_the_loss():
    rng = np.random.default_rng(0)
    points, labels = rng.standard_normal((7, 3)), rng.integers(0, 4, 7)
    labels[:4] = range(4)
    built = MaxMargin(points, labels, 2.0)
    (term,) = built.problem.terms
    for _ in range(5):
        weights = rng.standard_normal((4, 4))
        assert term.penalty.value(term.map.forward(weights)) == pytest.approx(loss(weights, built.points, labels))


def test_irises_against_quadratic_programming():
    points, labels = iris()
    few = np.r_[0:8, 50:58, 100:108]
    problem = {
        "template": "max-margin",
        "points": points[few].round(4).tolist(),
        "labels": labels[few].tolist(),
        "radius": 2.0,
    }
    result = solve(problem, iterations=2000, scaling="auto")
    best = margin_optimum(np.column_stack([points[few].round(4), np.ones(few.size)]), labels[few], 2.0)
    assert result.bound_is == "certified"
    assert result.record.bound <= best + 1e-8
    assert result.record.total >= best - 1e-8
    assert result.record.total - best < 0.01
    assert best - result.record.bound < 0.04
    duals = result.duals["margins"].reshape(-1, 3)
    assert duals.min() >= 0.0
    assert duals.sum(axis=1) == pytest.approx(np.full(few.size, 1.0 / few.size))


def test_all_irises():
    result = solve({"template": "max-margin"}, iterations=500, scaling="auto")
    assert result.metrics["errors"] < 0.05
    assert result.solution["x"].shape == (3, 5)
    assert result.solution["classes"].shape == (150,)


@pytest.mark.parametrize(
    ("fields", "error", "path"),
    [
        ({"points": [[0.0], [1.0]], "labels": [0, 1, 1]}, ProblemError, ("labels",)),
        ({"points": [[0.0], [1.0]], "labels": [3, 3]}, ProblemError, ("labels",)),
        ({"points": [0.0, 1.0], "labels": [0, 1]}, DataError, ("points",)),
    ],
)
def test_data_that_do_not_fit(fields, error, path):
    with pytest.raises(error) as caught:
        template("max-margin", **fields)
    assert caught.value.path == path


@pytest.mark.parametrize("fields", [{"labels": [0, 1]}, {"points": [[0.0]]}, {"radius": 0.0}])
def test_fields_that_are_refused(fields):
    with pytest.raises(CgmError):
        spec({"template": "max-margin", **fields})
