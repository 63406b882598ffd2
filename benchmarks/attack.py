"""Random problems of all kinds, composed from the blocks, against Clarabel: `python -m benchmarks.attack`.

Every problem is posed twice: as a spec, and as a cone program written by hand. Counted are certified bounds on the
wrong side of the optimum, feasible problems called infeasible, runs that broke (an error that is no refusal, a figure
that is no number), and runs called converged whose objective is further from the optimum than their tolerances allow.
All four should be zero. Exit code 1 if one is not; each case is printed with the number that makes it again (`--only`).
"""

from __future__ import annotations

import argparse
import math
import sys
import traceback
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import clarabel
import numpy as np
import scipy.sparse as sp

from cgm_cli.blocks.directions import DenseDirection
from cgm_cli.blocks.domains.base import OracleRequest
from cgm_cli.errors import CgmError
from cgm_cli.spec.load import dump, loads
from cgm_cli.templates.build import build

GAP = 1e-3
"""What every run is asked for, in gap and infeasibility."""

ACCURACY = 2e-7
"""Of the reference, relative to its optimum and to the size of the objective on the domain."""

SOLVERS: list[dict[str, Any]] = [
    {"method": "auto"},
    {"method": "hcgm"},
    {"method": "cgal"},
    {"method": "cgal", "correction": "fully-corrective"},
]


@dataclass
class Cones:
    """minimise <x, P x> / 2 + <q, x>  subject to  b_k + M_k x in K_k for every k; the first `size` entries are x."""

    size: int
    quadratic: np.ndarray | None = None
    linear: list[float] = field(default_factory=list)
    rows: list[tuple[Any, np.ndarray, np.ndarray]] = field(default_factory=list)
    constant: float = 0.0

    def __post_init__(self):
        self.linear = [0.0] * self.size

    def variables(self, count: int, cost: float = 0.0) -> np.ndarray:
        """The places of new variables, each with this cost."""
        self.linear += [cost] * count
        return np.arange(len(self.linear) - count, len(self.linear))

    def add(self, cone: Any, constant: np.ndarray, *parts: tuple[np.ndarray, np.ndarray]) -> None:
        """constant + sum of M_j x[places_j] lies in the cone, for (M_j, places_j) in parts."""
        matrix = np.zeros((len(constant), len(self.linear)))
        for coefficients, places in parts:
            matrix[:, places] += coefficients
        self.rows.append((cone(len(constant)), matrix, np.asarray(constant, dtype=float)))

    def semidefinite(self, constant: np.ndarray, *parts: tuple[np.ndarray, np.ndarray]) -> None:
        """The same for a matrix (n, n), given by maps from variables to its n^2 entries."""
        n = constant.shape[0]
        upper = [(i, j) for j in range(n) for i in range(j + 1)]
        places = np.array([i * n + j for i, j in upper])
        weights = np.array([1.0 if i == j else math.sqrt(2.0) for i, j in upper])
        matrix = np.zeros((len(upper), len(self.linear)))
        for coefficients, at in parts:
            matrix[:, at] += weights[:, None] * coefficients[places]
        self.rows.append((clarabel.PSDTriangleConeT(n), matrix, weights * constant.reshape(-1)[places]))

    def solve(self) -> tuple[str, float]:
        """The solver's status, and the optimum."""
        n = len(self.linear)
        wide = [np.hstack([m, np.zeros((m.shape[0], n - m.shape[1]))]) for _, m, _ in self.rows]
        matrix, right = sp.csc_matrix(-np.vstack(wide)), np.concatenate([b for _, _, b in self.rows])
        quadratic = np.zeros((n, n))
        if self.quadratic is not None:
            quadratic[: self.size, : self.size] = self.quadratic
        settings = clarabel.DefaultSettings()
        settings.verbose, settings.max_iter = False, 500
        cones = [cone for cone, _, _ in self.rows]
        upper = sp.csc_matrix(np.triu(quadratic))
        found = clarabel.DefaultSolver(upper, np.array(self.linear), matrix, right, cones, settings).solve()
        return str(found.status), float(found.obj_val) + self.constant


