"""Real kills at random moments; `python -m tests.runs.kill` is the long form, and kills Python as it starts as well."""

import signal

import pytest

from cgm_cli.runs.execute import execute
from tests.forked import begun
from tests.runs.kill import SUBJECTS, Undisturbed, torment


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    folder = tmp_path_factory.mktemp("undisturbed")
    for subject in SUBJECTS:  # what it needs is loaded here, and not by every process
        execute(subject.spec, [*subject.overrides, "solver.iterations=1"], folder / subject.name)
    return Undisturbed(folder, begun)


@pytest.mark.parametrize(("number", "kills"), [(signal.SIGKILL, 4), (signal.SIGTERM, 2), (signal.SIGUSR1, 1)])
def test_killed_runs_end_bit_equal(tmp_path, number, kills, undisturbed):
    tally = torment(SUBJECTS, kills, number, seed=7, folder=tmp_path, undisturbed=undisturbed)
    assert tally.faults == []
    assert tally.kills == kills
