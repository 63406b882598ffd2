"""The largest of affine functions: its pieces, and the optimum by linear programming and SLSQP."""

from __future__ import annotations

import numpy as np
import pytest

from cgm_cli.blocks.atoms import DenseAtom
from cgm_cli.blocks.iterates import DenseIterate
from cgm_cli.errors import ProblemError
from tests.templates import references
from tests.templates.support import solve, template
from tests.templates.test_linear_models import total

RANDOM = {"pieces": 30, "size": 10}


def test_the_objective_and_the_active_pieces():
    built = template("max-affine", slopes=[[1.0, 0.0], [-1.0, 2.0], [0.0, 0.0]], offsets=[0.0, 1.0, 0.5])
    x = np.array([0.5, 0.25])
    assert total(built.problem, x) == pytest.approx(max(0.5, -0.5 + 0.5 + 1.0, 0.5))
    assert built.metrics(DenseIterate(DenseAtom(x)))["active"] == 1
    assert built.metrics(DenseIterate(DenseAtom(np.array([0.5, -0.125]))))["active"] == 2


@pytest.mark.parametrize("unit", [1e-9, 1e9])
def test_active_pieces_are_of_no_unit(unit):
    built = template("max-affine", slopes=[[unit, 0.0], [-unit, 2.0 * unit]], offsets=[0.0, unit])
    for x, active in ((np.array([0.5, 0.25]), 1), (np.array([0.5, 0.0]), 2)):
        assert built.metrics(DenseIterate(DenseAtom(x)))["active"] == active


def test_where_the_pieces_come_from():
    drawn = template("max-affine", slopes=RANDOM, seed=1)
    assert drawn.slopes.shape == (30, 10)
    assert drawn.offsets.std() > 0.5
    np.testing.assert_array_equal(drawn.slopes, template("max-affine", slopes=RANDOM, seed=1, offsets=2.0).slopes)
    assert not np.array_equal(drawn.slopes, template("max-affine", slopes=RANDOM, seed=2).slopes)
    assert set(template("max-affine", slopes=RANDOM, offsets=2.0).offsets) == {2.0}
    assert template("max-affine", slopes=[[1.0], [2.0]]).offsets.tolist() == [0.0, 0.0]


@pytest.mark.parametrize(
    ("domain", "radius", "beta0", "distance"),
    [("l2", 0.25, 0.8, 3e-3), ("l1", 1.0, 3.3, 1e-2), ("linf", 0.1, 0.4, 3e-3)],
)
def test_the_optimum_is_that_of_another_method(domain, radius, beta0, distance):
    """O(1/sqrt k), with nothing smooth to help: a percent after 3000 iterations."""
    fields = {"slopes": RANDOM, "domain": domain, "radius": radius}
    expected = references.max_affine(template("max-affine", **fields))
    result = solve({"template": "max-affine", **fields}, beta0=beta0, iterations=3000)
    assert expected * (1 - 1e-9) <= result.record.total <= expected * (1 + distance)
    assert result.bound_is == "certified"
    assert result.record.bound <= expected * (1 + 1e-9)


@pytest.mark.parametrize(
    ("fields", "message", "path"),
    [
        ({"slopes": [1.0, 2.0]}, "must be a matrix, one row per piece", ("slopes",)),
        ({"slopes": [[1.0, 2.0]], "offsets": [1.0, 2.0]}, "vector of 2, but", ("offsets",)),
    ],
)
def test_what_is_no_such_function(fields, message, path):
    with pytest.raises(ProblemError, match=message) as raised:
        template("max-affine", **fields)
    assert raised.value.path == path
