"""Rows -> the tables, for the terminal and for RESULTS.md."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
from rich.table import Table

from benchmarks.suite.machine import described
from benchmarks.suite.methods import TARGETS
from benchmarks.suite.problems import named
from benchmarks.suite.references import Reference

if TYPE_CHECKING:
    from benchmarks.suite.run import Options

Rows = list[dict[str, Any]]

HEAD = """<!-- Written by `python -m benchmarks run --peers`. Do not edit. -->
# Methods and peers, measured

{machine}

Every row is a process of its own, on a machine that does nothing else. All errors are relative to max(1, |F\\*|).

- **point to e**: seconds of solving until the error of the objective and the infeasibility are both at most e.
- **with bound to e**: until the error of the lower bound is as small, too: what a user without a reference waits for.
  The bound shown while a run goes on may be an estimate; that of the end is in the column `bound`.
- A method of ours stops when it has reached {last:g} with its bound, or after {limit:g} s; certifying its bound comes
  on top. A peer stops by its own rule, or after {peer:g} s; its point is what it returned, evaluated here, and its
  seconds leave out what it takes to make its input. SCS is asked for 1e-2, 1e-3 and 1e-5 in turn.
- **off**: error of the objective at the end. **bound**: (F\\* - bound) / max(1, |F\\*|), taken the other way round for
  a maximisation; c: certified, e: estimated. **peak**: of the memory of the whole process, with Python's libraries.
"""


def markdown(rows: Rows, machine: dict[str, Any], references: dict[str, Reference], options: Options) -> str:
    """All of RESULTS.md."""
    settings = {"last": TARGETS[-1], "limit": options.limit, "peer": options.peer_limit}
    head = HEAD.format(machine=described(machine), **settings)
    parts = [head]
    for title, columns, cells in everything(rows, references):
        lines = [columns, ["---"] * len(columns), *cells]
        parts.append(f"## {title}\n\n" + "".join("| " + " | ".join(line) + " |\n" for line in lines))
    return "\n".join(parts)


def rich_tables(rows: Rows, references: dict[str, Reference]) -> Iterator[Table]:
    for title, columns, cells in everything(rows, references):
        table = Table(*(column.replace("\\*", "*") for column in columns), title=title)
        for line in cells:
            table.add_row(*line)
        yield table


def everything(rows: Rows, references: dict[str, Reference]) -> Iterator[tuple[str, list[str], list[list[str]]]]:
    """Title, columns and cells of every table that has rows."""
    found = [
        ("Time to accuracy", TIME, [_time(row) for row in rows]),
        ("How cost grows with n", GROWTH, list(_growth(rows))),
        ("Where the seconds go", *_profile(rows)),
        ("References", ["problem", "F\\*", "+-", "how"], list(_references(rows, references))),
    ]
    yield from (table for table in found if table[2])


TIME = [
    "problem",
    "solver",
    *(f"point to {target:.0e}" for target in TARGETS),
    *(f"with bound to {target:.0e}" for target in TARGETS),
    "off",
    "infeasible",
    "bound",
    "peak, MB",
    "seconds",
    "remark",
]


def _time(row: dict[str, Any]) -> list[str]:
    blank = [None] * len(TARGETS)
    remark = [row.get(name) for name in ("missing", "failed", "stopped")]
    if row["peer"] and row.get("setting"):
        remark.append(f"last: {row['setting']}")
    kind = {"certified": " c", "estimated": " e"}.get(row.get("bound_is", ""), "")
    return [
        row["problem"],
        row["solver"],
        *map(_seconds, row.get("to_primal", blank)),
        *map(_seconds, row.get("to_all", blank)),
        _error(row.get("objective_error")),
        _error(row.get("infeasibility")),
        _error(row.get("bound_error")) + kind,
        f"{row['peak'] / 1e6:.0f}" if row.get("peak") and "missing" not in row else "",
        _seconds(row.get("seconds")),
        "; ".join(filter(None, remark)),
    ]


def _seconds(value: float | None) -> str:
    return "" if value is None else f"{value:.3g}"


def _error(value: float | None) -> str:
    return "" if value is None else f"{value:.1e}"


GROWTH = ["problems", "method", "n", "seconds per iteration ~ n^", "memory ~ n^", "edges + n log n ~ n^"]


def _growth(rows: Rows) -> Iterator[list[str]]:
    """Exponents, by least squares of logarithms: of the median time of the first iterations, of the memory beyond that
    of the program, and of the promise. For matrices written out there is no such promise: they take n^2.
    """
    families: dict[tuple[str, str], Rows] = {}
    for row in rows:
        if not row["peer"] and row.get("seconds_per_iteration") and named(row["problem"]).scaling:
            families.setdefault((row["family"], row["solver"]), []).append(row)
    for (family, solver), members in families.items():
        members.sort(key=lambda row: row["size"])
        sizes = np.array([row["size"] for row in members], dtype=float)
        if len(set(sizes)) < 2:
            continue
        memory = np.array([row["peak"] - row["memory_before"] for row in members], dtype=float)
        promised = np.array([row["sparse"] for row in members]) + sizes * np.log(sizes)
        yield [
            {"max-cut": "max-cut, random graphs with 4 n edges", "kmeans": "k-means"}[family],
            solver,
            ", ".join(f"{size:.0f}" for size in sizes),
            f"{slope(sizes, np.array([row['seconds_per_iteration'] for row in members])):.2f}",
            f"{slope(sizes, memory):.2f}" if (memory > 0).all() else "none to see",
            f"{slope(sizes, promised):.2f}" if family == "max-cut" else "(n^2 entries)",
        ]


def slope(sizes: np.ndarray, values: np.ndarray) -> float:
    """The exponent p of the power law values ~ sizes^p that fits best."""
    return float(np.polyfit(np.log(sizes), np.log(values), 1)[0])


def _profile(rows: Rows) -> tuple[list[str], list[list[str]]]:
    kept = [row for row in rows if row.get("phases")]
    names = sorted({name for row in kept for name, seconds in row["phases"].items() if seconds > 0.0})
    columns = ["problem", "method", "iterations", "ms each", *(f"{name}, %" for name in names)]
    cells = []
    for row in kept:
        total = sum(row["phases"].values()) or 1.0
        each = row.get("seconds_per_iteration")
        cells.append([
            row["problem"],
            row["solver"],
            str(row["iterations"]),
            "" if each is None else f"{1e3 * each:.3g}",
            *(f"{100 * row['phases'].get(name, 0.0) / total:.0f}" for name in names),
        ])  # fmt: skip
    return columns, cells


def _references(rows: Rows, references: dict[str, Reference]) -> Iterator[list[str]]:
    for name in dict.fromkeys(row["problem"] for row in rows):
        if name in references:
            entry = references[name]
            yield [name, f"{entry.value:.9g}", f"{entry.uncertainty:.0e}", entry.how]