ZERO, POSITIVE, SECOND_ORDER = clarabel.ZeroConeT, clarabel.NonnegativeConeT, clarabel.SecondOrderConeT


def domain(rng: np.random.Generator) -> tuple[dict[str, Any], Cones]:
    """A random domain, as a block and as cones."""
    kind = str(rng.choice(list(DOMAINS)))
    unit = float(10.0 ** rng.uniform(-2, 2)) if rng.random() < 0.5 else 1.0
    return DOMAINS[kind](rng, unit)


def _box(rng, r):
    n = int(rng.integers(1, 9))
    lower = np.round(r * rng.uniform(-1, 0.5, n), 6)
    upper = lower + r * rng.uniform(0, 2, n) * (rng.random(n) < 0.9)
    cones, x = Cones(n), np.arange(n)
    cones.add(POSITIVE, -lower, (np.eye(n), x))
    cones.add(POSITIVE, upper, (-np.eye(n), x))
    return {"kind": "box", "lower": lower.tolist(), "upper": upper.tolist()}, cones


def _simplex(rng, r):
    n, equal = int(rng.integers(1, 9)), bool(rng.random() < 0.5)
    cones, x = Cones(n), np.arange(n)
    cones.add(POSITIVE, np.zeros(n), (np.eye(n), x))
    cones.add(ZERO if equal else POSITIVE, np.array([r]), (-np.ones((1, n)), x))
    return {"kind": "simplex", "size": n, "radius": r, "sum": "equal" if equal else "at-most"}, cones


def _l1_ball(rng, r):
    n = int(rng.integers(1, 9))
    cones, x = Cones(n), np.arange(n)
    t = cones.variables(n)
    cones.add(POSITIVE, np.zeros(2 * n), (np.vstack([np.eye(n), -np.eye(n)]), x), (np.tile(np.eye(n), (2, 1)), t))
    cones.add(POSITIVE, np.array([r]), (-np.ones((1, n)), t))
    return {"kind": "l1-ball", "size": n, "radius": r}, cones


def _l2_ball(rng, r):
    n = int(rng.integers(1, 9))
    cones = Cones(n)
    cones.add(SECOND_ORDER, np.append(r, np.zeros(n)), (np.eye(n + 1)[:, 1:], np.arange(n)))
    return {"kind": "l2-ball", "size": n, "radius": r}, cones


def _linf_ball(rng, r):
    n = int(rng.integers(1, 9))
    cones = Cones(n)
    cones.add(POSITIVE, np.full(2 * n, r), (np.vstack([np.eye(n), -np.eye(n)]), np.arange(n)))
    return {"kind": "linf-ball", "size": n, "radius": r}, cones


def _symmetric(cones: Cones, n: int) -> np.ndarray:
    """Tie x_ij to x_ji; the trace as a row."""
    x = np.arange(n * n)
    pairs = [(i, j) for i in range(n) for j in range(i)]
    tied = np.zeros((len(pairs), n * n))
    for row, (i, j) in enumerate(pairs):
        tied[row, i * n + j], tied[row, j * n + i] = 1.0, -1.0
    if pairs:
        cones.add(ZERO, np.zeros(len(pairs)), (tied, x))
    return np.eye(n).reshape(1, -1)


def _psd(rng, r):
    n, equal = int(rng.integers(1, 6)), bool(rng.random() < 0.5)
    cones, x = Cones(n * n), np.arange(n * n)
    trace = _symmetric(cones, n)
    cones.semidefinite(np.zeros((n, n)), (np.eye(n * n), x))
    cones.add(ZERO if equal else POSITIVE, np.array([r]), (-trace, x))
    return {"kind": "psd", "size": n, "radius": r, "trace": "equal" if equal else "at-most"}, cones


