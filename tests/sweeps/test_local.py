"""Sweeps on this machine: what is done stays done, one failure is one failure, and a stop loses nothing."""

import json
import os
import shlex
import signal
import socket
import time

import h5py
import pytest

from cgm_cli.cli import main
from cgm_cli.runs.load import load_run
from cgm_cli.sweeps import lease
from cgm_cli.sweeps.lease import is_dead_here
from cgm_cli.sweeps.manifest import Manifest, ManifestRow
from cgm_cli.sweeps.tally import Tally
from tests.forked import until
from tests.sweeps.support import (
    BROKEN,
    LONG,
    TINY,
    counts,
    kill_run,
    points,
    run_pid,
    start,
    sweep,
    sweep_apart,
    table,
    task,
    went_on,
    write,
)

SOME_SECONDS = {**LONG, "solver": {"method": "hcgm", "iterations": 6_000}}
"""Takes two seconds or so, with a checkpoint every fifth of one."""


def long(folder, name="s", repeat=2, base=LONG, **more):
    return write(folder, name, {"base": base, "sweep": {"repeat": repeat}, "workers": 2, **more})


def broken(folder, sizes, **more):
    return write(folder, "s", {"base": BROKEN, "sweep": {"grid": {"problem.domain.size": sizes}}, **more})


def started(folder, name="s"):
    """Once a run of every point has a checkpoint."""
    return lambda: all((point / "run" / "checkpoint.h5").exists() for point in points(folder, name)) or None


def interrupt(process):
    """SIGINT as from the keyboard; its exit code and what it said."""
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert "Traceback" not in errors
    return process.returncode, errors


# What is done is not done again


def test_another_sweep_file_of_the_same_name_takes_the_folder_and_says_so(tmp_path):
    (tmp_path / "a").mkdir()
    write(tmp_path, "s", {"base": TINY, "sweep": {"repeat": 2}})
    write(tmp_path / "a", "s", {"base": TINY, "sweep": {"repeat": 3}})
    assert "was that of" not in sweep(tmp_path, "s.yaml")[1]
    assert "was that of" not in sweep(tmp_path, "s.yaml")[1]
    _, errors = sweep(tmp_path, "a/s.yaml")
    assert f"runs/s was that of {tmp_path}/s.yaml, and is now of a/s.yaml" in errors
    assert "2 of 3 runs done already" in errors
    # One that was moved is the same sweep.
    (tmp_path / "a" / "s.yaml").rename(tmp_path / "a" / "t.yaml")
    assert "was that of" not in sweep(tmp_path, "s.yaml")[1]


@pytest.mark.parametrize("text", ["", "[]", "null", "{}", '{"schema": 1, "points": 3}', '{"schema": 1, "points": [1]}'])
def test_a_manifest_that_is_damaged_is_told_in_words_and_written_anew(tmp_path, monkeypatch, capsys, text):
    write(tmp_path, "s", {"base": TINY, "sweep": {"repeat": 1}})
    (tmp_path / "runs" / "s").mkdir(parents=True)
    (tmp_path / "runs" / "s" / "manifest.json").write_text(text)
    monkeypatch.chdir(tmp_path)
    for command in ("status", "collect", "cancel"):
        with pytest.raises(SystemExit) as stop:
            main(["sweep", command, "runs/s"])
        assert stop.value.code == 3
        assert "manifest.json is not the manifest of a sweep, or is damaged" in capsys.readouterr().err
    if not text:
        sweep(tmp_path, "s.yaml")
        assert counts(tmp_path, "s") == (1, 0, 0, 0)


def test_what_is_no_folder_of_a_sweep(tmp_path):
    file = write(tmp_path, "s", {"base": TINY, "sweep": {"repeat": 1}})
    for name in (".", "nowhere", file.name):
        assert f"{name} is not the folder of a sweep" in sweep(tmp_path, "status", name, code=3)[1]


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (("--executor", "local", "--scheduler", "tcp://127.0.0.1:1"), "it is for the executor dask, and this is local"),
        (("--per-task", "2"), "it is for the executor slurm, and this is local"),
    ],
)
def test_an_option_of_another_executor_is_refused(tmp_path, options, told):
    write(tmp_path, "s", {"base": TINY, "sweep": {"repeat": 1}})
    assert told in sweep(tmp_path, "s.yaml", *options, code=2)[1]
    assert not (tmp_path / "runs").exists()


