"""The short form: a few hundred mutated specs, about a hundred mutated files and runs, and every file made by hand."""

from __future__ import annotations

import pytest

from tests.fuzz import generate, tricks
from tests.fuzz.cases import Oddity, replayed
from tests.fuzz.worker import Pool

SEED = 21


@pytest.fixture(scope="module")
def pool():
    with Pool() as pool:
        yield pool


def test_specs(pool):
    outcomes = [tried(pool, generate.spec_case(SEED, index)) for index in range(200)]
    # Mutations that are all refused, or all harmless, would test next to nothing.
    assert 20 < outcomes.count("accepted") < 150


def test_files(pool):
    outcomes = [tried(pool, generate.file_case(SEED, index)) for index in range(100)]
    assert 10 < outcomes.count("accepted") < 80


def test_data_files_made_by_hand(pool):
    assert not [case.label for case in tricks.data_files() if tried(pool, case) == "accepted"]


def test_runs_made_by_hand(pool):
    for case in tricks.run_folders():
        tried(pool, case)


def test_a_case_is_kept_as_it_was(tmp_path):
    case = next(case for case in tricks.run_folders() if case.label == "fifo for run.h5")
    case.save(tmp_path / "kept", "why")
    assert replayed(tmp_path / "kept") == case
    assert any(isinstance(content, Oddity) for content in case.files.values())


def test_the_watchdog_barks(pool, monkeypatch):
    """A worker that dies, one that hangs and one that raises: each is told, and the next case is tried as ever."""
    monkeypatch.setattr("tests.fuzz.worker.SECONDS", 0.5)
    case = generate.spec_case(SEED, 0)
    for program, words in {"os.abort()": "ended with -6", "while True: pass": "0.5 s", "1 / 0": "Zero"}.items():
        monkeypatch.setattr("tests.fuzz.worker.try_spec", lambda folder, program=program: exec(f"import os\n{program}"))
        pool.stop()
        outcome, detail = pool.run(case)
        assert outcome == "failed"
        assert words in detail
    monkeypatch.undo()
    pool.stop()
    assert pool.run(case)[0] != "failed"


def tried(pool, case):
    outcome, detail = pool.run(case)
    assert outcome != "failed", f"{case}: {detail}"
    return outcome
