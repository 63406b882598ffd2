"""The rules that end a run, and under which name."""

import dataclasses

import numpy as np
import pytest
import scipy.sparse as sp

from cgm_cli.blocks.domains.box import Box
from cgm_cli.blocks.domains.psd import PSDTrace
from cgm_cli.blocks.iterates import FactoredIterate
from cgm_cli.blocks.losses.linear import Linear
from cgm_cli.blocks.maps.matrix import MatrixMap
from cgm_cli.blocks.penalties.equals import Equals
from cgm_cli.blocks.problem import CompositeProblem, Term
from cgm_cli.methods.scaling import scaled
from cgm_cli.methods.schedule import Schedule
from cgm_cli.methods.status import Status
from cgm_cli.methods.stopping import Stagnation, StopRules
from cgm_cli.solving.direct import solve_problem
from tests.methods.problems import (
    hcgm,
    lasso,
    linear_programme,
    solve,
    solve_scaled,
    two_clusters,
)


@pytest.mark.parametrize(
    ("bound", "total", "gap", "settled"),
    [
        (2506.31, 2506.35, 1.6e-5, True),
        (2507.99, 2508.01, 8e-6, False),  # 2508 or 2510
        (2507.9999, 2508.0001, 8e-8, True),  # too near to be worth it
        (-1.0, 1.0, 5e-5, False),
    ],
)
def test_a_bound_that_may_still_be_rounded_elsewhere_is_no_end(bound, total, gap, settled):
    record = solve(linear_programme()[0], 3)[0].record
    record = dataclasses.replace(record, bound=bound, total=total, gap=gap, infeasibility=0.0, owed=0.0)
    assert StopRules(100, gap=1e-4, infeasibility=1e-4, spacing=2.0).converged(record) is settled
    assert StopRules(100, gap=1e-2, infeasibility=1e-4, spacing=2.0).converged(record)
    assert StopRules(100, gap=1e-4, infeasibility=1e-4).converged(record)
    assert StopRules(100, infeasibility=1e-4, spacing=2.0).converged(record)


@pytest.mark.parametrize("rules", [{"gap": 1e-3}, {"gap": 1e-3, "infeasibility": 1e-4}, {"gap_absolute": 0.1}])
def test_how_far_a_record_is_from_its_tolerances(rules):
    """At most one where, and only where, they are met; and ten times as much for tolerances a tenth as large."""
    record, rng = solve(linear_programme()[0], 3)[0].record, np.random.default_rng(0)
    for _ in range(50):
        gap, infeasibility, owed, off = 10.0 ** rng.uniform(-5, -2, 4)
        record = dataclasses.replace(
            record, gap=gap, infeasibility=infeasibility, owed=owed, bound=record.total - 50 * off
        )
        short = StopRules(100, **rules).short_by(record)
        assert (short <= 1.0) == StopRules(100, **rules).converged(record)
        tenth = StopRules(100, **{name: 0.1 * value for name, value in rules.items()})
        assert tenth.short_by(record) == pytest.approx(10.0 * short)
    assert StopRules(100).short_by(record) == np.inf


def test_stop_rules():
    problem, _ = linear_programme()
    record = solve(problem, 3)[0].record
    small = dataclasses.replace(record, gap=0.01, infeasibility=0.02, k=3, seconds=1.0)
    assert not StopRules(100).converged(small)
    assert StopRules(100, gap=0.01).converged(small)
    assert not StopRules(100, gap=0.009).converged(small)
    assert StopRules(100, infeasibility=0.02).converged(small)
    assert not StopRules(100, gap=0.5, infeasibility=0.01).converged(small)
    assert not StopRules(100, gap=0.001, infeasibility=0.5).converged(small)
    assert not StopRules(100, gap=0.5).converged(dataclasses.replace(small, gap=float("nan")))
    assert StopRules(3).exhausted(small) is Status.ITERATION_LIMIT
    assert StopRules(4, time=1.0).exhausted(small) is Status.TIME_LIMIT
    assert StopRules(4, time=1.5).exhausted(small) is None
    assert StopRules(4).exhausted(small) is None


def test_time_limit():
    problem, optimum = linear_programme()
    outcome, keep = solve(problem, stop=StopRules(10**9, time=0.05), schedule=Schedule(log=10**6))
    assert outcome.status is Status.TIME_LIMIT
    assert outcome.record.seconds >= 0.05
    assert [r.k for r in keep.records] == [0, outcome.record.k]
    assert outcome.bound.value <= optimum


@pytest.mark.parametrize("status", [Status.STOPPED, Status.INTERRUPTED, Status.PREEMPTED])
def test_a_request_to_stop_ends_the_run_under_its_name(status):
    problem, optimum = two_clusters(70)
    asked = []

    def should_stop():
        asked.append(1)
        return status if len(asked) == 8 else None

    outcome, keep = solve_scaled(problem, 100, 1e-3, should_stop=should_stop)
    assert outcome.status is status
    # The oracle asks, too, so that a long call ends early; once said, the request stands.
    assert keep.records[-1].k == outcome.record.k < 8
    # Also an unplanned end reports a certified bound, unless it is to be quick.
    assert outcome.bound.certified == (status is not Status.PREEMPTED)
    assert outcome.bound.value <= optimum


