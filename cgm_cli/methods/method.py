"""A method: one policy of each kind."""

from __future__ import annotations

from dataclasses import dataclass, field

from cgm_cli.methods.corrections.none import NoCorrection
from cgm_cli.methods.duals.none import NoMultipliers
from cgm_cli.methods.policies import Correction, DualUpdate, OracleAccuracy, Smoothing, Step
from cgm_cli.methods.state import State

WIDE = 1e6
"""How many times wider a smoothing is that leaves the duals at their multipliers, up to this part of a residual."""


@dataclass(frozen=True)
class Method:
    """A method: a name, and one policy of each kind."""

    name: str
    smoothing: Smoothing
    step: Step
    oracle: OracleAccuracy
    correction: Correction = field(default_factory=NoCorrection)
    duals: DualUpdate = field(default_factory=NoMultipliers)

    def beta(self, state: State, turn: int) -> float | None:
        """The smoothing of an iteration: that of the schedule, as much sharper as the dual update has made it."""
        beta = self.smoothing.beta(turn)
        return None if beta is None else beta / state.duals.sharpness

    def evaluated_at(self, state: State, turn: int) -> float | None:
        """The smoothing of the duals that the oracle and the bound are given: so wide where the multipliers are
        decisive that those are the duals.
        """
        beta = self.beta(state, turn)
        return WIDE * beta if beta is not None and state.duals.is_decisive else beta
