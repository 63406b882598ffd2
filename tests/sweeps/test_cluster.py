"""The same points here, on dask workers and in jobs of a real Slurm, with losses on the way: the same table."""

import functools
import importlib.util
import json
import os
import signal
import subprocess
import sys
import time

import pytest

from cgm_cli.readers.functions import VARIABLE
from cgm_cli.spec.load import dump, loads
from cgm_cli.sweeps.executors import slurm
from cgm_cli.templates.build import build
from tests.blocks.test_given import OWN, text
from tests.forked import until
from tests.sweeps.slurm_node import SlurmNode, missing
from tests.sweeps.support import (
    LONG,
    TINY,
    counts,
    points,
    run_pid,
    start_anew,
    sweep,
    sweep_apart,
    table,
    task,
    went_on,
    write,
)

POINTS = 10

LARGEST = 3
"""So many tasks an array may have: ten points by two would be five."""

FEWER = 4
"""So many of them are enough for dask."""

LASTING = 2
"""Points of these that take some seconds."""

INTERVAL = 0.2
"""Seconds between checkpoints of these."""

SLOW = {**LONG, "solver": {**LONG["solver"], "iterations": 1000}, "checkpoint": {"every": INTERVAL}}


@functools.cache
def lasting():
    """The iterations that take some four seconds here: a queue has to notice what is done to a point meanwhile."""
    instance = build(loads(dump(SLOW)))
    instance.solve()
    begun = time.perf_counter()
    instance.solve()
    return int(4.0 / (time.perf_counter() - begun) * 1000)


def the_sweep(folder, count=POINTS, **more):
    """The first points last some seconds, and are those that something happens to."""
    axes = {
        "zip": {
            "problem": [SLOW["problem"]] * LASTING + [TINY["problem"]] * (count - LASTING),
            "solver.iterations": [lasting()] * LASTING + [20] * (count - LASTING),
            "seed": [*range(count)],
        }
    }
    return write(folder, "s", {"base": {**SLOW, "problem": TINY["problem"]}, "sweep": axes, "workers": 2, **more})


@pytest.fixture(scope="module")
def expected(tmp_path_factory):
    """The table of an undisturbed sweep on this machine."""
    folder = tmp_path_factory.mktemp("local")
    the_sweep(folder)
    sweep(folder, "s.yaml")
    return table(folder, "s")


def running(folder):
    """A lasting point that has a checkpoint and whose run goes on."""
    for point in points(folder, "s")[:LASTING]:
        if (point / "run" / "checkpoint.h5").exists() and run_pid(point) and not (point / "task.json").exists():
            return point
    return None


def assert_little_was_lost(point):
    """The run went on from where it was when it was lost, give or take an interval between checkpoints."""
    assert went_on(point)
    assert all(entry["iteration"] > 0 for entry in went_on(point))


# dask


def test_dask_and_a_worker_that_is_killed(tmp_path, expected):
    pytest.importorskip("distributed", reason="dask is not installed: pip install 'cgm[cluster]'")
    the_sweep(tmp_path, FEWER)
    process = start_anew(tmp_path, "s.yaml", "--executor", "dask")
    until(lambda: (tmp_path / "runs" / "s" / "manifest.json").exists())
    point = until(lambda: running(tmp_path))
    run = run_pid(point)
    worker = json.loads((point / "claim.json").read_text())["pid"]
    lost = time.time() - (point / "run" / "checkpoint.h5").stat().st_mtime
    os.kill(worker, signal.SIGKILL)
    os.kill(run, signal.SIGKILL)
    _, errors = process.communicate(timeout=120)
    assert process.returncode == 0, errors
    assert f"{FEWER} of {FEWER} runs done, 0 failed" in errors
    assert table(tmp_path, "s") == expected[:FEWER]
    # The first attempt of one run died with its worker, before it could tell of it; all others had one only.
    assert_little_was_lost(point)
    assert all(task(each)["attempts"] == 1 for each in points(tmp_path, "s"))
    assert lost < INTERVAL + 1.0  # more than the interval only where writing one takes more than a fiftieth of it
    assert sum(bool(went_on(each)) for each in points(tmp_path, "s")[:LASTING]) == 1


