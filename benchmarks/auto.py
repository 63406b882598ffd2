"""benchmarks/auto.md: what `method: auto` takes on small problems, beside the solvers that can be told the same.

`python -m benchmarks.auto [NAME ...]`: the shipped specs, and problems of other sizes; with names, only those, and the
table goes to standard output. `--limit`: seconds of each run, 20. `--keep FILE`: rows are kept there, and a run goes on
where the file ends. It wants a machine that does nothing else; with `--cpu`, seconds are those of the processor, which
a machine that is shared disturbs less.

Seconds are those of solving, by one thread, the fastest of three (of one, if it took more than 3 s): of `auto` the call
as a whole, scaling and certificates included, after the problem is built; of a peer its setup and its solution, after
the cone program is assembled. A peer counts only where its optimum is that of the others to 1e-4.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.suite.machine import THREADS, code, described, machine

os.environ.update(THREADS)  # before any BLAS is loaded

import numpy as np
import scipy.sparse as sp

from benchmarks import cones
from benchmarks.bodies import body
from benchmarks.cones import Answer, Program, program
from benchmarks.sized import matrix, spec_of
from cgm_cli.blocks.domains.box import Box
from cgm_cli.blocks.losses.linear import Linear
from cgm_cli.blocks.maps.matrix import MatrixMap
from cgm_cli.blocks.penalties.equals import Equals
from cgm_cli.blocks.problem import CompositeProblem, Term
from cgm_cli.solving.direct import solve_problem
from cgm_cli.spec.load import load
from cgm_cli.spec.model import Spec
from cgm_cli.templates.build import build

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "benchmarks" / "auto.md"
TOLERANCES = (1e-4, 1e-6, 1e-8)
ASKED = (1e-4, 1e-6)
"""What every row must reach."""
FACTOR, SLACK = 3.0, 0.1
"""How much slower than the best peer `auto` may be at 1e-4: so many times, or by so many seconds."""
PEER_LIMIT = 60.0
ORDER = 64
"""Of the largest semidefinite matrix that Clarabel is given: of order 100 it takes most of a minute."""

SHIPPED = [
    *("matrix-game", "transport", "svm", "least-absolute-deviations", "elastic-net", "max-affine", "max-margin-iris"),
    *("completion-split", "sparse-regression", "sparse-logistic", "group-lasso", "matrix-completion", "lovasz-theta"),
    *("low-rank-denoising", "one-bit-completion", "spectrahedron-game", "petersen-sdp", "paper/inpainting-l1"),
]

Block = dict[str, Any]
Rng = np.random.Generator
Peer = Callable[[], tuple[float, float]]
"""Solves, and tells the optimum and the seconds."""


@dataclass
class Posed:
    """A problem, what it is in blocks (sign times the user's objective), and a peer of its own with its name."""

    problem: CompositeProblem
    body: Block | None
    sign: float = 1.0
    own: tuple[str, Peer] | None = None


def posed(spec: Spec, own: tuple[str, Peer] | None = None) -> Posed:
    built = build(spec)
    found = body(spec, built.template)
    return Posed(built.template.problem, *(found or (None, 1.0)), own)


def shipped(name: str) -> Posed:
    spec = load(ROOT / "configs" / f"{name}.yaml")
    if name != "elastic-net":
        return posed(spec)
    template: Any = build(spec).template
    given = spec.problem.model_dump()
    return posed(spec, ("scikit-learn", lambda: net(template.table, given["l1"], given["ridge"])))


def net(table: Any, l1: float, ridge: float) -> tuple[float, float]:
    """scikit-learn's coordinate descent, to its default of 1e-4."""
    from sklearn.linear_model import ElasticNet

    model = ElasticNet(alpha=l1 + ridge, l1_ratio=l1 / (l1 + ridge), fit_intercept=False)
    began = cones.clock()
    w = model.fit(table.features, table.target).coef_
    seconds = cones.clock() - began
    fit = float(np.square(table.features @ w - table.target).mean()) / 2
    return fit + l1 * float(np.abs(w).sum()) + ridge / 2 * float(w @ w), seconds


@dataclass
class Table:
    features: np.ndarray
    target: np.ndarray


# Problems; each from random numbers of its own


def template(name: str, **given: Any) -> Posed:
    return posed(spec_of({"template": name, **given}))


def programme(rows: Any, right: np.ndarray, cost: np.ndarray, upper: float) -> Posed:
    size = len(cost)
    term = Term("rows", MatrixMap(rows, (size,)), Equals(right.shape, right))
    problem = CompositeProblem(Box(np.zeros(size), np.full(size, upper)), Linear(cost, (size,)), (term,))
    equal = {"kind": "equals", "map": {"kind": "matrix", "matrix": rows}, "value": right}
    x = {"kind": "box", "lower": 0.0, "upper": upper, "size": size}
    return Posed(problem, {"domain": x, "objective": {"kind": "linear", "cost": cost}, "constraints": [equal]})


def transport(rng: Rng, m: int, n: int) -> Posed:
    sums = sp.vstack(
        [sp.kron(sp.eye_array(m), np.ones((1, n))), sp.kron(np.ones((1, m)), sp.eye_array(n))], format="csr"
    )
    inside = rng.random(m * n)
    return programme(sums, sums @ inside, rng.random(m * n), float((sums @ inside).max()))


def dense_programme(rng: Rng, m: int, n: int) -> Posed:
    rows = rng.standard_normal((m, n))
    return programme(rows, rows @ rng.random(n), rng.standard_normal(n), 2.0)


def composed(made: Block, own: tuple[str, Peer] | None = None) -> Posed:
    return posed(spec_of(made), own)


def portfolio(rng: Rng, n: int, trades: bool) -> Posed:
    factor, means = rng.standard_normal((n, 5)), 0.1 * rng.random(n)
    risk = 0.008 * factor @ factor.T + np.diag(0.01 + 0.02 * rng.random(n))
    earns = {"kind": "box", "map": matrix(means[None, :]), "lower": [float(np.quantile(means, 0.6))]}
    return composed(
        {
            "domain": {"kind": "simplex", "size": n},
            "objective": {"kind": "quadratic", "matrix": risk.tolist(), "linear": (-means).tolist()},
            "constraints": [earns, {"kind": "box", "upper": 0.15}],
            "penalties": [{"kind": "l1", "scale": 0.01, "offset": [1.0 / n] * n}] if trades else [],
        }
    )


def polytope(rng: Rng, n: int) -> Posed:
    rows = rng.standard_normal((2 * n, n))
    return composed(
        {
            "domain": {"kind": "linf-ball", "size": n, "radius": 2.0},
            "objective": {"kind": "least-squares", "target": (2.0 * rng.standard_normal(n)).tolist()},
            "constraints": [{"kind": "box", "map": matrix(rows), "upper": rng.random(2 * n).tolist()}],
        }
    )


def two_balls(rng: Rng, n: int) -> Posed:
    balls = [{"kind": "l1-ball", "size": n, "radius": 0.3 * n}, {"kind": "linf-ball", "size": n, "radius": 0.7}]
    fit = {"kind": "least-squares", "target": (2.0 * rng.standard_normal(n)).tolist()}
    return composed({"domains": balls, "objective": fit})


def total_variation(rng: Rng, n: int) -> Posed:
    signal = np.repeat(rng.standard_normal(n // 10), 10) + 0.1 * rng.standard_normal(n)
    return composed(
        {
            "domain": {"kind": "box", "lower": -5.0, "upper": 5.0, "size": n},
            "objective": {"kind": "least-squares", "target": signal.tolist()},
            "penalties": [{"kind": "l1", "scale": 0.5, "map": {"kind": "differences"}}],
        }
    )


def lasso(rng: Rng, m: int, n: int) -> Posed:
    features = rng.standard_normal((m, n))
    target = features[:, :8] @ rng.standard_normal(8) + 0.5 * rng.standard_normal(m)
    table = Table(features, target)

    def scaled() -> tuple[float, float]:
        value, seconds = net(table, 10.0 / m, 0.0)
        return m * value, seconds

    return composed(
        {
            "domain": {"kind": "linf-ball", "size": n, "radius": 5.0},
            "objective": {"kind": "least-squares", "map": matrix(features), "target": target.tolist()},
            "penalties": [{"kind": "l1", "scale": 10.0}],
        },
        ("scikit-learn", scaled),
    )


def samples(rng: Rng, m: int, n: int, classes: bool = False) -> Block:
    features = rng.standard_normal((m, n))
    target = features[:, : n // 4].sum(axis=1) + rng.standard_normal(m)
    target = np.where(target > 0, 1.0, -1.0) if classes else target
    return {"data": {"features": features.tolist(), "target": target.tolist()}, "standardise": False}


def elastic_net(rng: Rng, m: int, n: int) -> Posed:
    table = samples(rng, m, n)
    given = Table(np.array(table["data"]["features"]), np.array(table["data"]["target"]))
    spec = spec_of({"template": "elastic-net", **table, "l1": 0.1, "ridge": 0.1})
    return posed(spec, ("scikit-learn", lambda: net(given, 0.1, 0.1)))


def group_lasso(rng: Rng, m: int, n: int) -> Posed:
    groups = np.arange(n).reshape(-1, 5).tolist()
    return template("group-lasso", **samples(rng, m, n), groups=groups, penalty=0.2, radius=20.0)


def max_affine(rng: Rng, m: int, n: int) -> Posed:
    return template("max-affine", slopes=rng.standard_normal((m, n)).tolist(), offsets=rng.standard_normal(m).tolist())


def fantope(rng: Rng, n: int, nonnegative: bool = False) -> Posed:
    cost = rng.standard_normal((n, n))
    made: Block = {
        "domain": {"kind": "fantope", "size": n, "rank": 3},
        "objective": {"kind": "linear", "cost": (-cost - cost.T).tolist()},
    }
    rest: Block = {"penalties": [{"kind": "l1", "scale": 0.6}]}
    return composed(made | ({"constraints": [{"kind": "nonnegative"}]} if nonnegative else rest))


def sparse_pca(rng: Rng, n: int) -> Posed:
    data = rng.standard_normal((2 * n, n)) @ (np.eye(n) + 0.3 * rng.standard_normal((n, n)))
    covariance = data.T @ data / len(data)
    return composed(
        {
            "domain": {"kind": "psd", "size": n, "trace": "equal"},
            "objective": {"kind": "linear", "cost": (-0.5 * (covariance + covariance.T)).tolist()},
            "penalties": [{"kind": "l1", "scale": 0.5}],
        }
    )


def nuclear_l1(rng: Rng, n: int) -> Posed:
    full = rng.standard_normal((n, 3)) @ rng.standard_normal((3, n)) * (rng.random((n, n)) < 0.5)
    radius = 0.8 * float(np.linalg.svd(full, compute_uv=False).sum())
    return composed(
        {
            "domain": {"kind": "nuclear-ball", "shape": [n, n], "radius": radius},
            "objective": {"kind": "least-squares", "target": (full + 0.1 * rng.standard_normal((n, n))).tolist()},
            "penalties": [{"kind": "l1", "scale": 0.2}],
        }
    )


def correlation(rng: Rng, n: int) -> Posed:
    a = rng.standard_normal((n, n))
    target = np.clip(0.5 * (a + a.T), -1.0, 1.0)
    np.fill_diagonal(target, 1.0)
    return composed(
        {
            "domain": {"kind": "psd", "size": n, "radius": float(n), "trace": "equal"},
            "objective": {"kind": "least-squares", "target": target.tolist()},
            "constraints": [{"kind": "equals", "map": {"kind": "diagonal"}, "value": 1.0}],
        }
    )


def problems() -> dict[str, Callable[[], Posed]]:
    """By name."""

    def seeded(make: Callable[..., Posed], *given: Any) -> Callable[[], Posed]:
        return lambda: make(np.random.default_rng(0), *given)

    def models(name: str, m: int, n: int, classes: bool = False, **given: Any) -> Callable[[], Posed]:
        return lambda: template(name, **samples(np.random.default_rng(0), m, n, classes), **given)

    def fixed(name: str, **given: Any) -> Callable[[], Posed]:
        return lambda: template(name, **given)

    drawn: dict[str, Callable[[], Posed]] = {
        "matrix game 60 x 60": fixed("matrix-game", payoff={"rows": 60, "columns": 60}),
        "matrix game 500 x 300": fixed("matrix-game", payoff={"rows": 500, "columns": 300}),
        "transport 20 x 20": seeded(transport, 20, 20),
        "transport 100 x 100": seeded(transport, 100, 100),
        "linear program 40 x 150": seeded(dense_programme, 40, 150),
        "portfolio 60": seeded(portfolio, 60, False),
        "portfolio 60, trades": seeded(portfolio, 60, True),
        "projection onto a polytope 50": seeded(polytope, 50),
        "projection onto l1 and linf balls 60": seeded(two_balls, 60),
        "total variation 80": seeded(total_variation, 80),
        "lasso 300 x 80": seeded(lasso, 300, 80),
        "elastic net 300 x 80": seeded(elastic_net, 300, 80),
        "group lasso, penalty, 200 x 60": seeded(group_lasso, 200, 60),
        "least absolute deviations 200 x 40": models("least-absolute-deviations", 200, 40, radius=3.0),
        "SVM 200 x 40": models("svm", 200, 40, True, radius=2.0),
        "logistic regression 200 x 40": models("sparse-regression", 200, 40, True, loss="logistic", radius=5.0),
        "max-affine 100 x 30": seeded(max_affine, 100, 30),
        "fantope 20, l1": seeded(fantope, 20),
        "fantope 60, l1": seeded(fantope, 60),
        "fantope 30, X >= 0": seeded(fantope, 30, True),
        "Lovasz theta 60": fixed("lovasz-theta", graph={"nodes": 60, "edges": 400}),
        "Lovasz theta 60, X >= 0": fixed("lovasz-theta", graph={"nodes": 60, "edges": 400}, nonnegative=True),
        "robust PCA 20 x 20, l1": fixed("robust-pca", image="camera", size=20, loss="l1"),
        "robust PCA 20 x 20, l2": fixed("robust-pca", image="camera", size=20, loss="l2"),
        "low-rank denoising 20 x 20": fixed("low-rank-denoising", image="camera", size=20, tv=0.05, l1=0.01),
        "max-cut 100": fixed("max-cut", graph={"nodes": 100, "edges": 500}),
        "sparse PCA 30": seeded(sparse_pca, 30),
        "nuclear + l1 20 x 20": seeded(nuclear_l1, 20),
        "matrix completion 30 x 20": fixed(
            "matrix-completion", matrix={"rows": 30, "columns": 20, "rank": 2, "noise": 0.1}
        ),
        "spectrahedron game 30": fixed("spectrahedron-game", matrices={"size": 30, "count": 10, "entries": 20}),
        "nearest correlation 40": seeded(correlation, 40),
    }
    return {name: lambda name=name: shipped(name) for name in SHIPPED} | drawn


# Rows

RIGHT = 1e-4
"""How near a peer's optimum must be, relative."""
LADDER = (1e-4, 1e-5, 1e-6)
"""Of SCS: it is asked for more where its optimum is not right."""


def is_right(value: float, optimum: float, tolerance: float = RIGHT) -> bool:
    return abs(value - optimum) <= tolerance * max(abs(optimum), 1e-9)


@dataclass
class Row:
    """seconds: of auto, to each of TOLERANCES; None where it was not reached, told in `reached`. peers: name ->
    (seconds, optimum, what is wrong, setting).
    """

    name: str
    method: str = ""
    optimum: float = math.nan
    seconds: list[float | None] = field(default_factory=list)
    reached: list[str] = field(default_factory=list)
    peers: dict[str, list[Any]] = field(default_factory=dict)
    differs: str = ""

    def agrees(self, value: float, tolerance: float = RIGHT) -> bool:
        """With the optimum, within a tolerance of its own."""
        return is_right(value, self.optimum, tolerance)

    @property
    def best(self) -> tuple[str, float] | None:
        """The fastest peer whose optimum is right."""
        right = [(s, name) for name, (s, value, wrong, _) in self.peers.items() if not wrong and self.agrees(value)]
        return (min(right)[1], min(right)[0]) if right else None

    @property
    def ratio(self) -> float:
        first, best = self.seconds[0], self.best
        return math.nan if first is None or best is None else first / max(best[1], 1e-6)

    @property
    def is_slow(self) -> bool:
        first, best = self.seconds[0], self.best
        return first is not None and best is not None and first > FACTOR * best[1] and first > best[1] + SLACK

    @property
    def is_short(self) -> bool:
        return any(self.seconds[TOLERANCES.index(each)] is None for each in ASKED)


def ours(problem: CompositeProblem, tolerance: float, limit: float) -> tuple[float | None, str, float]:
    """Seconds to a tolerance, or None; how far it came; the objective."""
    best, told, value = None, "", math.nan
    for _ in range(3):
        began = cones.clock()
        time_is, should_stop = cones.limited(limit)
        stop = {"gap": tolerance, "infeasibility": tolerance, **time_is}
        run = solve_problem(problem, "auto", stop, should_stop=should_stop)
        seconds = cones.clock() - began
        record, value = run.record, run.record.total
        if run.status.value == "converged" and run.bound_is == "certified":
            best = seconds if best is None else min(best, seconds)
        else:
            told = f"{record.gap:.0e}, {record.infeasibility:.0e}" + (
                "" if run.bound_is == "certified" else f", {run.bound_is}"
            )
        if seconds > 3.0:
            break
    return best, told, value


def fastest(solve: Callable[[], tuple[float, float, str]]) -> list[Any]:
    """Seconds, optimum and what is wrong ("" if nothing is) of the fastest of three."""
    found = []
    for _ in range(3):
        try:
            value, seconds, status = solve()
        except (ArithmeticError, ValueError, RuntimeError) as error:
            value, seconds, status = math.nan, math.nan, type(error).__name__
        found.append([seconds, value, status])
        if not seconds <= 3.0:
            break
    return min(found, key=lambda each: each[0])


def peers(given: Posed, ours: float) -> tuple[dict[str, list[Any]], float]:
    """What every peer takes, and the optimum: that of HiGHS or Clarabel, or else ours."""
    if given.body is None:
        return {}, ours
    made: Program = program(given.body)
    orders = [len(part) for cone, part in made.rows if cone == "semidefinite"]

    def told(answer: Answer) -> tuple[float, float, str]:
        return given.sign * answer.optimum, answer.seconds, "" if answer.is_solved else answer.status

    found: dict[str, list[Any]] = {}
    if made.is_linear:
        found["HiGHS"] = [*fastest(lambda: told(made.highs())), ""]
    if not orders or max(orders) <= ORDER * (ORDER + 1) // 2:
        found["Clarabel"] = [*fastest(lambda: told(made.clarabel(PEER_LIMIT))), ""]
    exact = [value for _, value, wrong, _ in found.values() if not wrong]
    optimum = (exact or [ours])[0]
    for accuracy in LADDER:
        answer = fastest(lambda accuracy=accuracy: told(made.scs(accuracy, PEER_LIMIT)))
        if "SCS" not in found or (not answer[2] and is_right(answer[1], optimum)):
            found["SCS"] = [*answer, f"{accuracy:.0e}"]
        if answer[2] or not math.isfinite(optimum) or is_right(answer[1], optimum):
            break
    if given.own is not None:
        name, solve = given.own
        found[name] = [*fastest(lambda: (*solve(), "")), ""]
    return found, optimum


def measured(name: str, given: Posed, limit: float) -> Row:
    from cgm_cli.methods.scaling import scaled
    from cgm_cli.solving.presets import chosen
    from cgm_cli.spec.model import SolverSpec

    row = Row(name)
    choice = chosen(SolverSpec(), scaled(given.problem))
    row.method = choice.policies["correction"].policy.name
    values = []
    for tolerance in TOLERANCES:
        seconds, told, value = ours(given.problem, tolerance, limit)
        row.seconds.append(seconds)
        row.reached.append(told)
        if seconds is not None:
            values.append(value)
    row.peers, row.optimum = peers(given, values[-1] if values else math.nan)
    # What we call converged must be where they are.
    if values and not row.agrees(values[-1], 2.2e-4):
        row.differs = f"{values[-1]:.6g} is not {row.optimum:.6g}"
    return row


NAMES = ("HiGHS", "Clarabel", "SCS", "scikit-learn")


def cells(row: Row) -> list[str]:
    found = [row.name, row.method]
    found += [
        f"no ({told})" if seconds is None else _seconds(seconds)
        for seconds, told in zip(row.seconds, row.reached, strict=True)
    ]
    for name in NAMES:
        if name not in row.peers:
            found.append("")
            continue
        seconds, value, wrong, setting = row.peers[name]
        off = abs(value - row.optimum) / max(abs(row.optimum), 1e-9)
        notes = [f"off {off:.0e}"] if not row.agrees(value) and math.isfinite(off) else []
        notes += (
            ["unchecked"] if not math.isfinite(off) else [setting] if setting not in ("", f"{LADDER[0]:.0e}") else []
        )
        found.append(f"no ({wrong})" if wrong else _seconds(seconds) + (f" ({', '.join(notes)})" if notes else ""))
    best = row.best
    ratio = "" if math.isnan(row.ratio) else f"{row.ratio:.1f}"
    notes = [*(["not reached"] if row.is_short else []), *(["slow"] if row.is_slow else [])]
    notes += [row.differs] if row.differs else []
    return [*found, "" if best is None else best[0], ratio, ", ".join(notes)]


def _seconds(value: float) -> str:
    return f"{value:.4f}" if value < 0.01 else f"{value:.3f}" if value < 1.0 else f"{value:.2f}"


def table(rows: list[Row]) -> str:
    ordered = sorted(rows, key=lambda row: (not row.is_short, not row.is_slow, -row.ratio if row.ratio > 0 else 0.0))
    head = ["problem", "steps", *(f"{tolerance:g}" for tolerance in TOLERANCES), *NAMES, "best", "ratio", "miss"]
    lines = [f"| {' | '.join(each)} |" for each in [head, ["---"] * len(head), *map(cells, ordered)]]
    return "\n".join(lines) + "\n"


def told(rows: list[Row], limit: float) -> str:
    compared = [row for row in rows if not math.isnan(row.ratio)]
    slow, short = [row for row in rows if row.is_slow], [row for row in rows if row.is_short]
    return (
        "# What `auto` takes\n\nWritten by `python -m benchmarks.auto`: seconds of solving to that gap and "
        "infeasibility, the bound certified, one thread, the fastest of three; and those of solvers that can be told "
        "the same: HiGHS and Clarabel (1e-8) at their defaults, SCS at eps 1e-4 (or 1e-5 or 1e-6, as told in brackets, "
        "where its optimum is not right by then), scikit-learn at its default of 1e-4. They are given the problem as "
        "they want it, linear or conic, and are timed without its assembling; a blank means that it has no such form, "
        f"or a semidefinite matrix of an order above {ORDER}, which Clarabel is spared.\n\n"
        "`best` is the fastest peer whose optimum is right to 1e-4 (`off`: it is not), `ratio` the seconds of `auto` "
        f"to 1e-4 over its own. `slow`: more than {FACTOR:g} times as long, and more than {SLACK:g} s longer. `not "
        f"reached`: 1e-4 or 1e-6 not in {limit:g} s; in brackets the gap and the infeasibility that were. Of "
        f"{len(rows)} problems {len(compared)} have a peer; {len(slow)} are slow, {len(short)} not reached, and "
        f"`auto` is the faster one for {sum(row.ratio < 1.0 for row in compared)}. "
        f"{measure()}{described(machine())}\n\n"
    )


def measure() -> str:
    """What is to be said of the seconds, if anything is."""
    return "" if cones.clock is time.perf_counter else "The machine was shared: seconds are those of the processor. "


def kept(file: Path | None) -> dict[str, Row]:
    found: dict[str, Row] = {}
    if file is not None and file.exists():
        for line in file.read_text(encoding="utf-8").splitlines():
            row = json.loads(line)
            if row.pop("code") == code() and row.pop("clock", "") == cones.clock.__name__:
                found[row["name"]] = Row(**row)
    return found


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("names", nargs="*")
    parser.add_argument("--limit", type=float, default=20.0, help="seconds of each run")
    parser.add_argument("--keep", type=Path, help="keep rows here, and go on from them")
    parser.add_argument("--cpu", action="store_true", help="seconds of the processor, where the machine is shared")
    options = parser.parse_args(arguments)
    if options.cpu:
        cones.clock = time.process_time
    made, rows = problems(), kept(options.keep)
    for name in options.names or made:
        if name not in rows:
            rows[name] = measured(name, made[name](), options.limit)
            if options.keep:
                with open(options.keep, "a", encoding="utf-8") as file:
                    file.write(json.dumps(asdict(rows[name]) | {"code": code(), "clock": cones.clock.__name__}) + "\n")
        print(*cells(rows[name]), sep=" | ", flush=True)
    chosen = [rows[name] for name in options.names or made]
    if options.names:
        print(table(chosen), end="")
    else:
        PAGE.write_text(told(chosen, options.limit) + table(chosen), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
