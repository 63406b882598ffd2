"""The time that is left: against records whose end is known."""

from __future__ import annotations

import pytest

from cgm_cli.display.remaining import Remaining
from cgm_cli.methods.stopping import StopRules
from tests.runs.fake import record


def told(rules, rate, seconds=100, step=1.0):
    """What is said after so many steps of a run that is off by t^-rate."""
    remaining = Remaining(rules)
    for k in range(seconds):
        last = record(k, seconds=step * k, gap=float(max(k, 1)) ** -rate, infeasibility=0.0)
        remaining.take(last)
    return remaining.seconds(last), last


@pytest.mark.parametrize("rate", [0.75, 1.0, 2.0])
def test_a_power_of_the_time_is_continued(rate):
    left, last = told(StopRules(10**9, gap=1e-4), rate)
    assert left + last.seconds == pytest.approx(1e-4 ** (-1 / rate), rel=0.02)


def test_budgets_end_it_sooner():
    assert told(StopRules(1000, gap=1e-12), 1.0)[0] == pytest.approx(901.0)
    assert told(StopRules(10**9, gap=1e-12, time=120.0), 1.0)[0] == pytest.approx(21.0)


def test_nothing_is_said_without_a_tolerance_or_a_rate():
    assert told(None, 1.0)[0] is None
    assert told(StopRules(1000), 1.0)[0] is None
    assert told(StopRules(1000, gap=1e-6), 1.0, seconds=1)[0] is None
    assert told(StopRules(10**9, gap=1e-6), 0.01)[0] is None
    assert Remaining(StopRules(10**9, gap=1e-6)).in_words(record(3)) == ""


def test_the_worse_of_two_tolerances_counts():
    rules = StopRules(10**9, gap=1e-3, infeasibility=1e-6)
    remaining = Remaining(rules)
    for k in range(1, 100):
        last = record(k, seconds=float(k), gap=1e-9, infeasibility=1.0 / k)
        remaining.take(last)
    assert remaining.seconds(last) == pytest.approx(1e6, rel=0.02)
    assert remaining.seconds(record(100, seconds=100.0, gap=1e-4, infeasibility=1e-7)) == 0.0
