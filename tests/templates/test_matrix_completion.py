"""Matrix completion: what is observed, the errors, and the optimum by another method."""

from __future__ import annotations

import numpy as np
import pytest

from cgm_cli.blocks.iterates import FactoredIterate
from cgm_cli.errors import ProblemError
from tests.templates import references
from tests.templates.support import solve, template

RANDOM = {"rows": 30, "columns": 20, "rank": 2, "noise": 0.1}


def test_the_random_matrix():
    clean = template("matrix-completion", matrix={**RANDOM, "noise": 0.0}, seed=2)
    values = np.linalg.svd(clean.matrix, compute_uv=False)
    assert np.count_nonzero(values > 1e-10 * values[0]) == 2
    assert clean.problem.domain.radius == pytest.approx(values.sum())
    assert clean.observed.sum() == 300
    noisy = template("matrix-completion", matrix=RANDOM, seed=2)
    assert noisy.problem.domain.radius == pytest.approx(values.sum()), "the radius is that of the matrix without noise"
    assert (noisy.matrix - clean.matrix).std() == pytest.approx(0.1, rel=0.2)
    assert not np.array_equal(noisy.matrix, template("matrix-completion", matrix=RANDOM, seed=3).matrix)


def test_errors_where_observed_and_elsewhere():
    built = template("matrix-completion", matrix=[[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], missing=1 / 3)
    found = built.metrics(FactoredIterate(built.problem.first, 4, False))
    assert found["train_error"] == pytest.approx(np.sqrt((built.matrix[built.observed] ** 2).mean()))
    assert found["test_error"] == pytest.approx(np.sqrt((built.matrix[~built.observed] ** 2).mean()))
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
    ],
)
def test_what_cannot_be_completed(fields, message, path):
    with pytest.raises(ProblemError, match=message) as raised:
        template("matrix-completion", **fields)
    assert raised.value.path == path
