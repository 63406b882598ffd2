"""Linear programs against scipy's linprog, and what does not fit."""

from __future__ import annotations

import numpy as np
import pytest

from cgm_cli.errors import CgmError, ProblemError
from tests.templates.programs import linear_optimum
from tests.templates.support import solve, spec, template


def program(seed, m=3, n=10):
    rng = np.random.default_rng(seed)
    lower = -rng.random(n)
    upper = lower + 1.0 + rng.random(n)
    matrix, cost = rng.standard_normal((m, n)), rng.standard_normal(n)
    inside = lower + rng.random(n) * (upper - lower)
    return {"cost": cost, "matrix": matrix, "equals": matrix @ inside, "lower": lower, "upper": upper}


@pytest.mark.parametrize(("seed", "iterations"), [(0, 1500), (1, 1500), (2, 2500), (3, 5000)])
def test_against_linprog(seed, iterations):
    parts = program(seed)
    fields = {name: value.tolist() for name, value in parts.items()}
    best = linear_optimum(template("linear-program", **fields))
    result = solve({"template": "linear-program", **fields}, iterations=iterations, scaling="auto", beta0=0.05)
    assert result.bound_is == "certified"
    assert result.record.bound <= best + 1e-9
    assert best - result.record.bound < 0.05
    assert abs(result.record.total - best) < 0.1
    assert result.record.infeasibility < 0.05


def test_numbers_stand_for_all():
    built = template("linear-program", cost=1.0, matrix=[[1.0, 1.0], [1.0, -1.0]], equals=0.5)
    assert built.cost.tolist() == [1.0, 1.0]
    assert built.equals.tolist() == [0.5, 0.5]
    assert built.upper.tolist() == [1.0, 1.0]


@pytest.mark.parametrize(
    ("fields", "path"),
    [
        ({"cost": [1.0]}, ("cost",)),
        ({"equals": [1.0, 2.0]}, ("equals",)),
        ({"matrix": [1.0, 2.0]}, ("matrix",)),
        ({"lower": [0.0, 0.0, 0.0]}, ("lower",)),
    ],
)
def test_what_does_not_fit(fields, path):
    with pytest.raises(ProblemError) as caught:
        template("linear-program", **{"cost": [1.0, 2.0], "matrix": [[1.0, 1.0]], "equals": [1.0], **fields})
    assert caught.value.path == path


@pytest.mark.parametrize("fields", [{"lower": 2.0, "upper": 1.0}, {"upper": "inf"}])
def test_fields_that_are_refused(fields):
    with pytest.raises(CgmError):
        spec({"template": "linear-program", "cost": 1, "matrix": [[1, 1]], "equals": 1, **fields})
