"""docs/field.md: applications of the field, each against a value known from elsewhere: `python -m benchmarks.field`.

A row is one entry of CASES. With parts of names only those are run, and the table goes to standard output. Networks
other than case9 and case14 are taken where they are among the data files ($CGM_DATA). `--limit`: seconds of each run;
`--cpu`: seconds of the processor, which a machine that is shared disturbs less.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.suite.machine import THREADS, described, machine

os.environ.update(THREADS)  # before any BLAS is loaded

import numpy as np

from benchmarks import cones
from benchmarks.auto import measure
from cgm_cli.api import solve
from cgm_cli.display.answer import Answer
from cgm_cli.errors import DataError
from cgm_cli.runs.load import load_run
from cgm_cli.verify.claims import rebuild
from tests.templates import programs

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "field.md"
NEAR = 1e-3
"""How far from the known value the objective may be, relative, where the row says nothing else."""

BOUNDS = {"distance": "least_distance"}
"""What bounds a figure that is not the objective."""

HEAD = """\
<!-- Written by `python -m benchmarks.field`. Do not edit. -->
# Applications of the field

Each by its template at the defaults, a gap and an infeasibility of 1e-4, by one thread, beside a value known from
elsewhere. Missed are values more than 0.1 % off (costs of power flows 0.5 %), bounds that are not certified, or lie
beyond the value by more than it is known to, and runs that did not converge in {limit:g} s, or take more than 10 s, of
nearest correlations 5 s.

{missed}

`found`: the figure in the second column, of the answer. `bound`: what no answer can pass, where it is certified. `gap`:
between the objective and its bound. `s`: of the run, reading and rounding included. `rounded`: what the template makes
of x: the share of the bound that a sparse component reaches; how far, in percent, a dispatch is above the bound at
most; errors on samples held out, of estimates against what samples were drawn from, and of signals, but
for a phase; edges that a permutation misses.

"""
COLUMNS = ("problem", "figure", "size", "s", "found", "bound", "gap", "known", "by", "rounded")


@dataclass(frozen=True)
class Known:
    """value: of the figure. by: who has it. digits: how far it is known, absolute."""

    value: float
    by: str
    error: float = 0.0


@dataclass(frozen=True)
class Case:
    """problem: of the spec, made when its turn comes. figure: of the answer. known: of it, computed from the built
    template where that is a function; None: nobody knows it. seconds: that it may take. rounded: a metric shown, and
    how. near: how far the figure may be from the known value, relative.
    """

    name: str
    problem: Callable[[], dict[str, Any]]
    size: str
    known: Known | Callable[[Any], Known] | None
    figure: str = "objective"
    seconds: float = 10.0
    rounded: tuple[str, str] | None = None
    near: float = NEAR


def fixed(**problem: Any) -> Callable[[], dict[str, Any]]:
    return lambda: problem


def correlations(n: int) -> Callable[[], dict[str, Any]]:
    """Entries between -1 and 1 that are no correlations."""

    def drawn() -> dict[str, Any]:
        a = np.random.default_rng(0).uniform(-1.0, 1.0, (n, n))
        matrix = 0.5 * (a + a.T)
        np.fill_diagonal(matrix, 1.0)
        return {"template": "nearest-correlation", "matrix": matrix}

    return drawn


def disturbed(n: int) -> Callable[[], dict[str, Any]]:
    """Correlations of 5 n samples, and errors of up to 0.1."""

    def drawn() -> dict[str, Any]:
        rng = np.random.default_rng(0)
        a = np.corrcoef(rng.standard_normal((n, 5 * n))) + 0.1 * np.triu(rng.uniform(-1.0, 1.0, (n, n)), 1)
        matrix = np.triu(a, 1)
        return {"template": "nearest-correlation", "matrix": matrix + matrix.T + np.eye(n)}

    return drawn


def network(name: str, cost: float, seconds: float = 10.0, near: float = 5e-3) -> Case:
    """cost: of MATPOWER's interior-point solver, which the relaxation can lie below."""
    return Case(
        f"optimal power flow, {name}",
        fixed(template="optimal-power-flow", case={"file": f"{name}.m"}),
        f"{''.join(filter(str.isdigit, name))} buses",
        Known(cost, "MATPOWER, a local optimum", 0.5),
        seconds=seconds,
        rounded=("certified_percent", "{:.3f} %"),
        near=near,
    )


def component(built: Any) -> Known:
    """Over the variables that are left."""
    inner = built.covariance[np.ix_(built.variables, built.variables)]
    return Known(programs.largest_component(inner, penalty=built.penalty), "Clarabel, of those left", 1e-3)


def newton(built: Any) -> Known:
    return Known(programs.correlation_by_newton(built.target), "Newton (Qi and Sun 2006)", 1e-4)


def margin(built: Any) -> Known:
    return Known(programs.kernel_margin(built), "Clarabel", 1e-6)


