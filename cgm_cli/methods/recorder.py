"""Makes the records of a run, and tells observers of them."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Protocol

import numpy as np

from cgm_cli.blocks.iterates import Iterate
from cgm_cli.blocks.problem import CompositeProblem
from cgm_cli.methods.clock import Clock
from cgm_cli.methods.debt import Debt
from cgm_cli.methods.in_hand import InHand
from cgm_cli.methods.record import IterationRecord
from cgm_cli.methods.schedule import Schedule
from cgm_cli.methods.state import State
from cgm_cli.methods.theory import Theory
from cgm_cli.methods.turn import Turn

Metrics = Callable[[Iterate], Mapping[str, float]]


class Observer(Protocol):
    """Anything that wants to see the run as it goes. Of two records of the same k the second stands: the run has ended
    there.
    """

    def on_record(self, record: IterationRecord) -> None: ...


class Recorder:
    """metric_seconds: what the metrics, and the answer in hand, took the last time."""

    def __init__(
        self,
        problem: CompositeProblem,
        state: State,
        schedule: Schedule,
        clock: Clock,
        debt: Debt,
        observers: Iterable[Observer],
        metrics: Metrics | None,
        theory: Theory | None,
        in_hand: InHand | None = None,
    ):
        self._problem, self._state, self._schedule, self._clock, self._debt = problem, state, schedule, clock, debt
        self._observers, self._metrics, self._theory = tuple(observers), metrics, theory
        self._in_hand = in_hand
        self.metric_seconds = 0.0

    def record(self, turn: Turn, last: bool = False) -> IterationRecord:
        """What there is to decide by. last: with the bound that the run would report, not the best that is shown."""
        bounds, problem = self._state.bounds, self._problem
        bound = bounds.final if last else bounds.shown
        owed = self._debt.relative(turn)
        rank, ended = self._state.point.iterate.rank, self._state.progress.ended
        return IterationRecord.of(problem, turn, bound, self._clock.elapsed(), owed, rank, ended)

    def tell_now_and_then(self, turn: Turn) -> None:
        """The whole record, where it is time for one."""
        if turn.k % self._schedule.log == 0:
            self.tell(turn)

    def tell(self, turn: Turn, last: bool = False) -> IterationRecord:
        """The whole record, to all who want to see it. last: of a run."""
        record = self.record(turn, last)
        began = time.perf_counter()
        with self._clock.phase("metrics"):
            in_hand = self._answer(record)
            metrics: Mapping[str, float] = self._measured() if last or turn.k % self._schedule.metrics == 0 else {}
        self.metric_seconds = time.perf_counter() - began
        record = replace(
            record,
            phases=self._clock.take(),
            infeasibilities=turn.evaluation.infeasibilities,
            metrics=metrics,
            in_hand=in_hand,
            theory=self._promised(turn),
        )
        for observer in self._observers:
            observer.on_record(record)
        return record

    def _measured(self) -> Mapping[str, float]:
        return {} if self._metrics is None else self._metrics(self._state.point.iterate)

    def _answer(self, record: IterationRecord) -> Mapping[str, float]:
        """The best answer so far. What is remembered does not depend on where a run was left and resumed."""
        iterate, in_hand = self._state.point.iterate, self._in_hand
        if in_hand is None or iterate.recovery > 0.0:
            return {}
        best = in_hand.better(self._problem, self._state.in_hand, in_hand.value(iterate, record.k))
        if record.k % self._schedule.log == 0:
            self._state.in_hand = best
        return in_hand.figures(self._problem, best, record.bound)

    def _promised(self, turn: Turn) -> Mapping[str, float]:
        """The columns of the theory; nothing of the start."""
        if self._theory is None or turn.k == 0:
            return {}
        smoothed = np.nan
        if self._theory.optimum is not None:
            images = self._state.point.images
            smoothed = self._problem.smoothed(images.loss, images.terms, turn.former_beta or 0.0)
        return self._theory.columns(turn.k, turn.total, smoothed, turn.evaluation.distance)
