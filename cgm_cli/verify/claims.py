"""What a run claims, and the problem that it claims it of."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from cgm_cli.blocks.problem import CompositeProblem
from cgm_cli.errors import CgmError, DataError, ProblemError
from cgm_cli.runs.load import Run
from cgm_cli.runs.resume import spec_of
from cgm_cli.solving.solve import ROWS
from cgm_cli.spec.load import describe_error
from cgm_cli.spec.model import Spec
from cgm_cli.templates.build import Instance, build
from cgm_cli.verify.data import changed_files

COLUMNS = ("k", "objective", "penalty", "total", "infeasibility", "bound", "certified", "gap")
"""What every trace has."""


@dataclass(frozen=True)
class Claims:
    """summary: the result in status.json, None for a run without one. last: the last row of the trace."""

    summary: Mapping[str, Any] | None
    last: Mapping[str, float]

    def number(self, name: str) -> float | None:
        """A number of the summary; None where it claims none."""
        value = (self.summary or {}).get(name)
        return float(value) if isinstance(value, int | float) and np.isfinite(value) else None

    @property
    def certified(self) -> float | None:
        """The bound, if it is said to be certified."""
        return self.number("bound") if (self.summary or {}).get("bound_is") == "certified" else None

    @property
    def infeasibilities(self) -> dict[str, float]:
        """By constraint, from the last row of the trace."""
        prefix = "infeasibility_"
        return {
            name.removeprefix(prefix): value
            for name, value in self.last.items()
            if name.startswith(prefix) and np.isfinite(value)
        }

    @property
    def metrics(self) -> dict[str, Any]:
        """Of the rounding, by name."""
        metrics = (self.summary or {}).get("metrics")
        return dict(metrics) if isinstance(metrics, Mapping) else {}


def read_claims(run: Run) -> Claims:
    """Raises DataError where status.json or the trace cannot be read, or is none of ours."""
    if not isinstance(run.state.get("result"), Mapping | None):
        raise DataError(f"{run.path / 'status.json'}: its result is not that of a solve.")
    missing = [name for name in COLUMNS if run.trace and name not in run.trace]
    if missing:
        raise DataError(f"{run.path / 'run.h5'}: the trace has no column {', '.join(missing)}.")
    odd = [name for name, column in run.trace.items() if column.dtype.kind not in "biuf"]
    if odd:
        raise DataError(f"{run.path / 'run.h5'}: the trace has no real numbers in the column {', '.join(odd)}.")
    last = {name: float(column[-1]) for name, column in run.trace.items() if len(column)}
    return Claims(run.summary, last)


def plain(value: object) -> float | None:
    """A claimed number; None for anything else."""
    return float(value) if isinstance(value, int | float) else None


def rebuild(run: Run) -> tuple[Spec, Instance]:
    """The spec of resolved.yaml and its problem. Data files are looked up beside the spec that the run was started
    with, and where `cgm solve` looks. Raises DataError where a file is missing or the spec cannot be built.
    """
    spec = None
    try:
        spec = spec_of(run)
        return spec, build(spec, run.spec_file, run.form.get("kind"))
    except CgmError as error:
        changed = [] if spec is None else changed_files(run, spec)
        also = f"\nChanged since the run was started: {', '.join(changed)}." if changed else ""
        what = f"The problem of {run.path} cannot be built again.\n{describe_error(error, spec)}{also}"
        raise DataError(what) from error


def with_inequalities(run: Run, problem: CompositeProblem) -> CompositeProblem:
    """The problem with those of its family that the run had at last: of any places they are valid, so a bound that
    rests on them is one of the problem with all of them. Raises DataError where these are no places.
    """
    if problem.growing is None:
        return problem
    places = run.solution.get(ROWS)
    if places is None:
        raise DataError(f"{run.path / 'run.h5'}: the solution does not tell which inequalities there were (`{ROWS}`).")
    try:
        return problem.with_rows(places)
    except ProblemError as error:
        raise DataError(f"{run.path / 'run.h5'}: `{ROWS}` of the solution are none: {error}.") from error