def test_the_best_point_is_so_on_average_over_its_seeds(tmp_path):
    """One whose seeds are not all done takes no part."""
    (tmp_path / "runs" / "s").mkdir(parents=True)
    values = {(1, 0): 1.0, (1, 1): 9.0, (2, 0): 4.0, (2, 1): 4.0, (3, 0): 0.5}
    pairs = [*values, (3, 1)]
    rows = [ManifestRow(n, f"r{n}", {"x": x, "seed": seed}, 1) for n, (x, seed) in enumerate(pairs, start=1)]
    best = {"smallest": "error"}
    manifest = Manifest(tmp_path / "runs" / "s", "s", None, tmp_path, "", "", None, best, tuple(rows))
    tally = Tally(manifest, len(rows))
    for row, value in zip(rows, values.values(), strict=False):
        (tmp_path / row.id / "run").mkdir(parents=True)
        told = {"status": "converged", "exit_code": 0, "result": {"status": "converged", "metrics": {"error": value}}}
        (tmp_path / row.id / "run" / "status.json").write_text(json.dumps(told))
        tally.consider(row)
    assert tally.best is not None and (tally.best.value, tally.best.row.number) == (4.0, 3)
    assert tally.best.label == "on average over 2 seeds: x=2"


def test_a_sweep_its_table_and_what_a_second_one_shares_with_it(tmp_path):
    axes = {"grid": {"solver.beta0": [0.5, 2.0], "solver.iterations": [10, 20]}}
    write(tmp_path, "s", {"base": TINY, "sweep": axes})
    _, errors = sweep_apart(tmp_path, "s.yaml")
    assert "4 of 4 runs done, 0 failed" in errors and "best: accuracy" in errors and "point 4" in errors
    rows = table(tmp_path, "s")
    assert [(row["solver.beta0"], row["solver.iterations"]) for row in rows] == [
        ("0.5", "10"),
        ("0.5", "20"),
        ("2.0", "10"),
        ("2.0", "20"),
    ]
    assert all(row["state"] == "done" and row["status"] == "iteration-limit" for row in rows)
    assert all(row["result.iterations"] == row["solver.iterations"] for row in rows if "result.iterations" in row)
    assert all(float(row["distance"]) < 1 for row in rows)
    before = {point.name: (point / "run" / "run.h5").stat().st_mtime_ns for point in points(tmp_path, "s")}
    assert "4 of 4 runs done already" in sweep(tmp_path, "s.yaml")[1]
    axes["grid"]["solver.beta0"] = [2.0, 4.0]
    write(tmp_path, "t", {"base": {**TINY, "name": "else"}, "sweep": axes})
    assert "2 of 4 runs done already" in sweep(tmp_path, "t.yaml")[1]
    after = {point.name: (point / "run" / "run.h5").stat().st_mtime_ns for point in points(tmp_path, "s")}
    assert before == after
    assert table(tmp_path, "t")[0] | {"point": ""} == rows[2] | {"point": ""}
    sweep(tmp_path, "collect", "runs/s", "--out", "mine")
    with h5py.File(tmp_path / "mine.h5") as file:
        assert file["solver.beta0"][()].tolist() == [0.5, 0.5, 2.0, 2.0] and file["point"].dtype.kind == "i"
        assert file["status"].asstr()[()].tolist() == ["iteration-limit"] * 4
        assert set(file) == set(file.attrs["columns"])


# Failures


def test_one_failure_is_one_failure(tmp_path):
    broken(tmp_path, [3, 2])
    _, errors = sweep_apart(tmp_path, "s.yaml", code=5)
    assert "point 1 failed (problem.domain.size=3): exit code 2" in errors
    assert "1 of 2 runs done, 1 failed, 0 waiting" in errors and "go on with: cgm sweep s.yaml" in errors
    assert counts(tmp_path, "s") == (1, 0, 1, 0)
    assert "2 x 2" in (points(tmp_path, "s")[0] / "output.txt").read_text() or task(points(tmp_path, "s")[0])["message"]
    out, _ = sweep(tmp_path, "status", "runs/s")
    assert out.splitlines()[0].split() == ["done", "running", "failed", "waiting", "time", "left"]
    assert out.splitlines()[1].split()[:4] == ["1", "0", "1", "0"] and "failed: point 1" in out
    sweep(tmp_path, "s.yaml", "--only", "waiting", code=5)
    assert [task(point)["attempts"] for point in points(tmp_path, "s")] == [1, 1]
    sweep(tmp_path, "s.yaml", "--only", "failed", "--retries", "1", code=5)
    assert [task(point)["attempts"] for point in points(tmp_path, "s")] == [3, 1]


