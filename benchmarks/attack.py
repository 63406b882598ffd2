"""Random problems of all kinds against Clarabel: `python -m benchmarks.attack`.

Every problem is posed twice: as a spec, and as a cone program written by hand (`benchmarks.cones`). Counted are
certified bounds on the wrong side of the optimum, feasible problems called infeasible, runs that broke (an error that
is no refusal, a figure that is no number), and runs called converged whose objective is further from the optimum than
their tolerances allow. All four should be zero. Exit code 1 if one is not; each case is printed with the number that
makes it again (`--only`).

Problems have vectors of up to 8 entries and matrices up to 5 x 5, each solved by one of four methods; with `--size 60`,
vectors of up to 60, matrices up to 30 x 30, and half of the problems are of a kind that has a name
(`benchmarks.sized`). `--defaults` leaves method and tolerances to the solver and gives each run five seconds:

    python -m benchmarks.attack --defaults --size 60 --count 1000 --keep attack.jsonl

`--keep` writes every result to a file as it comes, goes on where the file ends, and makes benchmarks/attack.md of all
that stand there.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
import time
import traceback
from collections import Counter
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import cones, sized
from benchmarks.cones import Answer, Program, program
from benchmarks.sized import Drawn
from benchmarks.suite.machine import code, described, machine
from cgm_cli.blocks.directions import DenseDirection
from cgm_cli.blocks.domains.base import OracleRequest
from cgm_cli.errors import CgmError
from cgm_cli.spec.load import dump
from cgm_cli.templates.build import build

PAGE = Path(__file__).resolve().parents[1] / "benchmarks" / "attack.md"

GAP = 1e-3
"""What every run of another method is asked for, in gap and infeasibility."""

ACCURACY = 2e-7
"""Of the reference, relative to its optimum and to the size of the objective on the domain."""

ABSOLUTE = 2e-8
"""The same, whatever the size: twice the gap that Clarabel leaves."""

SOLVERS: list[dict[str, Any]] = [
    {"method": "auto"},
    {"method": "hcgm"},
    {"method": "cgal"},
    {"method": "cgal", "correction": "fully-corrective"},
]

LIMIT = 5.0
"""Seconds of a run with the defaults."""


def domain(rng: np.random.Generator) -> dict[str, Any]:
    """A random domain."""
    kind = str(rng.choice(list(DOMAINS)))
    unit = float(10.0 ** rng.uniform(-2, 2)) if rng.random() < 0.5 else 1.0
    return {"kind": kind, **DOMAINS[kind](rng, unit)}


def _box(rng, r):
    n = int(rng.integers(1, 9))
    lower = np.round(r * rng.uniform(-1, 0.5, n), 6)
    upper = lower + r * rng.uniform(0, 2, n) * (rng.random(n) < 0.9)
    return {"lower": lower.tolist(), "upper": upper.tolist()}


def _simplex(rng, r):
    n, equal = int(rng.integers(1, 9)), bool(rng.random() < 0.5)
    return {"size": n, "radius": r, "sum": "equal" if equal else "at-most"}


def _ball(rng, r):
    return {"size": int(rng.integers(1, 9)), "radius": r}


def _psd(rng, r):
    n, equal = int(rng.integers(1, 6)), bool(rng.random() < 0.5)
    return {"size": n, "radius": r, "trace": "equal" if equal else "at-most"}


def _fantope(rng, r, least=1):
    n = int(rng.integers(2, 6))
    return {"size": n, "rank": int(rng.integers(least, n + 1))}


def _face(rng, r):
    return _fantope(rng, r, least=2)


def _nuclear_ball(rng, r):
    return {"shape": [int(side) for side in rng.integers(1, 5, 2)], "radius": r}


def _birkhoff(rng, r):
    return {"size": int(rng.integers(1, 5))}


DOMAINS = {
    "box": _box, "simplex": _simplex, "l1-ball": _ball, "l2-ball": _ball, "linf-ball": _ball,
    "psd": _psd, "fantope": _fantope, "fantope-face": _face, "nuclear-ball": _nuclear_ball, "birkhoff": _birkhoff,
}  # fmt: skip


def objective(rng, shape, unit) -> dict[str, Any] | None:
    """A random objective."""
    n, kind = math.prod(shape), rng.choice(["linear", "quadratic", "least-squares", "none"], p=[0.5, 0.2, 0.2, 0.1])
    if kind == "none":
        return None
    c = unit * rng.standard_normal(n)
    if kind == "linear":
        if len(shape) == 2 and shape[0] == shape[1]:
            c = c.reshape(shape)
            c = 0.5 * (c + c.T)
        return {"kind": "linear", "cost": c.reshape(shape).tolist()}
    if kind == "quadratic":
        factor = rng.standard_normal((int(rng.integers(1, n + 1)), n))
        q = unit * (factor.T @ factor) / n
        return {"kind": "quadratic", "matrix": (0.5 * (q + q.T)).tolist(), "linear": c.reshape(shape).tolist()}
    m = int(rng.integers(1, n + 3))
    a, b = rng.standard_normal((m, n)) * math.sqrt(unit), rng.standard_normal(m) * math.sqrt(unit)
    return {"kind": "least-squares", "map": {"kind": "matrix", "matrix": a.tolist()}, "target": b.tolist()}


def penalty(rng, n, unit) -> dict[str, Any]:
    """A random penalty of a random image."""
    m = int(rng.integers(1, 6))
    a, shift = rng.standard_normal((m, n)), 0.3 * rng.standard_normal(m)
    kind, scale = str(rng.choice(["l1", "l2", "max", "huber"])), unit * float(rng.uniform(0.05, 1.0))
    spec = {"kind": kind, "map": {"kind": "matrix", "matrix": a.tolist()}, "offset": shift.tolist()}
    if kind == "huber":
        spec["delta"] = float(10.0 ** rng.uniform(-2, 1))
    return spec if kind == "max" else {**spec, "scale": scale}


def constraint(rng, inside, n, dependent: bool) -> dict[str, Any]:
    """A random constraint that `inside` (n,) meets. dependent: its rows nearly are."""
    m = int(rng.integers(1, max(2, min(4, n))))
    a = rng.standard_normal((m, n))
    if dependent and m > 1:
        a[-1] = a[0] + 1e-3 * a[-1]
    at, kind = a @ inside, str(rng.choice(["equals", "box", "l2-ball"]))
    spec = {"kind": kind, "map": {"kind": "matrix", "matrix": a.tolist()}}
    if kind == "equals":
        return {**spec, "value": at.tolist()}
    if kind == "box":
        return {**spec, "upper": (at + rng.random(m) * (rng.random(m) < 0.7)).tolist()}
    return {**spec, "radius": float(np.linalg.norm(at)) * float(rng.uniform(1.0, 1.5)) + 1e-3}


def problem(number: int) -> tuple[dict[str, Any], Drawn]:
    """The random small problem of that number, as a spec and as what is drawn."""
    rng = np.random.default_rng([number, 19])
    block = domain(rng)
    linear = {"domain": block, "objective": {"kind": "linear", "cost": 0.0}}
    built = build(sized.spec_of(linear)).problem.domain
    n, unit = math.prod(built.shape), float(10.0 ** rng.uniform(-2, 3)) if rng.random() < 0.5 else 1.0
    inside = np.zeros(n)
    for share in rng.dirichlet(np.ones(4)):
        direction = DenseDirection(rng.standard_normal(built.shape))
        direction = direction.symmetrised() if built.symmetric else direction
        inside += share * built.lmo(direction, OracleRequest(0.0)).atom.dense().reshape(-1)
    f = objective(rng, built.shape, unit)
    terms = [penalty(rng, n, unit) for _ in range(int(rng.choice([0, 1, 2], p=[0.5, 0.4, 0.1])) + (f is None))]
    dependent = rng.random() < 0.15
    some = rng.choice([0, 1, 2], p=[0.4, 0.4, 0.2])
    sets = [constraint(rng, inside, n, dependent) for _ in range(int(some))]
    body: dict[str, Any] = {"domain": block, "constraints": sets, "penalties": terms}
    if f is not None:
        body["objective"] = f
    solver = dict(SOLVERS[number % len(SOLVERS)])
    return {
        "problem": body, "solver": {**solver, "iterations": 2000}, "stop": {"gap": GAP, "time": 2.0}, "seed": number,
    }, Drawn("composed", body, body)  # fmt: skip


def posed(number: int, size: int | None, defaults: bool) -> tuple[dict[str, Any], Drawn]:
    """A problem as a spec, and as it was drawn."""
    if size is None:
        spec, made = problem(number)
    else:
        made = sized.drawn(number, size)
        solver = SOLVERS[number % len(SOLVERS)]
        spec = {"problem": made.problem, "solver": {**solver, "iterations": 2000}, "stop": {"gap": GAP, "time": 2.0}}
        spec["seed"] = number
    if defaults:
        spec |= {"solver": {}, "stop": {"time": LIMIT}}
    return spec, made


FAULTS = ("wrong bound", "called infeasible", "broke", "converged elsewhere")


@dataclass
class Case:
    """What came of a problem. verdict: "right", one of FAULTS, "refused" or "no reference". status: of the run. told:
    what there is to say. seconds: of the run as a whole, its certificates and its rounding included.
    """

    number: int
    kind: str
    verdict: str = "right"
    status: str = ""
    told: str = ""
    blocks: dict[str, str] | None = None
    method: str = ""
    bound_is: str = ""
    gap: float = math.nan
    infeasibility: float = math.nan
    owed: float = math.nan
    distance: float = math.nan
    seconds: float = math.nan
    reference: float = math.nan

    @property
    def reached(self) -> bool:
        """Within the tolerances, by a bound that is certified."""
        return self.verdict == "right" and self.status == "converged" and self.bound_is == "certified"


def examine(number: int, size: int | None = None, defaults: bool = False) -> Case:
    """Solve a problem, and Clarabel with it."""
    spec, made = posed(number, size, defaults)
    case = Case(number, made.kind, blocks=_blocks(made.body))
    posed_as = program(made.body)
    answer = posed_as.clarabel(60.0)
    case.reference = answer.seconds
    if not answer.is_solved:
        case.verdict, case.told = "no reference", answer.status
        return case
    time_is, should_stop = cones.limited(spec["stop"]["time"])
    began = cones.clock()
    try:
        instance = build(sized.spec_of(**spec | {"stop": spec["stop"] | time_is}))
        case.method = ", ".join(part for part in (instance.choice.name, _correction(instance.choice)) if part)
        time_is, should_stop = cones.limited(spec["stop"]["time"])
        began = cones.clock()
        result = instance.solve(should_stop=should_stop)
    except CgmError as error:
        case.verdict, case.told = "refused", str(error)
        return case
    except Exception:
        case.verdict, case.told = "broke", traceback.format_exc()
        return case
    record, whole = result.record, instance.problem
    case.seconds, case.status = cones.clock() - began, result.status.value
    case.bound_is = result.bound_is
    case.gap, case.infeasibility, case.owed = record.gap, record.infeasibility, record.owed
    judge = Judge(posed_as, answer, made, whole.unit if size is not None else 1.0, whole.domain.radius)
    case.distance = abs(record.total - judge.optimum) / max(judge.unit, abs(judge.optimum))
    case.told = f"{case.status}, objective {record.total:.9g}, bound {record.bound:.9g}, optimum {judge.optimum:.9g}"
    if result.status.value == "infeasible":
        case.verdict = "called infeasible"
    elif not all(map(math.isfinite, (record.total, record.infeasibility, record.owed))):
        case.verdict = "broke"
    elif result.bound_is == "certified" and judge.is_wrong(record.bound):
        case.verdict = "wrong bound"
    elif case.status == "converged" and judge.is_elsewhere(record.total, record.gap + record.owed, record.bound):
        case.verdict = "converged elsewhere"
        case.told += f", infeasibility {record.infeasibility:.1e}, owed {record.owed:.1e}"
    return case


class Judge:
    """Compares with the reference, and has it computed more accurately before it calls a bound wrong."""

    def __init__(self, posed_as: Program, answer: Answer, made: Drawn, unit: float, radius: float):
        self.program, self.sign, self.unit, self.radius = posed_as, made.sign, unit, radius
        self.cost = float(np.abs((made.body.get("objective") or {}).get("cost", 0.0)).max())
        self.answer = answer

    @property
    def optimum(self) -> float:
        return self.sign * self.answer.optimum

    @property
    def error(self) -> float:
        """What the optimum may be off by."""
        changes = 1e8 * self.unit  # what the objective may change by, of which the unit is a part
        size = max(min(1.0, 0.1 * changes), abs(self.optimum), self.cost * self.radius)
        return max(ABSOLUTE, ACCURACY * size)

    def sharpen(self) -> None:
        for accuracy in (1e-11, 1e-10):
            answer = self.program.clarabel(60.0, accuracy)
            if answer.is_solved:
                self.answer = answer
                return

    def is_wrong(self, bound: float) -> bool:
        if self.sign * (bound - self.optimum) > self.error:
            self.sharpen()
        return self.sign * (bound - self.optimum) > self.error

    def is_elsewhere(self, total: float, claimed: float, bound: float) -> bool:
        allowed = 2.0 * ((claimed + 1e-6) * max(self.unit, abs(total), abs(bound)) + self.error)
        if abs(total - self.optimum) > allowed:
            self.sharpen()
        return abs(total - self.optimum) > allowed


def _correction(choice: Any) -> str:
    name = choice.policies["correction"].policy.name
    return "" if name == "none" else name


def _blocks(body: dict[str, Any]) -> dict[str, str]:
    """Of what kinds the parts of a problem are, with the shape of x and of every image."""
    domains = [body["domain"]] if "domain" in body else body["domains"]
    named = [_named(each) for each in domains]
    terms = {
        family: " + ".join(
            f"{term['kind']}{_inner(term)} of {_mapped(term.get('map'))}" for term in body.get(family, [])[:3]
        )
        + (f" + {len(body[family]) - 3} more" if len(body.get(family, [])) > 3 else "")
        for family in ("penalties", "constraints")
    }
    loss = body.get("objective")
    told = "" if loss is None else loss["kind"] + (f" of {_mapped(loss['map'])}" if loss.get("map") else "")
    return {"domain": " and ".join(named), "loss": told, **terms}


def _inner(term: dict[str, Any]) -> str:
    within = term.get("domain") or term.get("set")
    return f" ({within['kind']})" if within else ""


def _named(block: dict[str, Any]) -> str:
    if block["kind"] == "product":
        return f"product ({', '.join(map(_named, block['blocks']))})"
    size = block.get("size") or block.get("shape") or sum(map(len, block.get("groups", []))) or len(block["lower"])
    return f"{block['kind']} {'x'.join(map(str, size)) if isinstance(size, list) else size}"


def _mapped(block: dict[str, Any] | None) -> str:
    if block is None:
        return "identity"
    rows = len(block.get("matrix", block.get("matrices", block.get("indices", []))))
    inner = [_mapped(each) for each in block.get("maps", [])] or ([_mapped(block["map"])] if block.get("map") else [])
    return block["kind"] + (f" {rows}" if rows else "") + (f" ({', '.join(inner)})" if inner else "")


# The page

SHARED = "The machine was shared: the limit is of the time of the processor. "

COLUMNS = (
    *("number", "kind", "domain", "loss", "penalties", "constraints", "method"),
    *("gap", "infeasible", "owed", "distance", "seconds"),
)


def page(cases: list[Case], size: int) -> str:
    judged = [case for case in cases if case.verdict not in ("no reference", "refused")]
    reached, missed = [case for case in judged if case.reached], [case for case in judged if not case.reached]
    counts = Counter(case.verdict for case in cases)
    share = 100.0 * len(reached) / max(1, len(judged))
    seconds = sorted(case.seconds for case in judged)
    references = sorted(case.reference for case in cases)
    lines = [
        "# Random problems with the defaults",
        "",
        f"Written by `python -m benchmarks.attack --defaults --size {size} --keep FILE`: {len(cases)} random "
        f"problems with vectors of up to {size} entries, half of them composed of any blocks, the others of a kind "
        "that has a name ([sized.py](sized.py)), each solved with nothing said of method and tolerances, in "
        f"{LIMIT:g} s. Optima are those of Clarabel, for cone programs written by hand ([cones.py](cones.py)). "
        f"{'' if cones.clock is time.perf_counter else SHARED}{described(machine())}",
        "",
        f"- Clarabel has an optimum of {len(judged)} of them ({counts['no reference']} without, {counts['refused']} "
        f"refused by the solver); its median is {references[len(references) // 2]:.2g} s, its slowest "
        f"{references[-1]:.2g} s.",
        f"- Converged, gap, infeasibility and what is owed all within 1e-4, the bound certified: {len(reached)} of "
        f"{len(judged)}, {share:.1f} %.",
        f"- Bounds on the wrong side: {counts['wrong bound']}. Called infeasible: {counts['called infeasible']}. "
        f"Broke: {counts['broke']}. Called converged, elsewhere: {counts['converged elsewhere']}.",
        f"- Seconds: {_quantile(seconds, 0.5)} in the median, {_quantile(seconds, 0.9)} for nine of ten, "
        f"{_quantile(seconds, 0.99)} for ninety-nine of a hundred; the longest run took {_quantile(seconds, 1.0)}.",
        "",
        "## By kind",
        "",
        "| kind | problems | converged | slowest of them, s |",
        "| --- | --- | --- | --- |",
    ]
    rows = []
    for kind in sorted({_grouped(case) for case in judged}):
        of = [case for case in judged if _grouped(case) == kind]
        good = [case for case in of if case.reached]
        slowest = f"{max(case.seconds for case in good):.2f}" if good else ""
        rows.append((len(good) / len(of), kind, f"| {kind} | {len(of)} | {len(good)} | {slowest} |"))
    lines += [row for _, _, row in sorted(rows)]
    lines += [
        "",
        "## Not converged",
        "",
        f"`python -m benchmarks.attack --defaults --size {size} --only NUMBER` makes one again. distance: of the "
        "objective from the optimum, relative.",
        "",
        f"| {' | '.join(COLUMNS)} | |",
        f"| {' | '.join(['---'] * (len(COLUMNS) + 1))} |",
    ]
    for case in sorted(missed, key=lambda case: (case.verdict == "right", case.method, _grouped(case), case.number)):
        blocks = case.blocks or {}
        figures = (case.gap, case.infeasibility, case.owed, case.distance)
        what = case.status if case.verdict == "right" else f"**{case.verdict}**"
        what += "" if case.bound_is in ("certified", "") else f", bound {case.bound_is}"
        cells = [str(case.number), case.kind, *blocks.values(), case.method, *(f"{each:.0e}" for each in figures)]
        lines.append(f"| {' | '.join([*cells, f'{case.seconds:.2f}', what])} |")
    if counts["refused"]:
        lines += ["", "## Refused", ""]
        lines += [f"- {case.number}: {case.told.splitlines()[0]}" for case in cases if case.verdict == "refused"]
    return "\n".join(lines) + "\n"


def _grouped(case: Case) -> str:
    return f"composed, {(case.blocks or {})['domain'].split(' ')[0]}" if case.kind == "composed" else case.kind


def _quantile(values: list[float], share: float) -> str:
    return f"{values[min(len(values) - 1, int(share * len(values)))]:.2f} s" if values else "none"


def kept(file: Path, size: int) -> dict[int, Case]:
    """What stands in a file of this size, made by the code as it is. What has converged in so many seconds of the wall
    does so in as many of the processor.
    """
    found: dict[int, Case] = {}
    if file.exists():
        for line in file.read_text(encoding="utf-8").splitlines():
            row = json.loads(line)
            if row.pop("code") == code() and row.pop("size") == size:
                measured, case = row.pop("clock", "perf_counter"), Case(**row)
                if measured == cones.clock.__name__ or case.reached or case.verdict == "no reference":
                    found[row["number"]] = case
    return found


def tell(case: Case, defaults: bool) -> None:
    if case.verdict in (*FAULTS, "refused"):
        print(f"{case.number}: {case.verdict}: {case.told}", flush=True)
    elif defaults and case.verdict == "right" and not case.reached:
        parts = ", ".join(f"{key} {value}" for key, value in (case.blocks or {}).items() if value)
        print(f"{case.number}: {case.kind}: {case.told}; {case.method}; {parts}", flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--count", type=int, default=300)
    parser.add_argument("--first", type=int, default=0, help="number of the first problem")
    parser.add_argument("--size", type=int, help="entries of the largest vectors; left out: 8, and fewer kinds")
    parser.add_argument("--only", type=int, help="the problem of this number alone, with its spec")
    parser.add_argument(
        "--defaults", action="store_true", help="by the default method to the default tolerances, in 5 s"
    )
    parser.add_argument("--cpu", action="store_true", help="seconds of the processor, where the machine is shared")
    parser.add_argument("--keep", type=Path, help="with --defaults and --size: keep results here, and write the page")
    options = parser.parse_args()
    if options.cpu:
        cones.clock = time.process_time
    if options.keep and not (options.defaults and options.size):
        parser.error("--keep goes with --defaults and --size")
    if options.only is not None:
        print(dump(posed(options.only, options.size, options.defaults)[0]))
        for key, value in asdict(examine(options.only, options.size, options.defaults)).items():
            print(f"{key}: {value}")
        return 0
    cases = kept(options.keep, options.size) if options.keep else {}
    counts: Counter[str] = Counter()
    for number in range(options.first, options.first + options.count):
        if number not in cases:
            cases[number] = examine(number, options.size, options.defaults)
            if options.keep:
                with open(options.keep, "a", encoding="utf-8") as file:
                    file.write(
                        json.dumps(
                            asdict(cases[number])
                            | {"size": options.size, "code": code(), "clock": cones.clock.__name__}
                        )
                        + "\n"
                    )
            tell(cases[number], options.defaults)
        case = cases[number]
        counts[f"right, {case.status}" if case.verdict == "right" else case.verdict] += 1
    print(", ".join(f"{count} {kind}" for kind, count in sorted(counts.items())))
    print(" / ".join(str(counts[kind]) for kind in FAULTS), *FAULTS, sep="  ")
    if options.keep:
        PAGE.write_text(page([cases[number] for number in sorted(cases)], options.size), encoding="utf-8")
    return int(any(counts[kind] for kind in FAULTS))


if __name__ == "__main__":
    sys.exit(main())
