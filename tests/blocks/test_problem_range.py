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
        "solver": {"iterations": 300},
    }
    assert build(loads(dump(spec))).solve().status.value == "iteration-limit"
