"""run.h5: complete after a normal end, readable after a kill, intact after a full disk."""

import itertools
import multiprocessing
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import h5py
import numpy as np
import pytest

from cgm_cli.runs.load import complete_rows
from cgm_cli.runs.log import RunLog
from tests.runs.fake import record

PROJECT = Path(__file__).resolve().parents[2]


def columns(path):
    with h5py.File(path, "r") as file:
        return {name: column[()] for name, column in file["trace"].items()}


def arrived(path):
    """The columns of a file that is being written, or was when its writer died, as far as they have arrived."""
    found = columns(path)
    rows = complete_rows(found)
    return {name: column[:rows] for name, column in found.items()}


def test_every_column_of_every_record_is_there(tmp_path):
    path = tmp_path / "run.h5"
    with RunLog(path, {"seed": 7}, flush_rows=4) as log:
        for k in range(25):
            log.on_record(record(k))
    trace = columns(path)
    assert set(trace) == set(record(10).columns())
    assert {len(column) for column in trace.values()} == {25}
    for name, value in record(10).columns().items():
        assert trace[name][10] == value
    assert trace["k"].dtype == np.int64
    assert trace["certified"].dtype == np.bool_


def test_a_late_column_is_nan_before_and_between(tmp_path):
    path = tmp_path / "run.h5"
    with RunLog(path, {}, flush_rows=3) as log:
        for k in range(25):
            log.on_record(record(k))
    metric = columns(path)["metric_error_rate"]
    assert [k for k in range(25) if not np.isnan(metric[k])] == [10, 20]
    assert metric[20] == 20.0


def test_names_with_slashes_make_no_groups(tmp_path):
    path = tmp_path / "run.h5"
    with RunLog(path, {}) as log:
        log.on_record(record(0, metrics={"a/b": 1.0}))
        log.finish({"x/y": np.ones(2)}, {}, {})
    with h5py.File(path, "r") as file:
        assert "metric_a_b" in file["trace"]
        assert list(file["solution"]) == ["x_y"]


def test_no_records_at_all(tmp_path):
    path = tmp_path / "run.h5"
    with RunLog(path, {}) as log:
        log.finish({}, {}, {"ended": "now"})
    assert columns(path) == {}


def test_provenance_beyond_the_64_kb_of_an_attribute(tmp_path):
    path = tmp_path / "run.h5"
    RunLog(path, {"resolved": "x" * 200_000, "nested": {"a": [1]}}).close()
    with h5py.File(path, "r") as file:
        assert len(file.attrs["resolved"]) == 200_000
        assert file.attrs["nested"] == '{"a": [1]}'


def test_arrays_and_late_attributes(tmp_path):
    path = tmp_path / "run.h5"
    with RunLog(path, {"started": "then"}) as log:
        log.finish({"u": np.ones((4, 2)), "weights": np.arange(2)}, {"rows": np.zeros(3)}, {"ended": "now"})
    with h5py.File(path, "r") as file:
        assert file["solution/u"].shape == (4, 2)
        assert file["solution/weights"].dtype == np.int64
        assert file["duals/rows"].shape == (3,)
        assert dict(file.attrs) == {"started": "then", "ended": "now"}


def test_the_first_record_is_on_disk_at_once(tmp_path):
    path = tmp_path / "run.h5"
    log = RunLog(path, {}, flush_seconds=1e9, flush_rows=10**9)
    log.on_record(record(0))
    log.on_record(record(1))
    assert arrived(path)["k"].tolist() == [0]
    log.close()
    assert columns(path)["k"].tolist() == [0, 1]


def write_without_end(path, flush_rows, pipe):
    log = RunLog(path, {"seed": 7}, flush_rows=flush_rows)
    pipe.send("begun")
    for k in itertools.count():
        log.on_record(record(k))
        if k == 600:
            pipe.send("grown")


@pytest.mark.parametrize("flush_rows", [1, 3, 40])
def test_readable_after_sigkill_at_any_moment(tmp_path, flush_rows):
    # The writer does nothing but commit, so that most kills fall into a commit.
    fork, most = multiprocessing.get_context("fork"), 0
    for attempt in range(8):
        path = tmp_path / f"{attempt}.h5"
        here, there = fork.Pipe()
        process = fork.Process(target=write_without_end, args=(path, flush_rows, there), daemon=True)
        process.start()
        there.close()
        assert here.recv() == "begun"
        if attempt % 2:
            assert here.recv() == "grown"  # the room of the first file is used up
        time.sleep(random.Random(attempt).uniform(0.0, 0.2))
        process.kill()
        process.join()
        assert process.exitcode == -signal.SIGKILL
        trace = arrived(path)
        rows = len(trace.get("k", ()))
        most = max(most, rows)
        if rows:
            assert rows == 1 or (rows - 1) % flush_rows == 0
            assert trace["k"].tolist() == list(range(rows))
            assert trace["objective"].tolist() == [record(k).objective for k in range(rows)]
            assert trace["gap"].tolist() == [record(k).gap for k in range(rows)]
    assert most > 600, "no kill fell behind the first growth of the file"


FULL = """
import resource, signal, sys
from pathlib import Path
import numpy as np
from cgm_cli.errors import CgmError
from cgm_cli.runs.log import RunLog
from tests.runs.fake import record
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
for limit in map(int, sys.argv[1:]):
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, resource.RLIM_INFINITY))
    folder = Path(str(limit))
    folder.mkdir()
    try:
        log = RunLog(folder / "run.h5", {"seed": 7}, flush_rows=50)
    except CgmError as fault:
        print(fault.message, fault.exit_code, flush=True)
        continue
    for k in range(5000):
        log.on_record(record(k))
    log.finish({"x": np.zeros(10_000)}, {}, {"ended": "now"})
    log.close()
    print(log.fault.message, log.fault.exit_code, flush=True)
"""


def test_a_write_that_fails_keeps_what_was_committed_and_lets_the_process_end(tmp_path):
    """By limits on every kind of write: the header, the first columns, a chunk, the middle of a chunk, the solution."""
    limits = [100, 5_000, 60_000, 100_000, 150_001, 300_007, 400_000, 750_000]
    command, environment = [sys.executable, "-c", FULL, *map(str, limits)], os.environ | {"PYTHONPATH": str(PROJECT)}
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [f"{limit}/run.h5 could not be written: File too large. 4" for limit in limits]
    # Not even the header fitted, and no half of it is left.
    assert list((tmp_path / "100").iterdir()) == []
    for limit in limits[1:]:
        trace = arrived(tmp_path / str(limit) / "run.h5")
        rows = len(trace["k"]) if trace else 0
        if rows:
            assert trace["k"].tolist() == list(range(rows))
            assert trace["gap"].tolist() == [record(k).gap for k in range(rows)]


def test_a_folder_that_is_gone_is_a_clear_error(tmp_path):
    from cgm_cli.errors import CgmError

    with pytest.raises(CgmError, match="could not be written: No such file") as caught:
        RunLog(tmp_path / "missing" / "run.h5", {})
    assert caught.value.exit_code == 4
