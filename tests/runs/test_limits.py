"""A time limit, or a signal, holds at sizes where a step, a certificate or a rounding takes longer than it; and what is
given up for it is undone.
"""

import os
import signal
import time

import numpy as np
import pytest

from cgm_cli.methods.point import ImagePoint
from cgm_cli.methods.status import Status
from cgm_cli.numerics.bands import SLAB, combined
from cgm_cli.numerics.deadline import NEVER, Deadline, OutOfTime
from cgm_cli.numerics.threads import looking
from cgm_cli.runs.execute import execute
from cgm_cli.runs.load import load_run
from cgm_cli.runs.signals import stop_on_signals
from cgm_cli.templates.build import build
from cgm_cli.verify.check import verify
from cgm_cli.verify.report import Verdict
from tests.runs.test_resume import CUT, StopAt, assert_same_end

LENIENT = 60.0
"""Seconds; on a machine with much other work everything takes several times as long as it should."""


def cut(nodes, edges, **stop):
    return {
        "name": "cut",
        "problem": {"template": "max-cut", "graph": {"nodes": nodes, "edges": edges}},
        "solver": {"method": "auto", "iterations": 12},
        "stop": {"gap": None, **stop},
    }


class AfterSo:
    """Asks to leave when it is asked for the n-th time, as a signal that arrives at any time does."""

    def __init__(self, looks, ending=Status.PREEMPTED):
        self.left, self.ending = looks, ending

    def __call__(self):
        self.left -= 1
        return self.ending if self.left < 0 else None


# Specs, and how often they are asked at the most before they leave.
DESCENTS = {
    "conjugate gradients": (cut(120, 500), 90),
    "L-BFGS": (
        {
            "name": "means",
            "problem": {
                "template": "kmeans-sdp",
                "clusters": 3,
                "points": np.random.default_rng(0).standard_normal((40, 3)).tolist(),
                "restarts": 1,
            },
            "solver": {"method": "cgal", "correction": "local-descent", "iterations": 8},
        },
        90,
    ),
    "primal-dual": (
        {
            "name": "game",
            "problem": {"template": "matrix-game", "payoff": {"rows": 30, "columns": 30}},
            "solver": {"method": "auto", "iterations": 10},
            "stop": {"gap": None},
        },
        90,
    ),
    "subspace": (
        {
            "name": "completion",
            "problem": {
                "template": "matrix-completion",
                "matrix": {"rows": 80, "columns": 60, "rank": 2, "noise": 0.1},
            },
            "solver": {"method": "cgal", "correction": "local-descent", "iterations": 8},
            "stop": {"gap": None},
        },
        40,
    ),
    "spectral projected gradient": (
        {
            "name": "completion",
            "problem": {"template": "matrix-completion", "matrix": {"rows": 30, "columns": 20, "rank": 2}},
            "solver": {"correction": "fully-corrective", "iterations": 8},
        },
        25,
    ),
}


@pytest.mark.parametrize("kind", DESCENTS)
def test_a_descent_that_is_broken_off_is_undone(kind, tmp_path):
    """At any time, and any number of times: the run that goes on ends where the undisturbed one does."""
    (spec, most), rng = DESCENTS[kind], np.random.default_rng(0)
    execute(spec, [], tmp_path / "whole")
    steps = []
    for _ in range(12):
        outcome = execute(spec, resume=tmp_path / "parts", should_stop=AfterSo(int(rng.integers(3, most))))
        if outcome.status is not Status.PREEMPTED:
            break
        trace = load_run(tmp_path / "parts").trace["k"].tolist()
        assert trace == list(range(trace[-1] + 1))
        steps.append(trace[-1])
    assert len(steps) > 2
    execute(None, resume=tmp_path / "parts")
    assert_same_end(tmp_path / "whole", tmp_path / "parts")


def test_an_interrupted_descent_ends_with_a_certified_bound(tmp_path):
    outcome = execute(cut(120, 500), [], tmp_path / "run", should_stop=AfterSo(40, Status.INTERRUPTED))
    assert outcome.status is Status.INTERRUPTED
    assert outcome.result.record.k < 12
    assert outcome.result.bound_is == "certified"
    # Of the last row there is one, with the certified bound.
    trace = load_run(tmp_path / "run").trace
    assert trace["k"].tolist() == list(range(outcome.result.record.k + 1))
    assert trace["certified"][-1]


@pytest.mark.parametrize("kind", DESCENTS)
def test_a_run_ends_with_what_the_turn_began_with_whose_descent_is_broken_off(kind, tmp_path):
    """Its bound is that of a run which has spent its budget there, at the multipliers from before the descent."""
    spec, _ = DESCENTS[kind]
    for k in (0, 3, 5):
        execute(spec, [f"solver.iterations={k}"], tmp_path / f"spent-{k}")
        stop = StopAt(k, Status.INTERRUPTED)
        execute(spec, [], tmp_path / f"left-{k}", observers=lambda sense, rules, stop=stop: [stop], should_stop=stop)
        spent, left = load_run(tmp_path / f"spent-{k}"), load_run(tmp_path / f"left-{k}")
        assert left.trace["k"].tolist() == list(range(k + 1))
        for name in ("objective", "bound", "certified"):
            np.testing.assert_array_equal(left.trace[name], spent.trace[name])
        for name, dual in spent.duals.items():
            np.testing.assert_array_equal(left.duals[name], dual)


