"""What `method: auto` comes to, and why."""

import numpy as np
import pytest

from cgm_cli.errors import ProblemError
from cgm_cli.solving import presets
from cgm_cli.spec.load import dump, loads
from cgm_cli.templates.build import build
from tests.methods.test_variants import FACE, FANTOPE, PENALISED, SPECTRAL, instance

SMOOTH = {"domain": {"kind": "simplex", "size": 3}, "objective": {"kind": "least-squares", "target": [1, 0, 2]}}
GROUPS = {
    "domain": {"kind": "latent-group-ball", "groups": [[0, 1], [1, 2, 3]], "radius": 1.0},
    "penalties": [{"kind": "l1", "offset": [1.0, -1.0, 2.0, 0.5]}],
}
PHOTOGRAPH = {
    "domain": {"kind": "nuclear-ball", "shape": [80, 90], "radius": 5.0},
    "constraints": [{"kind": "box", "lower": 0.0, "upper": 1.0}],
    "penalties": [{"kind": "l1", "offset": 0.5}],
}
"""Whose entries are looked at, and whose rank is high."""


def large(n, dense):
    """Over matrices whose projection is dear; dense: a term looks at every entry."""
    cost = np.diag(np.arange(float(n)))
    sets = [{"kind": "nonnegative"}] if dense else [{"kind": "equals", "map": {"kind": "diagonal"}, "value": 1.0}]
    domain = {"kind": "psd", "size": n, "radius": float(n)}
    return {"domain": domain, "objective": {"kind": "linear", "cost": cost.tolist()}, "constraints": sets}


def theta(nodes, edges, **more):
    return {"template": "lovasz-theta", "graph": {"nodes": nodes, "edges": edges}, **more}


def wide(n):
    """Over a fantope whose projection is dear."""
    return {
        "domain": {"kind": "fantope", "size": n, "rank": 2},
        "objective": {"kind": "linear", "cost": np.diag(np.arange(float(n))).tolist()},
        "constraints": [{"kind": "equals", "value": 2.0 / n, "map": {"kind": "diagonal"}}],
    }


def kinds(problem, **solver):
    """The policies that a spec comes to."""
    choice = instance(problem, **solver).choice
    return {family: each.policy.name for family, each in choice.policies.items()} | {"method": choice.name}


@pytest.mark.parametrize(
    ("problem", "method", "correction", "duals", "smoothing"),
    [
        # Projections are cheap: of vectors, and of small matrices.
        (PENALISED, "cgal", "primal-dual", "adopted", "constant"),
        (SMOOTH, "hcgm", "accelerated", "none", "homotopy"),
        (SPECTRAL, "cgal", "primal-dual", "adopted", "constant"),
        (FACE, "cgal", "primal-dual", "adopted", "constant"),
        (FANTOPE, "cgal", "primal-dual", "adopted", "constant"),
        (PHOTOGRAPH, "cgal", "primal-dual", "adopted", "constant"),
        # Matrices of low rank: no step of dual ascent is taken before the descent has given way.
        (large(100, dense=False), "cgal", "local-descent", "multipliers", "constant"),
        (large(100, dense=True), "cgal", "local-descent", "multipliers", "constant"),
        # Theta of a graph with many edges, and with X >= 0; of one with few, whose solutions have a low rank.
        (theta(150, 400, nonnegative=True), "cgal", "primal-dual", "adopted", "constant"),
        (theta(300, 4500), "cgal", "primal-dual", "adopted", "constant"),
        (theta(400, 4500), "cgal", "local-descent", "multipliers", "constant"),
        # Of what the domain is the image of.
        (GROUPS, "cgal", "primal-dual", "adopted", "constant"),
        # Neither.
        (wide(80), "cgal", "fully-corrective", "ascent", "homotopy"),
    ],
)
def test_auto_names_what_suits(problem, method, correction, duals, smoothing):
    expected = {"method": method, "correction": correction, "duals": duals, "smoothing": smoothing}
    assert kinds(problem, method="auto") | expected == kinds(problem, method="auto")


@pytest.mark.parametrize(
    ("asked", "kept"),
    [
        ({"step": "line-search"}, {"correction": "none", "step": "line-search"}),
        ({"correction": "fully-corrective"}, {"correction": "fully-corrective", "duals": "ascent"}),
        ({"duals": "ascent"}, {"duals": "ascent", "correction": "fully-corrective"}),
    ],
)
def test_what_a_spec_asks_for_itself_stays(asked, kept):
    found = kinds(PENALISED, method="auto", **asked)
    assert found | kept == found


def test_a_correction_that_solves_its_problems_is_not_held_against_the_plain_step():
    method = instance(large(100, dense=False), method="auto").method
    assert method.duals.init(None).is_decisive and not method.correction.guarded


BALL = {"domain": {"kind": "l2-ball", "size": 3}}
FREE = {**BALL, "objective": {"kind": "linear", "cost": [1.0, 2.0, 0.0]}}
FINITE = {**FREE, "penalties": [{"kind": "l1"}]}
BOXED = {**FREE, "constraints": [{"kind": "box", "upper": 0.5, "name": "lid"}]}
PSD = {
    "domain": {"kind": "psd", "size": 3},
    "objective": {"kind": "linear", "cost": np.diag([1.0, 2.0, 0.0]).tolist()},
    "constraints": [{"kind": "equals", "map": {"kind": "diagonal"}, "value": 0.3}],
}


