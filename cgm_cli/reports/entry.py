"""One run as a report sees it: the parameters of its spec, the figures of its result, and what is missing and why."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from cgm_cli.errors import CgmError
from cgm_cli.methods.status import Status
from cgm_cli.runs.load import Run, load_run

FIGURES = ("objective", "bound", "gap", "infeasibility", "iterations", "seconds")
"""What every run has, by the names of `cgm solve --json`; metrics follow as metric_<name>, as in the trace."""

# Of a run without a result, the last row of its trace has most of it.
_COLUMNS = {
    "objective": "total",
    "bound": "bound",
    "gap": "gap",
    "infeasibility": "infeasibility",
    "iterations": "k",
    "seconds": "seconds",
}


@dataclass(frozen=True)
class Entry:
    """run: for what else a report wants to read. name: of the spec. params: dotted key -> value of the resolved spec,
    lists whole. figures: name -> number, nan where unknown. finished: whether the run came to a result. state: status
    in a word; a run whose process is gone is `killed`. reason: why there is no result, in a sentence; empty if there
    is one. sense: minimise, maximise, or empty where unknown. bound_is: certified, probable, estimated or
    none; bound_rests_on: what it does not hold without, or empty. gaps: the gap at the rows of the trace, for a
    sparkline.
    """

    path: Path
    name: str
    params: Mapping[str, Any]
    figures: Mapping[str, float]
    finished: bool
    state: str
    reason: str
    sense: str
    bound_is: str
    bound_rests_on: str = ""
    gaps: np.ndarray = field(default_factory=lambda: np.empty(0))

    def value(self, key: str) -> Any:
        """A figure, a parameter, the status or the folder, by its full name; None where the run has none."""
        if key in _OWN:
            return _OWN[key](self)
        if key in self.figures:
            return self.figures[key]
        return self.params.get(key)

    def open(self) -> Run:
        """The run read anew: an entry keeps little, so that thousands of them fit into memory."""
        return load_run(self.path)


_OWN = {
    "run": lambda entry: str(entry.path),
    "name": lambda entry: entry.name,
    "status": lambda entry: entry.state,
    "bound_is": lambda entry: entry.bound_is,
}
OWN = tuple(_OWN)
"""Names of text that every entry has besides parameters and figures."""


def read_entry(folder: Path) -> Entry:
    """The run in `folder`. Raises CgmError if it is none, or a damaged one."""
    run = load_run(folder)
    summary = run.summary or {}
    params = flatten(run.resolved)
    try:
        # Of a run with a result, the trace is only looked at for the shape of its curve.
        trace = run.columns(("gap",)) if summary else run.trace
    except CgmError:
        # A run that has only begun, or failed in its data, has no trace, and that is no fault of its own.
        if run.status not in (Status.RUNNING, Status.FAILED, Status.INTERRUPTED):
            raise
        trace = {}
    metrics = summary.get("metrics")
    figures = {name: _number(summary.get(name)) for name in FIGURES}
    if not summary:
        figures = {name: _last(trace.get(column)) for name, column in _COLUMNS.items()}
        metrics = {name.removeprefix("metric_"): _last(trace[name]) for name in trace if name.startswith("metric_")}
    if isinstance(metrics, dict):
        figures |= {f"metric_{name}": _number(value) for name, value in metrics.items() if not isinstance(value, list)}
    return Entry(
        path=folder,
        name=str(params.get("name", folder.name)),
        params={key: value for key, value in params.items() if key != "name"},
        figures=figures,
        finished=bool(summary) and run.status.exit_code == 0,
        state="killed" if run.died else run.status.value,
        reason=_reason(run),
        sense=str(summary.get("sense", "")),
        bound_is=str(summary.get("bound_is", "none")),
        bound_rests_on=str(summary.get("bound_rests_on") or ""),
        gaps=np.asarray(trace.get("gap", ()), dtype=float),
    )


def flatten(tree: Any, prefix: str = "") -> dict[str, Any]:
    """Nested mappings as dotted keys; lists are values. An empty mapping is left out."""
    if not isinstance(tree, Mapping):
        return {prefix: tree}
    flat: dict[str, Any] = {}
    for key, value in tree.items():
        flat |= flatten(value, f"{prefix}.{key}" if prefix else str(key))
    return flat


def _reason(run: Run) -> str:
    message = str(run.state.get("message") or "")
    if run.died:
        return "Its process was killed; `cgm resume` goes on from its last checkpoint."
    if run.status is Status.RUNNING:
        return "It is still running."
    if run.summary is None or run.status.exit_code != 0:
        return " ".join(filter(None, (run.status.sentence, message)))
    return ""


def _number(value: Any) -> float:
    return float(value) if isinstance(value, int | float) else math.nan


def _last(column: np.ndarray | None) -> float:
    """The last number of a column: a metric is not evaluated in every row."""
    if column is None:
        return math.nan
    known = np.asarray(column, dtype=float)
    known = known[~np.isnan(known)]
    return float(known[-1]) if known.size else math.nan
