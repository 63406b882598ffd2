"""The best lower bound of a run: estimated as it goes, certified on demand."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cgm_cli.blocks.directions import Direction
from cgm_cli.blocks.domains.base import Domain, OracleAnswer
from cgm_cli.blocks.problem import CompositeProblem
from cgm_cli.methods.evaluation import DualPoint

_EPS = float(np.finfo(float).eps)


@dataclass(frozen=True)
class Bound:
    """A lower bound on F*: its value, whether it is certified, and the dual point it comes from."""

    value: float
    certified: bool
    dual: DualPoint


def certify(problem: CompositeProblem, dual: DualPoint) -> float | None:
    """The bound of a dual point with the minimum over the domain certified; None where that is out of reach."""
    minimum = problem.domain.certified_minimum(dual.direction(problem))
    return None if minimum is None else dual.constant + minimum - _allowance(dual.margin, minimum)


def estimate(domain: Domain, direction: Direction, constant: float, margin: float, answer: OracleAnswer) -> float:
    """The bound that an oracle's answer gives: certified if the oracle is exact, otherwise an estimate.

    An inexact oracle's own value lies above the minimum; its `lower` subtracts the residual, which is honest but no
    proof.
    """
    rounding = domain.rounding(direction) if answer.exact else 0.0
    return constant + answer.lower - rounding - _allowance(margin, answer.lower)


def _allowance(margin: float, minimum: float) -> float:
    return margin + 8 * _EPS * abs(minimum)


@dataclass
class BestBound:
    """Keeps the best certified and the best estimated bound apart: an estimate may turn out too high when it is
    certified.
    """

    estimated: Bound | None = None
    certified: Bound | None = None

    def improves(self, value: float, exact: bool) -> bool:
        """Whether a bound of this value would be the best of its sort."""
        held = self.certified if exact else self.estimated
        return np.isfinite(value) and (held is None or value > held.value)

    def offer(self, bound: Bound) -> None:
        """Take the bound if it is the best of its sort."""
        if self.improves(bound.value, bound.certified):
            if bound.certified:
                self.certified = bound
            else:
                self.estimated = bound

    def certify(self, problem: CompositeProblem) -> None:
        """Certify the dual point of the best estimate, where the domain can; the estimate is spent by it."""
        if self.estimated is None:
            return
        value = certify(problem, self.estimated.dual)
        if value is not None:
            self.offer(Bound(value, True, self.estimated.dual))
            self.estimated = None

    @property
    def shown(self) -> Bound | None:
        """What the table shows: the larger of the two, marked for what it is."""
        candidates = [bound for bound in (self.certified, self.estimated) if bound is not None]
        return max(candidates, key=lambda bound: (bound.value, bound.certified), default=None)

    @property
    def final(self) -> Bound | None:
        """What a run reports: the certified bound if there is one."""
        return self.certified or self.estimated
