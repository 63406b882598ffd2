"""The result of a run as one JSON object: what `cgm solve --json` prints and status.json keeps."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from cgm_cli.runs.files import plain

if TYPE_CHECKING:
    from cgm_cli.methods.status import Status
    from cgm_cli.solving.presets import Chosen
    from cgm_cli.solving.result import Result


def _certificate(result: Result) -> dict[str, Any] | None:
    """estimate: the best one, before it was certified. cost: by how much the bound reported is the worse one. failure:
    the probability that it is none. seconds: spent on it.
    """
    found, record = result.certificate, result.record
    if found is None:
        return None
    sign = -1.0 if result.sense == "maximise" else 1.0
    return {
        "estimate": found.estimate,
        "cost": sign * (found.estimate - record.bound),
        "failure": record.bound_failure,
        "seconds": found.seconds,
    }


def summarise(result: Result, run: Path, choice: Chosen | None = None) -> dict[str, Any]:
    """The summary, in the user's units and sense, with None where a number is unknown or not finite.

    choice: the method that was taken. `objective` includes the finite penalties, because that is the number which
    `bound` bounds and `gap` compares.
    """
    record = result.record
    return plain(
        {
            "status": result.status.value,
            "sense": result.sense,
            "objective": record.total,
            "bound": record.bound,
            "bound_is": result.bound_is,
            "certificate": _certificate(result),
            "gap": record.gap,
            "infeasibility": record.infeasibility,
            "owed": record.owed,
            "iterations": record.k,
            "seconds": record.seconds,
            "run": str(run),
            "method": None if choice is None else choice.in_words,
            "active_bounds": list(result.active_bounds),
            "bound_rests_on": result.bound_rests_on,
            "implied_constraints": list(result.implied_constraints),
            "metrics": result.metrics,
        }
    )


def unbegun(status: Status, run: Path) -> dict[str, Any]:
    """The summary of a run that was left before its first step: nothing is known of it."""
    known = {
        "status": status.value,
        "bound_is": "none",
        "iterations": 0,
        "seconds": 0.0,
        "run": str(run),
        "active_bounds": [],
        "implied_constraints": [],
        "metrics": {},
    }
    names = "status sense objective bound bound_is certificate gap infeasibility owed iterations seconds run method "
    names += "active_bounds bound_rests_on implied_constraints metrics"
    return {name: known.get(name) for name in names.split()}
