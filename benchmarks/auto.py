"""benchmarks/auto.md: what `method: auto` takes to gaps and infeasibilities of 1e-4, 1e-6 and 1e-8, certified.

`python -m benchmarks.auto [NAME ...]`: the shipped specs, and problems of other sizes; with names, only those, and the
table goes to standard output. Seconds are those of solving by one thread, the fastest of three; where a linear program
says the same, HiGHS beside it.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.optimize import linprog

from benchmarks.suite.machine import described, machine
from cgm_cli.blocks.domains.box import Box
from cgm_cli.blocks.losses.linear import Linear
from cgm_cli.blocks.maps.matrix import MatrixMap
from cgm_cli.blocks.penalties.equals import Equals
from cgm_cli.blocks.problem import CompositeProblem, Term
from cgm_cli.numerics.arrays import Matrix
from cgm_cli.solving.direct import solve_problem
from cgm_cli.spec.load import dump, load, loads
from cgm_cli.templates.build import build

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "benchmarks" / "auto.md"
TOLERANCES = (1e-4, 1e-6, 1e-8)
LIMIT = 20.0
"""Seconds for each tolerance."""

SHIPPED = [
    *("matrix-game", "transport", "svm", "least-absolute-deviations", "elastic-net", "max-affine", "max-margin-iris"),
    *("completion-split", "sparse-regression", "sparse-logistic", "group-lasso", "matrix-completion", "lovasz-theta"),
    *("low-rank-denoising", "one-bit-completion", "spectrahedron-game", "petersen-sdp", "paper/inpainting-l1"),
]

Peer = Callable[[], Any]


def composed(problem: dict[str, Any]) -> CompositeProblem:
    return build(loads(dump({"problem": problem}))).template.problem


def linear(matrix: np.ndarray) -> dict[str, Any]:
    return {"kind": "matrix", "matrix": matrix.tolist()}


def game(m: int, n: int) -> tuple[CompositeProblem, Peer]:
    built = build(loads(dump({"problem": {"template": "matrix-game", "payoff": {"rows": m, "columns": n}}})))
    payoff = built.template.payoff
    rows, columns = payoff.shape
    # min t subject to payoff x <= t, x in the simplex.
    above = np.hstack([payoff, -np.ones((rows, 1))])
    sums = np.append(np.ones(columns), 0.0)[None, :]
    bounds = [(0, None)] * columns + [(None, None)]
    return built.template.problem, lambda: linprog(
        np.append(np.zeros(columns), 1.0), above, np.zeros(rows), sums, [1.0], bounds
    )


def programme(matrix: Matrix, right: np.ndarray, cost: np.ndarray, upper: float) -> tuple[CompositeProblem, Peer]:
    size = len(cost)
    rows = Term("rows", MatrixMap(matrix, (size,)), Equals(right.shape, right))
    problem = CompositeProblem(Box(np.zeros(size), np.full(size, upper)), Linear(cost, (size,)), (rows,))
    return problem, lambda: linprog(cost, A_eq=matrix, b_eq=right, bounds=(0, upper))


def transport(rng: np.random.Generator, m: int, n: int) -> tuple[CompositeProblem, Peer]:
    sums = sp.vstack(
        [sp.kron(sp.eye_array(m), np.ones((1, n))), sp.kron(np.ones((1, m)), sp.eye_array(n))], format="csr"
    )
    inside = rng.random(m * n)
    return programme(sums, sums @ inside, rng.random(m * n), float((sums @ inside).max()))


def dense_programme(rng: np.random.Generator, m: int, n: int) -> tuple[CompositeProblem, Peer]:
    matrix = rng.standard_normal((m, n))
    return programme(matrix, matrix @ rng.random(n), rng.standard_normal(n), 2.0)


def portfolio(rng: np.random.Generator, n: int) -> tuple[CompositeProblem, None]:
    factor, means = rng.standard_normal((n, 5)), 0.1 * rng.random(n)
    risk = 0.008 * factor @ factor.T + np.diag(0.01 + 0.02 * rng.random(n))
    earns = {"kind": "box", "map": linear(means[None, :]), "lower": [float(np.quantile(means, 0.6))]}
    return composed(
        {
            "domain": {"kind": "simplex", "size": n},
            "objective": {"kind": "quadratic", "matrix": risk.tolist(), "linear": (-means).tolist()},
            "constraints": [earns, {"kind": "box", "upper": 0.15}],
            "penalties": [{"kind": "l1", "scale": 0.01, "offset": [1.0 / n] * n}],
        }
    ), None


def total_variation(rng: np.random.Generator, n: int) -> tuple[CompositeProblem, None]:
    signal = np.repeat(rng.standard_normal(n // 10), 10) + 0.1 * rng.standard_normal(n)
    return composed(
        {
            "domain": {"kind": "box", "lower": -5, "upper": 5, "size": n},
            "objective": {"kind": "least-squares", "target": signal.tolist()},
            "penalties": [{"kind": "l1", "scale": 0.5, "map": {"kind": "differences"}}],
        }
    ), None


def elastic_net(rng: np.random.Generator, m: int, n: int) -> tuple[CompositeProblem, None]:
    matrix = rng.standard_normal((m, n))
    target = matrix[:, :8] @ rng.standard_normal(8) + 0.5 * rng.standard_normal(m)
    return composed(
        {
            "domain": {"kind": "linf-ball", "size": n, "radius": 5},
            "objective": {"kind": "least-squares", "map": linear(matrix), "target": target.tolist()},
            "penalties": [{"kind": "l1", "scale": 10.0}],
        }
    ), None


def fantope(rng: np.random.Generator, n: int) -> tuple[CompositeProblem, None]:
    cost = rng.standard_normal((n, n))
    return composed(
        {
            "domain": {"kind": "fantope", "size": n, "rank": 3},
            "objective": {"kind": "linear", "cost": (-cost - cost.T).tolist()},
            "penalties": [{"kind": "l1", "scale": 0.6}],
        }
    ), None


def problems() -> dict[str, Callable[[], tuple[CompositeProblem, Peer | None]]]:
    """By name; each from random numbers of its own."""

    def seeded(make: Callable[..., Any], *sizes: int) -> Callable[[], Any]:
        return lambda: make(np.random.default_rng(0), *sizes)

    shipped = {
        name: lambda name=name: (build(load(ROOT / "configs" / f"{name}.yaml")).template.problem, None)
        for name in SHIPPED
    }
    return shipped | {
        "matrix game 60 x 60": lambda: game(60, 60),
        "matrix game 500 x 300": lambda: game(500, 300),
        "transport 20 x 20": seeded(transport, 20, 20),
        "transport 100 x 100": seeded(transport, 100, 100),
        "linear program 40 x 150": seeded(dense_programme, 40, 150),
        "portfolio 60, trades": seeded(portfolio, 60),
        "total variation 80": seeded(total_variation, 80),
        "elastic net 300 x 80": seeded(elastic_net, 300, 80),
        "fantope 20, l1": seeded(fantope, 20),
        "fantope 60, l1": seeded(fantope, 60),
    }


def seconds(problem: CompositeProblem, tolerance: float) -> str:
    """What it takes, or how far it came."""
    stop = {"gap": tolerance, "infeasibility": tolerance, "time": LIMIT}
    runs = [solve_problem(problem, "auto", stop) for _ in range(3)]
    best = min(runs, key=lambda run: run.record.seconds)
    if best.status.value == "converged" and best.bound_is == "certified":
        return f"{best.record.seconds:.2f}"
    return f"no ({best.record.gap:.0e}, {best.record.infeasibility:.0e}, {best.bound_is})"


def peer_seconds(peer: Peer | None) -> str:
    if peer is None:
        return ""
    times = []
    for _ in range(3):
        began = time.perf_counter()
        assert peer().status == 0
        times.append(time.perf_counter() - began)
    return f"{min(times):.2f}"


def main(names: list[str]) -> int:
    made = problems()
    rows = []
    for name in names or made:
        problem, peer = made[name]()
        found = [seconds(problem, tolerance) for tolerance in TOLERANCES]
        rows.append([name, *found, peer_seconds(peer)])
        print(*rows[-1], sep=" | ", flush=True)
    rows.sort(key=lambda row: not any(cell.startswith("no") for cell in row))  # what was missed comes first
    head = ["problem", *(f"{tolerance:g}" for tolerance in TOLERANCES), "HiGHS"]
    lines = [f"| {' | '.join(row)} |" for row in [head, ["---"] * len(head), *rows]]
    if not names:
        text = (
            "# What `auto` takes\n\nWritten by `python -m benchmarks.auto`: seconds of solving to that gap and "
            f"infeasibility, with a certified bound; one thread, the fastest of three. {described(machine())}\n\n"
        )
        PAGE.write_text(text + "\n".join(lines) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
