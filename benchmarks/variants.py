"""The variants of the method on the MNIST k-means problem: `python -m benchmarks.variants`. Writes
benchmarks/variants.md.

After 300 oracle calls, for the classical step, line search and fully-corrective steps at the same beta0: the
Frank-Wolfe gap of the smoothed problem and the seconds. The gap of the exact line search leaps from one step to the
next, so its median over the last 50 calls stands beside the last one. After 1000 iterations, for a fixed and an
additive oracle: the matrix products and the quality.
"""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from cgm_cli import load_run, solve

ROOT = Path(__file__).resolve().parents[1]
SPEC = ROOT / "configs" / "mnist-kmeans.yaml"
VARIANTS = {
    "classical": [],
    "line search": ["solver.step=line-search"],
    "capped line search": ["solver.step=capped-line-search"],
    "fully corrective": ["solver.correction=fully-corrective"],
}
ORACLES = {
    "fixed, 1e-3": [],
    "additive, delta 0.03": ["solver.oracle.mode=additive", "solver.oracle.delta=0.03"],
}


STEP_COLUMNS = [
    "step, 300 oracle calls",
    "Frank-Wolfe gap, last",
    "median of the last 50",
    "share of the classical median",
    "certified bound",
    "seconds",
]
ORACLE_COLUMNS = ["oracle, 1000 iterations", "products", "share", "objective", "rows", "X >= 0", "bound", "seconds"]


def main() -> None:
    """Run everything, print and save the two tables."""
    # The start and 299 steps: 300 calls of the oracle.
    steps = {name: _trace(["solver.iterations=299", *overrides]) for name, overrides in VARIANTS.items()}
    oracles = {name: _trace(overrides) for name, overrides in ORACLES.items()}
    text = "# Variants on MNIST k-means (n = 1000)\n\nWritten by `python -m benchmarks.variants`; one thread.\n\n"
    text += _table(STEP_COLUMNS, [_step_row(name, trace, steps["classical"]) for name, trace in steps.items()])
    text += "\n" + _table(
        ORACLE_COLUMNS, [_oracle_row(name, trace, oracles["fixed, 1e-3"]) for name, trace in oracles.items()]
    )
    (ROOT / "benchmarks" / "variants.md").write_text(text, encoding="utf-8")
    print(text)


def _step_row(name: str, trace: dict, reference: dict) -> list[str]:
    gap, median = trace["fw_gap"][-1], np.median(trace["fw_gap"][-50:])
    share = median / np.median(reference["fw_gap"][-50:])
    bound, seconds = trace["bound"][-1], trace["seconds"][-1]
    return [name, f"{gap:.3g}", f"{median:.3g}", f"{share:.3f}", f"{bound:.2f}", f"{seconds:.1f}"]


def _oracle_row(name: str, trace: dict, reference: dict) -> list[str]:
    products = int(trace["lmo_matvecs"].sum())
    return [
        name,
        f"{products}",
        f"{products / reference['lmo_matvecs'].sum():.2f}",
        f"{trace['objective'][-1]:.2f}",
        f"{trace['infeasibility_rows'][-1]:.4f}",
        f"{trace['infeasibility_nonnegative'][-1]:.4f}",
        f"{trace['bound'][-1]:.2f}",
        f"{trace['seconds'][-1]:.1f}",
    ]


def _table(columns: list[str], rows: list[list[str]]) -> str:
    lines = [columns, ["---"] * len(columns), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def _trace(overrides: Sequence[str]) -> dict:
    with tempfile.TemporaryDirectory() as folder:
        solve(SPEC, overrides=["log.metrics_every=100000", *overrides], out=Path(folder) / "run")
        return dict(load_run(Path(folder) / "run").trace)


if __name__ == "__main__":
    main()
