"""The method of the paper beside those that it names: `python -m benchmarks.rivals [--small] [--seconds 60]`. Writes
benchmarks/rivals.md; --small takes small sizes, and the page says so.

Oracle calls, those of searches among them, and seconds to 1e-1, 1e-2 and 1e-3 in max(gap, infeasibility), both
relative, the gap as the run itself knows it: objective against its own bound. They count once the run stays there,
since the objective of an infeasible point may pass the bound. A method that is refused says why. Where a target
accuracy has to be named beforehand, it is the last of these. Below are peers that share no code with the solver
(`benchmarks.rival_peers`).
"""

from __future__ import annotations

import argparse
import math
import os
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks.rival_peers import PEERS, Peer
from benchmarks.suite.machine import ROOT, described, machine
from benchmarks.suite.methods import TARGETS
from benchmarks.suite.problems import mnist, random_graph
from cgm_cli.blocks.directions import Direction
from cgm_cli.blocks.domains.base import Domain, OracleAnswer, OracleRequest
from cgm_cli.errors import CgmError
from cgm_cli.methods.record import IterationRecord
from cgm_cli.spec.load import dump, loads
from cgm_cli.templates.build import build

LAST = TARGETS[-1]
METHODS: dict[str, dict[str, Any]] = {
    "hcgm (the paper)": {"method": "hcgm"},
    "hcgm, line search": {"method": "hcgm", "step": "line-search"},
    "cgal": {"method": "cgal"},
    "fixed target (Lan 2014)": {"method": "hcgm", "smoothing": {"kind": "fixed-target", "accuracy": LAST}},
    "upd": {"method": "upd", "correction": {"kind": "universal", "accuracy": LAST}},
    "saddle-fw": {"method": "saddle-fw"},
    "fw-al": {"method": "fw-al"},
    "ial": {"method": "ial"},
    "shcgm": {"method": "shcgm"},
    "h-1sfw": {"method": "h-1sfw"},
    "svrf": {"method": "svrf"},
    "gcg": {"method": "gcg"},
    "mirror-prox": {"method": "mirror-prox"},
    "fully-corrective": {"method": "cgal", "correction": "fully-corrective"},
    "pairwise": {"method": "hcgm", "correction": "pairwise"},
    "away-step": {"method": "hcgm", "correction": "away-step"},
    "blended": {"method": "hcgm", "correction": "blended"},
    "auto": {"method": "auto"},
}


def regression(samples: int, features: int) -> dict[str, Any]:
    """Least squares with an l1-penalty over an l1-ball, whose weights sum to one."""
    rng = np.random.default_rng(0)
    matrix, x = rng.standard_normal((samples, features)) / math.sqrt(samples), np.zeros(features)
    x[:5] = rng.dirichlet(np.ones(5))
    target = matrix @ x + 0.1 * rng.standard_normal(samples) / math.sqrt(samples)
    return {
        "domain": {"kind": "l1-ball", "size": features, "radius": 2.0},
        "objective": {
            "kind": "least-squares",
            "map": {"kind": "matrix", "matrix": matrix.tolist()},
            "target": target.tolist(),
        },
        "penalties": [{"kind": "l1", "scale": 0.01}],
        "constraints": [
            {"kind": "equals", "value": 1.0, "name": "sum", "map": {"kind": "matrix", "matrix": [[1.0] * features]}}
        ],
    }


def lasso(samples: int, features: int) -> dict[str, Any]:
    """The same least squares over an l1-ball that the solution is on, and nothing else."""
    section = regression(samples, features)
    return {"domain": section["domain"] | {"radius": 0.9}, "objective": section["objective"]}


def inpainting(size: int) -> dict[str, Any]:
    return {"template": "robust-pca", "image": "camera", "size": size, "missing": 0.25, "noise": 0.1, "radius": True}


def game(rows: int, columns: int) -> dict[str, Any]:
    return {"template": "matrix-game", "payoff": {"rows": rows, "columns": columns}}


PROBLEMS: dict[str, tuple[Callable[[], dict[str, Any]], Callable[[], dict[str, Any]]]] = {
    "MNIST clustering": (lambda: mnist(1000), lambda: mnist(100)),
    "inpainting": (lambda: inpainting(256), lambda: inpainting(48)),
    "maximum cut": (lambda: random_graph(800, 19176), lambda: random_graph(100, 400)),
    "matrix game": (lambda: game(200, 300), lambda: game(40, 60)),
    "l1-regularised least squares, sum 1": (lambda: regression(400, 200), lambda: regression(60, 40)),
    "least squares over an l1-ball": (lambda: lasso(400, 200), lambda: lasso(60, 40)),
}
"""In full, and small."""

HEAD = """# The paper's method beside those that it names

Written by `{command}`. {machine} Load of the machine when it began: {load:.1f}.

Oracle calls / seconds until max(gap, infeasibility) is at most so large, and stays so, both as the run knows them; of
each run {seconds:g} s at the most. The bound at the end is certified unless it is marked, `*` probable, `~` estimated.
Methods with a target accuracy have {last:g}. What a method is refused for stands in its row.

The rows in italics share no code with the solver, and prove nothing: SCS, begun anew for every accuracy, whose setup
comes on top of the limit, and which says itself that it is there, by a criterion that is in part absolute, so that
small objectives may be far off; SketchyCGAL, written down in benchmarks/rival_peers.py from its paper; and alternating
directions on the dual of clustering, begun anew as well. SDPNAL+ begins with a variant of these; it wants MATLAB and
was not run, and no published figure of it for a problem below was found.

"""