def crammer_singer(built: Any) -> Known:
    points = np.column_stack([built.train.points, np.ones(len(built.train.points))])
    value = programs.crammer_singer(points, built.train.labels, built.regularisation)
    return Known(value, "scikit-learn (LIBLINEAR)", 1e-6)


def labelled(built: Any) -> Known:
    return Known(programs.labelled_sequences(built), "Clarabel", 1e-6)


def together(built: Any) -> Known:
    return Known(programs.tasks_together(built), "Clarabel", 1e-6)


def covariance(built: Any) -> Known:
    return Known(programs.covariance_optimum(built), "Clarabel", 1e-6)


def matching(built: Any) -> Known:
    return Known(programs.matching_relaxation(built.first, built.second), "Clarabel", 1e-6)


def energy(built: Any) -> Known:
    return Known(programs.energy(built), "the true signal")


def lengths(built: Any) -> Known:
    return Known(programs.product_of_lengths(built), "the true signals")


GENES = {"genes": 2000, "samples": 200, "factors": 3, "active": 20}
RATIO = ("certified_ratio", "{:.4f}")
CASES = [
    Case(
        "sparse PCA, pit props, k = 5",
        fixed(template="sparse-pca", covariance="pitprops", cardinality=5),
        "13",
        Known(3.458099, "Clarabel", 1e-6),
        rounded=RATIO,
    ),
    Case(
        "sparse PCA, pit props, penalty 0.1",
        fixed(template="sparse-pca", covariance="pitprops", penalty=0.1),
        "13",
        Known(3.346005, "Clarabel", 1e-6),
        rounded=RATIO,
    ),
    Case(
        "sparse PCA, genes, penalty 0.8",
        fixed(template="sparse-pca", covariance=GENES, penalty=0.8),
        "2000",
        component,
        rounded=RATIO,
    ),
    Case(
        "sparse PCA, genes, k = 20",
        fixed(template="sparse-pca", covariance=GENES, cardinality=20),
        "2000",
        None,
        rounded=RATIO,
    ),
    Case(
        "nearest correlation, Higham's",
        fixed(template="nearest-correlation", matrix=[[2, -1, 0, 0], [-1, 2, -1, 0], [0, -1, 2, -1], [0, 0, -1, 2]]),
        "4",
        Known(2.133729, "Higham 2002, Clarabel", 1e-6),
        "distance",
    ),
    Case("nearest correlation, random", correlations(1000), "1000", newton, "distance", 5.0),
    Case("nearest correlation, disturbed", disturbed(1000), "1000", newton, "distance", 5.0),
    Case(
        "kernels for a support vector machine",
        lambda: {
            "template": "kernel-learning",
            "data": "breast-cancer",
            "test_fraction": 0.2,
            "kernels": [
                {"kind": "linear"},
                *({"kind": "polynomial", "degree": degree} for degree in (2, 3)),
                *({"kind": "gaussian", "width": width} for width in (0.25, 0.5, 1.0)),
            ],
        },
        "455 samples, 6 kernels",
        margin,
        rounded=("test_error", "{:.3f}"),
    ),
    Case(
        "multiclass support vector machine, digits",
        fixed(template="structured-svm", points="digits", regularisation=0.1, test_fraction=0.25),
        "1348 points, 10 labels",
        crammer_singer,
        rounded=("test_error", "{:.3f}"),
    ),
    Case(
        "support vector machine of sequences, digits",
        fixed(template="structured-svm", points="digit-sequences", regularisation=1.0, test_fraction=0.25),
        "60 sequences, 10 labels",
        labelled,
        rounded=("test_error", "{:.3f}"),
    ),
    Case(
        "trace-norm regression of several tasks, random",
        fixed(
            template="multi-task-regression",
            data={"samples": 400, "features": 60, "tasks": 30, "rank": 3, "noise": 0.5, "missing": 0.2},
            radius=12.0,
            test_fraction=0.25,
        ),
        "60 features, 30 tasks",
        together,
        rounded=("test_error", "{:.3f}"),
    ),
    Case(
        "covariance, sparse and of low rank, random",
        fixed(
            template="covariance-estimation",
            covariance={"variables": 60, "samples": 40, "blocks": 6},
            penalty=0.3,
            radius=60.0,
        ),
        "60 variables",
        covariance,
        rounded=("error", "{:.3f}"),
    ),
    Case(
        "covariance, sparse plus low rank, random",
        fixed(
            template="covariance-estimation",
            covariance={"variables": 60, "samples": 300, "blocks": 15, "factors": 2},
            structure="sum",
            penalty=0.2,
            radius=90.0,
        ),
        "60 variables",
        covariance,
        rounded=("error", "{:.3f}"),
    ),
    Case(
        "graph matching, karate club and a copy, 5 % rewired",
        fixed(
            template="graph-matching", first={"file": str(ROOT / "configs" / "karate.csv")}, second={"rewired": 0.05}
        ),
        "34 nodes, 78 edges",
        matching,
        rounded=("mismatch", "{:.0f}"),
    ),
    Case(
        "phase retrieval, random, 10 masks",
        fixed(template="phase-retrieval", signal={"size": 1000}),
        "1000",
        energy,
        rounded=("error", "{:.0e}"),
    ),
    Case(
        "phase retrieval, photograph, 10 masks",
        fixed(template="phase-retrieval", signal="camera", size=32),
        "32 x 32",
        energy,
        rounded=("error", "{:.0e}"),
    ),
    Case(
        "phase retrieval, photograph, 25 discs",
        fixed(template="phase-retrieval", signal="camera", size=24, masks={"across": 5, "radius": 0.2}),
        "24 x 24",
        energy,
        rounded=("error", "{:.0e}"),
    ),
    Case(
        "blind deconvolution, photograph",
        fixed(template="blind-deconvolution", signal={"length": 2048, "taps": 20, "message": "camera", "size": 16}),
        "20 x 256",
        lengths,
        rounded=("error", "{:.0e}"),
    ),
    network("case9", 5296.69),
    network("case14", 8081.53),
    network("case30", 576.89),
    network("case57", 41737.79),
    network("case118", 129660.69),
]


