"""Real kills at random moments; `python -m tests.runs.kill` is the long form, where Python is killed as it starts, too."""

import signal

import pytest

from tests.forked import begun
from tests.runs.kill import SUBJECTS, Undisturbed, torment


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    return Undisturbed(tmp_path_factory.mktemp("undisturbed"), begun)


@pytest.mark.parametrize(("number", "kills"), [(signal.SIGKILL, 4), (signal.SIGTERM, 2), (signal.SIGUSR1, 1)])
def test_killed_runs_end_bit_equal(tmp_path, number, kills, undisturbed):
    tally = torment(SUBJECTS, kills, number, seed=7, folder=tmp_path, undisturbed=undisturbed)
    assert tally.faults == []
    assert tally.kills == kills
