"""The variants of the method on the MNIST k-means problem: `python -m benchmarks.variants`. Writes
benchmarks/variants.md.

After 300 oracle calls, for the classical step, line search and fully-corrective steps at the same beta0: the
Frank-Wolfe gap of the smoothed problem and the seconds. After 1000 iterations, for a fixed and an additive oracle:
the matrix products and the quality.
"""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path

from cgm_cli import load_run, solve

ROOT = Path(__file__).resolve().parents[1]
SPEC = ROOT / "configs" / "mnist-kmeans.yaml"
VARIANTS = {
    "classical": [],
    "line search": ["solver.step=line-search"],
    "fully corrective": ["solver.correction=fully-corrective"],
}
ORACLES = {
    "fixed, 1e-3": [],
    "additive, delta 0.03": ["solver.oracle.mode=additive", "solver.oracle.delta=0.03"],
}


def main() -> None:
    """Run everything, print and save the two tables.""" lines = ["# Variants on MNIST k-means (n = 1000)", "",
    "Written by `python -m benchmarks.variants`; one thread.", ""] lines += ["| step, 300 oracle calls | Frank-Wolfe
    gap | share | certified bound | seconds |", "|---|---|---|---|---|"] reference = None for name, overrides in
    VARIANTS.items():
        # The start and 299 steps: 300 calls of the oracle.
        trace = _trace(["solver.iterations=299", *overrides])
        gap = float(trace["fw_gap"][-1])
        reference = reference or gap
        lines.append(f"| {name} | {gap:.3g} | {gap / reference:.3f} | {trace['bound'][-1]:.2f} | {trace['seconds'][-1]:.1f} |")
    lines += ["", "| oracle, 1000 iterations | products | share | objective | rows | X >= 0 | certified bound |
    seconds |"] lines += ["|---|---|---|---|---|---|---|---|"] reference = None for name, overrides in
    ORACLES.items():
        trace = _trace(overrides)
        products = int(trace["lmo_matvecs"].sum())
        reference = reference or products
        cells = [
            name,
            f"{products}",
            f"{products / reference:.2f}",
            f"{trace['objective'][-1]:.2f}",
            f"{trace['infeasibility_rows'][-1]:.4f}",
            f"{trace['infeasibility_nonnegative'][-1]:.4f}",
            f"{trace['bound'][-1]:.2f}",
            f"{trace['seconds'][-1]:.1f}",
        ]
        lines.append(f"| {' | '.join(cells)} |")
    text = "\n".join(lines) + "\n"
    (ROOT / "benchmarks" / "variants.md").write_text(text, encoding="utf-8")
    print(text)


def _trace(overrides: Sequence[str]) -> dict:
    with tempfile.TemporaryDirectory() as folder:
        solve(SPEC, overrides=["log.metrics_every=100000", *overrides], out=Path(folder) / "run")
        return dict(load_run(Path(folder) / "run").trace)


if __name__ == "__main__":
    main()
