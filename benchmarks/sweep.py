"""What a sweep costs beside its runs: `python -m benchmarks.sweep`. Writes benchmarks/sweep.md.

500 tiny points on two workers: seconds per run beside the solve itself, and the memory of the driver over time. 16
equal points of some seconds each on one worker and on two: the ratio of the times.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from cgm_cli.spec.load import dump
from cgm_cli.sweeps.collect import collect
from cgm_cli.sweeps.manifest import read_manifest

ROOT = Path(__file__).resolve().parents[1]
TINY = {
    "problem": {"template": "minimax-ball", "size": 2, "radius": 1.0, "start": [1.0, 0.0]},
    "solver": {"iterations": 20},
}
EQUAL = {
    "problem": {"template": "matrix-game", "payoff": {"rows": 20, "columns": 30}},
    "solver": {"iterations": 25_000},
    "log": {"every": 1000, "metrics_every": 1_000_000},
    "bound": {"every": 1000, "certify": "never"},
}


def main() -> None:
    """Run both, print and save the figures."""
    lines = [
        "# Sweeps",
        "",
        "Written by `python -m benchmarks.sweep`, on two cores.",
        "",
        *_overhead(),
        "",
        *_scaling(),
    ]
    text = "\n".join(lines) + "\n"
    (ROOT / "benchmarks" / "sweep.md").write_text(text, encoding="utf-8")
    print(text)


def _overhead(count: int = 500) -> list[str]:
    with tempfile.TemporaryDirectory() as folder:
        seconds, busy, memory = _sweep(Path(folder), {"base": TINY, "sweep": {"repeat": count}, "workers": 2})
        manifest = read_manifest(Path(folder) / "runs" / "s")
        tasks = [json.loads((manifest.folder(row).path / "task.json").read_text()) for row in manifest.rows]
        solving = collect(manifest.path).columns["seconds"]
        beside = [task["seconds"] - solve for task, solve in zip(tasks, solving, strict=True)]
    steady = memory[len(memory) // 10 :]
    return [
        f"- {count} tiny points, two workers: {seconds:.0f} s, {seconds / count:.2f} s per run, which takes "
        f"{busy / count:.2f} s of a core",
        f"- of a run, beside the solve itself: {sum(beside) / count:.2f} s on average, {max(beside):.2f} s at most",
        f"- memory of the driver: {min(steady):.1f} to {max(steady):.1f} MB, {memory[-1]:.1f} MB at the end",
    ]


def _scaling(count: int = 16) -> list[str]:
    times = {}
    for workers in (1, 2):
        with tempfile.TemporaryDirectory() as folder:
            times[workers], *_ = _sweep(Path(folder), {"base": EQUAL, "sweep": {"repeat": count}, "workers": workers})
    return [
        f"- {count} equal points: {times[1]:.1f} s with one worker, {times[2]:.1f} s with two, "
        f"ratio {times[2] / times[1]:.2f}"
    ]


def _sweep(folder: Path, tree: dict) -> tuple[float, float, list[float]]:
    """Of a sweep: wall seconds, seconds of a core, and the resident memory of its driver in MB, twice a second."""
    (folder / "s.yaml").write_text(dump(tree), encoding="utf-8")
    command = [sys.executable, "-m", "cgm_cli", "sweep", "s.yaml", "--quiet"]
    memory: list[float] = []
    began = time.monotonic()
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    process = subprocess.Popen(command, cwd=folder, stderr=subprocess.DEVNULL)
    while process.poll() is None:
        for line in Path(f"/proc/{process.pid}/status").read_text(encoding="utf-8").splitlines():
            # A process that has just ended has none.
            if line.startswith("VmRSS:"):
                memory.append(int(line.split()[1]) / 1024)
        time.sleep(0.5)
    assert process.returncode == 0
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    busy = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return time.monotonic() - began, busy, memory


if __name__ == "__main__":
    main()