def test_dask_and_ctrl_c(tmp_path):
    pytest.importorskip("distributed", reason="dask is not installed: pip install 'cgm[cluster]'")
    write(tmp_path, "s", {"base": LONG, "sweep": {"repeat": 2}, "workers": 1})
    process = start_anew(tmp_path, "s.yaml", "--executor", "dask")
    until(lambda: (tmp_path / "runs" / "s" / "manifest.json").exists())
    until(lambda: (points(tmp_path, "s")[0] / "run" / "checkpoint.h5").exists())
    # As a terminal does: to the workers as well.
    os.killpg(process.pid, signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 130 and "Traceback" not in errors
    assert counts(tmp_path, "s") == (0, 0, 0, 2)
    assert task(points(tmp_path, "s")[0])["state"] == "stopped"


@pytest.mark.parametrize("after", [0.0, 0.5, 1.0])
def test_dask_and_ctrl_c_while_its_workers_start(tmp_path, after):
    pytest.importorskip("distributed", reason="dask is not installed: pip install 'cgm[cluster]'")
    write(tmp_path, "s", {"base": LONG, "sweep": {"repeat": 2}, "workers": 2})
    process = start_anew(tmp_path, "s.yaml", "--executor", "dask")
    until(lambda: list((tmp_path / "runs" / "s").glob("drivers/*.json")))
    time.sleep(after)
    os.killpg(process.pid, signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 130 and "Traceback" not in errors
    assert counts(tmp_path, "s") == (0, 0, 0, 2)


def test_a_scheduler_that_is_not_there(tmp_path):
    pytest.importorskip("distributed", reason="dask is not installed: pip install 'cgm[cluster]'")
    from cgm_cli.errors import ProblemError
    from cgm_cli.sweeps.executors.dask import client_of
    from cgm_cli.sweeps.model import DaskSpec

    with pytest.raises(ProblemError, match="Nothing was started"), client_of(DaskSpec(scheduler="nonsense://x"), 1):
        pass
    with pytest.raises(ProblemError, match="dask-jobqueue needs for slurm"), client_of(DaskSpec(queue="slurm"), 1):
        pass


# Slurm


@pytest.fixture(scope="module")
def node(tmp_path_factory):
    reason = missing()
    if reason is not None:
        pytest.skip(reason)
    with SlurmNode(tmp_path_factory.mktemp("n"), largest=LARGEST) as running_node:
        yield running_node


@pytest.fixture
def in_slurm(node, monkeypatch):
    monkeypatch.setenv("SLURM_CONF", str(node.conf))
    monkeypatch.setenv("PATH", node.environment["PATH"])
    return node


def jobs_of(node):
    """Array task -> state, of what is in the queue."""
    lines = node.ask("squeue", "--noheader", "--array", "--partition=debug", "--format=%K %T").splitlines()
    return dict(line.split() for line in lines)


def test_slurm_with_a_task_cancelled_and_one_preempted(tmp_path, expected, in_slurm):
    assert slurm.largest_array() == LARGEST
    the_sweep(tmp_path, slurm={"per-task": 2})
    _, errors = sweep(tmp_path, "s.yaml", "--executor", "slurm")
    assert f"{POINTS} points in {LARGEST} tasks of 4" in errors
    job = errors.split("submitted job ")[1].split(":")[0]
    assert "is in the queue already" in sweep(tmp_path, "s.yaml", "--executor", "slurm")[1]

    # Preempted: a job of the urgent partition takes the whole node for a moment.
    preempted = until(lambda: running(tmp_path))
    node_cpus = str(len(os.sched_getaffinity(0)))
    urgent = ["srun", "--partition=urgent", "--ntasks=1", f"--cpus-per-task={node_cpus}", "sleep", "0.5"]
    subprocess.run(urgent, env=in_slurm.environment, check=True, timeout=60)
    until(lambda: went_on(preempted) if (preempted / "run" / "run.h5").exists() else None, 60)
    assert_little_was_lost(preempted)
    assert task(preempted)["attempts"] >= 1

    # Cancelled, and for good: it does not come back by itself.
    until(lambda: running(tmp_path), 60)
    in_slurm.ask("scancel", f"{job}_0")
    until(lambda: not jobs_of(in_slurm), 120)
    done, *_, failed, waiting = counts(tmp_path, "s")
    assert failed == 0 and waiting >= 1 and done + waiting == POINTS
    assert "they wait for the next" in next((tmp_path / "runs" / "s" / "slurm").glob("*-0.out")).read_text()
    assert f"{waiting} points in" in sweep(tmp_path, "s.yaml", "--executor", "slurm")[1]
    until(lambda: not jobs_of(in_slurm), 120)
    assert counts(tmp_path, "s") == (POINTS, 0, 0, 0)
    # A task that is stopped disturbs one point. All that ran (a task each processor) were preempted, one was cancelled.
    again = [each for each in points(tmp_path, "s") if task(each)["attempts"] > 1 or went_on(each)]
    assert preempted in again and len(again) <= min(LARGEST, int(node_cpus)) + 1 < POINTS // 2
    assert table(tmp_path, "s") == expected
    assert f"{POINTS} runs, done already" in sweep(tmp_path, "s.yaml", "--executor", "slurm")[1]


@pytest.mark.parametrize("executor", ["dask", "slurm"])
def test_functions_of_ones_own_run_wherever_the_sweep_was_allowed_them(tmp_path, monkeypatch, request, executor):
    """In workers of dask and in jobs of Slurm; and nowhere where it was not."""
    if executor == "slurm":
        node = request.getfixturevalue("in_slurm")
    else:
        pytest.importorskip("distributed", reason="dask is not installed: pip install 'cgm[cluster]'")
    monkeypatch.setenv(VARIABLE, "0")
    (tmp_path / "own.py").write_text(OWN)
    (tmp_path / "spec.yaml").write_text(text())
    write(tmp_path, "s", {"base": "spec.yaml", "sweep": {"grid": {"solver.iterations": [3]}}, "executor": executor})
    for allowed, expected in (([], (0, 0, 1, 0)), (["--allow-python"], (1, 0, 0, 0))):
        code = 0 if allowed or executor == "slurm" else 5
        sweep_apart(tmp_path, "s.yaml", *allowed, code=code, start=start_anew)
        if executor == "slurm":
            until(lambda: not jobs_of(node), 120)
        assert counts(tmp_path, "s") == expected
        assert (tmp_path / "ran").exists() == bool(allowed)


def test_slurm_and_cancel(tmp_path, in_slurm):
    write(tmp_path, "s", {"base": LONG, "sweep": {"repeat": 4}, "executor": "slurm"})
    sweep_apart(tmp_path, "s.yaml")
    until(lambda: sum((point / "run" / "checkpoint.h5").exists() for point in points(tmp_path, "s")) >= 1)
    assert "stopped: slurm job" in sweep(tmp_path, "cancel", "runs/s")[1]
    assert counts(tmp_path, "s") == (0, 0, 0, 4)
    until(lambda: not jobs_of(in_slurm))


def needs_jobqueue():
    # Not imported here, because that changes what Ctrl-C does.
    if importlib.util.find_spec("dask_jobqueue") is None:
        pytest.skip("dask-jobqueue is not installed: pip install 'cgm[cluster]'")


ASKED = """
import signal
from cgm_cli.errors import ProblemError
from cgm_cli.sweeps.executors.dask import _queue
from cgm_cli.sweeps.model import DaskSpec
before = signal.getsignal(signal.SIGINT)
try:
    _queue(DaskSpec(queue="slurm", jobs=1, options={"cores": "none"}))
except ProblemError as error:
    assert "`dask.options`" in str(error), error
assert signal.getsignal(signal.SIGINT) is before
"""


def test_ctrl_c_stays_ours_when_a_queue_is_asked():
    needs_jobqueue()
    subprocess.run([sys.executable, "-W", "ignore", "-c", ASKED], check=True, timeout=120)


def test_dask_workers_in_jobs_of_a_queue(tmp_path, in_slurm):
    needs_jobqueue()
    options = {"cores": 1, "processes": 1, "memory": "1GB", "walltime": "00:05:00", "log_directory": str(tmp_path)}
    dask = {"queue": "slurm", "jobs": 2, "options": options}
    write(tmp_path, "s", {"base": TINY, "sweep": {"repeat": 2}, "executor": "dask", "dask": dask})
    sweep_apart(tmp_path, "s.yaml", start=start_anew)
    assert counts(tmp_path, "s") == (2, 0, 0, 0)
    assert [task(point)["attempts"] for point in points(tmp_path, "s")] == [1] * 2
    assert len(list(tmp_path.glob("dask-worker-*.out"))) == 2
    until(lambda: not jobs_of(in_slurm))


def test_there_is_no_slurm(tmp_path):
    write(tmp_path, "s", {"base": TINY, "sweep": {"repeat": 2}})
    python = os.path.dirname(sys.executable)
    _, errors = sweep(tmp_path, "s.yaml", "--executor", "slurm", code=2, PATH=python)
    assert "there is no `sbatch` here" in errors
