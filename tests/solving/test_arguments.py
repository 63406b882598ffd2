"""What `solve` says of arguments from Python that are none, beside a problem that is built of blocks."""

from __future__ import annotations

import numpy as np
import pytest

from cgm_cli import solve
from cgm_cli.blocks.domains.simplex import Simplex
from cgm_cli.blocks.losses.least_squares import LeastSquares
from cgm_cli.blocks.maps.identity import Identity
from cgm_cli.blocks.problem import CompositeProblem
from cgm_cli.errors import ProblemError

PROBLEM = CompositeProblem(Simplex(3), LeastSquares(Identity((3,)), np.array([1.0, 0.0, 2.0])))
DEEP: dict = {}
DEEP["step"] = DEEP


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ({"seed": -1}, "^seed: expected at least 0, got -1$"),
        ({"method": "hcgmm"}, "^method: expected one of `auto`, .*, got text 'hcgmm'; did you mean `hcgm`\\?$"),
        ({"method": {"metod": "x"}}, "^method.metod: unknown key `metod`; did you mean `method`\\?$"),
        ({"method": {"iterations": 2.5}}, "^method.iterations: expected a whole number, got 2.5"),
        ({"method": {"step": "classics"}}, "^method.step: unknown step `classics`; did you mean `classic`\\?$"),
        ({"method": {"oracle": {"mode": "fixed", "tolerance": "x"}}}, "^method.oracle.tolerance: expected a number"),
        ({"stop": {"time": "banana"}}, "^stop.time: expected seconds or a duration .*, got text 'banana'$"),
        ({"stop": {"gap": -1.0, "tim": 3}}, "stop.gap: expected more than 0, got -1.0\n\nstop.tim: unknown key"),
    ],
)
def test_a_value_that_is_none_is_refused_by_the_name_of_its_argument(arguments, told):
    with pytest.raises(ProblemError, match=told):
        solve(PROBLEM, **arguments)


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ({"seed": None}, "^seed: expected a whole number, not a value of type NoneType$"),
        ({"seed": True}, "^seed: expected a whole number, not a value of type bool$"),
        ({"seed": 1.0}, "^seed: expected a whole number, not a value of type float$"),
        ({"method": ["cgal"]}, "^method: expected the name of a method, .*, not a value of type list$"),
        ({"method": None}, "^method: expected the name of a method, .*, not a value of type NoneType$"),
        ({"method": {3: "x"}}, "^method: keys are text, and `3` is of type int$"),
        ({"method": DEEP}, "^method: nested deeper than 20 levels$"),
        ({"stop": "gap"}, "^stop: expected a mapping .*, not a value of type str$"),
        ({"stop": 1e-3}, "^stop: expected a mapping .*, not a value of type float$"),
    ],
)
def test_so_is_a_value_of_another_type(arguments, told):
    with pytest.raises(TypeError, match=told):
        solve(PROBLEM, **arguments)


def test_numbers_of_numpy_are_taken():
    step = {
        "iterations": np.int64(0),
        "beta0": np.float64(0.5),
        "oracle": {"mode": "fixed", "tolerance": np.float32(1e-3)},
    }
    answer = solve(PROBLEM, method=step, stop={"gap": np.float64(1e-12)}, seed=np.int64(2))
    assert answer.iterations == 0
