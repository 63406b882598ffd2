"""The descent on the factor by our L-BFGS and by SciPy's L-BFGS-B: `python -m benchmarks.lbfgs`. Writes
benchmarks/lbfgs.md.

Each problem is solved twice, with the one and the other in `LocalDescent`: the same starts, budgets, pairs in memory
and reduction of the gradient. Counted are the evaluations of F_beta and its gradient, and the time that is spent
outside them. Processor time, the least of several runs, in turn; one thread.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy.optimize import minimize
from threadpoolctl import threadpool_limits

from cgm_cli.methods.corrections import local_descent
from cgm_cli.numerics.lbfgs import lbfgs
from cgm_cli.spec.load import loads
from cgm_cli.templates.build import build

ROOT = Path(__file__).resolve().parents[1]
ROUNDS = 3
COLUMNS = ["problem", "numbers", "by", "turns", "gap", "evaluations", "seconds", "us outside an evaluation", "of all"]
Evaluate = Callable[[np.ndarray], tuple[float, np.ndarray]]

PROBLEMS = {
    **{
        f"k-means, {count} digits": f"""
problem: {{template: kmeans-sdp, clusters: 10, points: {{dataset: digits, count: {count}}}, restarts: 1}}
solver: {{method: auto, iterations: 300, oracle: {{mode: fixed, tolerance: 1.0e-4}}}}
stop: {{gap: 5.0e-3, infeasibility: 3.0e-4}}
log: {{metrics_every: 100000}}
"""
        for count in (300, 1000, 1700)
    },
    "one-bit completion, 300 x 200": """
problem: {template: matrix-completion, loss: logistic, missing: 0.3, radius: 400,
  matrix: {rows: 300, columns: 200, rank: 2, scale: 5}}
solver: {correction: local-descent, iterations: 300}
stop: {gap: 1.0e-6}
log: {metrics_every: 100000}
""",
}


class Spent(Exception):
    """The evaluations are."""


def of_scipy(
    evaluate: Evaluate, start: np.ndarray, evaluations: int, reduction: float = 0.0, memory: int = 6
) -> np.ndarray:
    """As `cgm_cli.numerics.lbfgs`: the best point of SciPy's L-BFGS-B, without bounds."""
    seen: list[float] = []
    best, least = start, np.inf
    norm = np.inf

    def counted(x: np.ndarray) -> tuple[float, np.ndarray]:
        nonlocal best, least, norm
        if len(seen) >= evaluations:
            raise Spent
        value, gradient = evaluate(x)
        norm = float(np.linalg.norm(gradient))
        seen.append(norm)
        if value < least:
            best, least = x.copy(), value
        return value, gradient

    def moved(intermediate_result: Any) -> None:
        # What was evaluated last is the point it has moved to.
        if norm <= reduction * seen[0]:
            raise StopIteration

    options = {"maxcor": memory, "maxfun": 10 * evaluations, "maxiter": evaluations, "ftol": 0.0, "gtol": 0.0}
    with suppress(Spent):
        minimize(counted, start, jac=True, method="L-BFGS-B", callback=moved, options=options)
    return best


@dataclass
class Watch:
    """In place of the descent: what all of them took. numbers: of the largest factor."""

    descend: Callable[..., np.ndarray]
    evaluations: int = 0
    inside: float = 0.0
    total: float = 0.0
    numbers: int = 0

    def __call__(self, evaluate: Evaluate, start: np.ndarray, *budget: float) -> np.ndarray:
        def timed(x: np.ndarray) -> tuple[float, np.ndarray]:
            began = time.process_time()
            found = evaluate(x)
            self.inside += time.process_time() - began
            self.evaluations += 1
            return found

        self.numbers = max(self.numbers, start.size)
        began = time.process_time()
        try:
            return self.descend(timed, start, *budget)
        finally:
            self.total += time.process_time() - began


def solved(text: str, descend: Callable[..., np.ndarray]) -> tuple[float, Any, Watch]:
    """Seconds of a solve, its last record, and what its descents took."""
    instance, watch = build(loads(text)), Watch(descend)
    original = local_descent.lbfgs
    local_descent.lbfgs = watch
    try:
        began = time.process_time()
        result = instance.solve()
        return time.process_time() - began, result.record, watch
    finally:
        local_descent.lbfgs = original


def main() -> None:
    """Measure in turn, print and save the table."""
    rows = [COLUMNS, ["---"] * len(COLUMNS)]
    subjects = {"ours": lbfgs, "SciPy": of_scipy}
    with threadpool_limits(1):
        for problem, text in PROBLEMS.items():
            runs = [{name: solved(text, descend) for name, descend in subjects.items()} for _ in range(ROUNDS)]
            for name in subjects:
                seconds, record, watch = min((run[name] for run in runs), key=lambda run: run[0])
                outside = watch.total - watch.inside
                figures = (
                    f"{seconds:.2f}",
                    f"{1e6 * outside / watch.evaluations:.0f}",
                    f"{100 * outside / seconds:.0f} %",
                )
                ended = str(record.k), f"{record.gap:.1e}", str(watch.evaluations)
                rows.append([problem, str(watch.numbers), name, *ended, *figures])
    text = "# L-BFGS, ours and SciPy's\n\nWritten by `python -m benchmarks.lbfgs`: solves whose local descents are by "
    text += (
        f"the one or the other;\nprocessor time, the least of {ROUNDS}, one thread. Turns: iterations of the solve.\n\n"
    )
    text += "".join(f"| {' | '.join(row)} |\n" for row in rows)
    (ROOT / "benchmarks" / "lbfgs.md").write_text(text, encoding="utf-8")
    print(text)


if __name__ == "__main__":
    main()