@pytest.mark.parametrize("problem", [FREE, FINITE], ids=["without terms", "with a term"])
@pytest.mark.parametrize(
    ("solver", "advice"),
    [
        ({"method": "cgm"}, "and `method: cgm` smooths none: use `method: cgal`"),
        ({"method": "hcgm", "smoothing": "none"}, "and `smoothing: none` smooths none: leave out `smoothing: none`"),
        ({"method": "cgm", "smoothing": "none"}, "use `method: cgal`, and leave out `smoothing: none`"),
    ],
)
def test_multipliers_need_terms_that_are_smoothed(problem, solver, advice):
    for duals in ("ascent", "multipliers", "adopted", {"kind": "ascent", "bound": 2.0}):
        with pytest.raises(ProblemError) as caught:
            instance(problem, **solver, duals=duals)
        assert caught.value.message.endswith(advice)


@pytest.mark.parametrize("correction", ["fully-corrective", "pairwise"])
@pytest.mark.parametrize("solver", [{"method": "cgm"}, {"method": "auto", "smoothing": "none"}])
def test_they_need_them_beside_a_correction_too(solver, correction):
    with pytest.raises(ProblemError, match="multipliers, which need terms that are smoothed"):
        instance(FREE, **solver, duals="ascent", correction=correction)


@pytest.mark.parametrize(
    ("solver", "message"),
    [
        ({"method": "cgm"}, "`method: cgm` has no way to handle a constraint (lid): use `method: hcgm`"),
        (
            {"method": "hcgm", "smoothing": "none"},
            "`smoothing: none` has no way to handle a constraint (lid): leave out `smoothing: none`",
        ),
        (
            {"method": "cgal", "smoothing": "none"},
            "`smoothing: none` has no way to handle a constraint (lid): leave out `smoothing: none`",
        ),
        (
            {"method": "cgm", "smoothing": "none"},
            "`method: cgm` has no way to handle a constraint (lid): "
            "use `method: hcgm`, and leave out `smoothing: none`",
        ),
    ],
)
def test_a_constraint_that_is_not_smoothed_is_refused_before_anything_is_solved(solver, message):
    with pytest.raises(ProblemError) as caught:
        instance(BOXED, **solver)
    assert caught.value.message == message and caught.value.path[0] == "solver"


@pytest.mark.parametrize(
    ("problem", "solver", "reason"),
    [
        (FREE, {"method": "cgal"}, "no penalty and no constraint"),
        (FREE, {"method": "cgal", "duals": {"kind": "ascent", "bound": 2.0}}, "no penalty and no constraint"),
        (FREE, {"method": "cgal", "duals": "none"}, "no penalty and no constraint"),
        (FINITE, {"method": "cgal", "duals": {"kind": "ascent", "bound": 2.0}}, "in one place"),
        (FINITE, {"method": "cgal", "duals": "none"}, "`duals: none` leaves no multipliers"),
        (FINITE, {"method": "cgal", "smoothing": "none"}, "leave out `smoothing: none`"),
        (FINITE, {"method": "hcgm"}, "and `method: hcgm` has none"),
        (FINITE, {"method": "cgm"}, "and `method: cgm` has none"),
        (FINITE, {"method": "cgal", "correction": "primal-dual"}, "`correction: primal-dual` moves the multipliers"),
        (PSD, {"method": "cgal", "correction": "local-descent"}, "`correction: local-descent` moves the multipliers"),
    ],
)
def test_a_bound_on_multipliers_that_there_are_not_is_refused_for_its_reason(problem, solver, reason):
    with pytest.raises(ProblemError, match=reason) as caught:
        instance(problem, **solver, dual_bound=1.0)
    assert caught.value.path == ("solver", "dual_bound")


@pytest.mark.parametrize(
    ("matrices", "few", "many", "correction"),
    [
        # Of more than single entries: up to more of them.
        ([[[1, 1, 1], [1, 1, 1], [1, 1, 1]], [[1, 1, 0], [1, 1, 0], [0, 0, 0]]], 1, 2, "interior-point"),
        ([[[1, 1, 1], [1, 1, 1], [1, 1, 1]], [[1, 1, 0], [1, 1, 0], [0, 0, 0]]], 1, 1, "primal-dual"),
        # Of single entries.
        ([[[0, 1, 0], [1, 0, 0], [0, 0, 0]], [[0, 0, 1], [0, 0, 0], [1, 0, 0]]], 1, 2, "primal-dual"),
        ([[[0, 1, 0], [1, 0, 0], [0, 0, 0]], [[0, 0, 1], [0, 0, 0], [1, 0, 0]]], 2, 2, "interior-point"),
        ([[[1, 0, 0], [0, 0, 0], [0, 0, 0]], [[0, 0, 0], [0, 1, 0], [0, 0, 0]]], 1, 2, "primal-dual"),
    ],
)
def test_how_many_constraints_are_for_interior_points(matrices, few, many, correction, monkeypatch):
    monkeypatch.setattr(presets, "ROWS", few)
    monkeypatch.setattr(presets, "FURTHER", many)
    rows = [{"matrix": matrix, "equals": 0.1} for matrix in matrices]
    problem = {"template": "standard-sdp", "cost": np.eye(3).tolist(), "constraints": rows, "radius": 2.0}
    assert kinds(problem, method="auto")["correction"] == correction


def test_a_cut_of_a_hundred_thousand_nodes_is_not_written_out():
    """What `auto` asks of the constraints takes room by their entries, and not by those of X."""
    problem = {"template": "max-cut", "graph": {"nodes": 100_000, "edges": 200_000}}
    made = build(loads(dump({"problem": problem})))
    assert made.choice.policies["correction"].policy.name == "mixing"
