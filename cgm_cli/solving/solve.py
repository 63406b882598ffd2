"""Runs the loop on a problem and makes a result of what comes out."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from cgm_cli.blocks.iterates import Iterate
from cgm_cli.blocks.problem import CompositeProblem
from cgm_cli.errors import NumericalError, in_range
from cgm_cli.methods import codec
from cgm_cli.methods.answers import Answers
from cgm_cli.methods.best_bound import Bound, Certificate
from cgm_cli.methods.budget import seconds_to_save
from cgm_cli.methods.in_hand import InHand
from cgm_cli.methods.method import Method
from cgm_cli.methods.outcome import Outcome
from cgm_cli.methods.recorder import Observer
from cgm_cli.methods.schedule import Schedule
from cgm_cli.methods.state import State
from cgm_cli.methods.status import Leave, Status
from cgm_cli.methods.stopping import StopRules
from cgm_cli.methods.theory import Rates, Theory
from cgm_cli.methods.unboundedness import ray_of, rests_on
from cgm_cli.numerics.deadline import Deadline
from cgm_cli.solving.form import Form
from cgm_cli.solving.remarks import active_bounds, figures_of_the_saved, redundant, remarks
from cgm_cli.solving.result import Result
from cgm_cli.solving.rounding import Meaning, Plain, Rounding
from cgm_cli.solving.rounds import Rows, run_in_rounds

PATIENCE = 1.2
"""The most seconds that a solution may take to be recovered, rounded and saved, of a run that somebody wants to leave;
who does not wait for more: the checkpoint has it.
"""

ROWS = "inequalities"
"""Under which the places of those are saved that the problem had at last."""

Pack = Callable[[], dict[str, Any]]
"""Packs all that a solve needs to go on from where it is."""

OnCheckpoint = Callable[[Pack, Status | None], None]
"""Called before every turn of the loop, and with how it ends before the last certificates and before the rounding."""


@dataclass(frozen=True)
class Solve:
    """A problem, how it is solved, and what is known of it. form: how x is kept. read: remarks on the data."""

    problem: CompositeProblem
    method: Method
    stop: StopRules
    form: Form
    schedule: Schedule = field(default_factory=Schedule)
    seed: int = 0
    meaning: Meaning = field(default_factory=Plain)
    theory: Theory | None = None
    read: tuple[str, ...] = ()

    def __call__(
        self,
        observers: Iterable[Observer] = (),
        should_stop: Callable[[], Status | None] = lambda: None,
        resume: Mapping[str, Any] | None = None,
        on_checkpoint: OnCheckpoint = lambda pack, status: None,
        rounding: Callable[[], AbstractContextManager[Any]] = nullcontext,
        began: float | None = None,
        beginning: Callable[[], AbstractContextManager[Any]] = nullcontext,
    ) -> Result:
        """Run the loop from the problem's start, or from `resume`, and round. Raises NumericalError on non-finite
        numbers.

        on_checkpoint: called before every turn of the loop, and with how it ends before the last certificates and
        before the rounding, with a function that packs all that the solve would need to go on from there: nested
        mappings of arrays and plain values, valid until the next turn. `resume` is what such a function gave. rounding:
        the context of the rounding, in which `Leave` may be raised at any time; a run that is preempted is not rounded.
        began, beginning: see `loop.run`.
        """
        with in_range(NumericalError):
            rates, rows = Rates(), Rows.begin(self.problem)
            if resume is not None:
                rates.unpack(resume["rates"], resume["state"]["k"])
                rows = None if rows is None else codec.unpack(Rows, resume["rows"])

            def pack(state: State, rows: Rows | None) -> Pack:
                held = {} if rows is None else {"rows": codec.pack(rows)}
                return lambda: {"state": state.pack(), "rates": rates.pack(), **held}

            with beginning():
                iterate = self.form.begin(self.problem, self.seed)
            outcome, problem, rows = run_in_rounds(
                self.problem,
                self.method,
                self.stop,
                iterate,
                schedule=self.schedule,
                seed=self.seed,
                observers=[*observers, rates],
                metrics=self.meaning.metrics,
                should_stop=should_stop,
                theory=self.theory,
                answers=self._answers,
                in_hand=self._in_hand,
                resume=None if resume is None else resume["state"],
                rows=rows,
                on_checkpoint=lambda state, ending, rows: on_checkpoint(pack(state, rows), ending),
                began=began,
                beginning=beginning,
            )
            on_checkpoint(pack(outcome.state, rows), outcome.status)
            result = replace(self, problem=problem)._result(outcome, rates, rounding)
            return result if rows is None else replace(result, solution=result.solution | {ROWS: rows.places})

    def _result(self, outcome: Outcome, rates: Rates, context: Callable[[], AbstractContextManager[Any]]) -> Result:
        iterate, record, bound = outcome.state.point.iterate, outcome.record, outcome.bound
        certified = record.bound if bound is not None and bound.certified else None
        rounding, status = Rounding(), outcome.status
        dear = seconds_to_save(outcome.state) > PATIENCE
        if status is not Status.PREEMPTED and not (status is Status.INTERRUPTED and dear):
            try:
                with context():
                    rounding = self._round(iterate, certified, outcome.deadline)
            except Leave as request:
                rounding, status = Rounding(), request.status
        hurried = dear and status in (Status.PREEMPTED, Status.INTERRUPTED)
        active = {} if hurried else active_bounds(self.problem, outcome)
        saved = {} if hurried else iterate.arrays()
        if status is Status.UNBOUNDED:
            saved = saved | {"ray": self._ray(iterate)}
        saved = self.problem.domain.in_users_terms(saved)
        implied = [] if hurried else redundant(self.problem, self.method)
        figures = {} if hurried else figures_of_the_saved(self.problem, outcome, self.method)
        told = (
            ["The solution is in the checkpoint alone."]
            if hurried
            else remarks(self.problem, outcome, active, implied, self.stop.infeasibility)
        )
        duals = () if bound is None or hurried else bound.dual.duals
        names = [term.name for term in self.problem.terms]
        return Result(
            status,
            record,
            "none" if bound is None else bound.kind,
            self.problem.sense,
            {**record.metrics, **rounding.metrics, **figures, **rates.slopes()},
            {**saved, **rounding.arrays},
            dict(zip(names, duals, strict=False)),
            " ".join(filter(None, [outcome.message, *self.read, *told])),
            None if bound is None or hurried else bound.dual.loss_image,
            self._in_users_sense(outcome.certificate),
            tuple(active),
            self._rests_on(outcome.bound),
            tuple(name for name, _ in implied),
        )

    def _rests_on(self, bound: Bound | None) -> str | None:
        if bound is None:
            return None
        assumed = rests_on(self.problem, bound)
        return ", ".join([*([assumed] if assumed else []), *self.problem.trusts]) or None

    def _round(self, iterate: Iterate, bound: float | None, deadline: Deadline) -> Rounding:
        # A stream of its own: rounding does not depend on the iterations, nor on what was rounded before.
        return self.meaning.round(iterate, bound, np.random.default_rng([self.seed, 1]), deadline)

    @property
    def _answers(self) -> Answers | None:
        """For a run to end by them; None where nothing is known of their values."""
        multiples = self.meaning.multiples
        if multiples is None:
            return None

        def value(iterate: Iterate, bound: float, deadline: Deadline) -> float:
            return self._round(iterate, bound, deadline).metrics[multiples.metric]

        return Answers(multiples, value)

    @property
    def _in_hand(self) -> InHand | None:
        """For the records of a run; None where nothing is rounded on the way."""
        quick = self.meaning.quick
        if quick is None:
            return None

        def value(iterate: Iterate, k: int) -> float:
            return self.meaning.quick_value(iterate, np.random.default_rng([self.seed, 4, k]))

        return InHand(quick.name, quick.part, value)

    def _ray(self, iterate: Iterate) -> np.ndarray:
        atom = iterate.atom()
        ray = None if atom is None else ray_of(self.problem, atom.dense())
        assert ray is not None  # the loop has seen it
        return ray

    def _in_users_sense(self, certificate: Certificate | None) -> Certificate | None:
        sign = self.problem.sense_sign
        return None if certificate is None else replace(certificate, estimate=sign * certificate.estimate)