def test_the_command_that_is_told_goes_on_with_the_same_sweep(tmp_path):
    broken(tmp_path, [3])
    (tmp_path / "s.yaml").rename(tmp_path / "my sweep.yaml")
    _, errors = sweep(tmp_path, "my sweep.yaml", "--out", "else where", "--workers", "1", "--quiet", code=5)
    _, errors = sweep(tmp_path, "my sweep.yaml", "--out", "else where", "--workers", "1", "--retries", "0", code=5)
    (told,) = [line.partition("go on with: ")[2] for line in errors.splitlines() if "go on with: " in line]
    assert told == "cgm sweep 'my sweep.yaml' --out 'else where' --workers 1 --retries 0"
    assert "the table: cgm sweep collect 'else where'" in errors
    out, _ = sweep(tmp_path, "status", "else where")
    assert out.rstrip().endswith(f"go on with: cgm sweep '{tmp_path}/my sweep.yaml' --out 'else where'")
    sweep(tmp_path, *shlex.split(told)[2:], code=5)
    assert [each.name for each in tmp_path.iterdir() if each.is_dir() and each.name != ".store"] == ["else where"]


@pytest.mark.parametrize(("option", "failures"), [(["--fail-fast"], 1), (["--max-failures", "2"], 2)])
def test_enough_failures_end_the_sweep(tmp_path, option, failures):
    broken(tmp_path, [3, 4, 5, 6, 7])
    sweep(tmp_path, "s.yaml", "--workers", "1", *option, code=5)
    assert counts(tmp_path, "s") == (0, 0, failures, 5 - failures)


def test_a_run_that_is_killed_fails_alone_and_a_retry_goes_on_with_it(tmp_path):
    long(tmp_path, base=SOME_SECONDS)
    process = start(tmp_path, "s.yaml", "--retries", "1")
    until(lambda: (tmp_path / "runs" / "s" / "manifest.json").exists())
    kill_run(points(tmp_path, "s")[0])
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 0, errors
    assert "point 1 failed (seed=0): killed by SIGKILL; out of memory?; it is tried again" in errors
    assert counts(tmp_path, "s") == (2, 0, 0, 0)
    first, second = points(tmp_path, "s")
    assert [task(first)["attempts"], task(second)["attempts"]] == [2, 1]
    assert went_on(first)[0]["iteration"] > 0 and not went_on(second)


def test_a_run_whose_time_is_over_keeps_its_checkpoint(tmp_path):
    long(tmp_path, repeat=1, timeout=2.0)
    _, errors = sweep(tmp_path, "s.yaml", code=5)
    assert "its time limit" in errors
    assert counts(tmp_path, "s") == (0, 0, 1, 0)
    assert (points(tmp_path, "s")[0] / "run" / "checkpoint.h5").exists()


# Stopping


def test_ctrl_c_leaves_every_run_resumable_and_the_sweep_goes_on(tmp_path):
    long(tmp_path, base=SOME_SECONDS, repeat=3)
    process = start(tmp_path, "s.yaml")
    until(lambda: (tmp_path / "runs" / "s" / "manifest.json").exists())
    until(lambda: sum((point / "run" / "checkpoint.h5").exists() for point in points(tmp_path, "s")) == 2)
    code, errors = interrupt(process)
    assert code == 130 and "nothing that was computed is lost; go on with: cgm sweep s.yaml" in errors
    assert counts(tmp_path, "s") == (0, 0, 0, 3)
    assert not list((tmp_path / "runs" / "s" / "drivers").iterdir())
    sweep(tmp_path, "s.yaml")
    assert [len(went_on(point)) for point in points(tmp_path, "s")] == [1, 1, 0]
    assert [task(point)["attempts"] for point in points(tmp_path, "s")] == [2, 2, 1]


def test_cancel_stops_the_driver_of_a_sweep(tmp_path):
    long(tmp_path)
    process = start(tmp_path, "s.yaml")
    until(lambda: (tmp_path / "runs" / "s" / "manifest.json").exists())
    until(started(tmp_path))
    assert counts(tmp_path, "s") == (0, 2, 0, 0)
    _, errors = sweep(tmp_path, "cancel", "runs/s")
    assert "stopped:" in errors
    process.communicate(timeout=30)
    assert process.returncode == 130
    assert counts(tmp_path, "s") == (0, 0, 0, 2)
    assert "nobody works on this sweep" in sweep(tmp_path, "cancel", "runs/s")[1]