@dataclass
class Counted:
    """A domain's oracle, and how often it was asked."""

    domain: Domain
    calls: int = 0

    def __enter__(self) -> Counted:
        inner = self.domain.lmo

        def lmo(direction: Direction, request: OracleRequest) -> OracleAnswer:
            self.calls += 1
            return inner(direction, request)

        self.domain.lmo = lmo  # on this one domain, in place of the method of its class
        return self

    def __exit__(self, *_: object) -> None:
        del self.domain.lmo


@dataclass
class Reached:
    """For each target the oracle calls and seconds since which it is met."""

    at: dict[float, tuple[int, float]] = field(default_factory=dict)

    def note(self, error: float, calls: int, seconds: float) -> None:
        """An error that is nan says nothing."""
        for target in TARGETS:
            if error <= target:
                self.at.setdefault(target, (calls, seconds))
            elif error > target:
                self.at.pop(target, None)

    def cells(self) -> list[str]:
        found = [self.at.get(target) for target in TARGETS]
        return ["" if at is None else f"{at[0] or 'none'} / {at[1]:.2g} s" for at in found]


@dataclass
class Watch:
    """An observer that takes note of what a run knows of itself."""

    counted: Counted
    reached: Reached = field(default_factory=Reached)

    def on_record(self, record: IterationRecord) -> None:
        self.reached.note(max(record.gap, record.infeasibility), self.counted.calls, record.seconds)


def row(section: dict[str, Any], solver: dict[str, Any], seconds: float) -> tuple[Reached, list[str]]:
    """What one method has reached on one problem, and the cells of its row."""
    stop = {"gap": LAST, "infeasibility": LAST, "time": seconds, "stagnation": 10**9}
    spec = {"problem": section, "solver": {"iterations": 10**7, **solver}, "stop": stop}
    try:
        instance = build(loads(dump(spec)))
        with Counted(instance.problem.domain) as counted:
            watch = Watch(counted)
            result = instance.solve([watch])
    except CgmError as error:
        return Reached(), ["refused: " + error.message] + [""] * (len(TARGETS) + 2)
    watch.on_record(result.record)
    record, mark = result.record, {"certified": "", "probable": "*", "estimated": "~"}.get(result.bound_is, "")
    cells = [f"{record.total:.6g}", f"{mark}{record.bound:.6g}", f"{record.infeasibility:.0e}"]
    return watch.reached, [*watch.reached.cells(), *cells]


def peer_row(section: dict[str, Any], peer: Peer, seconds: float) -> tuple[Reached, list[str]] | None:
    """The same of a peer; None where it does not take the problem."""
    spec = loads(dump({"problem": section}))
    reached, look = Reached(), None
    for look in peer(spec, build(spec).template, TARGETS, seconds):
        reached.note(look.error, look.calls, look.seconds)
    if look is None:
        return None
    bound = "" if math.isnan(look.bound) else f"~{look.bound:.6g}"
    missed = "" if math.isnan(look.infeasibility) else f"{look.infeasibility:.0e}"
    return reached, [*reached.cells(), f"{look.objective:.6g}", bound, missed]


def table(title: str, section: dict[str, Any], seconds: float) -> str:
    """All methods and peers on one problem, and who was first."""
    columns = ["method", *(f"to {target:g}" for target in TARGETS), "objective", "bound", "infeasible"]
    lines, found = [columns, ["---"] * len(columns)], dict[str, Reached]()
    for name, solver in METHODS.items():
        found[name], cells = row(section, solver, seconds)
        lines.append([name, *cells])
        print(f"{title}: {' | '.join(lines[-1])}", flush=True)
    for name, peer in PEERS.items():
        measured = peer_row(section, peer, seconds)
        if measured is not None:
            found[name], cells = measured
            lines.append([f"*{name}*", *cells])
            print(f"{title}: {' | '.join(lines[-1])}", flush=True)
    rows = "".join("| " + " | ".join(line) + " |\n" for line in lines)
    return f"## {title}\n\n{rows}\n{first(found)}\n\n"


def first(found: dict[str, Reached]) -> str:
    """Who met each target in the fewest seconds, and in the fewest oracle calls."""
    parts = []
    for target in TARGETS:
        met = {name: reached.at[target] for name, reached in found.items() if target in reached.at}
        asked = {name: at for name, at in met.items() if at[0] > 0}
        if not met:
            parts.append(f"to {target:g} none")
            continue
        fastest = min(met, key=lambda name: met[name][1])
        fewest = min(asked, key=lambda name: asked[name][0], default="")
        parts.append(
            f"to {target:g} {fastest}" + (f" ({fewest} by oracle calls)" if fewest not in ("", fastest) else "")
        )
    return f"First: {'; '.join(parts)}."


def main() -> None:
    """Measure, print and save the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--small", action="store_true", help="small sizes")
    parser.add_argument("--seconds", type=float, default=60.0, help="the most of one run")
    given = parser.parse_args()
    load = os.getloadavg()[0]
    with threadpool_limits(1):
        tables = [table(title, sizes[given.small](), given.seconds) for title, sizes in PROBLEMS.items()]
    command = f"python -m benchmarks.rivals{' --small' if given.small else ''} --seconds {given.seconds:g}"
    head = HEAD.format(command=command, machine=described(machine()), load=load, seconds=given.seconds, last=LAST)
    (ROOT / "benchmarks" / "rivals.md").write_text(head + "".join(tables), encoding="utf-8")


if __name__ == "__main__":
    main()
