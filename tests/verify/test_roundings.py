"""What a template claims of its rounding is true, and is found out where it is not."""

from __future__ import annotations

import json
from pathlib import Path
from typing import get_args, get_type_hints

import numpy as np
import pytest

from cgm_cli.api import solve
from cgm_cli.runs.load import load_run
from cgm_cli.spec import registry
from cgm_cli.templates import claims
from cgm_cli.templates.assignments import spacing
from cgm_cli.templates.base import Template
from cgm_cli.templates.claims import Claim, FeasibleObjective
from cgm_cli.verify.check import verify
from cgm_cli.verify.claims import Claims, read_claims, rebuild
from cgm_cli.verify.precision import Missing, Unchecked
from cgm_cli.verify.report import Verdict
from cgm_cli.verify.roundings import COMPARISONS, FORMULAS, Saved, contradiction, recomputed
from tests.verify.support import altered, copied, row

DATA = Path(__file__).parents[2] / "data"
POINTS = np.random.default_rng(0).standard_normal((12, 2)).round(2).tolist()
SQUARE = [[0, 1, 2, 1], [1, 0, 1, 2], [2, 1, 0, 1], [1, 2, 1, 0]]
PROBLEMS = {
    "kmeans-sdp": {"clusters": 3, "points": POINTS, "restarts": 2, "domain": "fantope"},
    "max-cut": {"graph": {"nodes": 30, "edges": 90, "signed": True}},
    "community-detection": {"graph": {"nodes": 30, "communities": 3, "inside": 0.6, "outside": 0.2}},
    "weight within": {
        "template": "community-detection",
        "graph": {"nodes": 30, "communities": 3, "inside": 0.6, "outside": 0.2},
        "criterion": "equal-sizes",
        "communities": 3,
    },
    "minimum-bisection": {"graph": {"nodes": 31, "edges": 90}},
    "sparse-pca": {"covariance": "pitprops", "cardinality": 5},
    "sparse-pca, penalised": {"template": "sparse-pca", "covariance": "pitprops", "penalty": 0.1},
    "nearest-correlation": {"matrix": [[1, 0.9, 0.2], [0.9, 1, 0.9], [0.2, 0.9, 1]]},
    "optimal-power-flow": {"case": {"file": str(DATA / "case9.m")}},
    "robust-pca": {"image": "camera", "size": 12},
    "lovasz-theta": {"graph": {"cycle": 7}},
    "theta, weighted": {"template": "lovasz-theta", "graph": {"cycle": 7}, "weights": [1, 2, 3, 4, 5, 6, 7]},
    "matrix-game": {"payoff": {"rows": 4, "columns": 5}},
    "graph-matching": {"first": SQUARE, "second": [[0, 1, 0, 0], [1, 0, 1, 1], [0, 1, 0, 1], [0, 1, 1, 0]]},
    "quadratic-assignment": {"flow": [[0, 5, 2, 1], [5, 0, 3, 0], [2, 3, 0, 4], [1, 0, 4, 0]], "distance": SQUARE},
}
"""A small problem of every template that claims something, by its name or by that of a variant."""


def template_of(name):
    return PROBLEMS[name].get("template", name)


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs")
    for name, problem in PROBLEMS.items():
        tree = {"name": "small", "problem": {"template": template_of(name), **problem}}
        solve(tree, ["solver.iterations=30"], out=folder / name)
    return folder


def claims_of(run: Path) -> tuple[Claim, ...]:
    return tuple(rebuild(load_run(run))[1].template.claims())


def recorded(run: Path, **figures: float) -> None:
    """Other figures of the template, in status.json."""
    state = json.loads((run / "status.json").read_text())
    state["result"]["metrics"].update(figures)
    (run / "status.json").write_text(json.dumps(state))


def test_every_template_that_claims_something_is_in_the_table():
    classes = {name: registry.lookup("template", name) for name in registry.TEMPLATES}
    assert set(map(template_of, PROBLEMS)) == {
        name for name, each in classes.items() if each.claims is not Template.claims
    }


def test_every_kind_of_statement_has_a_formula():
    assert set(FORMULAS) == set(get_args(claims.Statement))
    assert set(COMPARISONS) == set(get_args(get_type_hints(claims.AgainstBound)["how"]))


def test_what_is_relative_is_so_to_the_unit_at_least():
    assert COMPARISONS["relative"](4e-10, 0.0, 4e-5) == pytest.approx(1e-5)
    assert COMPARISONS["relative"](4.0, 2.0, 4e-5) == 0.5


