"""Whether two checkouts compute the same, to the last bit: the net under every change that is to change nothing.

    python -m benchmarks.net record before.json.gz --checkout ../other    # that tree; without --checkout, this one
    python -m benchmarks.net compare before.json.gz after.json.gz

Solved are every spec of configs/, shortened, the examples of every template with each method, and random problems
composed of blocks. What is compared are all columns of the trace but times, the bits of the solution, status, message
and bound, and of what is refused, the words. All jobs are made by this checkout and handed to the other, which has to
offer no more than `cgm_cli.solve(spec, overrides, out=folder)` and run.h5.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import json
import os
import re
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path
from typing import Any

import numpy as np

PROJECT = Path(__file__).resolve().parents[1]

STEPS = 30
"""Of every run: enough to begin certificates, averages, restarts and corrections."""

VARIANTS: dict[str, list[str]] = {
    "hcgm": ["solver.method=hcgm"],
    "hcgm-line-search": ["solver.method=hcgm", "solver.step=line-search"],
    "hcgm-capped": ["solver.method=hcgm", "solver.step=capped-line-search"],
    "hcgm-corrective": ["solver.method=hcgm", "solver.correction=fully-corrective"],
    "hcgm-descent": ["solver.method=hcgm", "solver.correction=local-descent"],
    "hcgm-exact": ["solver.method=hcgm", "solver.oracle.mode=exact"],
    "hcgm-additive": ["solver.method=hcgm", "solver.oracle={mode: additive, delta: 1.0, perturb: true}"],
    "hcgm-multiplicative": ["solver.method=hcgm", "solver.oracle={mode: multiplicative, delta: 0.5}"],
    "cgal": ["solver.method=cgal"],
    "cgal-bounded": ["solver.method=cgal", "solver.dual_bound=10.0", "solver.step=line-search"],
    "cgal-corrective": ["solver.method=cgal", "solver.correction=fully-corrective"],
    "cgal-descent": ["solver.method=cgal", "solver.correction=local-descent"],
    "cgm": ["solver.method=cgm"],
    "auto": ["solver.method=auto"],
    "auto-tight": ["solver.method=auto", "stop.gap=1e-6", "stop.infeasibility=1e-6", "bound.certify=always"],
    "samples": ["solver.method=hcgm", "solver.iterate=samples"],
    "sketch": ["solver.method=cgal", "solver.iterate=sketch", "solver.rank=4"],
    "factored": ["solver.method=cgal", "solver.iterate=factored", "solver.refresh=7"],
}
SHORT = [f"solver.iterations={STEPS}", "stop.time=null", "log={every: 1, metrics_every: 10}"]
TOLERANCES = ["stop.gap=1e-3", "stop.infeasibility=1e-3"]

COMPOSED = 60
"""Random problems, each with every one of the methods named in benchmarks/attack.py."""


def jobs(only: str) -> dict[str, dict[str, Any]]:
    """Name -> what to solve, for all names in which the pattern is found."""
    from benchmarks.attack import SOLVERS, problem
    from cgm_cli.spec.catalogue import entries

    found: dict[str, dict[str, Any]] = {}
    for path in sorted(set((PROJECT / "configs").rglob("*.yaml")) - set((PROJECT / "configs/sweeps").glob("*"))):
        name = str(path.relative_to(PROJECT))
        found[name] = {"spec": path.read_text(encoding="utf-8"), "overrides": SHORT}
    for template in entries("templates"):
        for number, example in enumerate(template.examples):
            for variant, overrides in VARIANTS.items():
                chosen = [*SHORT, *TOLERANCES, *overrides]
                spec = {"name": "example", "problem": example}
                found[f"{template.name}/{number}/{variant}"] = {"spec": spec, "overrides": chosen}
    for number in range(COMPOSED):
        composed = {"name": "composed", "problem": problem(number)[0]["problem"]}
        for solver in SOLVERS:
            name = f"composed/{number}/" + "-".join(solver.values())
            chosen = [*SHORT, *TOLERANCES, *(f"solver.{key}={value}" for key, value in solver.items())]
            found[name] = {"spec": composed, "overrides": chosen}
    return {name: job for name, job in found.items() if re.search(only, name)}


def record(file: Path, checkout: Path, only: str) -> None:
    """Solve every job with the package in `checkout`, and write what came out."""
    with tempfile.TemporaryDirectory() as folder:
        todo = Path(folder, "jobs.json")
        todo.write_text(json.dumps(jobs(only), default=_plain), encoding="utf-8")
        environment = {**os.environ, "PYTHONPATH": str(checkout), "PYTHONHASHSEED": "0"}
        command = [sys.executable, str(Path(__file__).resolve()), "child", str(todo), str(file.resolve())]
        subprocess.run(command, check=True, env=environment, cwd=folder)


def child(todo: Path, file: Path) -> None:
    """Solve the jobs of a file with whatever package Python finds first."""
    sys.path.remove(str(Path(__file__).resolve().parent))
    import cgm_cli

    print(f"{cgm_cli.__file__}", file=sys.stderr)
    warnings.simplefilter("ignore")
    found = {}
    for name, job in json.loads(todo.read_text(encoding="utf-8")).items():
        print(name, file=sys.stderr, flush=True)
        found[name] = outcome(job["spec"], job["overrides"])
    with gzip.open(file, "wt", encoding="utf-8") as stream:
        json.dump(found, stream)


def outcome(spec: str | dict[str, Any], overrides: list[str]) -> dict[str, Any]:
    """What one job comes to."""
    import cgm_cli
    from cgm_cli.errors import CgmError

    with tempfile.TemporaryDirectory() as folder:
        if isinstance(spec, str):
            Path(folder, "spec.yaml").write_text(spec, encoding="utf-8")
            spec = Path(folder, "spec.yaml")
        try:
            result = cgm_cli.solve(spec, overrides, out=Path(folder, "run"))
        except CgmError as error:
            return {"refused": str(error).replace(folder, "")}
        except Exception as error:  # a bug, which is not to hide what comes after it
            return {"broke": f"{type(error).__name__}: {error}"}
        return {
            "status": result.status.value,
            "message": result.message,
            "bound_is": result.bound_is,
            **{f"solution/{key}": digest(value) for key, value in result.solution.items()},
            **{f"duals/{key}": digest(value) for key, value in result.duals.items()},
            **trace(Path(folder, "run", "run.h5")),
        }


def trace(file: Path) -> dict[str, list[float]]:
    """The columns of a trace that do not tell times."""
    import h5py

    with h5py.File(file) as log:
        names = [name for name in log["trace"] if not name.startswith("seconds")]
        return {f"trace/{name}": np.asarray(log["trace"][name], dtype=float).tolist() for name in names}


def digest(value: Any) -> str:
    """Of an array: its shape, its kind and its bits."""
    array = np.ascontiguousarray(value)
    return f"{array.shape} {array.dtype} {hashlib.sha256(array.tobytes()).hexdigest()[:16]}"


def compare(before: Path, after: Path) -> int:
    """Print what differs; how many jobs do."""
    one, other = (json.loads(gzip.decompress(file.read_bytes())) for file in (before, after))
    differ = 0
    for name in sorted(one.keys() | other.keys()):
        lines = differences(one.get(name, {}), other.get(name, {}))
        differ += bool(lines)
        for line in lines:
            print(f"{name}: {line}")
    print(f"{len(one.keys() | other.keys())} runs, {differ} differ")
    return differ


def differences(one: dict[str, Any], other: dict[str, Any]) -> list[str]:
    """A line for every part of an outcome that differs."""
    found = []
    for part in sorted(one.keys() | other.keys()):
        was, now = one.get(part), other.get(part)
        if isinstance(was, list) and isinstance(now, list):
            found += [f"{part}: {line}" for line in _first_difference(was, now)]
        elif was != now:
            found.append(f"{part}: {_short(was)} -> {_short(now)}")
    return found


def _first_difference(was: list[float], now: list[float]) -> list[str]:
    for k, (a, b) in enumerate(zip(was, now, strict=False)):
        if a != b and not (np.isnan(a) and np.isnan(b)):
            return [f"from row {k}: {a!r} -> {b!r}"]
    return [] if len(was) == len(now) else [f"{len(was)} -> {len(now)} rows"]


def _short(value: Any) -> str:
    return "nothing" if value is None else "a column" if isinstance(value, list) else f"{value}"[:200]


def _plain(value: Any) -> Any:
    return value.tolist() if isinstance(value, np.ndarray | np.generic) else str(value)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.net", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    recording = commands.add_parser("record")
    recording.add_argument("file", type=Path)
    recording.add_argument("--checkout", type=Path, default=PROJECT, help="the tree whose package is used")
    recording.add_argument("--only", default="", help="a pattern of the names of runs")
    comparing = commands.add_parser("compare")
    comparing.add_argument("before", type=Path)
    comparing.add_argument("after", type=Path)
    serving = commands.add_parser("child")
    serving.add_argument("todo", type=Path)
    serving.add_argument("file", type=Path)
    given = parser.parse_args()
    if given.command == "record":
        record(given.file, given.checkout.resolve(), given.only)
    elif given.command == "compare":
        return 1 if compare(given.before, given.after) else 0
    else:
        child(given.todo, given.file)
    return 0


if __name__ == "__main__":
    sys.exit(main())
