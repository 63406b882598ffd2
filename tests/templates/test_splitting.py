"""Intersections of domains and images in domains: known optima, other methods, messages, commands."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import linprog

from cgm_cli.api import load_run, solve
from cgm_cli.blocks.domains.product import Product
from cgm_cli.errors import CgmError, ProblemError
from cgm_cli.spec.faults import SpecError
from cgm_cli.spec.json_schema import spec_schema
from cgm_cli.spec.load import dump, loads, resolved
from cgm_cli.templates.build import build
from tests.templates.programs import completion
from tests.templates.support import solve as solved
from tests.templates.support import spec


def matrix(array):
    return {"kind": "matrix", "matrix": array.tolist()}


def test_the_simplex_and_a_ball():
    """max x_1: x = (a, b, b) with a + 2 b = 1 and a^2 + 2 b^2 = r^2."""
    r = 0.8
    best = max(np.roots([1.5, -1.0, 0.5 - r**2]).real)
    problem = {
        "domains": [{"kind": "simplex", "size": 3}, {"kind": "l2-ball", "size": 3, "radius": r}],
        "objective": {"kind": "linear", "cost": [-1.0, 0.0, 0.0]},
    }
    result = solved(problem, iterations=3000, scaling="auto")
    assert result.bound_is == "certified"
    assert result.record.bound <= -best + 1e-12
    assert -best - result.record.bound < 0.02
    assert abs(result.record.total + best) < 0.05
    assert result.record.infeasibilities.keys() == {"in-l2-ball"}
    assert result.record.infeasibility < 0.03
    x = result.solution["x"]
    assert x.shape == (3,)
    assert x.sum() == pytest.approx(1.0)
    assert result.record.objective == pytest.approx(-x[0], abs=1e-9)


def test_projection_of_a_point_that_is_in_both():
    """The target is in both."""
    problem = {
        "domains": [{"kind": "box", "lower": 0, "upper": 1, "size": 3}, {"kind": "simplex", "size": 3}],
        "objective": {"kind": "least-squares", "target": [0.5, 0.3, 0.2]},
    }
    result = solved(problem, iterations=1000, scaling="auto")
    assert result.record.bound <= 1e-12
    assert result.solution["x"] == pytest.approx([0.5, 0.3, 0.2], abs=0.03)


def test_an_l1_ball_and_a_box_against_linprog():
    rng = np.random.default_rng(0)
    cost, upper = rng.standard_normal(6), 0.2 + rng.random(6)
    best = linprog(np.r_[cost, -cost], A_ub=[np.ones(12)], b_ub=[1.5], bounds=[(0, u) for u in [*upper, *upper]]).fun
    problem = {
        "domains": [
            {"kind": "l1-ball", "size": 6, "radius": 1.5},
            {"kind": "box", "lower": (-upper).tolist(), "upper": upper.tolist()},
        ],
        "objective": {"kind": "linear", "cost": cost.tolist()},
    }
    result = solved(problem, iterations=1000, scaling="auto", beta0=0.3)
    assert result.record.bound <= best + 1e-12
    assert best - result.record.bound < 0.1 * abs(best)
    assert abs(result.record.total - best) < 0.1 * abs(best)
    assert result.record.infeasibility < 0.1


def test_a_nuclear_ball_and_a_box_against_another_method():
    places = np.array([0, 1, 3, 4, 6, 9, 10, 12, 13, 15])
    target = np.array([1.0, -1, 1, -1, -1, -1, 1, 1, -1, 1])

    best = completion(places, target, (4, 4), 3.0, 0.9)
    problem = {
        "domains": [
            {"kind": "nuclear-ball", "shape": [4, 4], "radius": 3.0},
            {"kind": "linf-ball", "size": [4, 4], "radius": 0.9},
        ],
        "objective": {
            "kind": "least-squares",
            "map": {"kind": "sampling", "indices": places.tolist()},
            "target": target.tolist(),
        },
    }
    result = solved(problem, iterations=3000, scaling="auto")
    assert result.record.bound <= best + 1e-6
    assert best - result.record.bound < 0.1
    assert abs(result.record.total - best) < 0.1
    assert result.record.infeasibility < 0.05
    assert result.solution["x"].shape == (4, 4)
    assert np.linalg.norm(result.solution["x"], "nuc") <= 3.0 + 1e-9


def test_an_image_in_a_domain_against_linprog():
    """min <c, x> over a box with |A x - o|_1 <= 1."""
    rng = np.random.default_rng(3)
    a, cost, offset = rng.standard_normal((3, 5)), rng.standard_normal(5), np.array([0.2, 0.0, -0.1])
    # Variables (x, t): -t <= A x - o <= t, sum t <= 1.
    rows = np.block([[a, -np.eye(3)], [-a, -np.eye(3)], [np.zeros((1, 5)), np.ones((1, 3))]])
    bounds = [(-1, 1)] * 5 + [(0, None)] * 3
    best = linprog(np.r_[cost, np.zeros(3)], A_ub=rows, b_ub=np.r_[offset, -offset, 1.0], bounds=bounds).fun
    problem = {
        "domain": {"kind": "box", "lower": -1, "upper": 1, "size": 5},
        "objective": {"kind": "linear", "cost": cost.tolist()},
        "constraints": [
            {
                "kind": "in-domain",
                "domain": {"kind": "l1-ball", "size": 3, "radius": 1.0},
                "map": matrix(a),
                "offset": offset.tolist(),
                "name": "near",
            },
            {"kind": "box", "upper": 5.0, "name": "idle"},
        ],
    }
    result = solved(problem, iterations=1500, scaling="auto", beta0=0.1)
    assert result.record.infeasibilities.keys() == {"near", "idle"}
    assert result.record.bound <= best + 1e-9
    assert best - result.record.bound < 0.1 * abs(best)
    assert abs(result.record.total - best) < 0.1 * abs(best)
    x, copy = np.split(result.solution["variables"], [5])
    assert np.linalg.norm(a @ x - offset - copy) < 0.05
    x = result.solution["x"]
    assert x.shape == (5,)
    assert np.abs(a @ x - offset).sum() < 1.2


THREE = {
    "domains": [
        {"kind": "l2-ball", "size": 4},
        {"kind": "l1-ball", "size": 4},
        {"kind": "l1-ball", "size": 4, "radius": 3},
    ],
    "objective": {"kind": "quadratic", "matrix": np.eye(4).tolist()},
    "constraints": [
        {"kind": "in-domain", "domain": {"kind": "simplex", "size": 4}},
        {"kind": "equals", "value": 0.25, "map": {"kind": "sampling", "indices": [0]}, "name": "in-l1-ball"},
    ],
    "penalties": [{"kind": "linf"}],
    "start": [0.25, 0.25, 0.25, 0.25],
}


def test_the_expansion():
    problem = build(spec(THREE)).problem
    assert isinstance(problem.domain, Product)
    assert problem.domain.shape == (16,)
    names = [term.name for term in problem.terms]
    assert names == ["in-l1-ball-2", "in-l1-ball-3", "in-domain", "in-l1-ball", "linf"]
    assert problem.first.dense()[:12].tolist() == [0.25] * 12
    point = np.arange(16.0)
    x, xi, third, psi = point.reshape(4, 4)
    images = dict(zip(names, (term.map.forward(point) for term in problem.terms), strict=True))
    np.testing.assert_array_equal(images["in-l1-ball-2"], x - xi)
    np.testing.assert_array_equal(images["in-l1-ball-3"], x - third)
    np.testing.assert_array_equal(images["in-domain"], x - psi)
    np.testing.assert_array_equal(images["in-l1-ball"], x[:1])
    np.testing.assert_array_equal(images["linf"], x)
    assert problem.loss.value(problem.loss.map.forward(point)) == pytest.approx(0.5 * x @ x)


def test_three_domains_and_more():
    """x = 1/4 everywhere has the smallest |x|^2 / 2 and max |x| of the simplex: 1/8 + 1/4."""
    result = solved(THREE, iterations=2000, scaling="auto")
    assert result.record.bound <= 0.375 + 1e-12
    assert result.record.total == pytest.approx(0.375, abs=0.04)
    assert result.solution["x"] == pytest.approx([0.25] * 4, abs=0.03)


def test_a_run_reports_x_itself(tmp_path):
    result = solve({"name": "split", "problem": THREE, "solver": {"iterations": 5}}, out=tmp_path / "run")
    assert result.solution["x"].shape == (4,)
    np.testing.assert_array_equal(load_run(tmp_path / "run").solution["x"], result.solution["x"])


@pytest.mark.parametrize(
    ("change", "path", "words"),
    [
        (
            {"domains": [*THREE["domains"][:1], {"kind": "l1-ball", "size": 3}]},
            ("problem", "domains", 1),
            "vector of 3",
        ),
        ({"start": [1.0, 0.0, 0.0, 0.5]}, ("problem", "start"), "outside the"),
        (
            {"constraints": [{"kind": "in-domain", "domain": {"kind": "simplex", "size": 3}}]},
            ("problem", "constraints", 0, "domain"),
            "but the image is a vector of 4",
        ),
        (
            {"constraints": [{"kind": "in-domain", "domain": {"kind": "simplex", "size": 4}, "offset": [1.0]}]},
            ("problem", "constraints", 0),
            "the offset is a vector of 1",
        ),
        (
            {
                "penalties": [
                    {"kind": "support", "set": {"kind": "in-domain", "domain": {"kind": "simplex", "size": 4}}}
                ]
            },
            ("problem", "penalties", 0, "set"),
            "needs the projection",
        ),
    ],
)
def test_what_does_not_fit(change, path, words):
    with pytest.raises(ProblemError, match=words) as caught:
        build(spec({**THREE, **change}))
    assert caught.value.path[: len(path)] == path


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("problem: {objective: {kind: linear, cost: 1}}\n", "missing key `domain`"),
        (
            "problem: {domain: {kind: simplex, size: 2}, domains: [{kind: box, lower: 0, upper: 1, size: 2}, "
            "{kind: simplex, size: 2}]}\n",
            "give one of the two keys",
        ),
        ("problem: {domains: [{kind: simplex, size: 2}]}\n", "at least 2"),
        ("problem: {domains: [{kind: simplex, size: 2}, {kind: simplx, size: 2}]}\n", "did you mean `simplex`"),
        ("problem: {domain: {kind: in-domain}}\n", "belongs under `constraints`"),
    ],
)
def test_specs_that_are_refused(text, words):
    with pytest.raises(SpecError) as caught:
        loads(text)
    assert words in str(caught.value)


def test_a_resolved_spec_is_the_same_spec():
    given = loads(dump({"name": "x", "problem": THREE}))
    assert loads(resolved(given)) == given


def test_the_schema_knows_both_forms():
    definition = spec_schema()["$defs"]["spec.ComposedProblem"]
    assert definition["anyOf"] == [{"required": ["domain"]}, {"required": ["domains"]}]
    assert "required" not in definition
    assert definition["properties"]["domains"]["anyOf"][0]["items"] == {"$ref": "#/$defs/domain"}


def test_method_cgm_cannot_take_the_equations():
    with pytest.raises(CgmError, match="hcgm"):
        solved(THREE, method="cgm", iterations=3)