def test_a_certificate_that_does_not_fit_is_not_begun(tmp_path):
    """k-means of 2600 points: the eigenvalues of the certificate would take seconds."""
    points = np.random.default_rng(0).standard_normal((2600, 3))
    np.save(tmp_path / "points.npy", points)
    spec = {
        "name": "means",
        "problem": {"template": "kmeans-sdp", "clusters": 5, "points": {"file": str(tmp_path / "points.npy")}},
        "solver": {"method": "auto"},
        "stop": {"time": "1s"},
    }
    began = time.perf_counter()
    outcome = execute(spec, [], tmp_path / "run")
    assert time.perf_counter() - began < LENIENT
    result = outcome.result
    assert outcome.status is Status.TIME_LIMIT
    assert result.bound_is != "certified"
    assert "There was no time" in result.message
    assert outcome.summary["bound_is"] == result.bound_is
    # It is an honest one: no clustering is better.
    assert result.bound_is == "none" or 0.5 * result.record.bound <= result.metrics["kmeanspp_value"]
    assert result.solution["clusters"].shape == (2600,)


def test_a_small_certificate_is_made_after_any_limit(tmp_path):
    outcome = execute(cut(200, 800, time="0.01s"), ["solver.iterations=1000000"], tmp_path / "run")
    assert outcome.status is Status.TIME_LIMIT
    assert outcome.result.bound_is == "certified"
    assert "no time" not in outcome.result.message


def test_a_limit_that_strikes_in_a_descent_can_be_raised(tmp_path):
    spec = cut(1500, 4500, time="0.3s")
    began = time.perf_counter()
    outcome = execute(spec, [], tmp_path / "run")
    assert time.perf_counter() - began < LENIENT
    assert outcome.status in (Status.TIME_LIMIT, Status.ITERATION_LIMIT)
    whole = execute(cut(1500, 4500), ["solver.iterations=3"], tmp_path / "whole")
    # The bound is one for the optimum, of which the other run knows a cut.
    assert outcome.result.record.bound >= whole.result.metrics["cut"]
    if outcome.result.record.k < 3:
        execute(None, ["stop.time=1h"], resume=tmp_path / "run")
        trace, other = load_run(tmp_path / "run").trace, load_run(tmp_path / "whole").trace
        np.testing.assert_array_equal(trace["objective"][:3], other["objective"][:3])


def test_a_run_that_is_told_to_leave_while_it_is_read_leaves(tmp_path):
    execute(CUT, [], tmp_path / "whole")
    with stop_on_signals() as request:
        os.kill(os.getpid(), signal.SIGTERM)
        outcome = execute(CUT, resume=tmp_path / "run", should_stop=request)
    assert (outcome.status, outcome.result) == (Status.PREEMPTED, None)
    assert outcome.summary["status"] == "preempted"
    assert set(outcome.summary) == set(load_run(tmp_path / "whole").summary)
    execute(None, resume=tmp_path / "run")
    assert_same_end(tmp_path / "whole", tmp_path / "run")


def test_a_run_that_is_told_to_leave_while_it_is_first_evaluated_leaves(tmp_path, monkeypatch):
    execute(CUT, [], tmp_path / "whole")
    evaluate = ImagePoint.evaluate

    def evaluated(self, beta):
        monkeypatch.setattr(ImagePoint, "evaluate", evaluate)
        os.kill(os.getpid(), signal.SIGTERM)
        return evaluate(self, beta)

    monkeypatch.setattr(ImagePoint, "evaluate", evaluated)
    outcome = execute(CUT, [], tmp_path / "run")
    assert (outcome.status, outcome.result) == (Status.PREEMPTED, None)
    assert "before its first step" in load_run(tmp_path / "run").state["message"]
    execute(None, resume=tmp_path / "run")
    assert_same_end(tmp_path / "whole", tmp_path / "run")


def test_the_reading_of_the_data_counts_towards_the_limit(tmp_path, monkeypatch):
    def late(*arguments):
        time.sleep(0.6)
        return build(*arguments)

    monkeypatch.setattr("cgm_cli.runs.execute.build", late)
    outcome = execute(cut(40, 80, time="0.5s"), ["solver.method=hcgm"], tmp_path / "run")
    assert (outcome.status, outcome.result.record.k) == (Status.TIME_LIMIT, 0)
    (row,) = [row for row in verify(tmp_path / "run").rows if row.quantity == "status"]
    assert row.verdict is Verdict.HOLDS


def test_a_run_that_reads_past_its_limit_is_left_and_begins_once_it_may_take_longer(tmp_path, monkeypatch):
    monkeypatch.setattr("cgm_cli.runs.execute.GRACE", 0.05)
    execute(CUT, [], tmp_path / "whole")

    def endless(*arguments):
        while True:
            time.sleep(0.01)

    with monkeypatch.context() as held:
        held.setattr("cgm_cli.runs.execute.build", endless)
        outcome = execute(CUT, ["stop.time=0.2s"], tmp_path / "run")
    assert (outcome.status, outcome.result) == (Status.TIME_LIMIT, None)
    assert "before its first step" in load_run(tmp_path / "run").state["message"]
    assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)
    execute(None, ["stop.time=60s"], resume=tmp_path / "run")
    assert_same_end(tmp_path / "whole", tmp_path / "run")


def test_a_pass_over_a_large_matrix_is_given_up_between_two_slabs():
    looks = AfterSo(3)
    deadline = Deadline(asked=lambda: looks() is not None)
    x = np.ones((4 * SLAB, 200))
    with looking(deadline.check), pytest.raises(OutOfTime):
        combined(np.add, x, x)
    with looking(NEVER.check):
        np.testing.assert_array_equal(combined(np.add, x, x), 2.0 * x)


def test_an_interrupt_is_answered_at_once(capfd):
    with stop_on_signals() as request:
        request.expect("before the next step")
        os.kill(os.getpid(), signal.SIGINT)
        told = capfd.readouterr().err
    assert told == "Ctrl-C: leaving before the next step; a second Ctrl-C leaves at once.\n"
