"""Which values are the best, where that can be said at all."""

from __future__ import annotations

import math
from collections.abc import Sequence

from cgm_cli.errors import ProblemError
from cgm_cli.methods.status import Status
from cgm_cli.reports.declared import metric
from cgm_cli.reports.entry import Entry
from cgm_cli.reports.names import resolve, varying
from cgm_cli.text import quoted

_LOW = ("gap", "infeasibility", "iterations", "seconds")
"""What every run has, and is the better the lower it is. Of its own figures a template says which way is better."""
CONVERGED = (Status.CONVERGED.value, Status.TARGET_REACHED.value)


def direction(name: str, entries: Sequence[Entry]) -> int:
    """-1 if lower values of the figure are better, 1 if higher ones are, 0 if that cannot be said.

    Objectives and bounds of different problems do not compare, nor do objectives of points that miss constraints.
    """
    if name in _LOW:
        return -1
    if name in ("objective", "bound"):
        senses = {entry.sense for entry in entries if entry.finished}
        if len(senses) != 1 or not _one_problem(entries):
            return 0
        if name == "objective" and any(entry.figures["infeasibility"] > 0.0 for entry in entries if entry.finished):
            return 0
        return -1 if (senses == {"minimise"}) == (name == "objective") else 1
    said = metric(name, entries)
    return said.sign if said is not None and (said.comparable or _one_problem(entries)) else 0


def best(name: str, entries: Sequence[Entry], sign: int | None = None) -> list[Entry]:
    """The finished runs with the best value of a figure; all of them where several share it, none where none has it."""
    sign = direction(name, entries) if sign is None else sign
    known = [entry for entry in entries if entry.finished and not math.isnan(entry.figures.get(name, math.nan))]
    if not sign or not known:
        return []
    top = max(sign * entry.figures[name] for entry in known)
    return [entry for entry in known if sign * entry.figures[name] == top]


def best_first(entries: Sequence[Entry]) -> list[Entry]:
    """By accuracy = max(gap, infeasibility), then by seconds; those that did not finish, or have no bound, last."""

    def rank(entry: Entry) -> tuple[bool, float, float]:
        accuracy = max(entry.figures["gap"], entry.figures["infeasibility"])
        known = entry.finished and not math.isnan(accuracy)
        return (not known, accuracy if known else 0.0, entry.figures["seconds"] if known else 0.0)

    return sorted(entries, key=rank)


def marks(names: Sequence[str], entries: Sequence[Entry]) -> dict[str, list[Entry]]:
    """Figure -> the runs to mark in it. Where there is no other value, there is nothing to mark.

    The shorter run is the better one only where both came to the same end.
    """
    found = {}
    finished = [entry for entry in entries if entry.finished]
    converged = all(entry.state in CONVERGED for entry in finished)
    for name in names:
        values = {entry.figures.get(name, math.nan) for entry in finished}
        differ = len({value for value in values if not math.isnan(value)}) > 1
        found[name] = best(name, entries) if differ and (converged or name not in ("iterations", "seconds")) else []
    return found


def asked_best(wanted: str, entries: Sequence[Entry]) -> list[Entry]:
    """The best runs by `METRIC`, `min:METRIC` or `max:METRIC`. Raises ProblemError where no direction is known."""
    way, colon, name = wanted.rpartition(":")
    if colon and way not in ("min", "max"):
        raise ProblemError(f"`{quoted(wanted)}`: write min:METRIC, max:METRIC or METRIC.")
    name = resolve(name, entries)
    if not any(name in entry.figures for entry in entries):
        raise ProblemError(f"`{quoted(name)}` is no figure of the result: the best is chosen by what came out.")
    sign = {"min": -1, "max": 1}.get(way) or direction(name, entries)
    if not sign:
        raise ProblemError(
            f"Whether a low or a high `{quoted(name)}` is better cannot be told here; "
            f"write min:{quoted(name)} or max:{quoted(name)}."
        )
    winners = best(name, entries, sign)
    if not winners:
        raise ProblemError(f"No finished run has a value of `{quoted(name)}`.")
    return winners


def _one_problem(entries: Sequence[Entry]) -> bool:
    return not any(key == "seed" or key.startswith("problem.") for key in varying(entries))
