"""Limits of time and signals at sizes at which one step is long: `python -m benchmarks.limits [NAMES]`. Writes
benchmarks/limits.md.

Each problem is solved by the command in a process of its own, with a limit of time that is much too short for it; and
again without one, until a signal asks it to stop: once early, while data are read or the first step is not done, and
once late. `past` is how long after the limit, or after the signal, the process had ended, all of its files written.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from datetime import datetime
from pathlib import Path

import numpy as np
import yaml

from benchmarks.suite.machine import THREADS, described, machine

LIMIT, EARLY, LATE = 20.0, 3.0, 15.0
"""Seconds: of `stop.time`; and after which the signals are sent, from the start of the process."""

PAGE = Path(__file__).with_name("limits.md")
COLUMNS = ["problem", "asked to end", "past, s", "GiB", "how it ended", "gap", "infeasibility"]


def random_graph(folder: Path, nodes: int, edges: int) -> dict:
    rng = np.random.default_rng(1)
    np.savetxt(folder / "graph.txt", rng.integers(nodes, size=(edges, 2)), fmt="%d")
    return {"template": "max-cut", "graph": {"file": "graph.txt"}}


def communities(folder: Path, nodes: int, edges: int) -> dict:
    return {
        **random_graph(folder, nodes, edges),
        "template": "community-detection",
        "criterion": "equal-sizes",
        "communities": 2,
    }


def clustering(folder: Path, points: int) -> dict:
    rng = np.random.default_rng(1)
    centres = rng.standard_normal((20, 20))
    np.save(folder / "points.npy", centres[rng.integers(20, size=points)] + 0.5 * rng.standard_normal((points, 20)))
    return {"template": "kmeans-sdp", "clusters": 20, "points": {"file": "points.npy"}}


def completion(folder: Path, rows: int, columns: int, known: int) -> dict:
    rng = np.random.default_rng(1)
    left, right = rng.standard_normal((rows, 5)), rng.standard_normal((columns, 5))
    i, j = rng.integers(rows, size=known), rng.integers(columns, size=known)
    ratings = (left[i] * right[j]).sum(axis=1) + 0.1 * rng.standard_normal(known)
    np.savetxt(
        folder / "ratings.csv",
        np.column_stack([i, j, ratings]),
        fmt=["%d", "%d", "%.4f"],
        delimiter=",",
        header="person,film,rating",
        comments="",
    )
    data = {"file": "ratings.csv", "user": "person", "item": "film", "value": "rating"}
    return {"template": "matrix-completion", "ratings": data, "radius": 20000.0}


def linear_program(folder: Path, rows: int, columns: int) -> dict:
    rng = np.random.default_rng(1)
    matrix = rng.standard_normal((rows, columns))
    np.save(folder / "matrix.npy", matrix)
    np.save(folder / "right.npy", matrix @ rng.uniform(0.0, 1.0, columns))
    np.save(folder / "cost.npy", rng.standard_normal(columns))
    return {
        "template": "linear-program",
        "cost": {"file": "cost.npy"},
        "matrix": {"file": "matrix.npy"},
        "equals": {"file": "right.npy"},
        "lower": 0.0,
        "upper": 1.0,
    }


def game(folder: Path, rows: int, columns: int) -> dict:
    return {"template": "matrix-game", "payoff": {"rows": rows, "columns": columns}}


def theta(folder: Path, nodes: int) -> dict:
    return {"template": "lovasz-theta", "graph": {"nodes": nodes, "edges": nodes * nodes // 8}}


PROBLEMS: dict[str, Callable[[Path], dict]] = {
    "maximum cut, 300,000 nodes, 900,000 edges": lambda folder: random_graph(folder, 300_000, 900_000),
    "communities, 100,000 nodes, 400,000 edges": lambda folder: communities(folder, 100_000, 400_000),
    "k-means, 8000 points": lambda folder: clustering(folder, 8000),
    "completion, 6000 x 4000, 1,000,000 entries": lambda folder: completion(folder, 6000, 4000, 1_000_000),
    "linear program, 3000 x 9000, dense": lambda folder: linear_program(folder, 3000, 9000),
    "matrix game, 4000 x 6000": lambda folder: game(folder, 4000, 6000),
    "Lovasz theta, 2000 nodes": lambda folder: theta(folder, 2000),
}


def measured(folder: Path, asked: str, stop: dict, sent: tuple[float, int] | None) -> list[str]:
    """One run. sent: when a signal is sent, and which."""
    spec = yaml.safe_load((folder / "spec.yaml").read_text())
    (folder / "now.yaml").write_text(yaml.safe_dump({**spec, "stop": stop}))
    run = folder / f"run-{len(list(folder.glob('run-*')))}"
    command = [sys.executable, "-m", "cgm_cli", "solve", "now.yaml", "--json", "--resume", str(run)]
    with (folder / "answer.json").open("wb") as answer:
        process = subprocess.Popen(
            command, cwd=folder, env={**os.environ, **THREADS}, stdout=answer, stderr=subprocess.DEVNULL
        )
    if sent is not None:
        time.sleep(sent[0])
        process.send_signal(sent[1])
    asked_at = time.time()
    code, used = os.wait4(process.pid, 0)[1:]
    ended, text = time.time(), (folder / "answer.json").read_text()
    told = json.loads(text) if text else {}
    if sent is None:
        status = json.loads((run / "status.json").read_text())
        asked_at = datetime.fromisoformat(status["started"]).timestamp() + LIMIT
    result = [f"{told[key]:.1e}" if told.get(key) is not None else "" for key in ("gap", "infeasibility")]
    how = told.get("status") or f"before a run began, exit code {os.waitstatus_to_exitcode(code)}"
    return [asked, f"{ended - asked_at:.1f}", f"{used.ru_maxrss / 2**20:.1f}", how, *result]


def main(names: list[str]) -> None:
    rows = []
    for name, made in PROBLEMS.items():
        if names and not any(wanted in name for wanted in names):
            continue
        with tempfile.TemporaryDirectory() as scratch:
            folder = Path(scratch)
            (folder / "spec.yaml").write_text(yaml.safe_dump({"name": "limits", "problem": made(folder)}))
            ways = [
                (f"time: {LIMIT:g}s", {"time": f"{LIMIT:g}s"}, None),
                (f"SIGTERM after {EARLY:g} s", {"time": "10m"}, (EARLY, signal.SIGTERM)),
                (f"SIGINT after {LATE:g} s", {"time": "10m"}, (LATE, signal.SIGINT)),
            ]
            for asked, stop, sent in ways:
                rows.append([name, *measured(folder, asked, {"gap": 1e-9, "infeasibility": 1e-9, **stop}, sent)])
                print(" | ".join(rows[-1]), flush=True)
    if not names:
        lines = [COLUMNS, ["---"] * len(COLUMNS), *sorted(rows, key=lambda row: -float(row[2]))]
        table = "\n".join(f"| {' | '.join(line)} |" for line in lines)
        PAGE.write_text(f"# Limits, where a step is long\n\n{__doc__.strip()}\n\n{described(machine())}\n\n{table}\n")


if __name__ == "__main__":
    main(sys.argv[1:])
