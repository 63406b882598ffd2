"""What log and checkpoints cost on the MNIST k-means problem: `python -m benchmarks.survival`. Writes
benchmarks/survival.md.

The same 1000 iterations by the loop alone, with the log, and with checkpoints at several intervals; in turn, several
times, the fastest of each. Seconds of wall time from the first iteration to the end of the run folder.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import threadpoolctl

from cgm_cli import solve
from cgm_cli.spec.load import load
from cgm_cli.templates.build import build

ROOT = Path(__file__).resolve().parents[1]
SPEC = ROOT / "configs" / "mnist-kmeans.yaml"
ROUNDS = 3
QUIET = ["log.metrics_every=100000"]
INTERVALS = {"log": "never", "log, a checkpoint every 60 s (default)": "60s", "log, a checkpoint every 2 s": "2s"}


def alone() -> float:
    """The loop without observers; its rounding at the end included, as in the others."""
    instance = build(load(SPEC, QUIET))
    with threadpoolctl.threadpool_limits(1):
        began = time.perf_counter()
        instance.solve()
        return time.perf_counter() - began


def with_folder(every: str) -> Callable[[], float]:
    """The same with a run folder."""

    def measured() -> float:
        with tempfile.TemporaryDirectory() as folder:
            first: list[float] = []
            began = time.perf_counter()

            def on_record(record: object) -> None:
                if not first:
                    first.append(time.perf_counter() - record.seconds)

            solve(SPEC, overrides=[*QUIET, f"checkpoint.every={every}"], out=Path(folder) / "run", on_record=on_record)
            assert first[0] >= began
            return time.perf_counter() - first[0]

    return measured


def main() -> None:
    """Measure in turn, print and save the table."""
    subjects = {"the loop alone": alone} | {name: with_folder(every) for name, every in INTERVALS.items()}
    seconds: dict[str, list[float]] = {name: [] for name in subjects}
    for _ in range(ROUNDS):
        for name, measured in subjects.items():
            seconds[name].append(measured())
    reference = min(seconds["the loop alone"])
    text = (
        "# The cost of surviving\n\nWritten by `python -m benchmarks.survival`: configs/mnist-kmeans.yaml, n = 1000, "
    )
    text += f"1000 iterations,\nthe fastest of {ROUNDS}; one thread.\n\n"
    text += "| | seconds | over the loop alone |\n| --- | --- | --- |\n"
    for name, times in seconds.items():
        text += f"| {name} | {min(times):.2f} | {100 * (min(times) / reference - 1):+.1f} % |\n"
    (ROOT / "benchmarks" / "survival.md").write_text(text, encoding="utf-8")
    print(text)


if __name__ == "__main__":
    main()