def solved(case: Case, limit: float) -> tuple[Answer, float, Any] | None:
    """The answer, its seconds, and the template; None where its file is not there."""
    with tempfile.TemporaryDirectory() as folder:
        spec = {"name": "field", "problem": case.problem(), "stop": {"gap": 1e-4, "infeasibility": 1e-4, "time": limit}}
        began = cones.clock()
        try:
            answer = solve(spec, out=Path(folder) / "run")
        except DataError as error:
            if "no data file" in error.message:
                return None
            raise
        seconds = cones.clock() - began
        return answer, seconds, rebuild(load_run(Path(folder) / "run"))[1].template


def row(case: Case, limit: float) -> tuple[tuple[str, ...], str] | None:
    """The cells, and what it misses, which may be nothing; None where its file is not there."""
    found = solved(case, limit)
    if found is None:
        return None
    answer, seconds, template = found
    known = case.known(template) if callable(case.known) else case.known
    value = answer.objective if case.figure == "objective" else answer.metrics[case.figure]
    certified = answer.bound_is == "certified"
    misses = list[str]()
    if answer.status.value != "converged":
        misses.append(f"ended by {answer.status.value}")
    if not certified:
        misses.append("no certified bound")
    if seconds > case.seconds:
        misses.append(f"takes {seconds:.1f} s, not {case.seconds:g}")
    if known is not None and abs(value - known.value) > case.near * abs(known.value) + known.error:
        misses.append(f"{case.figure} {value:.6g}, not {known.value:.6g}")
    sign = 1.0 if answer.sense == "minimise" else -1.0
    bound = answer.metrics.get(BOUNDS.get(case.figure, ""), answer.bound)
    if known is not None and certified and sign * (bound - known.value) > known.error + 1e-6 * abs(known.value):
        misses.append("a bound beyond the known value")
    shown = case.rounded and answer.metrics.get(case.rounded[0])
    cells = (
        case.name,
        case.figure,
        case.size,
        f"{seconds:.2f}",
        f"{value:.7g}",
        f"{bound:.7g}{'' if certified else ' (' + answer.bound_is + ')'}",
        f"{answer.gap:.0e}",
        "" if known is None else f"{known.value:.7g}",
        "" if known is None else known.by,
        "" if shown is None else case.rounded[1].format(shown),  # pyright: ignore[reportOptionalSubscript]
    )
    return cells, ", ".join(misses)


def table(lines: list[tuple[str, ...]]) -> str:
    return "".join("| " + " | ".join(cells) + " |\n" for cells in lines)


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("names", nargs="*", help="parts of the names of rows")
    parser.add_argument("--limit", type=float, default=60.0, help="seconds of each run")
    parser.add_argument("--cpu", action="store_true", help="seconds of the processor, where the machine is shared")
    options = parser.parse_args(arguments)
    names: list[str] = options.names
    if options.cpu:
        cones.clock = time.process_time
    # What is compiled or loaded at first use is no part of a problem.
    solved(CASES[0], options.limit)
    lines: list[tuple[str, ...]] = [COLUMNS, ("---",) * len(COLUMNS)]
    missed, absent = list[str](), list[str]()
    for case in CASES:
        if names and not any(name in case.name for name in names):
            continue
        found = row(case, options.limit)
        if found is None:
            absent.append(case.name)
            continue
        cells, misses = found
        lines.append(cells)
        if misses:
            missed.append(f"{case.name}: {misses}")
        print(*cells, misses, sep=" | ", flush=True)
    told = "Missed:\n\n" + "".join(f"- {each}\n" for each in missed) if missed else "Nothing is missed."
    if absent:
        told += f"\nNot run, their files being absent: {', '.join(absent)}."
    page = f"{HEAD.format(limit=options.limit, missed=told.strip())}{table(lines)}\n{measure()}{described(machine())}\n"
    if names:
        print(page)
    else:
        PAGE.write_text(page, encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
