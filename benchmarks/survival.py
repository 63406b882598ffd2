"""What log and checkpoints cost on the MNIST k-means problem: `python -m benchmarks.survival`. Writes
benchmarks/survival.md.

The same 1000 iterations by the loop alone, with the log, and with checkpoints at several intervals; in turn, several
times, the fastest of each. Beside the wall time, which a shared machine blurs, stand the seconds that were spent inside
the log and the checkpoints themselves.
"""

from __future__ import annotations

import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import threadpoolctl

from cgm_cli import solve
from cgm_cli.runs.checkpoint import Checkpointer
from cgm_cli.runs.log import RunLog
from cgm_cli.spec.load import load
from cgm_cli.templates.build import build

ROOT = Path(__file__).resolve().parents[1]
SPEC = ROOT / "configs" / "mnist-kmeans.yaml"
ROUNDS = 3
QUIET = ["log.metrics_every=100000"]
INTERVALS = {"log": "never", "log, checkpoints every 60 s (default)": "60s", "log, checkpoints every 2 s": "2s"}
COLUMNS = ["", "seconds", "inside the log", "inside checkpoints", "share"]
TIMED = {"log": (RunLog, ("__init__", "on_record", "finish", "close")), "checkpoints": (Checkpointer, ("write",))}


@contextmanager
def stopwatches() -> Iterator[Counter]:
    """Seconds inside the log and inside the checkpoints (less those of the log that they wait for)."""
    spent: Counter = Counter()
    originals = [(owner, name, getattr(owner, name)) for owner, names in TIMED.values() for name in names]

    def timed(label: str, method: Callable) -> Callable:
        def wrapper(*arguments, **options):
            began = time.perf_counter()
            try:
                return method(*arguments, **options)
            finally:
                spent[label] += time.perf_counter() - began

        return wrapper

    for label, (owner, names) in TIMED.items():
        for name in names:
            setattr(owner, name, timed(label, getattr(owner, name)))
    try:
        yield spent
    finally:
        for owner, name, method in originals:
            setattr(owner, name, method)


def alone() -> tuple[float, Counter]:
    """The loop without observers, and the rounding at its end."""
    instance = build(load(SPEC, QUIET))
    with threadpoolctl.threadpool_limits(1):
        began = time.perf_counter()
        instance.solve()
        return time.perf_counter() - began, Counter()


def with_folder(every: str) -> Callable[[], tuple[float, Counter]]:
    """The same with a run folder, from the first iteration to its end."""

    def measured() -> tuple[float, Counter]:
        begun: list[float] = []

        def on_record(record) -> None:
            if not begun:
                begun.append(time.perf_counter() - record.seconds)

        with tempfile.TemporaryDirectory() as folder, stopwatches() as spent:
            solve(SPEC, overrides=[*QUIET, f"checkpoint.every={every}"], out=Path(folder) / "run", on_record=on_record)
            return time.perf_counter() - begun[0], spent

    return measured


def main() -> None:
    """Measure in turn, print and save the table."""
    subjects = {"the loop alone": alone} | {name: with_folder(every) for name, every in INTERVALS.items()}
    found: dict[str, list[tuple[float, Counter]]] = {name: [] for name in subjects}
    for _ in range(ROUNDS):
        for name, measured in subjects.items():
            found[name].append(measured())
    rows = [COLUMNS, ["---"] * len(COLUMNS)]
    for name, runs in found.items():
        seconds, spent = min(runs, key=lambda run: run[0])
        share = 100 * sum(spent.values()) / seconds
        rows.append([name, f"{seconds:.2f}", f"{spent['log']:.3f}", f"{spent['checkpoints']:.3f}", f"{share:.1f} %"])
    text = (
        "# The cost of surviving\n\nWritten by `python -m benchmarks.survival`: configs/mnist-kmeans.yaml, n = 1000, "
    )
    text += f"1000 iterations,\nthe fastest of {ROUNDS}; one thread.\n\n"
    text += "".join(f"| {' | '.join(row)} |\n" for row in rows)
    (ROOT / "benchmarks" / "survival.md").write_text(text, encoding="utf-8")
    print(text)


if __name__ == "__main__":
    main()
