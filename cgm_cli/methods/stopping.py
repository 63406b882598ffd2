"""When to stop, and what to call it."""

from __future__ import annotations

from dataclasses import dataclass

from cgm_cli.methods.record import IterationRecord
from cgm_cli.methods.status import Status


@dataclass(frozen=True)
class StopRules:
    """iterations: the budget of steps. gap, infeasibility: relative tolerances; those given must hold together. time:
    seconds.
    """

    iterations: int
    gap: float | None = None
    infeasibility: float | None = None
    time: float | None = None

    def converged(self, record: IterationRecord) -> bool:
        """Whether every tolerance given is met (never, if none is given); a gap that is not a number is not met."""
        limits = [(record.gap, self.gap), (record.infeasibility, self.infeasibility)]
        given = [(value, limit) for value, limit in limits if limit is not None]
        return bool(given) and all(value <= limit for value, limit in given)

    def exhausted(self, record: IterationRecord) -> Status | None:
        """The budget that is spent, if one is."""
        if record.k >= self.iterations:
            return Status.ITERATION_LIMIT
        if self.time is not None and record.seconds >= self.time:
            return Status.TIME_LIMIT
        return None