@pytest.mark.parametrize("name", PROBLEMS)
def test_the_claims_of_a_template_are_of_figures_that_it_has(runs, name):
    found, declared = (
        claims_of(runs / name),
        {metric.name for metric in registry.lookup("template", template_of(name)).measures},
    )
    metrics = [claim.metric for claim in found]
    assert len(metrics) == len(set(metrics)) and set(metrics) <= declared
    assert all(claim.ends_at is None or claim.ends_at in metrics for claim in found)
    assert set(metrics) <= set(load_run(runs / name).summary["metrics"])


@pytest.mark.parametrize("name", PROBLEMS)
def test_a_figure_that_is_off_is_found(runs, tmp_path, name):
    """Either way, for every claim that there is something to recompute from."""
    report, run = verify(runs / name), copied(runs / name, tmp_path / "run")
    assert report.holds
    rows = (row(report, claim.metric) for claim in claims_of(run))
    figures = {each.quantity: each.claimed for each in rows if each.verdict is Verdict.HOLDS}
    assert figures
    for off in (-1e-3, 1e-3):
        recorded(run, **{metric: value + off * max(1.0, abs(value)) for metric, value in figures.items()})
        assert set(figures) <= set(verify(run).having(Verdict.FAILS))


@pytest.mark.parametrize("name", PROBLEMS)
def test_what_lies_beyond_the_certified_bound_is_found(runs, tmp_path, name):
    """Also where there is nothing to recompute a figure from."""
    run = copied(runs / name, tmp_path / "run")
    sign = 1.0 if load_run(run).summary["sense"] == "minimise" else -1.0
    limited = [claim for claim in claims_of(run) if claim.limit is not None]
    beyond = {claim.metric: claim.limit * load_run(run).summary["bound"] for claim in limited}
    recorded(run, **{metric: value - sign * (1e-3 * abs(value) + 1e-3) for metric, value in beyond.items()})
    report = verify(run)
    assert all("the certified bound excludes" in row(report, metric).note for metric in beyond)
    assert set(beyond) <= set(report.having(Verdict.FAILS))


TIGHT = {
    "kmeans-sdp": ({"clusters": 2, "points": [[0.0], [1.0], [9.0], [10.0]], "domain": "fantope-face"}, "kmeans_value"),
    "max-cut": ({"graph": {"nodes": 2, "edges": 1}}, "cut"),
    "lovasz-theta": ({"graph": {"cycle": 4}}, "independent_set"),
    "quadratic-assignment": ({"flow": SQUARE, "distance": SQUARE}, "assignment"),
}
"""Relaxations whose optimum is that of what they relax, and the figure of the rounding that reaches it."""


@pytest.mark.parametrize("name", TIGHT)
def test_the_limit_of_a_figure_is_what_the_relaxation_says_of_it(tmp_path, name):
    """Where the relaxation is tight, nothing that is a little better than the best can be claimed."""
    problem, metric = TIGHT[name]
    run, stop = tmp_path / "run", ["stop.gap=1e-3", "stop.infeasibility=1e-3", "solver.iterations=3000"]
    solve({"name": name, "problem": {"template": name, **problem}}, stop, out=run)
    assert verify(run).holds
    best, claim = load_run(run).summary["metrics"][metric], next(c for c in claims_of(run) if c.metric == metric)
    better = 0.98 if load_run(run).summary["sense"] == "minimise" else 1.02
    recorded(run, **{metric: better * best})
    assert claim.limit and "the certified bound excludes" in row(verify(run), metric).note