def test_a_driver_that_is_killed_leaves_nothing_to_heal(tmp_path):
    long(tmp_path, repeat=1)
    process = start(tmp_path, "s.yaml")
    until(lambda: (tmp_path / "runs" / "s" / "manifest.json").exists())
    until(started(tmp_path))
    process.kill()
    process.communicate()
    # The run itself lives, and nobody else begins it; it can be told to leave.
    assert counts(tmp_path, "s") == (0, 1, 0, 0)
    assert "nobody drives it; going on to the end: 1 run" in sweep(tmp_path, "status", "runs/s")[0]
    pid = run_pid(points(tmp_path, "s")[0])
    sweep(tmp_path, "cancel", "runs/s")
    assert counts(tmp_path, "s") == (0, 0, 0, 1)
    assert is_dead_here({"host": socket.gethostname(), "pid": pid})
    # Killed with its driver, it is simply waiting.
    process = start(tmp_path, "s.yaml")
    os.kill(until(lambda: run_pid(points(tmp_path, "s")[0])), signal.SIGSTOP)
    process.kill()
    process.communicate()
    os.kill(run_pid(points(tmp_path, "s")[0]), signal.SIGKILL)
    until(lambda: counts(tmp_path, "s") == (0, 0, 0, 1))


# Two at once


def test_two_sweeps_at_once_compute_no_point_twice(tmp_path):
    write(tmp_path, "s", {"base": TINY, "sweep": {"repeat": 4}, "workers": 2})
    processes = [start(tmp_path, "s.yaml") for _ in range(2)]
    told = [process.communicate(timeout=90)[1] for process in processes]
    assert [process.returncode for process in processes] == [0, 0], told
    assert [task(point)["attempts"] for point in points(tmp_path, "s")] == [1] * 4
    assert all("4 of 4 runs done, 0 failed" in each for each in told)


def test_an_owner_elsewhere_counts_as_alive_while_it_gives_signs_of_life(tmp_path):
    stem = tmp_path / "claim"
    (tmp_path / "claim.lock").touch()
    (tmp_path / "claim.json").write_text('{"host": "another-node", "pid": 1}')
    assert lease.is_held(stem) and lease.take(stem) is None
    old = time.time() - 2 * lease.STALE
    os.utime(tmp_path / "claim.json", (old, old))
    sign = tmp_path / "run.h5"
    sign.touch()
    assert lease.is_held(stem, [sign])
    assert not lease.is_held(stem)
    held = lease.take(stem)
    assert held is not None and lease.is_held(stem) and lease.take(stem) is None
    held.release()
    assert not lease.is_held(stem)
    again = lease.take(stem)
    again.release()


# Changes of the base from the command line


def test_the_base_is_changed_at_every_point_and_the_manifest_says_so(tmp_path):
    grid = {"grid": {"problem.radius": [1.0, 2.0]}}
    write(tmp_path, "s", {"base": TINY, "set": {"seed": 3}, "sweep": grid, "workers": 1})
    changes = ("--set", "solver.iterations=1e1", "seed=5")
    _, errors = sweep(tmp_path, "s.yaml", *changes, "--max-failures", "1")
    assert "2 of 2 runs done" in errors
    folder = tmp_path / "runs" / "s"
    for point in points(tmp_path, "s"):
        resolved = load_run(point / "run").resolved
        assert (resolved["solver"]["iterations"], resolved["seed"]) == (10, 5)
    assert json.loads((folder / "manifest.json").read_text())["set"] == ["solver.iterations=1e1", "seed=5"]
    assert sweep(tmp_path, "status", "runs/s")[0].count("done") >= 1
    # The same changes are the same runs, and other ones are others.
    assert " 0 computed" in sweep(tmp_path, "s.yaml", *changes)[1]
    assert " 2 computed" in sweep(tmp_path, "s.yaml")[1]
    assert json.loads((folder / "manifest.json").read_text())["set"] == []


def test_what_goes_on_with_a_changed_sweep_has_its_changes(tmp_path):
    file = broken(tmp_path, [1, 2], retries=0)
    _, errors = sweep(tmp_path, file.name, "seed=5", code=5)
    assert "go on with: cgm sweep s.yaml seed=5\n" in errors
    assert f"cgm sweep {file} seed=5" in sweep(tmp_path, "status", "runs/s")[0]


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ("problem.$raidus=1", "unknown key `raidus`"),
        ("$raidus=1", "unknown key `raidus`"),
        ("problem.radius=$-1", "expected more than 0, got -1"),
        ("$seed=1", "`seed` is varied by the sweep, so that this would have no effect"),
        ("seed.$x=1", "`seed` is a single value"),
    ],
)
def test_faults_of_changes_point_into_them(tmp_path, change, told):
    write(tmp_path, "s", {"base": {**TINY, "seed": 1}, "sweep": {"grid": {"seed": [1, 2]}}})
    column, change = change.index("$"), change.replace("$", "")
    _, errors = sweep(tmp_path, "s.yaml", "--dry-run", change, code=2)
    assert f"--set {change}: {told}" in errors
    assert f"\n  {change}\n  {' ' * column}^" in errors and not (tmp_path / "runs").exists()
