"""Numbers whose squares are none: told as such, not as an error of Python."""

from __future__ import annotations

import pytest

from cgm_cli.errors import NumericalError, ProblemError, in_range
from cgm_cli.spec.load import dump, loads
from cgm_cli.templates.build import build

MATRIX = [[1.0, 1e300], [0.0, 2.0], [1.0, 0.5]]
SQUARE = {"kind": "box", "lower": -1.0, "upper": 1.0, "size": 2}


@pytest.mark.parametrize(
    "problem",
    [
        {
            "domain": SQUARE,
            "objective": {"kind": "least-squares", "map": {"kind": "matrix", "matrix": MATRIX}, "target": 1.0},
        },
        {
            "template": "sparse-regression",
            "data": {"features": MATRIX, "target": [1.0, 0.0, 2.0]},
            "standardise": False,
        },
    ],
)
def test_a_square_out_of_range_is_a_fault_of_the_problem(problem):
    with pytest.raises(ProblemError, match=r"the numbers of this problem are out of range.*state it in other units"):
        build(loads(dump({"problem": problem})))


@pytest.mark.parametrize("failing", [lambda: 1e300**2, lambda: 1.0 / 0.0])
def test_in_range(failing):
    with pytest.raises(NumericalError, match="out of range"), in_range(NumericalError):
        failing()


@pytest.mark.filterwarnings("error")
def test_a_box_out_of_range_is_a_fault_without_a_warning():
    box = {"kind": "box", "lower": -1e300, "upper": 1e300, "size": 2}
    with pytest.raises(ProblemError, match="units"):
        build(loads(dump({"problem": {"domain": box, "objective": {"kind": "linear", "cost": 1.0}}})))


@pytest.mark.filterwarnings("error")
def test_an_index_out_of_range_is_a_fault_without_a_warning():
    term = {"kind": "l1", "map": {"kind": "sampling", "indices": [0, 1e300]}}
    with pytest.raises(ProblemError, match="an index of a sampling is not a whole number"):
        build(loads(dump({"problem": {"domain": SQUARE, "penalties": [term]}})))
