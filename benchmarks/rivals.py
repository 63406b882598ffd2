"""The method of the paper beside those that it names: `python -m benchmarks.rivals [--small] [--seconds 60]`. Writes
benchmarks/rivals.md; --small takes small sizes, and the page says so.

Oracle calls, those of searches among them, and seconds to 1e-1, 1e-2 and 1e-3 in max(gap, infeasibility), both
relative, the gap as the run itself knows it: objective against its own bound. They count once the run stays there,
since the objective of an infeasible point may pass the bound. A method that is refused says why. Where a target
accuracy has to be named beforehand, it is the last of these.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

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
}
"""In full, and small."""

HEAD = """# The paper's method beside those that it names

Written by `{command}`. {machine}

Oracle calls / seconds until max(gap, infeasibility) is at most so large, and stays so, both as the run knows them; of
each run {seconds:g} s at the most. The bound at the end is certified unless it is marked, `*` probable, `~` estimated.
Methods with a target accuracy have {last:g}. Not measured here: SDPNAL+, SketchyCGAL and SCS.

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

    counted: Counted
    at: dict[float, tuple[int, float]] = field(default_factory=dict)

    def on_record(self, record: IterationRecord) -> None:
        error = max(record.gap, record.infeasibility)
        for target in TARGETS:
            if error <= target:
                self.at.setdefault(target, (self.counted.calls, record.seconds))
            else:
                self.at.pop(target, None)


def row(section: dict[str, Any], solver: dict[str, Any], seconds: float) -> list[str]:
    """The cells of one method on one problem."""
    stop = {"gap": LAST, "infeasibility": LAST, "time": seconds, "stagnation": 10**9}
    spec = {"problem": section, "solver": {"iterations": 10**7, **solver}, "stop": stop}
    try:
        instance = build(loads(dump(spec)))
        with Counted(instance.problem.domain) as counted:
            reached = Reached(counted)
            result = instance.solve([reached])
    except CgmError as error:
        return ["refused: " + error.message] + [""] * (len(TARGETS) + 2)
    reached.on_record(result.record)
    cells = [f"{reached.at[t][0]} / {reached.at[t][1]:.2g} s" if t in reached.at else "" for t in TARGETS]
    record, mark = result.record, {"certified": "", "probable": "*", "estimated": "~"}.get(result.bound_is, "")
    return [*cells, f"{record.total:.6g}", f"{mark}{record.bound:.6g}", f"{record.infeasibility:.0e}"]


def table(title: str, section: dict[str, Any], seconds: float) -> str:
    """All methods on one problem."""
    columns = ["method", *(f"to {target:g}" for target in TARGETS), "objective", "bound", "infeasible"]
    lines = [columns, ["---"] * len(columns)]
    for name, solver in METHODS.items():
        lines.append([name, *row(section, solver, seconds)])
        print(f"{title}: {' | '.join(lines[-1])}", flush=True)
    return f"## {title}\n\n" + "".join("| " + " | ".join(line) + " |\n" for line in lines) + "\n"


def main() -> None:
    """Measure, print and save the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--small", action="store_true", help="small sizes")
    parser.add_argument("--seconds", type=float, default=60.0, help="the most of one run")
    given = parser.parse_args()
    with threadpool_limits(1):
        tables = [table(title, sizes[given.small](), given.seconds) for title, sizes in PROBLEMS.items()]
    command = "python -m benchmarks.rivals" + (f" --small --seconds {given.seconds:g}" if given.small else "")
    head = HEAD.format(command=command, machine=described(machine()), seconds=given.seconds, last=LAST)
    (ROOT / "benchmarks" / "rivals.md").write_text(head + "".join(tables), encoding="utf-8")


if __name__ == "__main__":
    main()
