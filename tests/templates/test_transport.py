"""Optimal transport against scipy's linprog and the closed form on a line, and what does not fit."""

from __future__ import annotations

import numpy as np
import pytest

from cgm_cli import load_run, solve
from cgm_cli.errors import DataError, ProblemError
from tests.templates.programs import transport_optimum
from tests.templates.support import template


@pytest.mark.parametrize("seed", range(4))
def test_against_linprog(tmp_path, seed):
    rng = np.random.default_rng(seed)
    costs, supplies, demands = rng.standard_normal((5, 7)), rng.random(5), rng.random(7)
    fields = {"costs": costs, "supplies": supplies, "demands": demands * supplies.sum() / demands.sum()}
    answer = solve({"problem": {"template": "transport", **fields}, "stop": {"gap": 1e-7}}, out=tmp_path / "run")
    best = transport_optimum(template("transport", **{name: value.tolist() for name, value in fields.items()}))
    assert answer.status.value == "converged" and answer.bound_is == "certified"
    assert answer.objective == pytest.approx(best, rel=1e-5)
    assert answer.bound <= best + 1e-9
    assert answer.x.sum(axis=1) == pytest.approx(supplies, abs=1e-5)


def test_on_a_line_it_is_the_distance_of_the_distribution_functions(tmp_path):
    """The cost |i - j| makes it sum_k |A_k - B_k| of the partial sums (Vallender 1974)."""
    rng, place = np.random.default_rng(9), np.arange(30.0)
    a, b = rng.random(30), rng.random(30)
    a, b = a / a.sum(), b / b.sum()
    problem = {"template": "transport", "costs": abs(place[:, None] - place), "supplies": a, "demands": b}
    answer = solve({"problem": problem}, out=tmp_path / "run")
    assert answer.objective == pytest.approx(abs(np.cumsum(a) - np.cumsum(b)).sum(), rel=1e-3)


def test_composed_it_takes_the_steps_of_the_template(tmp_path):
    rng = np.random.default_rng(5)
    costs, supplies, demands = rng.random((6, 4)), np.full(6, 0.5), np.full(4, 0.75)
    answers = [
        solve({"problem": problem, "stop": {"gap": 1e-7}}, out=tmp_path / name)
        for name, problem in {
            "template": {"template": "transport", "costs": costs, "supplies": supplies, "demands": demands},
            "composed": {
                "domain": {"kind": "simplex", "size": [6, 4], "radius": 3.0},
                "objective": {"kind": "linear", "cost": costs},
                "constraints": [
                    {"kind": "equals", "value": supplies, "map": {"kind": "row-sums"}, "name": "supplies"},
                    {"kind": "equals", "value": demands, "map": {"kind": "column-sums"}, "name": "demands"},
                ],
            },
        }.items()
    ]
    assert all("interior-point" in load_run(answer.run).summary["method"] for answer in answers)
    assert answers[0].objective == pytest.approx(answers[1].objective, rel=1e-6)


def test_numbers_stand_for_all_and_rounding_is_mended():
    built = template("transport", costs=[[1.0, 2.0], [3.0, 4.0]], supplies=0.5, demands=[0.3, 0.7000001])
    assert built.supplies.tolist() == [0.5, 0.5]
    assert built.demands.sum() == pytest.approx(1.0, abs=1e-15)


@pytest.mark.parametrize(
    ("fields", "message", "path"),
    [
        ({"costs": [1.0, 2.0]}, "costs are a matrix", ("costs",)),
        ({"supplies": [1.0, 2.0, 3.0]}, "the array of supplies is a vector of 3", ("supplies",)),
        ({"supplies": [2.0, -1.0]}, "supplies are at least 0, and one is -1", ("supplies",)),
        ({"demands": [1.0, 2.0]}, "sum to 1, but the demands to 3: the difference needs a place, a row", ("demands",)),
        ({"demands": [0.1, 0.2]}, "sum to 1, but the demands to 0.3: .* a column of costs", ("demands",)),
        ({"demands": 0.0, "supplies": 0.0}, "nothing is supplied", ("supplies",)),
    ],
)
def test_what_does_not_fit(fields, message, path):
    given = {"costs": [[1.0, 2.0], [3.0, 4.0]], "supplies": 0.5, "demands": 0.5, **fields}
    with pytest.raises(ProblemError, match=message) as error:
        template("transport", **given)
    assert error.value.path == path


def test_tables_go_together_by_the_names_of_the_places(tmp_path):
    (tmp_path / "costs.csv").write_text(",Oslo,Rom,Prag\nBern,17,4,3\nChur,11,13,7\n")
    (tmp_path / "turned.csv").write_text("to,Bern,Chur\nOslo,17,11\nRom,4,13\nPrag,3,7\n")
    (tmp_path / "bare.csv").write_text("17,4,3\n11,13,7\n")
    (tmp_path / "supplies.csv").write_text("place,supply\nChur,20\nBern,10\n")
    (tmp_path / "demands.csv").write_text("place,demand\nPrag,15\nOslo,5\nRom,10\n")
    (tmp_path / "others.csv").write_text("place,demand\nPrague,15\nOslo,5\nRom,10\n")

    def built(costs, demands="demands.csv"):
        fields = {"supplies": ("supplies.csv", "supply"), "demands": (demands, "demand")}
        amounts = {name: {"file": file, "column": column, "names": "place"} for name, (file, column) in fields.items()}
        return template("transport", tmp_path, costs=costs, **amounts)

    for costs in ({"file": "costs.csv", "names": 1}, {"file": "turned.csv", "names": "to", "transpose": True}):
        found = built(costs)
        assert found.supplies.tolist() == [10.0, 20.0] and found.demands.tolist() == [5.0, 10.0, 15.0]
    assert built({"file": "bare.csv"}).demands.tolist() == [15.0, 5.0, 10.0]
    with pytest.raises(DataError, match="the costs have no place `Prague`; did you mean `Prag`") as error:
        built({"file": "costs.csv", "names": 1}, "others.csv")
    assert error.value.path == ("demands",)
