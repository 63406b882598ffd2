"""Maximum cut against LoRADS, at its accuracies: `python -m benchmarks.rival`. Writes benchmarks/rival.md.

Both run in turn, and of each the fastest run counts, because a shared machine only ever adds to a time. Ours is asked
for a gap and an infeasibility no larger than the error that LoRADS was left with, and its seconds hold the certificate.
"""

from __future__ import annotations

import math
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from threadpoolctl import threadpool_limits

from benchmarks.suite import sdp
from benchmarks.suite.machine import ROOT, described, machine
from benchmarks.suite.peers import LORADS, find_lorads, printed_by_lorads
from benchmarks.suite.problems import grid, gset, random_graph
from cgm_cli.solving.result import Result
from cgm_cli.spec.load import dump, loads
from cgm_cli.templates.build import build

PROBLEMS: dict[str, Callable[[], dict[str, Any]]] = {
    "G1": lambda: gset("G1"),
    "random, 2000 nodes, 19990 edges (as G22)": lambda: random_graph(2000, 19990),
    "grid of 10000 nodes (as G67)": lambda: grid(100, 100),
}
REPEATS = 3
EXACT = 1e-6
"""Gap and infeasibility of the run that errors are measured against."""

COLUMNS = ["problem", "solver", "objective off", "infeasible", "bound off", "seconds", "of which bound or dual check"]

HEAD = """# Maximum cut, at the accuracies of LoRADS

Written by `python -m benchmarks.rival`. {machine}

Objective and infeasibility of LoRADS are what it prints; the bound of `cgm`, `method: auto`, is certified. Errors are
relative. Seconds are of solving, without reading; the fastest of {repeats}, in turn.

"""


def solved(section: dict[str, Any], accuracy: float) -> Result:
    """By `auto`, to this gap and infeasibility."""
    stop = {"gap": accuracy, "infeasibility": accuracy}
    solver = {"method": "auto", "iterations": 1000}
    return build(loads(dump({"problem": section | {"hyperplanes": 1}, "solver": solver, "stop": stop}))).solve()


def compared(name: str, section: dict[str, Any], where: str) -> list[list[str]]:
    """The rows of one problem."""
    exact, program = solved(section, EXACT), sdp.program(build(loads(dump({"problem": section}))).template)
    optimum = 0.5 * (exact.record.total + exact.record.bound)
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        problem = Path(folder) / "problem.dat-s"
        sdp.write_sdpa(program, problem)
        for setting, options in LORADS.items():
            theirs, ours, accuracy = [], [], math.inf
            for _ in range(REPEATS):
                theirs.append(printed_by_lorads(where, problem, options, 600.0))
                off = abs(program.sign * theirs[-1].objective / optimum - 1.0)
                missed = theirs[-1].violation * (1.0 + program.size) / math.sqrt(program.size)
                accuracy = max(off, missed)
                ours.append(solved(section, accuracy))
            their, our = min(theirs, key=lambda run: run.seconds), min(ours, key=lambda run: run.record.seconds)
            figures = [f"{off:.1e}", f"{missed:.1e}", "none", f"{their.seconds:.2f}", f"{their.checking:.2f}"]
            rows.append([name, f"LoRADS, {setting}", *figures])
            record, certificate = our.record, our.certificate
            figures = [abs(record.total / optimum - 1.0), record.infeasibility, abs(record.bound / optimum - 1.0)]
            spent = "" if certificate is None else f"{certificate.seconds:.2f}"
            rows.append(
                [
                    name,
                    f"cgm to {accuracy:.1e}",
                    *(f"{figure:.1e}" for figure in figures),
                    f"{record.seconds:.2f}",
                    spent,
                ]
            )
    return rows


def main() -> None:
    """Measure, print and save the table."""
    where, rows = find_lorads(), [COLUMNS, ["---"] * len(COLUMNS)]
    with threadpool_limits(1):
        for name, section in PROBLEMS.items():
            rows += compared(name, section(), where)
    text = HEAD.format(machine=described(machine()), repeats=REPEATS)
    text += "".join("| " + " | ".join(row) + " |\n" for row in rows)
    (ROOT / "benchmarks" / "rival.md").write_text(text, encoding="utf-8")
    print(text)


if __name__ == "__main__":
    main()
