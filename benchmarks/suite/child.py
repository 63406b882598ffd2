"""One row, in a process of its own: `python -m benchmarks.suite.child` reads a job from standard input (JSON: problem,
solver, peer, limit) and writes what it measured, line by line; the last line counts.

Its memory is watched from outside (benchmarks.suite.watched), and so it can be stopped at any time.
"""

from __future__ import annotations

import json
import sys
from typing import Any

from benchmarks.suite.methods import first, measure
from benchmarks.suite.peers import PEERS, NoResult
from benchmarks.suite.problems import NotHere, Problem, named, problems
from benchmarks.suite.references import Reference, known
from benchmarks.suite.watched import peak
from cgm_cli.errors import CgmError
from cgm_cli.templates.build import build


def main() -> None:
    job = json.load(sys.stdin)
    try:
        problem = named(job["problem"])
        reference = known().get(problem.name)
        if reference is None:
            raise NotHere(f"no reference: python -m benchmarks references --only {problem.name}")
        run_peer(problem, job, reference) if job["peer"] else run_method(problem, job, reference)
    except NotHere as missing:
        say({"missing": str(missing), "here": False})
    except NoResult as error:
        say({"missing": str(error)})
    except CgmError as error:
        say({"missing": error.message.splitlines()[0]})


def run_method(problem: Problem, job: dict[str, Any], reference: Reference) -> None:
    # The first use of a compiled kernel takes seconds: a small problem of the same family has it first.
    small = next(other for other in problems() if other.family == problem.family and other.quick)
    build(small.spec(job["solver"] | {"iterations": 12})).solve()
    before = peak()
    say(measure(problem, job["solver"], reference, job["limit"]) | {"memory_before": before})


def run_peer(problem: Problem, job: dict[str, Any], reference: Reference) -> None:
    """A line after every attempt, so that what was found before a stop is not lost."""
    template = build(problem.spec({})).template
    attempts = []
    for attempt in PEERS[problem.family][job["peer"]](template, job["limit"]):
        error = max(reference.error(attempt.objective), attempt.infeasibility)
        attempts.append((attempt.seconds, error))
        say({
            "to_primal": first(attempts),
            "objective": attempt.objective,
            "objective_error": reference.error(attempt.objective),
            "infeasibility": attempt.infeasibility,
            "seconds": attempt.seconds,
            "setting": attempt.setting,
        })  # fmt: skip


def say(row: dict[str, Any]) -> None:
    print(json.dumps(row), flush=True)


if __name__ == "__main__":
    main()
