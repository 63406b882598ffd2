"""Covariances of both structures against Clarabel, what they are made of, and what does not fit."""

from __future__ import annotations

import numpy as np
import pytest

from cgm_cli import solve
from cgm_cli.cli import main
from cgm_cli.errors import CgmError
from tests.templates.programs import covariance_optimum
from tests.templates.support import template

DRAWN = {"variables": 12, "samples": 15, "blocks": 3, "factors": 1, "noise": 0.4}


@pytest.mark.parametrize(("structure", "radius"), [("both", 12.0), ("both", None), ("sum", 8.0)])
def test_against_a_cone_program(structure, radius, tmp_path):
    fields = {"covariance": DRAWN, "structure": structure, "penalty": 0.2, "radius": radius}
    problem = {"template": "covariance-estimation", **fields}
    answer = solve({"problem": problem, "stop": {"gap": 1e-6, "infeasibility": 1e-7}}, out=tmp_path / "run")
    built = template("covariance-estimation", **fields)
    best = covariance_optimum(built)
    assert answer.status.value == "converged" and answer.bound_is == "certified"
    assert answer.objective == pytest.approx(best, rel=1e-5) and answer.bound <= best * (1 + 1e-7)
    estimate = answer.solution["estimate"]
    assert np.linalg.norm(estimate - built.truth) == pytest.approx(
        answer.metrics["error"] * np.linalg.norm(built.truth), rel=1e-6
    )
    with pytest.raises(SystemExit) as code:
        main(["verify", str(tmp_path / "run")])
    assert not code.value.code


def test_the_sparse_part_is_the_best_beside_any_other():
    """Huber's penalty of X - C is what |X + S - C|^2 / 2 + rho |S|_1 comes to, and no S is better."""
    built = template("covariance-estimation", covariance=DRAWN, structure="sum", penalty=0.2, radius=8.0)
    rng, c = np.random.default_rng(0), built.covariance
    root = rng.standard_normal((12, 3)) / 4.0
    x = root @ root.T
    off = ~np.eye(12, dtype=bool)

    def value(s):
        return 0.5 * np.square(x + s - c).sum() + 0.2 * np.abs(s[off]).sum()

    beside = built.problem.terms[0]
    s = built.sparse_part(x)
    assert beside.penalty.value(beside.map.forward(x)) == pytest.approx(value(s))
    for size in (1e-3, 1e-1, 1.0):
        assert value(s + size * rng.standard_normal(s.shape)) >= value(s)


def test_it_is_nearer_to_the_truth_than_what_was_seen():
    problem = {
        "template": "covariance-estimation",
        "covariance": {"variables": 40, "samples": 30},
        "penalty": 0.3,
        "radius": 40.0,
    }
    answer = solve({"problem": problem, "stop": {"gap": 1e-3, "infeasibility": 1e-3}})
    assert answer.metrics["error"] < 0.7 * answer.metrics["sample_error"]
    assert answer.metrics["rank"] < 12 and answer.metrics["nonzeros"] < 0.5


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"points": [[1.0], [2.0]]}, "`covariance` or `points`, and not both"),
        ({"structure": "sum"}, "needs a `radius`: how much of the trace"),
        ({"structure": "sum", "radius": 1.0, "covariance": [[1.0]]}, "nothing off the diagonal"),
        ({"covariance": [[1.0, 2.0], [0.5, 1.0]]}, "symmetric matrix is needed"),
        ({"covariance": [[-1.0]]}, "a variance is at least 0, and one is -1"),
        ({"covariance": [[0.0]]}, "no variable varies"),
        ({"covariance": {"variables": 3, "samples": 5}}, "4 blocks are more than 3 variables"),
        ({"covariance": {"variables": 3, "samples": 5, "blocks": 0}}, "nothing but noise"),
        ({"covariance": None, "points": [1.0, 2.0]}, "points are a matrix, one a row"),
    ],
)
def test_what_does_not_fit(fields, message):
    given = {"covariance": [[1.0, 0.5], [0.5, 1.0]], "penalty": 0.1, **fields}
    with pytest.raises((CgmError, ValueError), match=message):
        template("covariance-estimation", **given)
