"""Nearest correlation matrices against Clarabel and the example of the literature, and what does not fit."""

from __future__ import annotations

import numpy as np
import pytest

from cgm_cli import solve
from cgm_cli.cli import main
from cgm_cli.errors import CgmError
from cgm_cli.readers.context import BuildContext
from cgm_cli.templates.nearest_correlation import NearestCorrelation
from tests.templates.programs import correlation_by_newton, correlation_optimum
from tests.templates.support import template

TRIDIAGONAL = (2.0 * np.eye(4) - np.eye(4, k=1) - np.eye(4, k=-1)).tolist()


def test_the_example_of_higham(tmp_path):
    """His distance is 2.13, and his matrix the one to four digits (IMA J. Numer. Anal. 22, 2002)."""
    answer = solve({"problem": {"template": "nearest-correlation", "matrix": TRIDIAGONAL}}, out=tmp_path / "run")
    assert answer.status.value == "converged" and answer.bound_is == "certified"
    assert answer.metrics["distance"] == pytest.approx(2.133729, abs=1e-6)
    assert answer.metrics["least_distance"] == pytest.approx(2.133729, abs=1e-4)
    row = [1.0, -0.8084, 0.1916, 0.1068]
    assert answer.solution["correlation"][0] == pytest.approx(row, abs=1e-4)
    with pytest.raises(SystemExit) as code:
        main(["verify", str(tmp_path / "run")])
    assert not code.value.code


def drawn(rng, n):
    target = rng.uniform(-1.0, 1.0, (n, n))
    return 0.5 * (target + target.T)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("kind", ["plain", "entries", "variables", "fixed"])
def test_against_clarabel(tmp_path, seed, kind):
    rng, n = np.random.default_rng(seed), 7
    weights = rng.random((n, n))
    fields = {
        "plain": {},
        "entries": {"weights": weights + weights.T},
        "variables": {"weights": rng.random(n)},
        "fixed": {"fixed": [[0, 1], [5, 3]]},
    }[kind]
    problem = {"template": "nearest-correlation", "matrix": drawn(rng, n), **fields}
    answer = solve({"problem": problem, "stop": {"gap": 1e-6, "infeasibility": 1e-6}}, out=tmp_path / "run")
    listed = {name: value.tolist() if isinstance(value, np.ndarray) else value for name, value in problem.items()}
    listed.pop("template")
    built = template("nearest-correlation", **listed)
    best = correlation_optimum(built)
    assert answer.bound_is == "certified"
    assert answer.bound <= best * (1.0 + 1e-6)
    assert answer.objective == pytest.approx(best, rel=1e-5)
    found = answer.solution["correlation"]
    assert (found.diagonal() == 1.0).all() and np.linalg.eigvalsh(found)[0] > -1e-12
    assert answer.metrics["distance"] == pytest.approx(np.sqrt(2.0 * best), rel=1e-4)
    if kind == "plain":
        assert correlation_by_newton(built.target) == pytest.approx(np.sqrt(2.0 * best), rel=1e-6)
    assert answer.metrics.get("fixed_error", 0.0) < 1e-5


def test_entries_that_are_not_known_are_left_to_the_others(tmp_path):
    """Of an incomplete correlation matrix that has a completion, the distance is zero."""
    rng = np.random.default_rng(3)
    whole = np.corrcoef(rng.standard_normal((6, 20)))
    whole[0, 3] = whole[3, 0] = np.nan
    np.save(tmp_path / "some.npy", whole)
    problem = {"template": "nearest-correlation", "matrix": {"file": str(tmp_path / "some.npy")}}
    answer = solve({"problem": problem}, out=tmp_path / "run")
    assert answer.metrics["distance"] < 1e-3
    assert abs(answer.solution["correlation"] - whole)[~np.isnan(whole)].max() < 1e-3


def test_what_is_fixed_and_cannot_be(tmp_path):
    matrix = [[1.0, 0.9, 0.9], [0.9, 1.0, -0.9], [0.9, -0.9, 1.0]]
    problem = {"template": "nearest-correlation", "matrix": matrix, "fixed": [[0, 1], [0, 2], [1, 2]]}
    answer = solve({"problem": problem}, out=tmp_path / "run")
    assert answer.status.value == "infeasible"


LOWER = "a,b,c\n1,,\n0.5,1,\n0.25,NA,1\n"


@pytest.mark.parametrize(
    ("text", "options", "remark"),
    [
        (LOWER, {}, "the entries above the diagonal are blank, and taken to be those below it"),
        (LOWER.replace(",,", ",0,0").replace("1,\n", "1,0\n"), {}, "above the diagonal are zero"),
        ("a,b,c\n1,.5,.25\n,1,\n,,1\n", {}, "the entries below the diagonal are blank"),
        ("v;a;b;c\na;1;;\nb;0,5;1;\nc;0,25;;1\n", {"names": "v"}, "above the diagonal are blank"),
    ],
)
def test_one_triangle_is_enough(tmp_path, text, options, remark):
    (tmp_path / "t.csv").write_text(text)
    context = BuildContext((tmp_path,))
    fields = {"template": "nearest-correlation", "matrix": {"file": "t.csv", **options}}
    built = NearestCorrelation.Spec.model_validate(fields).build(context)
    np.testing.assert_array_equal(built.target, [[1, 0.5, 0.25], [0.5, 1, 0], [0.25, 0, 1]])
    assert built.names == ["a", "b", "c"] and any(remark in each for each in context.remarks)
    unknown = np.zeros((3, 3), dtype=bool)
    unknown[[1, 2], [2, 1]] = True
    np.testing.assert_array_equal(built.weights == 0.0, unknown)


@pytest.mark.parametrize(
    ("fields", "message", "path"),
    [
        ({"matrix": [[1.0, 2.0]]}, "a square matrix is needed, and this one is", ("matrix",)),
        ({"matrix": [[1.0, 2.0], [0.5, 1.0]]}, "entries .0, 1. and .1, 0.", ("matrix",)),
        ({"weights": [1.0, -1.0]}, "weights are at least 0, and one is -1", ("weights",)),
        ({"weights": [1.0, 1.0, 1.0]}, "but the matrix is 2 x 2", ("weights",)),
        ({"weights": 0.0}, "no entry has a weight", ("weights",)),
        ({"fixed": [[0, 2]]}, "whole numbers from 0 to 1", ("fixed",)),
        ({"fixed": [[1, 1]]}, "fixed already, to 1", ("fixed",)),
    ],
)
def test_what_does_not_fit(fields, message, path):
    with pytest.raises(CgmError, match=message) as error:
        template("nearest-correlation", **{"matrix": [[1.0, 0.5], [0.5, 1.0]], **fields})
    assert error.value.path == path
