"""Whether an answer that is made of x is proven to be the best: none can have a value between the bound and its own."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from cgm_cli.blocks.iterates import Iterate
from cgm_cli.blocks.problem import CompositeProblem
from cgm_cli.methods.budget import Budget
from cgm_cli.methods.certification import Certifier
from cgm_cli.methods.clock import Clock
from cgm_cli.methods.record import IterationRecord
from cgm_cli.methods.state import AnswerLook, State, is_worth_another
from cgm_cli.numerics.deadline import Deadline

NEAR = 2.0
"""Times the spacing: how far the objective may be from the bound where an answer is looked for. The value of one is
hardly less than the optimum of the relaxation, which lies between the two.
"""


@dataclass(frozen=True)
class Multiples:
    """What the values of answers are: multiples of `spacing`, > 0. metric: of a rounding, its value. slack: how far
    rounding errors may have put a bound beyond them.
    """

    metric: str
    spacing: float
    slack: float = 0.0

    def rounded(self, bound: float, sign: float = 1.0) -> float:
        """The best value that a bound allows. sign: 1 where it is a lower bound, -1 where it is an upper one."""
        return sign * self.spacing * math.ceil((sign * bound - self.slack) / self.spacing)


@dataclass(frozen=True)
class Answers:
    """multiples: what their values are. value: of the answer that an iterate is rounded to beside a certified bound, by
    a deadline, both in the user's sense; of the same iterate and bound always the same.
    """

    multiples: Multiples
    value: Callable[[Iterate, float, Deadline], float]


class AnswerTest:
    """It rounds x now and then, as the end of a run does: so what it has found is found again there."""

    def __init__(
        self,
        answers: Answers,
        problem: CompositeProblem,
        state: State,
        certifier: Certifier,
        budget: Budget,
        clock: Clock,
    ):
        self._answers, self._sign, self._state = answers, problem.sense_sign, state
        self._certifier, self._budget, self._clock = certifier, budget, clock

    def is_proven(self, record: IterationRecord) -> bool:
        """Whether the answer that x is rounded to meets the certified bound, rounded to what values can be.

        Looked at where the objective is near the bound: as often as that is rounded to another number, and, once this
        is no worse than the best answer seen, each time that a quarter more of steps was taken.
        """
        state, sign, multiples = self._state, self._sign, self._answers.multiples
        if not sign * (record.total - record.bound) <= NEAR * multiples.spacing:
            return False
        allowed, last = multiples.rounded(record.bound, sign), state.answer
        reaches = sign * allowed >= last.best and is_worth_another(last.k, record.k)
        if not (sign * allowed > last.allowed or reaches):
            return False
        if not record.certified:
            self._certifier.certify_best()
        bound = state.bounds.certified
        if bound is None:
            return False
        certified = sign * bound.value
        with self._clock.phase("answer"):
            value = self._answers.value(state.point.iterate, certified, self._budget.turns)
        if self._budget.turns.should_stop():
            return False  # the search was cut short: what a run remembers does not depend on the clock
        state.answer = AnswerLook(sign * allowed, min(last.best, sign * value), record.k)
        return sign * value <= sign * multiples.rounded(certified, sign)
