"""Small inputs that went wrong once, as users write them, with the right answers."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from cgm_cli.api import solve
from cgm_cli.errors import CgmError, ProblemError
from cgm_cli.runs.load import load_run
from cgm_cli.spec.load import dump
from cgm_cli.verify.check import verify
from cgm_cli.verify.report import Verdict


def solved(folder, problem, stop, **solver):
    """The result of a spec in a file, and its run."""
    (folder / "case.yaml").write_text(dump({"problem": problem, "solver": solver, "stop": stop}))
    return solve(folder / "case.yaml", out=folder / "run"), load_run(folder / "run")


def test_a_quadratic_that_is_not_quite_convex(tmp_path):
    problem = {
        "domain": {"kind": "box", "lower": [0, -1e6], "upper": [1, 1e6]},
        "objective": {"kind": "quadratic", "matrix": [[1, 0], [0, -9e-11]]},
    }
    with pytest.raises(ProblemError, match="the quadratic is not convex"):
        solved(tmp_path, problem, {"gap": 1e-6}, method="hcgm")


def test_entries_of_int8_add_up(tmp_path):
    """100 + 100 is 200 and not -56: the largest cut of two nodes, by a file of SciPy."""
    rows, columns = [0, 0, 1, 1], [1, 1, 0, 0]
    sp.save_npz(tmp_path / "graph.npz", sp.coo_array((np.full(4, 100, np.int8), (rows, columns)), shape=(2, 2)))
    problem = {"template": "max-cut", "graph": {"file": "graph.npz"}}
    result, run = solved(tmp_path, problem, {"gap": 1e-6}, method="auto")
    assert result.metrics["cut"] == 200.0
    assert (result.record.bound, result.bound_is) == (pytest.approx(200.0), "certified")
    assert not [row for row in verify(run.path).rows if row.verdict is Verdict.FAILS]


def test_a_start_outside_a_small_domain_is_refused(tmp_path):
    problem = {
        "domain": {"kind": "simplex", "size": 2, "radius": 1e-9},
        "objective": {"kind": "linear", "cost": [-1e9, 0]},
        "start": [9e-7, 0],
    }
    with pytest.raises(ProblemError, match=r"the start lies outside the simplex, 8\.99e-07 away"):
        solved(tmp_path, problem, {"gap": 1e-6}, method="hcgm", step="line-search", iterations=50)
    (tmp_path / "inside").mkdir()
    inside = {**problem, "start": [1e-9, 0]}
    result, _ = solved(tmp_path / "inside", inside, {"gap": 1e-6}, method="hcgm", iterations=50)
    assert result.record.total == pytest.approx(-1.0)


def test_a_start_outside_by_rounding_is_projected(tmp_path):
    problem = {
        "domain": {"kind": "l2-ball", "size": 2, "radius": 1},
        "objective": {"kind": "linear", "cost": [-1e6, 0]},
        "start": [1.000000999, 0],
    }
    result, _ = solved(tmp_path, problem, {"gap": 1e-6}, method="hcgm", step="line-search", iterations=50)
    assert result.status.value == "converged"
    assert result.record.total == pytest.approx(-1e6, rel=1e-15)


def test_nearly_dependent_rows_are_not_called_converged(tmp_path):
    """0 beside 1e-3 in infeasibility; the optimum is 0.5."""
    problem = {
        "domain": {"kind": "box", "lower": 0, "upper": 10, "size": 2},
        "objective": {"kind": "linear", "cost": [1, 0]},
        "constraints": [
            {
                "kind": "equals",
                "map": {"kind": "matrix", "matrix": [[1, 1], [1, 1.001]]},
                "value": [1, 1.0005],
            }
        ],
    }
    corrected = {"method": "cgal", "correction": "fully-corrective"}
    result, run = solved(tmp_path, problem, {"gap": 1e-3}, **corrected, iterations=400)
    assert result.status.value == "iteration-limit"
    assert result.record.infeasibility <= 1e-3 < result.record.owed
    assert abs(result.record.total - result.record.bound) <= 1e-3
    assert "constraints are nearly dependent" in result.message
    assert run.summary["owed"] == result.record.owed


def test_two_nodes_and_an_edge(tmp_path):
    (tmp_path / "graph.txt").write_text("2 1\n1 2 1\n")
    problem = {"template": "max-cut", "graph": {"file": "graph.txt"}}
    result, _ = solved(tmp_path, problem, {"gap": 1e-3}, method="auto")
    assert result.status.value == "converged"
    assert (result.record.bound, result.metrics["cut"]) == (pytest.approx(1.0, abs=1e-3), 1.0)


def test_weights_that_are_all_negative(tmp_path):
    edges = [(1, 2, -0.1), (2, 3, -0.2), (1, 3, -0.3), (1, 4, -0.7), (2, 4, -0.15), (3, 4, -0.35)]
    (tmp_path / "graph.txt").write_text("4 6\n" + "".join(f"{i} {j} {w}\n" for i, j, w in edges))
    problem = {"template": "max-cut", "graph": {"file": "graph.txt"}}
    result, run = solved(tmp_path, problem, {"gap": 1e-3}, method="auto")
    assert result.metrics["cut"] == pytest.approx(0.0, abs=1e-15)
    assert not [row for row in verify(run.path).rows if row.verdict is Verdict.FAILS]


@pytest.mark.parametrize("kind", ["psd", "fantope", "fantope-face"])
@pytest.mark.parametrize("cost", [1e8, 1e9, 1e30])
def test_a_huge_cost_without_terms(kind, cost, tmp_path):
    domain = {"kind": kind, "size": 3} | ({"trace": "equal"} if kind == "psd" else {"rank": 2})
    entries = [[-cost, 0, 0], [0, 0, 0], [0, 0, 0]]
    problem = {"domain": domain, "objective": {"kind": "linear", "cost": entries}}
    result, _ = solved(tmp_path, problem, {"gap": 1e-6}, method="hcgm", correction="fully-corrective")
    # On the face X 1 = 1: v v^T and the best unit vector orthogonal to v = (1, 1, 1) / sqrt(3) have 1/3 and 2/3 there.
    assert result.record.total == pytest.approx(-cost, rel=1e-6)


def test_an_offset_out_of_range_is_refused(tmp_path):
    problem = {
        "domain": {"kind": "box", "lower": 0, "upper": 1, "size": 2},
        "constraints": [{"kind": "equals", "value": 0.5, "offset": [1e300, 0]}],
    }
    with pytest.raises(CgmError, match="choose other units"):
        solved(tmp_path, problem, {"gap": 1e-3}, method="auto")


def test_a_face_of_the_fantope_with_a_penalty(tmp_path):
    cost = [[0.1, 0, 0, 0], [0, 1, 0, 0], [0, 0, -1, 0.5], [0, 0, 0.5, 0.3]]
    problem = {
        "domain": {"kind": "fantope-face", "size": 4, "rank": 3},
        "objective": {"kind": "linear", "cost": cost},
        "penalties": [{"kind": "l1", "scale": 0.1}],
    }
    result, _ = solved(tmp_path, problem, {"gap": 1e-3}, method="auto")
    assert result.status.value == "converged"
    assert result.record.total == pytest.approx(0.046, abs=1.5e-3)