def _fantope(rng, r, face=False):
    n = int(rng.integers(2, 6))
    k = int(rng.integers(2 if face else 1, n + 1))
    cones, x = Cones(n * n), np.arange(n * n)
    trace = _symmetric(cones, n)
    cones.semidefinite(np.zeros((n, n)), (np.eye(n * n), x))
    cones.semidefinite(np.eye(n), (-np.eye(n * n), x))
    cones.add(ZERO, np.array([float(k)]), (-trace, x))
    if face:
        cones.add(ZERO, np.full(n, 1.0), (-np.kron(np.eye(n), np.ones((1, n))), x))
    return {"kind": "fantope-face" if face else "fantope", "size": n, "rank": k}, cones


def _face(rng, r):
    return _fantope(rng, r, face=True)


def _nuclear_ball(rng, r):
    m, n = (int(side) for side in rng.integers(1, 5, 2))
    cones, x = Cones(m * n), np.arange(m * n)
    corner = cones.variables((m + n) ** 2)
    side = m + n
    entries = np.eye(side * side)
    cones.semidefinite(np.zeros((side, side)), (entries, corner))
    above = np.array([i * side + m + j for i in range(m) for j in range(n)])
    cones.add(ZERO, np.zeros(m * n), (np.eye(m * n), x), (-entries[above], corner))
    tied = [(i * side + j, j * side + i) for i in range(side) for j in range(i)]
    rows = np.array([entries[one] - entries[other] for one, other in tied])
    cones.add(ZERO, np.zeros(len(tied)), (rows, corner))
    cones.add(POSITIVE, np.array([2.0 * r]), (-np.eye(side).reshape(1, -1), corner))
    return {"kind": "nuclear-ball", "shape": [m, n], "radius": r}, cones


def _birkhoff(rng, r):
    n = int(rng.integers(1, 5))
    cones, x = Cones(n * n), np.arange(n * n)
    cones.add(POSITIVE, np.zeros(n * n), (np.eye(n * n), x))
    sums = np.vstack([np.kron(np.eye(n), np.ones((1, n))), np.kron(np.ones((1, n)), np.eye(n))[:-1]])
    cones.add(ZERO, np.ones(2 * n - 1), (-sums, x))
    return {"kind": "birkhoff", "size": n}, cones


DOMAINS = {
    "box": _box, "simplex": _simplex, "l1-ball": _l1_ball, "l2-ball": _l2_ball, "linf-ball": _linf_ball,
    "psd": _psd, "fantope": _fantope, "fantope-face": _face, "nuclear-ball": _nuclear_ball, "birkhoff": _birkhoff,
}  # fmt: skip


def objective(rng, shape, cones, unit) -> dict[str, Any] | None:
    """A random objective, added to the cones."""
    n, kind = math.prod(shape), rng.choice(["linear", "quadratic", "least-squares", "none"], p=[0.5, 0.2, 0.2, 0.1])
    if kind == "none":
        return None
    c = unit * rng.standard_normal(n)
    if kind == "linear":
        if len(shape) == 2 and shape[0] == shape[1]:
            c = c.reshape(shape)
            c = (0.5 * (c + c.T)).reshape(-1)
        cones.linear[:n] = c.tolist()
        return {"kind": "linear", "cost": c.reshape(shape).tolist()}
    if kind == "quadratic":
        factor = rng.standard_normal((int(rng.integers(1, n + 1)), n))
        q = unit * (factor.T @ factor) / n
        q = 0.5 * (q + q.T)
        cones.quadratic, cones.linear[:n] = q, c.tolist()
        return {"kind": "quadratic", "matrix": q.tolist(), "linear": c.reshape(shape).tolist()}
    m = int(rng.integers(1, n + 3))
    a, b = rng.standard_normal((m, n)) * math.sqrt(unit), rng.standard_normal(m) * math.sqrt(unit)
    cones.quadratic, cones.linear[:n], cones.constant = a.T @ a, (-a.T @ b).tolist(), 0.5 * float(b @ b)
    return {"kind": "least-squares", "map": {"kind": "matrix", "matrix": a.tolist()}, "target": b.tolist()}


