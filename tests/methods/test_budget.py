"""How the time of a run is shared out."""

import math

import pytest

from cgm_cli.methods.budget import GRACE, SHARE, Budget
from cgm_cli.methods.status import Status


class Run:
    def __init__(self, limit):
        self.now, self.asked = 0.0, None
        self.budget = Budget(limit, lambda: self.now, lambda: self.asked)


def test_without_a_limit_only_requests_count():
    run = Run(None)
    run.budget.keep(1e9, 1e9)
    run.now = 1e9
    assert not run.budget.limited
    assert not run.budget.turns.should_stop() and not run.budget.ending.should_stop() and not run.budget.spent
    run.asked = Status.INTERRUPTED
    assert run.budget.turns.should_stop()
    # After a Ctrl-C the bound is still certified; after SIGTERM it is not.
    assert not run.budget.ending.should_stop() and not run.budget.rounding().should_stop()
    run.asked = Status.PREEMPTED
    assert run.budget.ending.should_stop() and run.budget.rounding().should_stop()
    assert not run.budget.spent
    assert math.isinf(run.budget.turns.left())


def test_what_a_small_problem_ends_with_takes_nothing_from_its_turns():
    run = Run(30.0)
    run.budget.keep(0.1, 0.01)
    assert run.budget.turns.left() == 30.0
    run.now = 29.9
    assert not run.budget.turns.should_stop()
    run.now = 30.0
    assert run.budget.turns.should_stop() and run.budget.spent
    assert run.budget.ending.affords(0.9 * GRACE)


def test_a_certificate_that_takes_longer_than_the_grace_is_kept_time_for():
    run = Run(30.0)
    run.budget.keep(6.0, 1.0)
    # The second of grace is what the saving takes, and the certificate comes before that.
    assert run.budget.turns.left() == pytest.approx(23.0)
    run.now = 23.0
    assert run.budget.turns.should_stop() and run.budget.ending.affords(6.0) and not run.budget.ending.affords(6.1)
    # What was kept is not given back: the turn that was cut short would go on.
    run.budget.keep(0.0, 0.0)
    assert run.budget.turns.should_stop()


def test_no_more_than_a_share_is_kept():
    run = Run(30.0)
    run.budget.keep(1e6, 0.0)
    # Such a certificate is out of reach: the time is better spent on turns.
    assert run.budget.turns.left() == 30.0
    run.budget.keep(1e6, 8.0)
    assert run.budget.turns.left() == pytest.approx(22.0)
    run.budget.keep(0.0, 1e6)
    assert run.budget.turns.left() == pytest.approx(30.0 * (1.0 - SHARE))


def test_a_loop_that_ends_late_leaves_time_for_a_small_certificate():
    run = Run(1.0)
    run.now = 50.0
    assert not run.budget.ending.affords(0.1)
    run.budget.begin_ending(0.0)
    assert run.budget.ending.affords(0.9 * GRACE)
    run.now += GRACE
    assert run.budget.ending.should_stop()
    assert run.budget.rounding().affords(0.9 * GRACE)


def test_a_certificate_that_was_not_begun_ends_the_run():
    run = Run(30.0)
    assert not run.budget.spent
    assert not run.budget.ending.affords(100.0)
    assert run.budget.spent
