"""The trace and status.json against each other, and the arithmetic that every row of the trace must pass."""

from __future__ import annotations

import numpy as np

from cgm_cli.runs.load import Run
from cgm_cli.verify.claims import Claims
from cgm_cli.verify.precision import EPS
from cgm_cli.verify.report import Row, Verdict

_SAME = {"objective": "total", "bound": "bound", "gap": "gap", "infeasibility": "infeasibility", "iterations": "k"}


def trace_rows(run: Run, claims: Claims) -> list[Row]:
    """One row for the arithmetic of the trace; for a finished run one more, for what is written down twice."""
    rows = []
    if len(run.trace.get("k", ())):
        wrong = _wrong_rows(run.trace)
        note = f"rows {_listed(wrong)} do not add up" if wrong else "total = objective + penalty, gap, infeasibility"
        rows.append(Row("trace", Verdict.FAILS if wrong else Verdict.HOLDS, note=note))
    if claims.summary is not None:
        rows.append(_twice(run, claims))
    return rows


def _wrong_rows(trace: dict[str, np.ndarray]) -> list[int]:
    objective, penalty, total, bound, gap = (trace[name] for name in ("objective", "penalty", "total", "bound", "gap"))
    slack = 8 * EPS * (np.abs(objective) + np.abs(penalty))
    wrong = ~(np.abs(objective + penalty - total) <= slack)
    known = np.isfinite(bound)
    with np.errstate(invalid="ignore"):
        scale = np.maximum(1.0, np.maximum(np.abs(total), np.abs(bound)))
        wrong |= known & ~(np.abs(np.abs(total - bound) / scale - gap) <= 16 * EPS)
        parts = [column for name, column in trace.items() if name.startswith("infeasibility_")]
        if parts:
            wrong |= np.max(parts, axis=0) != trace["infeasibility"]
    return np.flatnonzero(wrong).tolist()


def _twice(run: Run, claims: Claims) -> Row:
    """The numbers of status.json stand in the last row of the trace too, and resolved.yaml in run.h5."""
    differing = []
    for name, column in _SAME.items():
        logged, claimed = claims.last.get(column, np.nan), claims.number(name)
        if (claimed is None) == np.isfinite(logged) or (claimed is not None and claimed != logged):
            differing.append(name)
    certified = claims.summary.get("bound_is") == "certified"
    if certified != bool(claims.last.get("certified", False)):
        differing.append("bound_is")
    if run.provenance.get("status") != run.status.value:
        differing.append("status")
    if run.provenance.get("resolved") != _resolved(run):
        differing.append("resolved.yaml")
    note = f"differ: {', '.join(differing)}" if differing else "status.json, resolved.yaml and run.h5 agree"
    return Row("records", Verdict.FAILS if differing else Verdict.HOLDS, note=note)


def _resolved(run: Run) -> str | None:
    try:
        return (run.path / "resolved.yaml").read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return None


def _listed(rows: list[int]) -> str:
    shown = ", ".join(map(str, rows[:5]))
    return shown if len(rows) <= 5 else f"{shown}, ... ({len(rows)} of them)"