def penalty(rng, n, cones, unit) -> dict[str, Any]:
    """A random penalty of a random image, added to the cones by its epigraph."""
    m = int(rng.integers(1, 6))
    a, shift = rng.standard_normal((m, n)), 0.3 * rng.standard_normal(m)
    kind, scale, x = str(rng.choice(["l1", "l2", "max", "huber"])), unit * float(rng.uniform(0.05, 1.0)), np.arange(n)
    spec = {"kind": kind, "map": {"kind": "matrix", "matrix": a.tolist()}, "offset": shift.tolist()}
    if kind == "l1":
        t = cones.variables(m, scale)
        both = np.tile(np.eye(m), (2, 1))
        cones.add(POSITIVE, np.append(shift, -shift), (np.vstack([-a, a]), x), (both, t))
    elif kind == "l2":
        t = cones.variables(1, scale)
        first = np.zeros((m + 1, 1))
        first[0] = 1.0
        cones.add(SECOND_ORDER, np.append(0.0, -shift), (np.vstack([np.zeros((1, n)), a]), x), (first, t))
    elif kind == "huber":
        # The least of u^2 / (2 d) + |z - u| over u, with w >= u^2 as |(2 u, w - 1)| <= w + 1 and t >= |z - u|.
        spec["delta"] = delta = float(10.0 ** rng.uniform(-2, 1))
        u, w, t = cones.variables(m), cones.variables(m, scale / (2.0 * delta)), cones.variables(m, scale)
        both = np.vstack([-np.eye(m), np.eye(m)])
        images = np.vstack([-a, a]), x
        cones.add(POSITIVE, np.append(shift, -shift), images, (-both, u), (np.abs(both), t))
        for one, square in zip(u, w, strict=True):
            first, second = np.array([[1.0], [0.0], [1.0]]), np.array([[0.0], [2.0], [0.0]])
            cones.add(SECOND_ORDER, np.array([1.0, 0.0, -1.0]), (first, np.array([square])), (second, np.array([one])))
    else:
        t = cones.variables(1, 1.0)
        cones.add(POSITIVE, shift, (-a, x), (np.ones((m, 1)), t))
        return spec
    return {**spec, "scale": scale}


def constraint(rng, inside, n, cones, dependent: bool) -> dict[str, Any]:
    """A random constraint that `inside` (n,) meets, added to the cones. dependent: its rows nearly are."""
    m, x = int(rng.integers(1, max(2, min(4, n)))), np.arange(n)
    a = rng.standard_normal((m, n))
    if dependent and m > 1:
        a[-1] = a[0] + 1e-3 * a[-1]
    at, kind = a @ inside, str(rng.choice(["equals", "box", "l2-ball"]))
    spec = {"kind": kind, "map": {"kind": "matrix", "matrix": a.tolist()}}
    if kind == "equals":
        cones.add(ZERO, at, (-a, x))
        return {**spec, "value": at.tolist()}
    if kind == "box":
        upper = at + rng.random(m) * (rng.random(m) < 0.7)
        cones.add(POSITIVE, upper, (-a, x))
        return {**spec, "upper": upper.tolist()}
    radius = float(np.linalg.norm(at)) * float(rng.uniform(1.0, 1.5)) + 1e-3
    cones.add(SECOND_ORDER, np.append(radius, np.zeros(m)), (np.vstack([np.zeros((1, n)), a]), x))
    return {**spec, "radius": radius}


def problem(number: int) -> tuple[dict[str, Any], Cones]:
    """The random problem of that number, as a spec and as cones."""
    rng = np.random.default_rng([number, 19])
    block, cones = domain(rng)
    built = build(
        loads(dump({"problem": {"domain": block, "objective": {"kind": "linear", "cost": 0.0}}}))
    ).problem.domain
    n, unit = math.prod(built.shape), float(10.0 ** rng.uniform(-2, 3)) if rng.random() < 0.5 else 1.0
    inside = np.zeros(n)
    for share in rng.dirichlet(np.ones(4)):
        direction = DenseDirection(rng.standard_normal(built.shape))
        direction = direction.symmetrised() if built.symmetric else direction
        inside += share * built.lmo(direction, OracleRequest(0.0)).atom.dense().reshape(-1)
    f = objective(rng, built.shape, cones, unit)
    terms = [penalty(rng, n, cones, unit) for _ in range(int(rng.choice([0, 1, 2], p=[0.5, 0.4, 0.1])) + (f is None))]
    dependent = rng.random() < 0.15
    some = rng.choice([0, 1, 2], p=[0.4, 0.4, 0.2])
    sets = [constraint(rng, inside, n, cones, dependent) for _ in range(int(some))]
    body: dict[str, Any] = {"domain": block, "constraints": sets, "penalties": terms}
    if f is not None:
        body["objective"] = f
    solver = dict(SOLVERS[number % len(SOLVERS)])
    return {
        "problem": body, "solver": {**solver, "iterations": 2000}, "stop": {"gap": GAP, "time": 2}, "seed": number,
    }, cones  # fmt: skip


