"""Every way in which a run can end, told as it was; and the rules of the spec that would contradict it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from cgm_cli.methods.status import Status
from cgm_cli.runs.execute import execute
from cgm_cli.runs.load import load_run
from cgm_cli.verify.check import verify
from cgm_cli.verify.claims import read_claims, rebuild
from cgm_cli.verify.report import Verdict
from cgm_cli.verify.status import Evidence, status_row
from tests.verify.support import altered, composed, row, verified
from tests.verify.test_honest_runs import DIAGONAL, PSD

LARGE = {
    "name": "cut",
    "problem": {"template": "max-cut", "graph": {"nodes": 70, "edges": 200}},
    "solver": {"method": "hcgm"},
    "stop": {"gap": None},
}
FREE = composed({"kind": "simplex", "size": 4}, objective={"kind": "least-squares", "target": [0.1, 0.2, 0.3, 0.8]})
HARD = composed({"kind": "simplex", "size": 3}, objective={"kind": "linear", "cost": [1.0, 2.0, 3.0]},
                constraints=[{"kind": "box", "lower": 2.0}])  # fmt: skip
ASSIGNMENT = {"problem": {
    "template": "quadratic-assignment",
    "flow": [[0, 5, 2, 4], [5, 0, 3, 0], [2, 3, 0, 0], [4, 0, 0, 0]],
    "distance": [[0, 1, 2, 3], [1, 0, 1, 2], [2, 1, 0, 1], [3, 2, 1, 0]],
}}  # fmt: skip

ENDINGS = {
    "converged": (FREE, ["stop.gap=0.1"], Status.CONVERGED),
    "converged beside constraints": (LARGE, ["stop.gap=0.2", "solver.method=cgal"], Status.CONVERGED),
    "converged, as an estimate": (LARGE, ["stop.gap=0.2", "solver.method=cgal", "bound.certify=never"],
                                  Status.CONVERGED),
    "converged by descent": (LARGE, ["stop.gap=1e-3", "solver.method=auto"], Status.CONVERGED),
    "converged by an answer": (ASSIGNMENT, ["stop.gap=1e-9"], Status.CONVERGED),
    "infeasibility alone": (LARGE, ["stop.infeasibility=0.5"], Status.CONVERGED),
    "iterations": (LARGE, ["solver.iterations=20"], Status.ITERATION_LIMIT),
    "iterations, every third row": (LARGE, ["solver.iterations=20", "log.every=3"], Status.ITERATION_LIMIT),
    "no iteration": (LARGE, ["solver.iterations=0"], Status.ITERATION_LIMIT),
    "time": (LARGE, ["stop.time=1e-9"], Status.TIME_LIMIT),
    "target": (FREE, ["stop.objective=0.05"], Status.TARGET_REACHED),
    "target of a maximum": (LARGE, ["stop.objective=20", "stop.infeasibility=1"], Status.TARGET_REACHED),
    "stagnation": (HARD | {"problem": HARD["problem"] | {"constraints": [{"kind": "box", "upper": 0.5}]}},
                   ["stop.stagnation=2"], Status.STAGNATED),
    "stagnation of an estimate": (LARGE, ["stop.stagnation=2"], Status.STAGNATED),
    "infeasible": (HARD, [], Status.INFEASIBLE),
}  # fmt: skip


@pytest.mark.parametrize(("spec", "overrides", "status"), ENDINGS.values(), ids=ENDINGS)
def test_an_honest_ending(spec, overrides, status, tmp_path):
    report = verified(spec, tmp_path / "run", *overrides, short=["solver.iterations=3000"])
    assert report.status == status.value
    assert report.holds, report.sentence()
    found = row(report, "status")
    assert found.verdict is Verdict.HOLDS or (status is Status.STAGNATED and found.verdict is Verdict.UNCHECKED)
    assert row(report, "bounds of the trace").verdict is Verdict.HOLDS


class After:
    """Asks for an end after so many rows."""

    def __init__(self, rows: int, status: Status):
        self.rows, self.status = rows, status

    def on_record(self, record) -> None:
        self.rows -= 1

    def __call__(self) -> Status | None:
        return self.status if self.rows <= 0 else None


@pytest.mark.parametrize("status", [Status.INTERRUPTED, Status.PREEMPTED, Status.STOPPED])
@pytest.mark.parametrize("spec", [LARGE, composed(PSD, **DIAGONAL)], ids=["large", "small"])
def test_an_end_that_was_asked_for_is_not_checked_and_no_fault(spec, status, tmp_path):
    stop = After(5, status)
    execute(spec, ["solver.iterations=30"], tmp_path / "run", observers=lambda sense, rules: [stop], should_stop=stop)
    report = verify(tmp_path / "run")
    assert report.status == status.value and report.holds, report.sentence()
    assert row(report, "status").verdict is Verdict.UNCHECKED
    execute(None, resume=tmp_path / "run")
    report = verify(tmp_path / "run")
    assert report.status == Status.ITERATION_LIMIT.value and report.holds, report.sentence()


def test_an_answer_that_does_not_meet_its_bound_proves_nothing(tmp_path):
    report = verified(ASSIGNMENT, tmp_path / "run", "stop.gap=1e-9")
    run, claims = load_run(tmp_path / "run"), read_claims(load_run(tmp_path / "run"))
    spec, instance = rebuild(run)
    assert claims.last["gap"] > 1e-9 and report.holds
    for worse, verdict in [(0.0, Verdict.HOLDS), (2.0, Verdict.FAILS)]:
        metrics = claims.metrics | {"assignment": claims.metrics["assignment"] + worse}
        told = replace(claims, summary={**claims.summary, "metrics": metrics})
        found = status_row(Evidence(run, spec, instance.problem, told, instance.template.multiples))
        assert found.verdict is verdict, found.note


def test_weights_that_are_all_negative(tmp_path):
    """The best cut is empty, and what rounding leaves of it, and of its ratio to the bound, is no claim that fails."""
    edges = [(1, 2, -0.3), (1, 3, -0.7), (1, 4, -0.11), (2, 3, -0.9), (2, 4, -0.5), (3, 4, -0.2)]
    lines = "".join(f"{i} {j} {weight}\n" for i, j, weight in edges)
    (tmp_path / "graph.txt").write_text(f"4 6\n{lines}")
    spec = {"name": "cut", "problem": {"template": "max-cut", "graph": {"file": str(tmp_path / "graph.txt")}}}
    report = verified(spec, tmp_path / "run", "solver.method=auto", "stop.gap=1e-3")
    assert report.holds, report.sentence()
    assert row(report, "cut").recomputed == 0.0 and row(report, "cut").tolerance == pytest.approx(1e-9 * 5.42)


def test_a_figure_of_points_far_from_zero(tmp_path):
    """The means of points near 1e8 are off by rounding, of which their spread of 1 has 1e-8."""
    points = (1e8 + np.random.default_rng(0).standard_normal((10, 2))).tolist()
    problem = {"template": "kmeans-sdp", "clusters": 3, "restarts": 2, "points": points}
    report = verified({"name": "far", "problem": problem}, tmp_path / "run", short=["solver.iterations=6"])
    assert report.holds, report.sentence()


def test_a_fair_game_has_a_bound_of_zero(tmp_path):
    problem = {"template": "matrix-game", "payoff": [[0.0, 1.0], [-1.0, 0.0]]}
    report = verified({"name": "game", "problem": problem}, tmp_path / "run", short=["solver.iterations=200"])
    assert report.holds and row(report, "exploitability").verdict is Verdict.HOLDS


def test_a_run_that_gains_no_more_digits_is_honest(tmp_path):
    """Its figures go up and down, and no lower than before."""
    rows = {"matrix": [[1, 1, 1, 1], [1e6, -1e6, 0, 0]], "equals": [1, 0], "lower": 0, "upper": 1}
    problem = {"template": "linear-program", "cost": [1, 2, -3, -1], **rows}
    solver = {"method": "cgal", "correction": "primal-dual"}
    spec = {"name": "lp", "problem": problem, "solver": solver, "stop": {"gap": 1e-15}}
    report = verified(spec, tmp_path / "run", short=[])
    assert report.status == "stagnated" and row(report, "status").verdict is Verdict.HOLDS


def test_steps_that_have_no_better_point_to_go_to(tmp_path):
    """The trace says so, whatever the method is called; without that, the run ended too early."""
    run = tmp_path / "run"
    cost, one = [[2, 1, 0], [1, -1, 1], [0, 1, 0]], [[1, 0, 0], [0, 0, 0], [0, 0, 0]]
    constraints = [{"matrix": one, "equals": 0.5}]
    problem = {"template": "standard-sdp", "cost": cost, "constraints": constraints, "radius": 2.0}
    solver = {"method": "cgal", "correction": "interior-point"}
    report = verified({"name": "sdp", "problem": problem, "solver": solver, "stop": {"gap": 1e-17}}, run, short=[])
    assert report.status == "stagnated" and row(report, "status").verdict is Verdict.UNCHECKED
    altered(run, "trace/ended", np.zeros_like)
    early = row(verify(run), "status")
    assert early.verdict is Verdict.FAILS and "fewer than" in early.note
