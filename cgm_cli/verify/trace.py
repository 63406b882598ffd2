"""The trace and status.json against each other, and the arithmetic that every row of the trace must pass."""

from __future__ import annotations

import numpy as np

from cgm_cli.errors import CgmError
from cgm_cli.methods.record import kind_of
from cgm_cli.runs.load import Run
from cgm_cli.verify.claims import Claims
from cgm_cli.verify.precision import EPS
from cgm_cli.verify.report import Row, Verdict

_SAME = {"objective": "total", "bound": "bound", "gap": "gap", "infeasibility": "infeasibility", "iterations": "k"}


def trace_rows(run: Run) -> list[Row]:
    """One row for the arithmetic of the trace."""
    rows = []
    if len(run.trace.get("k", ())):
        wrong = sorted({*_wrong_rows(run.trace), *_misplaced(run)})
        note = "total = objective + penalty, gap, infeasibility, and no iteration missing or twice"
        note = f"rows {_listed(wrong)} do not add up" if wrong else note
        rows.append(Row("trace", Verdict.FAILS if wrong else Verdict.HOLDS, note=note))
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


def _misplaced(run: Run) -> list[int]:
    """Rows that do not stand for the iteration they should: every `log.every`-th, and the last."""
    try:
        every = int(run.resolved["log"]["every"])
    except (CgmError, KeyError, TypeError, ValueError):
        return []  # without its spec the run cannot be checked any further, which is told elsewhere
    k = run.trace["k"]
    expected = every * np.arange(len(k))
    if run.summary is not None and len(k) > 1:
        expected[-1] = min(expected[-1], k[-1]) if k[-1] > expected[-2] else expected[-1]
    return np.flatnonzero(k != expected).tolist()


def record_row(run: Run, claims: Claims, sense: str) -> Row:
    """The numbers of status.json stand in the last row of the trace too, and resolved.yaml in run.h5; it agrees with
    itself and with the problem.
    """
    differing = []
    if claims.summary.get("status") != run.status.value:
        differing.append("status of the result")
    if claims.summary.get("sense") != sense:
        differing.append("sense")
    if run.state.get("exit_code") != run.status.exit_code:
        differing.append("exit_code")
    if claims.number("seconds") != claims.last.get("seconds"):
        differing.append("seconds")
    for name, column in _SAME.items():
        logged, claimed = claims.last.get(column, np.nan), claims.number(name)
        if (claimed is None) == np.isfinite(logged) or (claimed is not None and claimed != logged):
            differing.append(name)
    logged = kind_of(bool(claims.last.get("certified", False)), claims.last.get("bound_failure", np.nan))
    if np.isfinite(claims.last.get("bound", np.nan)) and claims.summary.get("bound_is") != logged:
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
