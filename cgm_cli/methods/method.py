"""A method: one policy of each kind."""

from __future__ import annotations

from dataclasses import dataclass, field

from cgm_cli.blocks.problem import CompositeProblem
from cgm_cli.errors import ProblemError
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

    def refuse(self, problem: CompositeProblem) -> None:
        """Raise ProblemError where nothing is smoothed, and something needs it. Presets say it sooner, in their words;
        this is for who puts a method together in Python.
        """
        if self.smoothing.beta(1) is not None:
            return
        sets = ", ".join(term.name for term in problem.terms if term.penalty.is_set)
        if sets:
            raise ProblemError(
                f"`{self.name}` smooths no terms, and has no way to handle a constraint ({sets}): give it a smoothing"
            )
        if self.duals.is_centred:
            raise ProblemError(f"`{self.name}` smooths no terms, which its multipliers need: give it a smoothing")

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
