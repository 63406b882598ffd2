"""What a result means, in one or two sentences: what is proven of the optimum, and how good the point is."""

from __future__ import annotations

import math

from cgm_cli.display.formatting import number, ratio, resting
from cgm_cli.methods.status import Status
from cgm_cli.solving.result import Result

REACHED = (Status.CONVERGED, Status.TARGET_REACHED)
"""What was asked for was found; any other end without a fault is a budget that was spent."""
_FAULTS = (Status.INFEASIBLE, Status.UNBOUNDED, Status.FAILED)
_ROUNDING = 1e-12
"""Of constraints that are met."""
_SURE = {
    "certified": "this is proven",
    "probable": "this holds with all but a negligible probability",
    "estimated": "this is an estimate, and not proven",
}


def colour(status: Status) -> str:
    """Green where what was asked for was reached, yellow where the run ended before that, red where it failed."""
    if status in REACHED:
        return "green"
    return "red" if status in _FAULTS else "yellow"


def meaning(result: Result) -> str:
    """Empty where nothing can be said beyond how the run ended."""
    record = result.record
    if result.status in _FAULTS or not math.isfinite(record.total):
        return ""
    misses = record.infeasibility > _ROUNDING
    off = f"It misses the constraints by {ratio(record.infeasibility)}"
    if result.bound_is == "none" or not math.isfinite(record.bound):
        found = "How far the point is from an optimum is not known."
        return f"{found} {off}." if misses else found
    better, way = ("above", "upper") if result.sense == "maximise" else ("below", "lower")
    every = "point that meets the constraints" if record.infeasibilities else "point"
    within = resting(result.bound_rests_on)
    claim = f"No {every} has an objective {better} {number(record.bound, 8)}: {_SURE[result.bound_is]}{within}."
    if misses:
        near = f"The point found is within a gap of {ratio(record.gap)} of that."
        return f"{claim} {near} {off}, so that its own objective is no bound."
    return f"{claim} The objective of the point found is within a gap of {ratio(record.gap)} of this {way} bound."