@pytest.mark.parametrize(
    ("name", "array", "change", "rows"),
    [
        ("lovasz-theta", "independent_set", lambda chosen: np.ones_like(chosen), {"independent_set"}),
        ("lovasz-theta", "independent_set", lambda chosen: chosen[:-1], {"independent_set"}),
        ("theta, weighted", "independent_set", lambda chosen: 0 * chosen, {"independent_set", "independent_weight"}),
        ("robust-pca", "recovered", lambda x: 0.9 * x, {"feasible_objective", "feasible_gap"}),
        ("robust-pca", "recovered", lambda x: x + 1.0, {"feasible_objective", "feasible_gap"}),
        ("robust-pca", "recovered", lambda x: x.T[:-1], {"feasible_objective", "feasible_gap"}),
        ("matrix-game", "x", lambda x: np.roll(x, 1), {"exploitability"}),
        ("matrix-game", "x", lambda x: x[:-1], {"exploitability"}),
        ("graph-matching", "permutation", lambda p: p[:-1], {"mismatch"}),
        ("graph-matching", "permutation", lambda p: p + 0.5, {"mismatch"}),
        ("quadratic-assignment", "permutation", lambda p: p[[1, 0, 2, 3]], {"assignment", "certified_gap"}),
        ("quadratic-assignment", "permutation", lambda p: p[:-1], {"assignment", "certified_gap"}),
        ("quadratic-assignment", "permutation", lambda p: p[:, None], {"assignment", "certified_gap"}),
        ("quadratic-assignment", "permutation", lambda p: p + 0.5, {"assignment", "certified_gap"}),
    ],
)
def test_arrays_that_do_not_give_the_figure(runs, tmp_path, name, array, change, rows):
    run = copied(runs / name, tmp_path / "run")
    altered(run, f"solution/{array}", change)
    assert rows <= set(verify(run).having(Verdict.FAILS))


def test_a_search_that_ends_where_it_was_worse_than_it_began(runs):
    """In either sense."""
    cut = next(claim for claim in claims_of(runs / "max-cut") if claim.ends_at)
    value = {"metrics": {"hyperplane_cut": 5.0, "cut": 4.0}}
    assert "better than `cut`" in contradiction(cut, Claims(value, {}), -1.0)
    assert contradiction(cut, Claims(value, {}), 1.0) == ""
    assert "better than `cut`" in contradiction(cut, Claims({"metrics": {"hyperplane_cut": 4.0, "cut": 5.0}}, {}), 1.0)


def test_a_point_that_misses_a_constraint_has_no_feasible_objective(runs):
    """Whatever its value: in the domain or not, before it is shrunk or after."""
    run = load_run(runs / "robust-pca")
    problem = rebuild(run)[1].template.problem
    recovered, radius = run.solution["recovered"], problem.domain.radius

    def value(array: np.ndarray, radius: float | None = radius) -> float:
        statement = FeasibleObjective(problem, "recovered", () if radius is None else (radius,))
        return recomputed(statement, Saved({"recovered": array}, read_claims(run))).value

    assert np.isfinite(value(recovered)) and np.isfinite(value(0.5 * recovered, None))
    large = np.clip(recovered + np.random.default_rng(0).random(recovered.shape), 0.0, 1.0)
    assert np.linalg.norm(large, "nuc") > radius
    assert np.isfinite(value(large)) and np.isnan(value(large, None)) and np.isnan(value(large, 2.0 * radius))
    assert np.isnan(value(recovered - 1e-3)) and np.isnan(value(np.full_like(recovered, np.nan)))


@pytest.mark.parametrize(
    ("flow", "distance", "bound"),
    [
        (np.ones((2, 2)) - np.eye(2), np.ones((2, 2)), 12.0),
        (np.array([[0, 1], [2, 0]]), np.ones((2, 2)), 11.0),
        (np.ones((2, 2)), np.ones((2, 2)), 11.0),
        (9 * np.ones((2, 2)) - 9 * np.eye(2), np.ones((2, 2)), 18.0),
        (0.5 * np.ones((2, 2)), np.ones((2, 2)), 10.3),
        (np.zeros((2, 2)), np.ones((2, 2)), 10.3),
        (2.0**60 * np.ones((2, 2)), np.ones((2, 2)), 10.3),
    ],
)
def test_a_bound_on_assignments_is_rounded_up_to_what_they_can_come_to(runs, flow, distance, bound):
    """As the template does."""
    claimed = Claims({"bound": 10.3, "bound_is": "certified"}, {})
    assert recomputed(claims.AssignmentBound(flow, distance, 1e-6), Saved({}, claimed)).value == bound
    step = spacing(flow, distance)
    assert bound == (step * np.ceil(10.3 / step) if step else 10.3)


def test_what_was_not_saved_and_what_has_no_formula(runs):
    saved = Saved({}, read_claims(load_run(runs / "max-cut")))
    cut, other, _ = (claim.says for claim in claims_of(runs / "max-cut"))
    with pytest.raises(Missing, match="`partition` is not there"):
        recomputed(cut, saved)
    with pytest.raises(Unchecked, match="not saved"):
        recomputed(other, saved)
    with pytest.raises(Unchecked, match="`Claim` has no independent formula"):
        recomputed(Claim("cut", cut), saved)
