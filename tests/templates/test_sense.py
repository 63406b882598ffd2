"""Composed problems that are maximised: optima by linprog, signs of everything reported, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import linprog

from cgm_cli.spec.faults import SpecError
from tests.templates.support import solve, spec
from tests.verify.support import composed, verified

COST, TARGET, SCALE = np.array([3.0, 1.0, -2.0, 2.0]), np.array([0.1, 0.4, 0.2, 0.0]), 1.5
SIMPLEX = {"kind": "simplex", "size": 4}
TERMS = {
    "objective": {"kind": "linear", "cost": COST.tolist()},
    "sense": "maximise",
    "constraints": [{"kind": "box", "upper": 0.6}],
    "penalties": [{"kind": "l1", "scale": SCALE, "offset": TARGET.tolist()}],
}


def optimum() -> float:
    """max <c, x> - s sum t, with t >= |x - a|, x <= 0.6."""
    one = np.eye(4)
    found = linprog(
        np.concatenate([-COST, np.full(4, SCALE)]),
        np.block([[one, -one], [-one, -one]]),
        np.concatenate([TARGET, -TARGET]),
        np.concatenate([np.ones(4), np.zeros(4)])[None],
        [1.0],
        bounds=[(0.0, 0.6)] * 4 + [(0.0, None)] * 4,
    )
    return -found.fun


@pytest.mark.parametrize(
    "domains",
    [{"domain": SIMPLEX}, {"domains": [SIMPLEX, {"kind": "box", "lower": 0.0, "upper": 1.0, "size": 4}]}],
    ids=["one", "split"],
)
@pytest.mark.parametrize("method", ["auto", "hcgm"])
def test_a_maximum_is_reported_from_below_and_bounded_from_above(domains, method):
    result = solve({**domains, **TERMS}, method=method, iterations=400, scaling="auto")
    x = result.solution["x"]
    assert result.record.objective == pytest.approx(COST @ x, abs=1e-9)
    assert result.record.total == pytest.approx(COST @ x - SCALE * np.abs(x - TARGET).sum(), abs=1e-9)
    assert result.bound_is == "certified"
    assert result.record.bound >= optimum() - 1e-12
    assert result.record.bound <= optimum() + (1e-3 if method == "auto" else 1.0)
    assert result.sense == "maximise"


def test_a_maximisation_is_the_minimisation_of_the_negative():
    flipped = {**TERMS, "sense": "minimise", "objective": {"kind": "linear", "cost": (-COST).tolist()}}
    up, down = (solve({"domain": SIMPLEX, **terms}, iterations=30).record for terms in (TERMS, flipped))
    assert (up.objective, up.total, up.bound, up.gap) == (-down.objective, -down.total, -down.bound, down.gap)


def test_a_maximisation_verifies(tmp_path):
    report = verified(composed(SIMPLEX, **TERMS), tmp_path / "run")
    assert report.holds
    assert any("upper bound" in row.quantity for row in report.rows)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"objective": {"kind": "least-squares", "target": 1.0}}, "another convex function, such as `least-squares`"),
        ({"objective": None}, "nothing to maximise"),
        ({"sense": "maximize"}, "maximise"),
    ],
)
def test_what_cannot_be_maximised_is_refused(changes, words):
    with pytest.raises(SpecError, match=words):
        spec({"domain": SIMPLEX, **TERMS, **changes})
