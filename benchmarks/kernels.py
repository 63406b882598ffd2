"""What the passes over dense matrices move, and how fast: `python -m benchmarks.kernels`. Writes benchmarks/kernels.md.

Each pass is timed many times, in turn with a plain copy of the same size by as many threads; the fastest of each
counts, because a shared machine only ever adds to a time.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
from threadpoolctl import threadpool_limits

from cgm_cli.numerics import box_passes, kernels
from cgm_cli.numerics.box_passes import Ascent, LinearPart, SmoothedBox
from cgm_cli.numerics.threads import allowed, threads

ROOT = Path(__file__).resolve().parents[1]
SPEC = ROOT / "configs" / "paper" / "mnist-kmeans.yaml"
SIZES = (1000, 3000)
THREADS = (1, 2)
REPEATS = 60
RUNS = 3
COLUMNS = ["n", "threads", "pass", "moved (n x n)", "ms", "GB/s", "of a copy"]

# In n x n arrays of doubles read or written. What an iteration must move: X in and out, and for the direction C and X
# in, V out; with atoms of rank one, halves of X and C and of V in single precision, and X only once; with dual ascent,
# the centre in for its residual, and in and out where it moves.
LEAST = {"hcgm, rank 1": 1 + 0.75, "hcgm": 2 + 3, "cgal": 2 + 1 + 5}
PASSES = {
    "update and direction, one half": 1.75,
    "update": 3,
    "update of rank 10": 3,
    "direction": 3,
    "residual": 2,
    "centred direction": 5,
}
METHODS = {
    "hcgm, rank 1": ("update and direction, one half",),
    "hcgm": ("update", "direction"),
    "cgal": ("update", "residual", "centred direction"),
}


def passes(n: int) -> dict[str, Callable[[], object]]:
    """The passes of the loop on random matrices n x n, by name; and a copy by as many threads."""
    rng = np.random.default_rng(0)
    x, cost, centre, out = (rng.standard_normal((n, n)) for _ in range(4))
    x, cost, single = x + x.T, cost + cost.T, np.zeros((n, n), dtype=np.float32)
    rows = rng.standard_normal(n)
    one, ten = rng.standard_normal((n, 1)), rng.standard_normal((n, 10))
    pool = ThreadPoolExecutor(max(THREADS))

    def copy() -> None:
        # Like the passes: the caller does its own part, so that one thread has nobody to wait for.
        count = allowed()
        (first, source), *rest = zip(np.array_split(out, count), np.array_split(x, count), strict=True)
        others = [pool.submit(np.copyto, *part) for part in rest]
        np.copyto(first, source)
        for other in others:
            other.result()

    box, linear = SmoothedBox.of(0.0, np.inf, 0.1), LinearPart(cost, rows, rows)
    step = kernels.RankOneStep(x, 0.999, 1e-3 * one[:, 0], one[:, 0].copy())
    return {
        "copy": copy,
        "update and direction, one half": lambda: box_passes.half_box_direction(step, linear, box, single),
        "update": lambda: kernels.blend_low_rank(x, 1e-3, one, np.ones(1), one, cost),
        "update of rank 10": lambda: kernels.blend_low_rank(x, 1e-3, ten, np.ones(10), ten, cost),
        "direction": lambda: box_passes.box_direction(linear, x, box, out),
        "residual": lambda: box_passes.box_offset(x, centre, box),
        "centred direction": lambda: box_passes.centred_box_direction(linear, x, centre, box, out, Ascent(1e-3, 0.2)),
    }


def fastest(calls: dict[str, Callable[[], object]]) -> dict[str, float]:
    """Seconds of each call, the fastest of many, in turn."""
    found = dict.fromkeys(calls, np.inf)
    for _ in range(REPEATS):
        for name, call in calls.items():
            began = time.perf_counter()
            call()
            found[name] = min(found[name], time.perf_counter() - began)
    return found


def solved(count: int) -> float:
    """Seconds of `cgm solve` at the authors' settings, from start to end of the process; the fastest of a few."""
    seconds = []
    environment = os.environ | {"OPENBLAS_NUM_THREADS": str(count)}
    for _ in range(RUNS):
        with tempfile.TemporaryDirectory() as folder:
            command = [sys.executable, "-m", "cgm_cli", "solve", str(SPEC), "--set", f"threads={count}"]
            began = time.perf_counter()
            subprocess.run(
                [*command, "--out", f"{folder}/run"], check=True, capture_output=True, cwd=ROOT, env=environment
            )
            seconds.append(time.perf_counter() - began)
    return min(seconds)


def table(rows: list[list[str]]) -> str:
    """Rows, of which the first is the head, as Markdown."""
    lines = [rows[0], ["---"] * len(rows[0]), *rows[1:]]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def main() -> None:
    """Measure, print and save the tables."""
    rows = [COLUMNS]
    for n in SIZES:
        calls = passes(n)
        for count in THREADS:
            # As in a run, whose threads are those of the passes.
            with threads(count), threadpool_limits(1):
                found = fastest(calls)
            plain = 2 * 8 * n * n / found["copy"]
            rows.append([str(n), str(count), "copy", "2", f"{1e3 * found['copy']:.2f}", f"{plain / 1e9:.1f}", ""])
            for name, arrays in PASSES.items():
                speed = arrays * 8 * n * n / found[name]
                figures = [f"{1e3 * found[name]:.2f}", f"{speed / 1e9:.1f}", f"{100 * speed / plain:.0f} %"]
                rows.append([str(n), str(count), name, str(arrays), *figures])
    moved = [["method", "must move (n x n)", "moved (n x n)", "ratio"]]
    for method, least in LEAST.items():
        total = sum(PASSES[name] for name in METHODS[method])
        moved.append([method, str(least), str(total), f"{total / least:.2f}"])
    text = "# Passes over memory\n\nWritten by `python -m benchmarks.kernels`: the fastest of "
    text += f"{REPEATS}, numbers of 8 bytes.\n\n{table(moved)}\n{table(rows)}"
    target = ROOT / "benchmarks" / "kernels.md"
    target.write_text(text, encoding="utf-8")  # the rest takes long
    try:
        seconds = [[str(count), f"{solved(count):.1f}"] for count in THREADS]
        text += f"\n`cgm solve configs/paper/mnist-kmeans.yaml`, start to end, the fastest of {RUNS}:\n\n"
        text += table([["threads", "seconds"], *seconds])
    except subprocess.CalledProcessError as error:
        print(error.stderr.decode(), file=sys.stderr)
    target.write_text(text, encoding="utf-8")
    print(text)


if __name__ == "__main__":
    main()
