"""Small sweeps, and the command, in this process or in one of its own."""

from __future__ import annotations

import contextlib
import csv
import io
import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from unittest import mock

import pytest

from cgm_cli.cli import main
from cgm_cli.runs.load import load_run
from cgm_cli.spec.load import dump
from cgm_cli.sweeps.collect import collect
from cgm_cli.sweeps.status import standing
from tests.forked import Forked, begun, until

PROJECT = Path(__file__).resolve().parents[2]
TINY = {
    "problem": {"template": "minimax-ball", "size": 2, "radius": 1.0, "start": [1.0, 0.0]},
    "solver": {"method": "hcgm", "iterations": 20},
    "stop": {"gap": None},
}
LONG = {
    "problem": {"template": "matrix-game", "payoff": {"rows": 20, "columns": 30}},
    "solver": {"method": "hcgm", "iterations": 10_000_000},
    "stop": {"gap": None},
    "log": {"every": 1000, "metrics_every": 1_000_000},
    "bound": {"every": 1000, "certify": "never"},
    "checkpoint": {"every": 0.2},
}
"""Goes on for ever, as far as a test is concerned, with a checkpoint every fifth of a second."""

BROKEN = {
    "problem": {
        "domain": {"kind": "simplex", "size": 2},
        "objective": {"kind": "quadratic", "matrix": [[2, 0], [0, 1]]},
    },
    "solver": {"iterations": 20},
}
"""Valid, and fails when it is built wherever `problem.domain.size` is not 2."""

UNTIMED = ("seconds",)


def write(folder: Path, name: str, tree: dict) -> Path:
    """A sweep file of that name."""
    path = folder / f"{name}.yaml"
    path.write_text(dump(tree), encoding="utf-8")
    return path


def environment(**more: str) -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(PROJECT), **more}


def start(folder: Path, *arguments: str) -> Forked:
    """`cgm sweep ...` in the folder, begun."""
    return begun("sweep", *arguments, cwd=folder, before=lambda: os.environ.update(environment()))


def start_anew(folder: Path, *arguments: str) -> subprocess.Popen:
    """The same in a new Python, which dask needs, and in a process group of its own."""
    command = [sys.executable, "-m", "cgm_cli", "sweep", *arguments]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "stdin": subprocess.DEVNULL}
    return subprocess.Popen(command, cwd=folder, env=environment(), text=True, start_new_session=True, **pipes)


def sweep(folder: Path, *arguments: str, code: int = 0, **more: str) -> tuple[str, str]:
    """Standard output and error of `cgm sweep ...` in this process, which must end with the exit code."""
    out, errors = io.StringIO(), io.StringIO()
    with (
        contextlib.chdir(folder),
        mock.patch.dict(os.environ, environment(**more)),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(errors),
        pytest.raises(SystemExit) as stop,
    ):
        main(["sweep", *arguments])
    assert (stop.value.code or 0) == code, errors.getvalue()
    assert "Traceback" not in errors.getvalue()
    return out.getvalue(), errors.getvalue()


def sweep_apart(folder: Path, *arguments: str, code: int = 0, start=start) -> tuple[str, str]:
    """The same in a process of its own."""
    process = start(folder, *arguments)
    try:
        out, errors = process.communicate(timeout=120)
    except BaseException:
        process.kill()
        raise
    assert process.returncode == code, errors
    assert "Traceback" not in errors
    return out, errors


def counts(folder: Path, name: str) -> tuple[int, ...]:
    """done, running, failed, waiting."""
    return tuple(standing(folder / "runs" / name).counts.values())


def table(folder: Path, name: str) -> list[dict[str, str]]:
    """The collected table, timings aside."""
    rows = csv.DictReader(io.StringIO(collect(folder / "runs" / name).csv()))
    return [{key: value for key, value in row.items() if key not in UNTIMED} for row in rows]


def points(folder: Path, name: str) -> list[Path]:
    """The folder of each point in the store."""
    return [path.resolve() for path in sorted((folder / "runs" / name / "points").iterdir())]


def task(point: Path) -> dict:
    """What the last attempt at a point left."""
    return json.loads((point / "task.json").read_text())


def run_pid(point: Path) -> int | None:
    """The process that is at the run of a point."""
    try:
        return json.loads((point / "claim.json").read_text()).get("run")
    except (OSError, ValueError):
        return None


def kill_run(point: Path) -> None:
    """SIGKILL to the run of a point, once it has a checkpoint."""
    until(lambda: (point / "run" / "checkpoint.h5").exists() and run_pid(point))
    os.kill(run_pid(point), signal.SIGKILL)


def went_on(point: Path) -> list[dict]:
    """From which iterations the run of a point went on, and when."""
    return load_run(point / "run").provenance.get("resumed", [])
