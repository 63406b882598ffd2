"""Matrix completion: what is observed, the errors, and the optimum by another method."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy.special import expit

from cgm_cli.blocks.atoms import LowRankAtom
from cgm_cli.blocks.iterates import FactoredIterate
from cgm_cli.blocks.losses.logistic import Logistic
from cgm_cli.errors import ProblemError
from cgm_cli.methods.status import Status
from cgm_cli.spec.load import load
from cgm_cli.templates.build import build
from tests.templates import references
from tests.templates.support import solve, template

RANDOM = {"rows": 30, "columns": 20, "rank": 2, "noise": 0.1}
CONFIG = Path(__file__).parents[2] / "configs" / "one-bit-completion.yaml"
ODDS = {"rows": 30, "columns": 20, "rank": 2, "scale": 3.0}


def matrix_of(built):
    """The matrix that some entries of are hidden, and where they are not."""
    found, observed = np.empty(built.seen.shape), np.zeros(built.seen.shape, dtype=bool)
    for entries in (built.seen, built.hidden):
        found.flat[entries.indices] = entries.values
    observed.flat[built.seen.indices] = True
    return found, observed


def test_the_random_matrix():
    clean = template("matrix-completion", matrix={**RANDOM, "noise": 0.0}, seed=2)
    matrix, observed = matrix_of(clean)
    values = np.linalg.svd(matrix, compute_uv=False)
    assert np.count_nonzero(values > 1e-10 * values[0]) == 2
    assert clean.problem.domain.radius == pytest.approx(values.sum())
    assert observed.sum() == 300
    noisy = template("matrix-completion", matrix=RANDOM, seed=2)
    assert noisy.problem.domain.radius == pytest.approx(values.sum()), "the radius is that of the matrix without noise"
    assert (matrix_of(noisy)[0] - matrix).std() == pytest.approx(0.1, rel=0.2)
    other = template("matrix-completion", matrix=RANDOM, seed=3)
    assert not np.array_equal(matrix_of(noisy)[0], matrix_of(other)[0])


def test_the_scale_of_the_random_matrix():
    unit, larger = (template("matrix-completion", matrix={**ODDS, "scale": scale}, seed=2) for scale in (1.0, 3.0))
    np.testing.assert_allclose(matrix_of(larger)[0], 3 * matrix_of(unit)[0])
    assert larger.problem.domain.radius == pytest.approx(3 * unit.problem.domain.radius)


@pytest.mark.parametrize("noise", [0.0, 2.0])
def test_signs_are_drawn_with_the_probabilities_of_the_model(noise):
    """Sums of signs over small, middling and large log-odds lie within four standard deviations of their means."""
    fields = {"matrix": {"rows": 300, "columns": 200, "rank": 2, "scale": 2.0, "noise": noise}, "seed": 4}
    odds = template("matrix-completion", **fields)
    drawn = template("matrix-completion", loss="logistic", **fields)
    (log_odds, seen), (found, observed) = matrix_of(odds), matrix_of(drawn)
    assert set(np.unique(found)) == {-1.0, 1.0}
    assert isinstance(drawn.problem.loss, Logistic)
    np.testing.assert_array_equal(drawn.problem.loss.labels, found[observed])
    np.testing.assert_array_equal(observed, seen)
    assert drawn.problem.domain.radius == odds.problem.domain.radius, "that of the log-odds without noise"
    mean = 2 * expit(log_odds) - 1
    for group in (log_odds < -1, np.abs(log_odds) <= 1, log_odds > 1):
        deviation = np.sqrt((1 - mean[group] ** 2).sum())
        assert abs((found - mean)[group].sum()) < 4 * deviation
    other = template("matrix-completion", loss="logistic", **{**fields, "seed": 5})
    assert not np.array_equal(found, matrix_of(other)[0])


def test_given_signs_are_kept():
    given = [[1.0, -1.0, 1.0], [-1.0, 1.0, -1.0]]
    built = template("matrix-completion", loss="logistic", matrix=given, radius=3.0, missing=1 / 3)
    np.testing.assert_array_equal(matrix_of(built)[0], given)
    assert built.problem.loss.labels.size == 4
    assert built.problem.domain.radius == 3.0


def test_fractions_of_wrong_signs():
    """The point is a u v^T with the signs of u v^T; of the given signs, two differ."""
    given = np.outer([1.0, 1.0, -1.0], [1.0, -1.0, 1.0, 1.0])
    built = template("matrix-completion", loss="logistic", matrix=given.tolist(), radius=8.0, missing=0.5)
    atom = LowRankAtom(np.array([[1.0], [1.0], [-1.0]]), np.array([0.5]), np.array([[1.0], [-1.0], [1.0], [1.0]]))
    assert built.metrics(FactoredIterate(atom, 4, False)) == {"train_error": 0.0, "test_error": 0.0}
    built.seen.values[0] *= -1
    assert built.metrics(FactoredIterate(atom, 4, False)) == {"train_error": pytest.approx(1 / 6), "test_error": 0.0}
    built.hidden.values[0] *= -1
    assert built.metrics(FactoredIterate(atom, 4, False))["test_error"] == pytest.approx(1 / 6)
    undecided = built.metrics(FactoredIterate(built.problem.first, 4, False))
    assert undecided == {"train_error": 1.0, "test_error": 1.0}, "zero is no sign"


def test_errors_where_observed_and_elsewhere():
    built = template("matrix-completion", matrix=[[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], missing=1 / 3)
    found = built.metrics(FactoredIterate(built.problem.first, 4, False))
    matrix, observed = matrix_of(built)
    assert found["train_error"] == pytest.approx(np.sqrt((matrix[observed] ** 2).mean()))
    assert found["test_error"] == pytest.approx(np.sqrt((matrix[~observed] ** 2).mean()))
    whole = template("matrix-completion", matrix=[[1.0, 2.0], [3.0, 4.0]], missing=0.0)
    assert "test_error" not in whole.metrics(FactoredIterate(whole.problem.first, 4, False))


@pytest.mark.parametrize("radius", [15.0, 25.0])
def test_the_optimum_is_that_of_another_method(radius):
    fields = {"matrix": RANDOM, "radius": radius}
    built = template("matrix-completion", **fields)
    expected = references.matrix_completion(built)
    result = solve({"template": "matrix-completion", **fields}, iterations=1000)
    assert expected * (1 - 1e-9) <= result.record.total <= expected * (1 + 1e-3)
    assert result.bound_is == "certified"
    assert result.record.bound <= expected * (1 + 1e-9)
    assert result.metrics["rank"] == 2
    assert built.problem.domain.contains(result.solution["completed"])


@pytest.mark.parametrize("radius", [20.0, 40.0])
def test_the_optimum_for_signs_is_that_of_another_method(radius):
    fields = {"matrix": ODDS, "loss": "logistic", "radius": radius}
    built = template("matrix-completion", **fields)
    expected = references.matrix_completion(built)
    result = solve({"template": "matrix-completion", **fields}, iterations=1000)
    assert expected * (1 - 1e-9) <= result.record.total <= expected * (1 + 1e-3)
    assert result.bound_is == "certified"
    assert expected * (1 - 1e-2) <= result.record.bound <= expected * (1 + 1e-9)
    assert built.problem.domain.contains(result.solution["completed"])


def test_the_shipped_signs_are_predicted_almost_as_well_as_can_be():
    """On hidden entries, almost as well as by the log-odds they were drawn from."""
    result = build(load(CONFIG)).solve()
    assert result.status is Status.CONVERGED
    assert result.bound_is == "certified"
    odds = template("matrix-completion", matrix={"rows": 100, "columns": 80, "rank": 2, "scale": 5}, missing=0.3)
    drawn, observed = matrix_of(build(load(CONFIG)).template)
    best = np.mean((matrix_of(odds)[0] * drawn < 0)[~observed])
    assert 0.15 < best < 0.18
    assert result.metrics["test_error"] < best + 0.03


def test_it_is_completed():
    """Without noise, the hidden entries are found to within a few percent of their size, 1."""
    fields = {"template": "matrix-completion", "matrix": {**RANDOM, "noise": 0.0}, "missing": 0.3}
    result = solve(fields, iterations=1000)
    assert result.metrics["test_error"] < 0.05


@pytest.mark.parametrize(
    ("fields", "message", "path"),
    [
        ({"matrix": [1.0, 2.0]}, "must be a matrix, but is a vector of 2", ("matrix",)),
        ({"matrix": [[1.0, 2.0]], "missing": 0.9}, "every entry is missing", ("missing",)),
        ({"matrix": [[1.0, 2.0]], "held_out": 0.9}, "every entry is held out", ("held_out",)),
        (
            {"matrix": [[1.0, 0.0], [1.0, -1.0]], "loss": "logistic", "radius": 1.0},
            r"labels must be \+1 or -1 \(write 0/1 labels",
            ("matrix",),
        ),
        ({"matrix": [1.0, -1.0], "loss": "logistic", "radius": 1.0}, "must be a matrix", ("matrix",)),
        (
            {"matrix": [[1.0, -1.0]] * 8, "loss": "logistic"},
            "give `radius` a number, for instance 4, which goes with log-odds of size 1 and rank 1",
            ("radius",),
        ),
    ],
)
def test_what_cannot_be_completed(fields, message, path):
    with pytest.raises(ProblemError, match=message) as raised:
        template("matrix-completion", **fields)
    assert raised.value.path == path
