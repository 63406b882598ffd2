"""The best answer so far, on every record: that of a run, its gap, and where it is remembered."""

from __future__ import annotations

import math

import numpy as np
import pytest

from cgm_cli import load_run, solve
from cgm_cli.blocks.domains.simplex import Simplex
from cgm_cli.blocks.losses.linear import Linear
from cgm_cli.blocks.problem import CompositeProblem
from cgm_cli.methods.in_hand import InHand

POINTS = np.random.default_rng(0).standard_normal((12, 2)).round(2).tolist()
CASES = {
    "cut": ({"template": "max-cut", "graph": {"nodes": 30, "edges": 90}}, 1.0, "cut"),
    "halves": ({"template": "minimum-bisection", "graph": {"nodes": 30, "edges": 90}}, 1.0, "cut"),
    "clustering": ({"template": "kmeans-sdp", "clusters": 3, "points": POINTS, "restarts": 2}, 0.5, "kmeans_value"),
    "modularity": (
        {"template": "community-detection", "graph": {"nodes": 20, "communities": 2, "inside": 0.5, "outside": 0.1}},
        1.0,
        "modularity",
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_every_record_has_the_best_answer_so_far_and_its_gap(tmp_path, case):
    problem, part, metric = CASES[case]
    records = []
    tree = {"problem": problem, "solver": {"method": "cgal", "iterations": 60}, "stop": {"gap": None}}
    answer = solve(tree, out=tmp_path / "run", on_record=records.append)
    (name, gap) = next(iter(records)).in_hand
    values = np.array([record.in_hand[name] for record in records])
    sign = 1.0 if answer.sense == "minimise" else -1.0
    assert gap == f"{name}_gap"
    assert (np.diff(sign * values) <= 0.0).all()
    assert sign * values[-1] >= sign * answer.metrics[metric] - 1e-9 * abs(values[-1])
    for record in records:
        value, bound = record.in_hand[name], part * record.bound
        assert sign * value >= sign * bound - 1e-6 * abs(bound)
        assert record.in_hand[gap] == pytest.approx(abs(value - bound) / (max(abs(value), abs(bound)) or 1.0), abs=1e-6)
    trace = load_run(tmp_path / "run").trace
    np.testing.assert_array_equal(trace[f"best_{name}"], values)


@pytest.mark.parametrize("iterate", ["dense", "factored", "samples", "sketch"])
def test_of_a_sketch_there_is_none(tmp_path, iterate):
    """To recover x takes longer than a step."""
    tree = {
        "problem": CASES["cut"][0],
        "solver": {"method": "hcgm", "iterations": 5, "iterate": iterate},
        "stop": {"gap": None},
    }
    records = []
    solve(tree, out=tmp_path / "run", on_record=records.append)
    assert all(bool(record.in_hand) == (iterate != "sketch") for record in records)


def test_what_is_no_number_is_no_answer():
    simplex = CompositeProblem(Simplex((2,), 1.0), Linear(np.array([1.0, 2.0]), (2,)))
    in_hand = InHand("answer", 1.0, lambda iterate, k: math.nan)
    assert in_hand.figures(simplex, math.nan, 1.0) == {}
    assert in_hand.better(simplex, math.nan, 2.0) == in_hand.better(simplex, 2.0, math.nan) == 2.0
    assert in_hand.better(simplex, 3.0, 2.0) == 2.0
