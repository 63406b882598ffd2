"""What a run is taken up from: the state that a turn begins with, also where the turn is cut short."""

import copy

import numpy as np
import pytest

from cgm_cli.methods.schedule import Schedule
from cgm_cli.methods.status import Status
from tests.methods.problems import (
    cycle,
    solve_scaled,
)


def sign(problem):
    return -1.0 if problem.sense == "maximise" else 1.0


def stopped_at(last):
    """`metrics` and `should_stop` of a run that is told to leave before the oracle of its step `last` has answered."""
    seen = []

    def metrics(iterate):
        seen.append(iterate)
        return {}

    return {"metrics": metrics, "should_stop": lambda: Status.STOPPED if len(seen) >= last else None}


@pytest.mark.parametrize("last", range(2, 12))
def test_an_oracle_that_was_told_to_leave_makes_no_bound(last):
    """After two products a residual may be small, and the eigenvalue far from the smallest."""
    problem, _ = cycle(301)
    schedule = Schedule(metrics=1, certify="never")
    _, whole = solve_scaled(problem, last, 1e-6, schedule=schedule)
    outcome, _ = solve_scaled(problem, 12, 1e-6, schedule=schedule, **stopped_at(last))
    assert outcome.record.k == last
    assert outcome.bound.value == sign(problem) * whole.records[last - 1].bound
    assert np.isnan([outcome.record.lmo_value, outcome.record.lmo_residual, outcome.record.fw_gap]).all()


@pytest.mark.parametrize("ending", [Status.STOPPED, Status.PREEMPTED])
def test_the_state_is_kept_before_the_last_certificate(ending):
    """A process killed in the certificate has lost nothing; one that is told to leave does not even begin it."""
    problem, _ = cycle(301)
    kept, options = [], stopped_at(7)
    options["should_stop"] = lambda asked=options["should_stop"]: asked() and ending

    def keep(state, how):
        best = state.bounds
        kept.append((how, state.k, best.tried, best.certified, copy.deepcopy(state.pack())))

    outcome, _ = solve_scaled(problem, 12, 1e-6, schedule=Schedule(metrics=1), on_checkpoint=keep, **options)
    assert (outcome.status, outcome.record.k) == (ending, 7)
    assert outcome.bound.certified == (ending is Status.STOPPED)
    last = [entry for entry in kept if entry[0] is not None]
    assert len(last) == (ending is Status.STOPPED)
    for how, k, _, certified, pack in last:
        assert (how, k, certified) == (ending, 7, None)
        before = kept[kept.index(last[0]) - 1][-1]
        del pack["seconds"], before["seconds"]
        np.testing.assert_equal(pack, before)
