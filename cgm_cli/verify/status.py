"""How a run says that it ended, against the rules of its spec and the last row of its trace."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from cgm_cli.blocks.problem import CompositeProblem
from cgm_cli.methods.answers import Multiples
from cgm_cli.methods.budget import SHARE
from cgm_cli.methods.status import Status
from cgm_cli.methods.stopping import PATIENCE, ROUNDED_PATIENCE, ROUNDING
from cgm_cli.runs.load import Run
from cgm_cli.spec.model import TOLERANCE, Spec
from cgm_cli.verify.claims import Claims, plain
from cgm_cli.verify.precision import Unchecked
from cgm_cli.verify.report import CheckedClaim, Verdict
from cgm_cli.verify.trace import kinds

STALLED = 0.98
"""A figure that has not fallen by a hundredth has not fallen below this part of what it was."""


@dataclass(frozen=True)
class Evidence:
    """What the end of a run is judged by. multiples: what the values of its answers are, where that is known."""

    run: Run
    spec: Spec
    problem: CompositeProblem
    claims: Claims
    multiples: Multiples | None = None

    @property
    def is_answered(self) -> bool:
        """Whether no multiple lies between the certified bound and the value that is claimed of the answer, which has a
        row of its own.
        """
        multiples, bound, stop = self.multiples, self.claims.certified, self.spec.stop
        if multiples is None or bound is None or (stop.gap is None and stop.gap_absolute is None):
            return False
        value, sign = plain(self.claims.metrics.get(multiples.metric)), self.problem.sense_sign
        return value is not None and sign * (value - bound) + multiples.slack < multiples.spacing

    def last(self, column: str) -> float:
        """The entry of the last row; nan where there is none, which meets no tolerance."""
        return self.claims.last.get(column, np.nan)

    @property
    def tolerances(self) -> dict[str, float]:
        """Column of the trace -> what it must not exceed in a run that converged: all that the spec asks for, and what
        follows from it. Beside constraints, a gap stands for the infeasibility as well.
        """
        stop, limits = self.spec.stop, {}
        if stop.gap is not None:
            limits["gap"] = stop.gap
        if stop.infeasibility is not None:
            limits["infeasibility"] = stop.infeasibility
        elif self.problem.has_constraints and (stop.gap is not None or stop.gap_absolute is not None):
            limits["infeasibility"] = TOLERANCE if stop.gap is None else stop.gap
        if {"gap", "infeasibility"} <= limits.keys() and "owed" in self.claims.last:
            limits["owed"] = max(limits.values())  # what the objective owes to infeasibility, where it was logged
        return limits


def status_row(ending: Evidence) -> CheckedClaim:
    """Whether the status follows from the last row of the trace and the spec."""
    status, budget = ending.run.status, ending.spec.solver.iterations
    note = ""
    if ending.last("k") > budget:
        note = f"{ending.last('k'):.0f} iterations are more than the budget of {budget}"
    elif status in RULES:
        try:
            note = RULES[status](ending)
        except Unchecked as reason:
            return CheckedClaim("status", Verdict.UNCHECKED, note=f"{status.value}: {reason}")
    else:
        note = "a run with this status has no result"
    agrees = "the rules of the spec and the last row of the trace agree"
    return CheckedClaim("status", Verdict.FAILS if note else Verdict.HOLDS, note=f"{status.value}: {note or agrees}")


def _converged(ending: Evidence) -> str:
    return "" if ending.is_answered else _missed_tolerances(ending)


def _missed_tolerances(ending: Evidence) -> str:
    limits, absolute = ending.tolerances, ending.spec.stop.gap_absolute
    if absolute is None and (not limits or (ending.spec.stop.objective is not None and "gap" not in limits)):
        return "the spec has no tolerance to be met"
    if absolute is not None:
        apart = abs(ending.last("total") - ending.last("bound"))
        if apart <= absolute:
            limits.pop("gap", None)
        elif "gap" not in limits:
            return f"objective and bound are {apart:.3g} apart, more than {absolute:g}"
    missed = [
        f"{column} {ending.last(column):.3g} is above {limit:g}"
        for column, limit in limits.items()
        if not ending.last(column) <= limit
    ]
    return " and ".join(missed)


def _iteration_limit(ending: Evidence) -> str:
    budget = ending.spec.solver.iterations
    return "" if ending.last("k") == budget else f"{ending.last('k'):.0f} iterations do not spend a budget of {budget}"


def _time_limit(ending: Evidence) -> str:
    limit = ending.spec.stop.time
    if limit is None:
        return "the spec has no limit of time"
    # A part of it may have been kept for a certificate that took less than expected; the time to read the data counts.
    spent = np.fmax(ending.last("seconds"), ending.run.wall_seconds)
    return "" if spent >= (1.0 - SHARE) * limit else f"{spent:.3g} s do not spend {limit:g} s"


def _target_reached(ending: Evidence) -> str:
    stop, sign = ending.spec.stop, ending.problem.sense_sign
    if stop.objective is None:
        return "the spec has no target"
    if not sign * ending.last("total") <= sign * stop.objective:
        return f"the objective {ending.last('total'):.6g} does not reach {stop.objective:g}"
    if stop.infeasibility is not None and not ending.last("infeasibility") <= stop.infeasibility:
        return f"infeasibility {ending.last('infeasibility'):.3g} is above {stop.infeasibility:g}"
    return ""


def _stagnated(ending: Evidence) -> str:
    """max(gap, infeasibility) may not have fallen since. The last row has another bound than the rule looked at, and so
    may one whose bound is of another kind than that before.
    """
    end, trace, stop = ending.last("k"), ending.run.trace, ending.spec.stop
    window, asked = stop.stagnation, bool(ending.tolerances) or stop.gap_absolute is not None
    figures = np.maximum(trace["gap"], trace["infeasibility"])
    if window is None and asked:
        is_rounding = np.nanmin(figures, initial=np.inf) <= ROUNDING
        window = ROUNDED_PATIENCE if is_rounding else math.ceil(max(PATIENCE, 0.5 * end))
    if window is None or (stop.stagnation is None and stop.objective is not None):
        return "the spec has no limit of stagnation"
    if end < window and ending.last("ended") == 1.0:
        raise Unchecked("only its own trace says that there was no better point to go to")
    if end < window:
        return f"{end:.0f} iterations are fewer than {window} without progress"
    since = (trace["k"] >= end - window) & (trace["k"] < end)
    kind = kinds(trace)[since]
    if ending.spec.log.every > 1 or not kind.size or (kind != kind[0]).any():
        raise Unchecked("the rows that were logged do not show what its rule looked at")
    figures, best = figures[since], np.nanmin(figures[: int(np.argmax(since)) + 1])
    return f"gap or infeasibility fell within {window} iterations" if (figures < STALLED * best).any() else ""


def _infeasible(ending: Evidence) -> str:
    """That the bound is large enough is a row of its own."""
    if not ending.problem.has_constraints:
        return "the problem has no constraints"
    return "" if (ending.claims.summary or {}).get("bound_is") == "certified" else "no certified bound proves it"


def _unbounded(ending: Evidence) -> str:
    """That there is a ray is a row of its own."""
    return "" if ending.problem.domain.assumes_radius else "the domain is bounded"


def _told(ending: Evidence) -> str:
    raise Unchecked("that somebody asked for this end has left no trace")


RULES: dict[Status, Callable[[Evidence], str]] = {
    Status.CONVERGED: _converged,
    Status.ITERATION_LIMIT: _iteration_limit,
    Status.TIME_LIMIT: _time_limit,
    Status.TARGET_REACHED: _target_reached,
    Status.STAGNATED: _stagnated,
    Status.INFEASIBLE: _infeasible,
    Status.UNBOUNDED: _unbounded,
    Status.STOPPED: _told,
    Status.PREEMPTED: _told,
    Status.INTERRUPTED: _told,
}
"""By status: what contradicts it, or nothing. Raises Unchecked where nothing could."""
