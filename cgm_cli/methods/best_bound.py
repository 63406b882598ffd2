"""The best lower bound of a run: estimated as it goes; on demand certified, or else right with a stated probability."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np

from cgm_cli.blocks.directions import Direction
from cgm_cli.blocks.domains.base import Domain, OracleAnswer, OracleRequest
from cgm_cli.blocks.problem import CompositeProblem
from cgm_cli.methods.dual_point import DualPoint
from cgm_cli.methods.evaluation import Evaluation
from cgm_cli.methods.record import kind_of
from cgm_cli.numerics.deadline import NEVER, Deadline, OutOfTime
from cgm_cli.numerics.threads import blas_threads, looking

_EPS = float(np.finfo(float).eps)

TRIAL_PRODUCTS = 200
"""The products that may be spent to find out whether a certificate is worth its price."""


@dataclass(frozen=True)
class Bound:
    """A lower bound on F*: its value, whether it is certified, and the dual point it comes from.

    failure: the probability that it is no bound; 0 if it is certified, nan for an estimate, which has none.
    """

    value: float
    certified: bool
    dual: DualPoint
    failure: float = np.nan

    @classmethod
    def proven(cls, value: float, dual: DualPoint) -> Bound:
        """A certified one."""
        return cls(value, True, dual, 0.0)

    @property
    def kind(self) -> str:
        """ "certified", "probable" or "estimated"."""
        return kind_of(self.certified, self.failure)


@dataclass(frozen=True)
class Certificate:
    """What it took to certify the best estimate of a run, the last time: its value before, and seconds."""

    estimate: float
    seconds: float


@dataclass
class FailureBudget:
    """What a probable bound may fail with, and what it draws from."""

    failure: float
    rng: np.random.Generator


def seconds_to_write(problem: CompositeProblem) -> float:
    """What it takes to write a dual point out, or its direction, where the duals are as many as the entries of x."""
    return problem.domain.memory / WRITTEN if problem.needs_array else 0.0


def certify(problem: CompositeProblem, dual: DualPoint, slack: float = 0.0, deadline: Deadline = NEVER) -> float | None:
    """The bound of a dual point with the minimum over the domain certified; None where that is out of reach, or takes
    too long. slack: how much less it may be where that makes the proof cheaper.
    """
    if not problem.is_provable:
        return None
    direction, margin = _with_drift(problem.domain, dual, dual.direction(problem))
    with blas_threads(min(problem.domain.shape)):
        minimum = problem.domain.certified_minimum(direction, slack, deadline)
    return None if minimum is None else dual.constant + minimum - _allowance(margin, minimum)


def optimistic_bound(problem: CompositeProblem, dual: DualPoint, deadline: Deadline = NEVER) -> float:
    """No less than the bound of a dual point, and near it: the minimum over the domain is no more than the value of any
    of its points, which is found at a small part of the price of a certificate.
    """
    request = OracleRequest(1e-4, max_products=TRIAL_PRODUCTS, should_stop=deadline.should_stop)
    return dual.constant + problem.domain.lmo(dual.direction(problem), request).value


def certify_probably(
    problem: CompositeProblem,
    dual: DualPoint,
    failure: float,
    rng: np.random.Generator,
    slack: float = 0.0,
    deadline: Deadline = NEVER,
) -> float | None:
    """The same but for a probability of failure; None where there is no such method, or no time."""
    if not problem.is_provable:
        return None
    direction, margin = _with_drift(problem.domain, dual, dual.direction(problem))
    with blas_threads(min(problem.domain.shape)):
        minimum = problem.domain.probable_minimum(direction, failure, rng, slack, deadline)
    return None if minimum is None else dual.constant + minimum - _allowance(margin, minimum)


def _with_drift(domain: Domain, dual: DualPoint, direction: Direction) -> tuple[Direction, float]:
    """A direction that lies below all that the rounding of this one may stand for, and what else is to be allowed."""
    lowered = domain.lowered(direction, dual.drift)
    return (direction, dual.margin + dual.drift) if lowered is None else (lowered, dual.margin)


def estimate(domain: Domain, found: Evaluation, answer: OracleAnswer) -> float:
    """The bound that an oracle's answer gives: certified if the oracle is exact, otherwise an estimate.

    An inexact oracle's own value lies above the minimum; its `lower` subtracts the residual, which is honest but no
    proof.
    """
    rounding = domain.rounding(found.direction) if answer.exact else 0.0
    margin = found.margin + max(0.0, found.drift - answer.surplus)
    return found.constant + answer.lower - rounding - _allowance(margin, answer.lower)


def _allowance(margin: float, minimum: float) -> float:
    return margin + 8 * _EPS * abs(minimum)


WRITTEN = 4e8
"""Bytes of a direction that are written out in a second, symmetric, from dense duals, before anything is proven."""

PROBABLY = 10.0
"""How many times the slack of a proof that of a bound which is only probable is: what it loses falls with the square of
its price.
"""

LATENESS = 4
"""The j-th dual point weighs as j^4 in the mean: of a thousand, the last two hundred make two thirds of it."""


MANY = 5
"""The points of a mean that is probably better than the best of them."""


@dataclass(frozen=True)
class AveragedDual:
    """The weighted mean of `count` dual points. For a linear or quadratic f its bound is at least the mean of theirs.

    The dual function is concave: min over X of <v, x> is concave in v, and so is minus a conjugate. Single dual points
    scatter from one iteration to the next, the more so the sloppier the oracle, and their mean does not.
    """

    count: int = 0
    mean: DualPoint | None = None

    def joined_by(self, blended: Callable[[DualPoint | None, float], DualPoint]) -> AveragedDual:
        """The mean with one more point: blended(mean, share) is (1 - share) mean + share of that point, in new arrays;
        the point itself at first.
        """
        count = self.count + 1
        return AveragedDual(count, blended(self.mean, (LATENESS + 1) / (count + LATENESS)))

    @property
    def dual(self) -> DualPoint:
        """The mean, with an allowance for the rounding errors of averaging: each is damped by all later shares."""
        assert self.mean is not None
        more = 1.0 + self.count / (LATENESS + 1)
        return replace(self.mean, margin=self.mean.margin * more, drift=self.mean.drift * more)


@dataclass
class BestBound:
    """Keeps the best certified, probable and estimated bounds apart: an estimate may turn out too high when it is
    certified. Beside them the averaged dual, whose bound is known only once it is certified.
    """

    estimated: Bound | None = None
    probable: Bound | None = None
    certified: Bound | None = None
    average: AveragedDual = field(default_factory=AveragedDual)
    tried: int = 0  # the count of the average when it was last certified
    drawn: int = 0  # how many probable bounds were computed

    def improves(self, value: float, kind: str) -> bool:
        """Whether a bound of this value would be the best of its kind."""
        held = getattr(self, kind)
        return np.isfinite(value) and (held is None or value > held.value)

    def offer(self, bound: Bound) -> None:
        """Take the bound if it is the best of its sort."""
        if self.improves(bound.value, bound.kind):
            setattr(self, bound.kind, bound)

    def certify(self, problem: CompositeProblem, budget: FailureBudget, deadline: Deadline = NEVER) -> None:
        """Certify the averaged dual and that of the best estimate, where the domain can; this spends the estimate.

        Where there may be time for one only, a mean of few points comes last.
        """
        late = np.isfinite(deadline.left()) and self.average.count < MANY
        if not late:
            self.certify_average(problem, budget, deadline)
        estimated = self.estimated
        if estimated is not None and self.certify_dual(problem, estimated.dual, budget, deadline=deadline):
            self.estimated = None
        if late:
            self.certify_average(problem, budget, deadline)

    def certify_average(self, problem: CompositeProblem, budget: FailureBudget, deadline: Deadline = NEVER) -> None:
        """Certify the averaged dual, unless nothing has joined it since."""
        if self.average.count > self.tried:
            self.tried = self.average.count
            self.certify_dual(problem, self.average.dual, budget, deadline=deadline)

    def certify_dual(
        self,
        problem: CompositeProblem,
        dual: DualPoint,
        budget: FailureBudget,
        slack: float = 0.0,
        deadline: Deadline = NEVER,
    ) -> bool:
        """Certify the bound of a dual point, or else let it be probable; whether either was possible. slack: see
        `certify`.

        The best of several probable bounds fails if any of them does. The j-th therefore gets the share 1 / (j (j + 1))
        of the probability, and all together no more than the whole of it, however many there will be.

        A dual point that an approximate oracle already shows to be no better than what is certified is left alone.
        """
        if not deadline.affords(seconds_to_write(problem)):
            return False
        try:
            with looking(deadline.check):
                return self._prove(problem, dual, budget, slack, deadline)
        except OutOfTime:
            return False

    def _prove(
        self, problem: CompositeProblem, dual: DualPoint, budget: FailureBudget, slack: float, deadline: Deadline
    ) -> bool:
        if self.certified is not None and optimistic_bound(problem, dual, deadline) <= self.certified.value:
            return True
        value = certify(problem, dual, slack, deadline)
        if value is not None:
            self.offer(Bound.proven(value, dual))
        elif budget.failure > 0.0:
            share = budget.failure / ((self.drawn + 1) * (self.drawn + 2))
            value = certify_probably(problem, dual, share, budget.rng, PROBABLY * slack, deadline)
            if value is not None:
                self.drawn += 1
                self.offer(Bound(value, False, dual, budget.failure))
        return value is not None

    @property
    def shown(self) -> Bound | None:
        """What the table shows: the largest, marked for what it is; of equals the most certain."""
        candidates = [bound for bound in (self.certified, self.probable, self.estimated) if bound is not None]
        return max(candidates, key=lambda bound: bound.value, default=None)

    @property
    def final(self) -> Bound | None:
        """What a run reports: the certified bound if there is one, else the probable one."""
        return self.certified or self.probable or self.estimated
