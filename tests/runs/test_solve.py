"""The command and the Python function, from spec to run folder, around a loop that only counts."""

import json
import os
import signal
import warnings
from pathlib import Path

import numpy as np
import pytest
import typer

from cgm_cli.errors import NumericalError
from cgm_cli.methods.status import Status
from cgm_cli.runs.load import load_run
from tests.forked import until
from tests.runs import fake

KEYS = [
    "status",
    "sense",
    "objective",
    "bound",
    "bound_is",
    "certificate",
    "gap",
    "infeasibility",
    "owed",
    "iterations",
    "seconds",
    "run",
    "method",
    "active_bounds",
    "bound_rests_on",
    "implied_constraints",
    "metrics",
    "x",
]


@pytest.fixture
def spec(tmp_path):
    path = tmp_path / "spec.yaml"
    path.write_text("name: fake  # as given\n")
    return path


def run(*arguments):
    process = fake.begun(*arguments)
    process.wait()
    return process


def refuse(constant):
    raise AssertionError(f"{constant} is not JSON")


def test_json_is_one_strict_object_and_nothing_else(spec, tmp_path):
    out = tmp_path / "out"
    done = run(spec, "--out", out, "--json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout, parse_constant=refuse)
    assert list(found) == KEYS
    assert found["status"] == "iteration-limit"
    assert found["iterations"] == 25
    assert found["run"] == str(out)
    assert found["x"] == [1.0, None]
    assert "iteration 0 " in done.stderr
    assert load_run(out).summary == {key: value for key, value in found.items() if key != "x"}


def test_quiet_is_one_line_on_standard_output(spec, tmp_path):
    done = run(spec, "--out", tmp_path / "out", "--quiet")
    assert (done.returncode, done.stderr) == (0, "")
    assert len(done.stdout.splitlines()) == 1
    done = run(spec, "--out", tmp_path / "again", "--quiet", "--json")
    assert done.stderr == ""
    assert list(json.loads(done.stdout)) == KEYS


def test_without_options_all_goes_to_standard_error(spec, tmp_path):
    done = run(spec, "--out", tmp_path / "out")
    assert (done.returncode, done.stdout) == (0, "")
    assert Status.ITERATION_LIMIT.sentence in done.stderr


def test_the_folder_holds_the_whole_run(spec, tmp_path):
    run(spec, "--out", tmp_path / "out")
    found = load_run(tmp_path / "out")
    assert found.spec_text == spec.read_text()
    assert found.resolved == {"name": "fake", "seed": 7}
    assert len(found.trace["k"]) == 26
    assert found.provenance["status"] == "iteration-limit"
    assert found.provenance["started"] <= found.provenance["ended"]
    assert all(pool["num_threads"] == 1 for pool in found.provenance["thread_pools"])
    assert "iteration-limit after 25 iterations" in (tmp_path / "out" / "log.txt").read_text()


def test_a_folder_that_holds_a_run_is_refused_and_left_alone(spec, tmp_path):
    run(spec, "--out", tmp_path / "out")
    before = {file: file.read_bytes() for file in (tmp_path / "out").iterdir()}
    done = run(spec, "--out", tmp_path / "out", "--json")
    assert (done.returncode, json.loads(done.stdout)["error"]["exit_code"]) == (2, 2)
    assert "already holds a run" in done.stderr
    assert {file: file.read_bytes() for file in (tmp_path / "out").iterdir()} == before


@pytest.mark.parametrize(
    ("number", "code", "status"),
    [
        (signal.SIGINT, 130, "interrupted"),
        (signal.SIGTERM, 75, "preempted"),
        (signal.SIGUSR1, 75, "preempted"),
        (signal.SIGUSR2, 75, "preempted"),
    ],
)
def test_a_signal_ends_the_run_with_a_result(spec, tmp_path, number, code, status):
    process = start(spec, tmp_path / "out", "--json")
    process.send_signal(number)
    stdout, _ = process.communicate()
    assert process.returncode == code
    assert json.loads(stdout)["status"] == status
    found = load_run(tmp_path / "out")
    assert (found.status.value, found.died) == (status, False)
    assert found.trace["k"][-1] == found.summary["iterations"]


def test_a_second_interrupt_leaves_at_once_and_is_recorded(spec, tmp_path):
    process = start(spec, tmp_path / "out", "--json", pause=600)
    process.send_signal(signal.SIGINT)
    # The loop sleeps on, so the first request cannot have been served. Two signals sent together would be merged.
    until(lambda: "Ctrl-C" in process.stderr)
    process.send_signal(signal.SIGINT)
    stdout, _ = process.communicate()
    assert (process.returncode, stdout) == (130, "")
    found = load_run(tmp_path / "out")
    assert found.status is Status.INTERRUPTED
    assert found.summary is None
    assert found.trace["k"].tolist() == [0]


def test_a_killed_run_is_readable_and_does_not_look_finished(spec, tmp_path):
    process = start(spec, tmp_path / "out")
    assert load_run(tmp_path / "out").alive
    os.kill(process.pid, signal.SIGKILL)
    process.communicate()
    found = load_run(tmp_path / "out")
    assert found.died
    assert len(found.trace["k"]) >= 1
    assert found.spec_text == spec.read_text()


def start(spec, out, *arguments, pause=0.01):
    """The command at work: its first record is on disk."""
    process = fake.begun(spec, "--out", out, *arguments, iterations=10**6, pause=pause)
    until(lambda: (out / "run.h5").exists() and len(load_run(out).trace.get("k", ())))
    return process


@pytest.fixture
def instance(monkeypatch, tmp_path):
    """What every spec of this test describes."""
    chosen = fake.Instance()
    monkeypatch.chdir(tmp_path)
    fake.install(chosen, monkeypatch.setattr)
    return chosen


def test_the_python_function_writes_below_runs_and_returns_the_result(instance, spec, capfd):
    from cgm_cli import load_run as load
    from cgm_cli import solve

    seen = []
    result = solve(spec, on_record=seen.append)
    assert result.status is Status.ITERATION_LIMIT
    assert [record.k for record in seen] == list(range(26))
    (folder,) = Path("runs/fake").iterdir()
    assert load(folder).status is Status.ITERATION_LIMIT
    assert tuple(capfd.readouterr()) == ("", "")
    solve(spec, quiet=False)
    assert "iteration 25 " in capfd.readouterr().err


def test_a_mapping_is_a_spec(instance, tmp_path):
    from cgm_cli import solve

    solve({"name": "fake", "solver": {"beta0": 1e-3}}, out=tmp_path / "out")
    assert "name: fake" in load_run(tmp_path / "out").spec_text


def test_a_mapping_may_hold_what_numpy_makes(tmp_path):
    from cgm_cli import solve

    spec = {
        "problem": {
            "domain": {"kind": "simplex", "size": np.int64(3)},
            "objective": {"kind": "least-squares", "target": np.array([0.5, 0.25, 0.25])},
            "constraints": ({"kind": "box", "lower": np.float64(0.1), "upper": [np.float32(0.5), 1, np.array(1)]},),
        },
        "solver": {"method": "hcgm", "iterations": np.int32(5)},
        "stop": {"gap": None},
    }
    result = solve(spec, "solver.iterations=7", out=tmp_path / "out")
    assert result.record.k == 7
    assert load_run(tmp_path / "out").resolved["problem"]["objective"]["target"] == [0.5, 0.25, 0.25]


@pytest.mark.parametrize("spec", [None, 3, ["name"], b"spec.yaml"])
def test_what_is_no_spec_is_a_type_error(instance, spec):
    from cgm_cli import solve

    with pytest.raises(TypeError, match="a spec is the path of a file or a mapping, not a value of type"):
        solve(spec)


@pytest.mark.parametrize("value", [{1, 2}, np.array(["a"]), object()])
def test_what_a_spec_cannot_hold_is_a_type_error_with_its_place(instance, value):
    from cgm_cli import solve

    with pytest.raises(TypeError, match=r"^problem\.terms\.0"):
        solve({"problem": {"terms": [value]}})


@pytest.mark.parametrize("error", [NumericalError("Not a number."), RuntimeError("boom")])
def test_an_error_on_the_way_is_recorded(instance, spec, tmp_path, error):
    from cgm_cli import solve

    instance.error = error
    with pytest.raises(type(error)):
        solve(spec, out=tmp_path / "out")
    found = load_run(tmp_path / "out")
    assert found.status is Status.FAILED
    assert str(error) in found.state["message"]
    assert str(error) in (tmp_path / "out" / "log.txt").read_text()
    assert found.trace["k"].tolist() == list(range(14))


def test_an_interrupt_that_python_has_wrapped_is_one(instance, spec, tmp_path):
    from cgm_cli import solve

    instance.error = RuntimeError("Error calling __set_name__ on 'cached_property'")
    instance.error.__cause__ = KeyboardInterrupt()
    with pytest.raises(KeyboardInterrupt):
        solve(spec, out=tmp_path / "run")
    assert load_run(tmp_path / "run").status is Status.INTERRUPTED


def test_a_disk_that_fails_late_costs_the_folder_and_not_the_result(instance, spec, tmp_path, monkeypatch):
    from cgm_cli import solve
    from cgm_cli.runs import storage

    real = storage.os.pwrite
    written = []

    def full(descriptor, data, offset):
        written.append(len(data))
        if sum(written) > 120_000:
            raise OSError(28, "No space left on device")
        return real(descriptor, data, offset)

    monkeypatch.setattr(storage.os, "pwrite", full)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = solve(spec, out=tmp_path / "out")
    assert result.record.k == 25
    assert [str(item.message) for item in caught] == [
        f"{tmp_path / 'out' / 'run.h5'} could not be written: the disk is full."
    ]


def test_the_command_prints_its_result_before_it_tells_of_the_disk(instance, spec, tmp_path, monkeypatch, capsys):
    from cgm_cli.cli.solve import solve
    from cgm_cli.runs import storage

    real = storage.os.pwrite
    written = []

    def full(descriptor, data, offset):
        written.append(len(data))
        if sum(written) > 60_000:
            raise OSError(28, "No space left on device")
        return real(descriptor, data, offset)

    monkeypatch.setattr(storage.os, "pwrite", full)
    with pytest.raises(typer.Exit) as caught:
        solve(spec, out=tmp_path / "out", json=True, quiet=True)
    assert caught.value.exit_code == 4
    printed = capsys.readouterr()
    assert json.loads(printed.out)["iterations"] == 25
    assert "the disk is full" in printed.err
