"""The smallest instances of every domain, term and template, by every method, in units from 1e-9 to 1e9 and beyond.

Each comes to the right value, as far as the method has come, with a bound on the right side of it, or to a message.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterator
from pathlib import Path
from zlib import crc32

import numpy as np
import pytest

from cgm_cli.errors import CgmError
from cgm_cli.solving.result import Result
from cgm_cli.spec.load import loads
from cgm_cli.spec.registry import FAMILIES
from cgm_cli.templates.build import build
from tests.templates.smallest import Case, losses, templates, terms

ITERATIONS = 20

BEYOND = 1e-12
"""How far a bound may pass the optimum, and the objective of a feasible point the other way, by rounding errors."""

CLOSE = 1e-5
"""How far from the optimum the objective may be of a run that has converged to a gap of 1e-6."""

REACHED = {
    ("hcgm", "none"): (1e-3, 0.75),
    ("hcgm", "fully-corrective"): (1e-9, 0.75),
    ("hcgm", "local-descent"): (1e-9, 0.75),
    ("cgal", "none"): (1e-3, 0.25),
    ("cgal", "fully-corrective"): (1e-9, 1e-2),
    ("cgal", "local-descent"): (1e-9, 1e-6),
    ("cgm", "none"): (1e-3, 0.5),
    ("cgm", "fully-corrective"): (1e-9, 1e-9),
    ("auto", "none"): (1e-3, 0.25),
}
"""How far from the optimum the objective may be of any other run of ITERATIONS steps: without terms, and with them.
What is smoothed is so by the paper's schedule, however well a correction solves the smoothed problem.
"""

ROUNDING = 1e-9
"""What is a gap of nothing but rounding."""

ONE_IN = 19
"""Of the cells in other units than one, one in so many is looked at, in turns; with 1 the table is whole."""

ONE_IN_UNITS_OF_ONE = 2
"""Of those in units of one, too, unless the method is `auto`. Each instance meets methods with multipliers and without,
and every correction.
"""

NOT_FOR_IT = (
    "`correction: local-descent` needs points that are matrices of low rank",
    "`method: cgm` has no way to handle a constraint",
    "`method: cgm` does not smooth its terms",
)
"""What a method or a correction says of a problem that it is not made for."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    return tmp_path_factory.mktemp("smallest")


def solved(case: Case, u: float, r: float, method: str, correction: str) -> Result:
    """Without a tolerance in small units, where every gap is below it."""
    tree = {
        "name": "smallest",
        "problem": case.make(u, r),
        "solver": {"method": method, "correction": correction, "iterations": ITERATIONS},
        "stop": {"gap": 1e-6} if min(case.scale(u, r), r) >= 0.5 else {"gap": None},
    }
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return build(loads(json.dumps(tree))).solve()


def faults(case: Case, u: float, r: float, method: str, correction: str, limit: float) -> Iterator[str]:
    """What is wrong with one cell of the table, in words. limit: on the error of a run that has not converged."""
    try:
        result = solved(case, u, r, method, correction)
    except CgmError as error:
        allowed = NOT_FOR_IT if case.refused is None else (case.refused, *NOT_FOR_IT)
        if not any(part in error.message for part in allowed):
            yield f"refused: {error.message}"
        return
    except Exception as error:
        yield f"{type(error).__name__}: {error}"
        return
    if case.refused is not None:
        yield "not refused"
        return
    record, scale = result.record, case.scale(u, r)
    figures = {name: getattr(record, name) for name in ("objective", "total", "bound", "gap", "infeasibility")}
    strange = {name: value for name, value in figures.items() if not np.isfinite(value)}
    if strange:
        yield f"not finite: {strange}"
        return
    error, beyond = (case.sense * (value / scale - case.optimum) / case.size for value in (record.total, record.bound))
    status = result.status.value
    if result.bound_is != "certified":
        yield f"its bound is {result.bound_is}"
    if beyond > BEYOND:
        yield f"{status}: the bound is {beyond:.2g} beyond the optimum"
    if record.infeasibility == 0.0 and error < -BEYOND:
        yield f"{status}: the objective of a feasible point is {-error:.2g} beyond the optimum"
    # Steps that have come as far as rounding lets them end a run that no tolerance ends.
    if status not in ("converged", "iteration-limit") and not (status == "stagnated" and record.gap < ROUNDING):
        yield f"status {status}"
    limit = CLOSE if status == "converged" else limit
    # An answer that is proven to be the best ends a run wherever x is by then.
    if abs(error) > limit and "proven to be the best" not in result.message:
        yield f"{status}: the objective is off by {error:.2g}, infeasible by {record.infeasibility:.2g}"


FAMILIES_OF_CASES = ("losses", "terms", "templates")


def cases_of(family: str, folder: Path) -> list[Case]:
    return templates(folder) if family == "templates" else {"losses": losses, "terms": terms}[family]()


def is_due(case: Case, number: int, place: int, turn: int) -> bool:
    if place == 0:
        # By its name, and not by its place: of two kinds of instances that stand in turns each meets every method.
        return (crc32(case.name.encode()) + turn) % ONE_IN_UNITS_OF_ONE == 0
    return (number + place + turn) % ONE_IN == 0


@pytest.mark.parametrize(("method", "correction"), REACHED)
@pytest.mark.parametrize("family", FAMILIES_OF_CASES)
def test_the_smallest_instances(family, method, correction, folder):
    turn, limit = list(REACHED).index((method, correction)), REACHED[method, correction][family != "losses"]
    found = [
        f"{case.name}, units {u:g} and {r:g}: {fault}"
        for number, case in enumerate(cases_of(family, folder))
        for place, (u, r) in enumerate(case.units())
        if is_due(case, number, place, turn) or (place == 0 and method == "auto")
        for fault in faults(case, u, r, method, correction, limit)
    ]
    assert not found, f"{len(found)} cells:\n" + "\n".join(found)


@pytest.mark.parametrize("family", FAMILIES_OF_CASES)
def test_units_beyond_what_is_computed_with_are_refused(family, folder):
    found = []
    for case in cases_of(family, folder):
        for u, r in case.extremes():
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("error")
                    build(loads(json.dumps({"name": "smallest", "problem": case.make(u, r)})))
                found.append(f"{case.name}, units {u:g} and {r:g}: not refused")
            except CgmError as error:
                known = ("it can be computed with", "the numbers of this problem are out of range", case.refused)
                if not any(part in error.message for part in known if part):
                    found.append(f"{case.name}, units {u:g} and {r:g}: {error.message}")
    assert not found, f"{len(found)} cells:\n" + "\n".join(found)


def test_everything_registered_is_in_the_table(folder):
    cases = [case.make(1.0, 1.0) for family in FAMILIES_OF_CASES for case in cases_of(family, folder)]
    problems = [problem for problem in cases if "template" not in problem]
    met = {
        "template": {problem.get("template") for problem in cases},
        "domain": {problem["domain"]["kind"] for problem in problems},
        "loss": {problem["objective"]["kind"] for problem in problems},
        "penalty": {term["kind"] for problem in problems for term in problem.get("penalties", [])},
        "set": {term["kind"] for problem in problems for term in problem.get("constraints", [])},
    }
    missing = {family: names for family in met if (names := set(FAMILIES[family]) - met[family])}
    assert not missing, (
        "of these tests/templates/smallest.py has no instance: a domain belongs into `bodies`, a penalty into "
        "`_penalties` (or, where it is no maximum of affine functions, beside `_hubers`), a set into `_sets`, and of a "
        "template there is a function that `templates` calls"
    )
