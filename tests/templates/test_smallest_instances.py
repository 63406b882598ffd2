"""The smallest instances of every domain, term and template, by every method, in units from 1e-9 to 1e9 and beyond.

Each comes to the right value, as far as the method has come, with a bound on the right side of it, or to a message.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from cgm_cli.blocks.registry import FAMILIES
from cgm_cli.errors import CgmError
from cgm_cli.spec.load import dump, loads
from cgm_cli.templates.build import Result, build
from tests.templates.smallest import Case, losses, templates, terms

ITERATIONS = 25

BEYOND = 1e-12
"""How far a bound may pass the optimum, and the objective of a point of the domain the other way, by rounding errors."""

CLOSE = 1e-5
"""How far from the optimum the objective may be of a run that has converged to a gap of 1e-6."""

REACHED = {
    ("hcgm", "none"): 1.0,
    ("hcgm", "fully-corrective"): 1.0,
    ("hcgm", "local-descent"): 1.0,
    ("cgal", "none"): 1.0,
    ("cgal", "fully-corrective"): 1.0,
    ("cgal", "local-descent"): 1.0,
    ("cgm", "none"): 1.0,
    ("cgm", "fully-corrective"): 1.0,
    ("auto", "none"): 1.0,
}
"""How far from the optimum the objective may be of any other run of ITERATIONS steps."""

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
        "stop": {"gap": 1e-6} if case.scale(u, r) >= 0.5 else {},
    }
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return build(loads(dump(tree))).solve()


def faults(case: Case, u: float, r: float, method: str, correction: str) -> Iterator[str]:
    """What is wrong with one cell of the table, in words."""
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
    if status not in ("converged", "iteration-limit"):
        yield f"status {status}"
    limit = CLOSE if status == "converged" else REACHED[method, correction]
    if abs(error) > limit:
        yield f"{status}: the objective is off by {error:.2g}, infeasible by {record.infeasibility:.2g}"


@pytest.mark.parametrize(("method", "correction"), REACHED)
@pytest.mark.parametrize("family", ["losses", "terms", "templates"])
def test_the_smallest_instances(family, method, correction, folder):
    cases = {"losses": losses, "terms": terms, "templates": lambda: templates(folder)}[family]()
    found = [
        f"{case.name}, units {u:g} and {r:g}: {fault}"
        for case in cases
        for u, r in case.units()
        for fault in faults(case, u, r, method, correction)
    ]
    assert not found, f"{len(found)} cells:\n" + "\n".join(found)
