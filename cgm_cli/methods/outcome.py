"""How a run ended."""

from __future__ import annotations

from dataclasses import dataclass

from cgm_cli.methods.best_bound import Bound, Certificate
from cgm_cli.methods.dual_point import DualPoint
from cgm_cli.methods.record import IterationRecord
from cgm_cli.methods.repair import Repair
from cgm_cli.methods.state import State
from cgm_cli.methods.status import Status
from cgm_cli.numerics.deadline import NEVER, Deadline


@dataclass(frozen=True)
class Outcome:
    """status, last record, the bound reported and its dual point, and the state, from which the run
    could go on. certificate: None if no estimate was certified. repair: what it takes to mend x; None without
    constraints, and where x is too large. deadline: of what is still to be done.
    """

    status: Status
    record: IterationRecord
    state: State
    bound: Bound | None
    message: str = ""
    certificate: Certificate | None = None
    repair: Repair | None = None
    deadline: Deadline = NEVER

    @property
    def dual(self) -> DualPoint | None:
        return None if self.bound is None else self.bound.dual
