"""The trace against itself, its spec and status.json: the arithmetic that every row must pass, and the order in which
bounds can follow each other.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime

import numpy as np

from cgm_cli.blocks.domains.base import Domain
from cgm_cli.blocks.domains.product import Product
from cgm_cli.blocks.problem import CompositeProblem
from cgm_cli.errors import CgmError
from cgm_cli.methods.oracles.base import accuracy_of
from cgm_cli.methods.record import kind_of
from cgm_cli.runs.load import Run
from cgm_cli.spec.model import Spec
from cgm_cli.verify.claims import Claims, plain
from cgm_cli.verify.precision import EPS, RELATIVE, Missing, extended
from cgm_cli.verify.report import CheckedClaim, Verdict

_SAME = {
    "objective": "total",
    "bound": "bound",
    "gap": "gap",
    "infeasibility": "infeasibility",
    "owed": "owed",
    "iterations": "k",
}

CLOCKS = 5.0
"""Seconds that two clocks, one of them read when files are written, may disagree by; and 5 % of the time."""


def trace_rows(run: Run, unit: float = 0.0) -> list[CheckedClaim]:
    """One row for the arithmetic of the trace. unit: of the problem; 0 where that is unknown, and gaps may be less."""
    rows = []
    if len(run.trace.get("k", ())):
        wrong = sorted({*_wrong_rows(run.trace, unit), *_misplaced(run)})
        note = "total = objective + penalty, gap, infeasibility, time, and no iteration missing or twice"
        note = f"rows {_listed(wrong)} do not add up" if wrong else note
        rows.append(CheckedClaim("trace", Verdict.FAILS if wrong else Verdict.HOLDS, note=note))
    return rows


def relative_gap(total: np.ndarray | float, bound: np.ndarray | float, unit: float) -> np.ndarray:
    """|total - bound| / max(unit, |total|, |bound|)."""
    return np.abs(total - bound) / np.maximum(unit, np.maximum(np.abs(total), np.abs(bound)))


def _wrong_rows(trace: Mapping[str, np.ndarray], unit: float) -> list[int]:
    objective, penalty, total, bound, gap = (trace[name] for name in ("objective", "penalty", "total", "bound", "gap"))
    slack = 8 * EPS * (np.abs(objective) + np.abs(penalty))
    wrong = ~(np.abs(objective + penalty - total) <= slack)
    known = np.isfinite(bound)
    wrong |= np.isinf(bound) | (np.isnan(bound) & ~np.isnan(gap))
    with np.errstate(invalid="ignore"):
        off = gap - relative_gap(total, bound, unit)
        wrong |= known & ~((off <= 16 * EPS * (1.0 + gap)) & ((unit == 0.0) | (off >= -16 * EPS * (1.0 + gap))))
        parts = [column for name, column in trace.items() if name.startswith("infeasibility_")]
        wrong |= (np.max(parts, axis=0) if parts else 0.0) != trace["infeasibility"]
        wrong |= ~(trace["infeasibility"] >= 0.0)
        if "seconds" in trace:
            wrong |= ~(np.diff(trace["seconds"], prepend=0.0) >= 0.0)
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


def kinds(trace: Mapping[str, np.ndarray]) -> np.ndarray:
    """What the bound of each row is said to be."""
    pairs = zip(trace["certified"], trace["bound_failure"], strict=True)
    named = [kind_of(bool(certified), failure) for certified, failure in pairs]
    return np.where(np.isnan(trace["bound"]), "none", named)


def bounds_row(run: Run, spec: Spec, problem: CompositeProblem) -> CheckedClaim:
    """The flags of the bounds, and their order: what is certified, or probable, is never given up, so that

    - every row after it shows a bound that is no worse, and one that is called less certain is better;
    - the last row reports a certified bound, or else a probable one, if any row did;
    - where the minimum over the domain has a closed form, every bound is certified;
    - without constraints, no objective of any row lies beyond a certified bound.
    """
    trace, sign = run.trace, problem.sense_sign
    name = "bounds of the trace"
    if "bound_failure" not in trace or not len(trace["k"]):
        return CheckedClaim(name, Verdict.UNCHECKED, note="the trace does not say what its bounds are")
    bound, kind = sign * trace["bound"], kinds(trace)
    certified = kind == "certified"
    failure = np.select([certified, kind == "probable"], [0.0, spec.bound.failure], np.nan)
    odd = (trace["certified"] != certified) | ~np.isclose(trace["bound_failure"], failure, 0.0, 0.0, equal_nan=True)
    if _in_closed_form(problem.domain) and problem.is_provable and not accuracy_of(spec.solver).perturb:
        odd |= (kind != "none") & ~certified
    faults = {"flags of rows": np.flatnonzero(odd).tolist(), "bounds of rows": _given_up(bound, kind)}
    proven = bound[certified]
    if proven.size and not problem.has_constraints:
        size = np.abs(trace["objective"]) + np.abs(trace["penalty"]) + abs(proven.max())
        beyond = sign * trace["total"] < proven.max() - RELATIVE * size.max()
        faults["objectives of rows"] = np.flatnonzero(beyond).tolist()
    found = [f"{what} {_listed(rows)} contradict the others" for what, rows in faults.items() if rows]
    note = "; ".join(found) or "what was certified or probable is never given up, and no row has a better one"
    return CheckedClaim(name, Verdict.FAILS if found else Verdict.HOLDS, note=note)


def _given_up(bound: np.ndarray, kind: np.ndarray) -> list[int]:
    """The rows whose bound is worse than one that was certified or probable before; bounds of the minimisation.

    A row shows the largest bound, and of equals the most certain; the last one reports the most certain.
    """
    wrong, last, certified, probable = [], len(bound) - 1, -np.inf, -np.inf
    for row, (value, this) in enumerate(zip(bound, kind, strict=True)):
        best = max(certified, probable)
        if row < last:
            fits = {
                "certified": value >= best,
                "probable": value >= probable and value > certified,
                "estimated": value > best,
                "none": best == -np.inf,
            }[str(this)]
        elif certified > -np.inf:
            fits = this == "certified" and value >= certified
        else:
            fits = probable == -np.inf or this == "certified" or (this == "probable" and value >= probable)
        if not fits:
            wrong.append(row)
        certified = max(certified, value) if this == "certified" else certified
        probable = max(probable, value) if this == "probable" else probable
    return wrong


def _in_closed_form(domain: Domain) -> bool:
    return all(map(_in_closed_form, domain.blocks)) if isinstance(domain, Product) else not domain.spectral


def record_row(run: Run, claims: Claims, spec: Spec, sense: str) -> CheckedClaim:
    """The numbers of status.json stand in the last row of the trace too, and resolved.yaml in run.h5; it agrees with
    itself and with the problem.
    """
    differing: list[str] = []
    summary, last = claims.summary or {}, claims.last
    if summary.get("status") != run.status.value:
        differing.append("status of the result")
    if summary.get("sense") != sense:
        differing.append("sense")
    if run.state.get("exit_code") != run.status.exit_code:
        differing.append("exit_code")
    if claims.number("seconds") != last.get("seconds") or _longer_than_it_was(run, last.get("seconds", np.nan)):
        differing.append("seconds")
    for name, column in _SAME.items():
        logged, claimed = last.get(column, np.nan), claims.number(name)
        if (claimed is None) == np.isfinite(logged) or (claimed is not None and claimed != logged):
            differing.append(name)
    failure = last.get("bound_failure", np.nan)
    kind = kind_of(bool(last.get("certified", False)), failure) if np.isfinite(last.get("bound", np.nan)) else "none"
    if summary.get("bound_is") != kind:
        differing.append("bound_is")
    if not _adds_up(summary.get("certificate"), claims.number("bound"), failure, sense):
        differing.append("certificate")
    for name, value in claims.metrics.items():
        logged = last.get(f"metric_{name}", np.nan)
        if np.isfinite(logged) and plain(value) != logged:
            differing.append(name)
    if run.provenance.get("status") != run.status.value:
        differing.append("status")
    if run.provenance.get("resolved") != _resolved(run):
        differing.append("resolved.yaml")
    if run.provenance.get("seed") != spec.seed:
        differing.append("seed")
    if not run.form:
        differing.append("how x was kept")
    note = f"differ: {', '.join(differing)}" if differing else "status.json, resolved.yaml and run.h5 agree"
    return CheckedClaim("records", Verdict.FAILS if differing else Verdict.HOLDS, note=note)


def _adds_up(certificate: object, bound: float | None, failure: float, sense: str) -> bool:
    """Whether a certificate costs what lies between its estimate and the bound. None claims nothing."""
    if not isinstance(certificate, Mapping):
        return certificate is None
    estimate, cost, said = (plain(certificate.get(key)) for key in ("estimate", "cost", "failure"))
    if bound is None or estimate is None or cost is None or (np.isfinite(failure) and said != failure):
        return False
    sign = -1.0 if sense == "maximise" else 1.0
    return abs(sign * (estimate - bound) - cost) <= 4 * EPS * (abs(estimate) + abs(bound))


def _longer_than_it_was(run: Run, seconds: float) -> bool:
    """Whether the iterations are said to have taken longer than the run was there."""
    try:
        began = datetime.fromisoformat(str(run.provenance.get("started")))
        there = (datetime.fromisoformat(str(run.state.get("ended"))) - began).total_seconds()
    except (ValueError, TypeError):
        return False
    return seconds > 1.05 * there + CLOCKS


def _slope(column: str) -> Callable[[Mapping[str, np.ndarray]], tuple[float, float]]:
    """Of log |column| against log k over the last nine tenths of the iterations, by least squares: the covariance over
    the variance; and the error of rounding.
    """

    def formula(trace: Mapping[str, np.ndarray]) -> tuple[float, float]:
        if column not in trace:
            raise Missing(f"the trace has no column {column}")
        k, values = trace["k"].astype(float), np.abs(trace[column])
        used = (k >= max(1.0, 0.1 * k.max(initial=0.0))) & (values > 0.0) & np.isfinite(values)
        if used.sum() < 2:
            raise Missing("the trace has nothing to fit")
        x, y = np.log(extended(k[used])), np.log(extended(values[used]))
        x = x - x.mean()
        slope = float((x * y).sum() / (x * x).sum())
        return slope, RELATIVE * (abs(slope) + float(np.abs(x * y).sum() / (x * x).sum()))

    return formula


SLOPES = {"slope_residual": _slope("theory_residual"), "slope_infeasibility": _slope("infeasibility")}
"""The rates at which a run is said to converge, from its trace."""


def _resolved(run: Run) -> str | None:
    try:
        return (run.path / "resolved.yaml").read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return None


def _listed(rows: list[int]) -> str:
    shown = ", ".join(map(str, rows[:5]))
    return shown if len(rows) <= 5 else f"{shown}, ... ({len(rows)} of them)"