def test_a_target_objective_ends_a_minimisation_and_a_maximisation():
    problem, optimum = linear_programme()
    within = 0.05 / float(np.linalg.norm(problem.terms[0].penalty.only_point))  # |A x - b| <= 0.05
    rules = StopRules(10**4, objective=optimum + 0.1, infeasibility=within)
    outcome, keep = solve(scaled(problem), stop=rules, method=hcgm(0.5))
    assert outcome.status is Status.TARGET_REACHED
    assert outcome.record.total <= optimum + 0.1
    assert outcome.record.infeasibility <= within
    assert not any(r.total <= optimum + 0.1 and r.infeasibility <= within for r in keep.records[:-1])
    assert StopRules(9, objective=3.0).reached(dataclasses.replace(outcome.record, total=3.5), -1.0) is not None
    assert StopRules(9, objective=3.0).reached(dataclasses.replace(outcome.record, total=2.5), -1.0) is None


def test_an_infeasible_point_reaches_no_target():
    problem, optimum = linear_programme()
    outcome, keep = solve(scaled(problem), stop=StopRules(200, objective=optimum + 10, infeasibility=1e-12))
    assert outcome.status is Status.ITERATION_LIMIT
    assert any(r.total <= optimum + 10 for r in keep.records)


def test_a_run_without_progress_is_ended_and_one_with_progress_is_not():
    problem, _ = linear_programme()
    outcome, keep = solve(scaled(problem), stop=StopRules(10**5, stagnation=50), method=hcgm(0.5))
    assert outcome.status is Status.STAGNATED
    figures = [max(r.gap, r.infeasibility) for r in keep.records]
    assert min(figures[-50:]) >= 0.99 * min(figures[:-50])
    assert len(figures) > 51
    steady, _ = solve(lasso()[0], stop=StopRules(40, stagnation=39))
    assert steady.status is Status.ITERATION_LIMIT


def test_a_time_limit_holds_within_a_long_oracle_call():
    """An oracle that goes on to its last product, for seconds: residuals of 1e-15 of the path's Laplacian."""
    n = 10000
    path = sp.diags_array([-np.ones(n - 1), 2 * np.ones(n), -np.ones(n - 1)], offsets=[-1, 0, 1]).tocsr()
    problem = CompositeProblem(PSDTrace(n, 1.0, fixed_trace=True), Linear(path, (n, n)))
    outcome, _ = solve(
        problem,
        iterate=FactoredIterate(problem.first, 6, True),
        stop=StopRules(5, time=0.2),
        method=hcgm(1.0, 1e-15),
        schedule=Schedule(certify="never"),
    )
    assert outcome.status is Status.TIME_LIMIT
    assert outcome.record.k == 0
    assert outcome.record.seconds < 5.0
    # Broken off in the middle, it does not know how far the smallest eigenvalue is.
    assert outcome.bound is None


def test_a_gap_in_the_units_of_the_objective():
    def record(gap, total, bound):
        base = solve(linear_programme()[0], 1)[0].record
        return dataclasses.replace(base, gap=gap, total=total, bound=bound, infeasibility=0.0, owed=0.0)

    absolute, both = StopRules(9, gap_absolute=0.5), StopRules(9, gap=1e-3, gap_absolute=0.5)
    assert absolute.converged(record(0.4, 1.2, 0.8)) and not absolute.converged(record(1e-3, 1200.0, 1199.0))
    # Beside a relative one, either will do.
    assert both.converged(record(0.4, 1.2, 0.8)) and both.converged(record(9e-4, 1200.0, 1199.0))
    assert not both.converged(record(2e-3, 1200.0, 1198.0))
    assert not both.converged(record(np.nan, 1200.0, np.nan))
    assert both.allowed(10.0) == 0.5 and both.allowed(1e4) == 10.0 and StopRules(9).allowed(1.0) == 0.0


def test_a_run_that_can_gain_no_more_digits_ends():
    """Rounding leaves a gap of some 1e-16; what asks for less is told so, long before its budget is spent."""
    problem, _ = linear_programme()
    stop = StopRules(10**6, gap=1e-18, infeasibility=1e-18)
    outcome = solve_problem(problem, "auto", stop)
    assert outcome.status is Status.STAGNATED and outcome.record.k < 2000
    assert outcome.record.gap < 1e-9
    # Half of all, not before the fewest, fewer where rounding is all that is left; as many as somebody says; none where
    # no tolerance is to be met.
    far, near = Stagnation(), Stagnation(smallest=1e-13)
    assert StopRules(9, gap=0.1).patience(far, 10) == 300 and StopRules(9, gap=0.1).patience(far, 2000) == 1000.0
    assert StopRules(9, gap=0.1).patience(near, 10) == 30
    assert StopRules(9, gap=0.1, stagnation=7).patience(near, 2000) == 7
    assert StopRules(9).patience(far, 10**6) == StopRules(9, gap=0.1, objective=1.0).patience(near, 10**6) == np.inf


def test_a_run_says_when_what_it_owes_is_all_that_it_missed():
    """x + y = 1 and x + 1.00001 y = 1 meet in (1, 0) alone, and an x that misses both by 1e-6 may be anywhere."""
    rows = MatrixMap(np.array([[1.0, 1.0], [1.0, 1.00001]]), (2,))
    term = Term("rows", rows, Equals((2,), np.ones(2)))
    problem = CompositeProblem(Box(np.zeros(2), np.ones(2)), Linear(np.array([1.0, -1.0]), (2,)), (term,))
    result = solve_problem(problem, {"method": "cgal", "iterations": 400}, {"gap": 1e-1, "infeasibility": 1e-2})
    assert result.status in (Status.ITERATION_LIMIT, Status.STAGNATED)
    assert result.record.gap <= 1e-1 and result.record.infeasibility <= 1e-2 < result.record.owed
    assert "and `owed` is not: the objective of an x that meets its constraints may be worse by" in result.message
    converged = solve_problem(problem, "auto", {"gap": 1e-6, "infeasibility": 1e-6})
    assert converged.status is Status.CONVERGED and "`owed`" not in converged.message
