"""Run folders written by the real log and folder, but without solving anything: hundreds of them in a second."""

from __future__ import annotations

import math
import os
from pathlib import Path
from typing import Any

import numpy as np

from cgm_cli.methods.record import IterationRecord
from cgm_cli.methods.status import Status
from cgm_cli.runs.directory import RunDirectory
from cgm_cli.runs.log import RunLog
from cgm_cli.spec.load import dump


def record(k: int, scale: float = 1.0, rate: float = 1.0, **changes: Any) -> IterationRecord:
    """A record that converges to the objective 1 at rate k^-rate."""
    error = scale / (k + 1) ** rate
    values = {
        "k": k,
        "seconds": 0.01 * k,
        "objective": 1.0 + error,
        "penalty": 0.0,
        "total": 1.0 + error,
        "infeasibility": 0.1 * error,
        "bound": 1.0 - 3.0 * error if k else math.nan,
        "certified": False,
        "gap": 4.0 * error / (1.0 + error) if k else math.nan,
        "beta": 1.0 / np.sqrt(k + 1),
        "eta": 2.0 / (k + 2),
        "lmo_value": -1.0,
        "lmo_matvecs": 3,
        "lmo_residual": 1e-7,
        "fw_gap": error,
        "phases": {"oracle": 0.01},
        "infeasibilities": {"rows": 0.1 * error},
        "metrics": {"psnr": 20.0 - error} if k % 10 == 0 else {},
        "theory": {"residual": error, "residual_bound": 5.0 * error},
    }
    return IterationRecord(**{**values, **changes})


def spec(name: str = "demo", **solver: Any) -> dict[str, Any]:
    """A resolved spec, as plain values."""
    return {
        "name": name,
        "problem": {"template": "sparse-regression", "data": "diabetes", "radius": 1.0},
        "solver": {"method": "hcgm", "beta0": 1.0, "iterations": 50, "step": "classic", **solver},
        "stop": {"gap": None, "time": None},
        "seed": 0,
    }


def make_run(
    folder: Path,
    tree: dict[str, Any] | None = None,
    *,
    iterations: int = 50,
    scale: float = 1.0,
    rate: float = 1.0,
    status: Status = Status.ITERATION_LIMIT,
    message: str = "",
    solution: dict[str, np.ndarray] | None = None,
    duals: dict[str, np.ndarray] | None = None,
    sense: str = "minimise",
    infeasibility: float | None = None,
    metrics: dict[str, float] | None = None,
    bound_rests_on: str | None = None,
) -> Path:
    """A run folder that ended with `status`; RUNNING: one whose process was killed half-way."""
    tree = spec() if tree is None else tree
    text = dump(tree)
    provenance = {"resolved": text, "seed": 0, "versions": {"python": "3.11"}, "host": "here", "argv": ["cgm", "solve"]}
    changes = {} if infeasibility is None else {"infeasibility": infeasibility}
    with RunDirectory.create(str(tree["name"]), folder) as run:
        run.begin(text, text)
        records = [record(k, scale, rate, **changes) for k in range(iterations + 1)]
        log = RunLog(run.path / "run.h5", provenance, flush_seconds=1e9)
        for each in records:
            log.on_record(each)
        if status is Status.RUNNING:
            log.flush()
            return run.path
        last = records[-1]
        result = {
            "status": status.value,
            "sense": sense,
            "objective": last.total,
            "bound": last.bound,
            "bound_is": "certified",
            "bound_rests_on": bound_rests_on,
            "gap": last.gap,
            "infeasibility": last.infeasibility,
            "iterations": last.k,
            "seconds": last.seconds,
            "run": str(run.path),
            "metrics": {"psnr": 20.0 - scale, "rank": 3.0} if metrics is None else metrics,
        }
        log.finish({"x": np.arange(3.0)} if solution is None else solution, duals or {}, {"status": status.value})
        log.close()
        run.set_status(status, message, None if status is Status.FAILED else result)
        return run.path


def make_sweep(folder: Path, count: int, iterations: int = 50) -> Path:
    """`count` runs over beta0, the step and the seed."""
    betas = [0.01, 0.1, 0.3, 1.0, 3.0, 10.0, 100.0]
    for index in range(count):
        beta = betas[index % len(betas)]
        step = ("classic", "line-search", "short")[index // len(betas) % 3]
        seed = index // (3 * len(betas))
        tree = spec(beta0=beta, step=step) | {"seed": seed}
        scale = (1.0 + abs(math.log10(beta))) * (1.0 + 0.1 * seed)
        rate = {"classic": 1.0, "line-search": 1.3, "short": 0.7}[step]
        make_run(folder / f"{index:04d}", tree, iterations=iterations, scale=scale, rate=rate)
    return folder


def environment(project: Path) -> dict[str, str]:
    """For a `cgm` that is started as a process."""
    return os.environ | {"PYTHONPATH": str(project)}
