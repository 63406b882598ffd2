"""What a run can be taken up from: the state that every turn begins with."""

from __future__ import annotations

from collections.abc import Callable

from cgm_cli.methods.clock import Clock
from cgm_cli.methods.state import State
from cgm_cli.methods.status import Status

OnCheckpoint = Callable[[State, Status | None], None]
"""Given the state that a turn begins with, and how the run is about to end, or None; may pack it."""


class Checkpoints:
    """Gives the state away as it was when the turn began: a run that goes on from there does the turn again, to the
    last bit.
    """

    def __init__(self, state: State, clock: Clock, on_checkpoint: OnCheckpoint):
        self._state, self._clock, self._on_checkpoint = state, clock, on_checkpoint
        self._begun = state.snapshot()

    def begin_turn(self) -> None:
        """A turn begins."""
        self._state.seconds = self._clock.elapsed()
        self._on_checkpoint(self._state, None)
        self._begun = self._state.snapshot()

    def before_certificates(self, ending: Status) -> None:
        """The run is about to end like this, and its last certificates may take long."""
        self._state.seconds = self._clock.elapsed()
        now = self._state.snapshot()
        self._state.restore(self._begun)
        self._on_checkpoint(self._state, ending)
        self._state.restore(now)

    def undo_turn(self) -> None:
        """The run has ended: the turn whose step was not taken has never been."""
        self._state.seconds = self._clock.elapsed()
        self._state.restore(self._begun)
