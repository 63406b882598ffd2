"""`python -m benchmarks run`: every row in a process of its own, one after the other; then the tables."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console

from benchmarks.suite import tables
from benchmarks.suite.machine import ROOT, THREADS, code, machine
from benchmarks.suite.methods import methods
from benchmarks.suite.peers import PEERS, PROGRAMS, linked_blas
from benchmarks.suite.problems import Problem, cache_folder, problems
from benchmarks.suite.references import known
from benchmarks.suite.store import Store, key
from benchmarks.suite.watched import watch

GRACE = 60.0
"""Seconds beyond its limit that a row may take for reading, making its input, certifying and evaluating."""


@dataclass(frozen=True)
class Options:
    """peers: measure them, too. only: names of problems; none: all. quick: small problems, into the cache folder.
    fresh: measure again what is there. limit, peer_limit: seconds of solving per row. memory: bytes per process.
    """

    peers: bool = False
    only: tuple[str, ...] = ()
    quick: bool = False
    fresh: bool = False
    limit: float = 8.0
    peer_limit: float = 30.0
    memory: float = 6e9

    @property
    def folder(self) -> Path:
        return cache_folder() if self.quick else ROOT / "benchmarks"

    def jobs(self) -> Iterator[tuple[Problem, dict[str, Any]]]:
        """All that a table may hold, in its order; `wants` says what is measured now."""
        for problem in problems():
            if problem.quick == self.quick:
                for solver, section in methods(problem).items():
                    yield problem, _job(problem, solver, self.limit, section, None)
                for peer in PEERS[problem.family]:
                    yield problem, _job(problem, peer, self.peer_limit, None, peer)

    def wants(self, job: dict[str, Any]) -> bool:
        return (not self.only or job["problem"] in self.only) and (self.peers or not job["peer"])


def _job(problem: Problem, solver: str, limit: float, section: dict[str, Any] | None, peer: str | None):
    job = {"problem": problem.name, "name": solver, "solver": section, "peer": peer, "limit": limit}
    return job | {"blas": linked_blas(PROGRAMS[peer])} if peer in PROGRAMS else job


def run(options: Options, console: Console) -> list[dict[str, Any]]:
    """Measure what is missing, write RESULTS.md and RESULTS.json into the folder, print the tables; returns the rows.

    The tables hold every row that is there, those of earlier runs on this machine and by this code as well. A
    KeyboardInterrupt passes on when they are written.
    """
    here, source, references = machine(), code(), known()
    store = Store(options.folder / "RESULTS.json")
    jobs = []
    for problem, job in options.jobs():
        rests_on = job | {"memory": options.memory, "reference": references.get(problem.name)}
        jobs.append((problem, job, key(rests_on, here, source)))
    wanted = [each for each in jobs if options.wants(each[1])]
    failed: dict[tuple[str, str], int] = {}
    try:
        for number, (problem, job, name) in enumerate(wanted, start=1):
            # What was not here may be by now.
            if options.fresh or not store.rows.get(name, {"here": False}).get("here", True):
                console.print(f"[{number}/{len(wanted)}] {problem.name}: {job['name']}", markup=False, highlight=False)
                store.put(name, _row(problem, job, options, failed))
            if job["peer"] and _gave_up(store.rows[name]):
                failed.setdefault((problem.family, job["peer"]), problem.size)
    finally:
        rows = [store.rows[name] for _, _, name in jobs if name in store.rows]
        text = tables.markdown(rows, here, references, options)
        (options.folder / "RESULTS.md").write_text(text, encoding="utf-8")
        for table in tables.rich_tables(rows, references):
            console.print(table)
        console.print(f"{options.folder / 'RESULTS.md'}: {len(rows)} rows of {len(jobs)}", highlight=False)
    return rows


def _gave_up(row: dict[str, Any]) -> bool:
    """Whether a peer was there, but had to be stopped or had nothing to show: larger problems are not tried then."""
    return bool(row.get("stopped")) or ("to_primal" not in row and row.get("here", True))


def _row(problem: Problem, job: dict[str, Any], options: Options, failed: dict[tuple[str, str], int]) -> dict[str, Any]:
    row: dict[str, Any] = {"problem": problem.name, "solver": job["name"], "peer": bool(job["peer"])}
    row |= {"family": problem.family, "size": problem.size, "sparse": problem.sparse}
    smallest = failed.get((problem.family, job["name"]), problem.size) if job["peer"] else problem.size
    if smallest < problem.size:
        return row | {"missing": f"not tried: too much for it at n = {smallest}"}
    if job["name"] in ("SCS", "Clarabel", "CSDP", "DSDP") and 5 * 8 * problem.size**2 > options.memory:
        return row | {"missing": f"not tried: five n x n matrices are more than {options.memory / 1e9:g} GB"}
    command = [sys.executable, "-m", "benchmarks.suite.child"]
    found = watch(command, json.dumps(job), job["limit"] + GRACE, options.memory, THREADS)
    lines = found.output.splitlines()
    if lines:
        row |= json.loads(lines[-1])
    row |= {"peak": found.peak, "stopped": found.stopped}
    if found.code != 0 and not found.stopped:
        last = (found.errors.strip().splitlines() or [f"exit code {found.code}"])[-1]
        row["failed" if lines else "missing"] = f"ended with an error: {last[:200]}"
    return row