def examine(number: int, defaults: bool = False) -> tuple[str, str]:
    """What came of it: "right", "wrong bound", "called infeasible", "broke", "converged elsewhere" or "no reference";
    and what there is to say. defaults: by what a spec that says nothing of method and tolerances gets, in five seconds.
    """
    spec, cones = problem(number)
    if defaults:
        spec |= {"solver": {}, "stop": {"time": 5}}
    status, optimum = cones.solve()
    if "Solved" not in status or "Almost" in status:
        return "no reference", status
    try:
        instance = build(loads(dump(spec)))
        result = instance.solve()
    except CgmError as error:
        return "refused", str(error)
    except Exception:
        return "broke", traceback.format_exc()
    record, domain = result.record, instance.problem.domain
    size = max(abs(optimum), max(map(abs, cones.linear[: cones.size]), default=0.0) * domain.radius)
    error = ACCURACY * max(1.0, size)
    told = f"{result.status.value}, objective {record.total:.9g}, bound {record.bound:.9g}, optimum {optimum:.9g}"
    if result.status.value == "infeasible":
        return "called infeasible", told
    if not all(map(math.isfinite, (record.total, record.infeasibility, record.owed))):
        return "broke", told
    if result.bound_is == "certified" and record.bound > optimum + error:
        return "wrong bound", told
    if result.status.value == "converged":
        allowed = (record.gap + record.owed + 1e-6) * max(1.0, abs(record.total), abs(record.bound)) + error
        if abs(record.total - optimum) > 2.0 * allowed:
            return "converged elsewhere", f"{told}, infeasibility {record.infeasibility:.1e}, owed {record.owed:.1e}"
        return "right", "converged"
    if defaults:
        return "right", f"{result.status.value}, of kind {', '.join(_kinds(spec['problem']))}"
    return "right", result.status.value


def _kinds(body: dict[str, Any]) -> list[str]:
    """Of the blocks of a problem."""
    terms = [*body["constraints"], *body["penalties"]]
    return [block["kind"] for block in (body["domain"], body.get("objective"), *terms) if block is not None]


FAULTS = ("wrong bound", "called infeasible", "broke", "converged elsewhere")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--count", type=int, default=300)
    parser.add_argument("--first", type=int, default=0, help="number of the first problem")
    parser.add_argument("--only", type=int, help="the problem of this number alone, with its spec")
    parser.add_argument(
        "--defaults", action="store_true", help="by the default method to the default tolerances, in 5 s"
    )
    options = parser.parse_args()
    if options.only is not None:
        print(dump(problem(options.only)[0]))
        print(*examine(options.only, options.defaults), sep=": ")
        return 0
    counts: Counter[str] = Counter()
    for number in range(options.first, options.first + options.count):
        kind, told = examine(number, options.defaults)
        counts[f"{kind}, {told}" if kind == "right" else kind] += 1
        if kind in (*FAULTS, "refused"):
            print(f"{number}: {kind}: {told}", flush=True)
    print(", ".join(f"{count} {kind}" for kind, count in sorted(counts.items())))
    print(" / ".join(str(counts[kind]) for kind in FAULTS), *FAULTS, sep="  ")
    return int(any(counts[kind] for kind in FAULTS))


if __name__ == "__main__":
    sys.exit(main())
