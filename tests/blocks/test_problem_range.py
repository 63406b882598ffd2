"""Constants that double precision cannot compute with are refused by name."""

from __future__ import annotations

import pytest

from cgm_cli.errors import CgmError
from cgm_cli.spec.load import dump, loads
from cgm_cli.templates.build import build

COST = {"kind": "linear", "cost": [1.0, 2.0, 3.0]}


@pytest.mark.parametrize(
    "problem, named",
    [
        ({"domain": {"kind": "simplex", "size": 3, "radius": 1e300}, "objective": COST}, "radius"),
        ({"domain": {"kind": "simplex", "size": 3, "radius": 1e-300}, "objective": COST}, "radius"),
        (
            {
                "domain": {"kind": "simplex", "size": 3},
                "objective": {"kind": "linear", "cost": [1e308, -1e308, 1.7e308]},
            },
            "objective's map is inf",
        ),
        (
            {"domain": {"kind": "simplex", "size": 3}, "penalties": [{"kind": "l1", "scale": 1e308}]},
            "Lipschitz constant of `l1`",
        ),
        (
            {
                "domain": {"kind": "simplex", "size": 3},
                "constraints": [
                    {"kind": "equals", "value": 0.0, "map": {"kind": "matrix", "matrix": [[1e-200, 0.0, 0.0]]}}
                ],
            },
            "norm of the map of `equals`",
        ),
        (
            {"domain": {"kind": "simplex", "size": 3}, "constraints": [{"kind": "nonnegative", "weight": 1e200}]},
            "weight of `nonnegative`",
        ),
    ],
)
@pytest.mark.parametrize("scaling", ["auto", "none"])
def test_extreme_constants_are_refused(problem, named, scaling):
    with pytest.raises(CgmError, match=named) as caught:
        build(loads(dump({"problem": problem, "solver": {"scaling": scaling}})))
    assert caught.value.exit_code == 2


def test_constraints_that_cannot_hold_are_proven_beside_a_penalty():
    spec = {
        "problem": {
            "domain": {"kind": "simplex", "size": 3},
            "objective": COST,
            "constraints": [{"kind": "box", "lower": 2.0}],
            "penalties": [{"kind": "l1"}],
        }
    }
    assert build(loads(dump(spec))).solve().status.value == "infeasible"


def test_constraints_that_hold_are_not_called_impossible_beside_a_penalty():
    spec = {
        "problem": {
            "domain": {"kind": "simplex", "size": 3},
            "objective": COST,
            "constraints": [{"kind": "box", "lower": 0.3}],
            "penalties": [{"kind": "l1"}],
        },
        "solver": {"method": "hcgm", "iterations": 300},
        "stop": {"gap": None},
    }
    assert build(loads(dump(spec))).solve().status.value == "iteration-limit"


HUGE = {
    "equals": {"constraints": [{"kind": "equals", "value": 1e300}]},
    "box": {"constraints": [{"kind": "box", "lower": 1e300}]},
    "a box of arrays": {"constraints": [{"kind": "box", "lower": [0.0, 1e300, 0.0]}]},
    "simplex": {"constraints": [{"kind": "simplex", "radius": 1e300}]},
    "a ball moved": {"constraints": [{"kind": "l2-ball", "offset": 1e300}]},
    "a box moved": {"constraints": [{"kind": "nonnegative", "offset": [1e300, 0.0, 0.0]}]},
    "a domain moved": {
        "constraints": [{"kind": "in-domain", "domain": {"kind": "simplex", "size": 3}, "offset": 1e300}]
    },
    "l1": {"penalties": [{"kind": "l1", "offset": 1e300}]},
    "hinge": {"penalties": [{"kind": "hinge", "offset": -1e300}]},
    "least squares": {"objective": {"kind": "least-squares", "target": 1e300}},
    "quadratic": {"objective": {"kind": "quadratic", "matrix": 1.0, "linear": 1e300}},
}


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("name", HUGE)
@pytest.mark.parametrize("method", ["hcgm", "cgal"])
def test_constants_inside_terms_are_told_where_no_square_of_them_is_a_number(name, method):
    problem = {"domain": {"kind": "simplex", "size": 3}, "objective": COST, **HUGE[name]}
    with pytest.raises(CgmError, match=r"e\+(299|300); up to 1e\+70 it can be computed") as caught:
        build(loads(dump({"problem": problem, "solver": {"method": method}})))
    assert caught.value.exit_code == 2


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("bounds", [{"lower": -1e300, "upper": 0.9}, {"lower": 0.0, "upper": 1e300}])
def test_bounds_so_far_away_that_they_are_none_are_no_matter(bounds):
    problem = {"domain": {"kind": "simplex", "size": 3}, "objective": COST, "constraints": [{"kind": "box", **bounds}]}
    record = build(loads(dump({"problem": problem, "solver": {"method": "cgal", "iterations": 200}}))).solve().record
    assert record.total == pytest.approx(1.1 if bounds["upper"] == 0.9 else 1.0, abs=0.05)


def test_a_residual_whose_square_vanishes():
    """Its dual ascent goes as far as it may, instead of out of range."""
    problem = {
        "domain": {"kind": "box", "lower": 0.0, "upper": 1.0, "size": 1},
        "objective": {"kind": "linear", "cost": 1.0},
        "constraints": [{"kind": "equals", "value": 1e-160}],
    }
    record = build(loads(dump({"problem": problem, "solver": {"method": "cgal", "iterations": 5}}))).solve().record
    assert record.objective == pytest.approx(0.0, abs=1e-12)
