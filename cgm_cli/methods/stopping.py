"""When to stop, and what to call it."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from cgm_cli.blocks.problem import CompositeProblem
from cgm_cli.errors import ProblemError
from cgm_cli.methods.record import IterationRecord
from cgm_cli.methods.status import Status

PATIENCE = 300
"""The fewest iterations without progress that end a run where nobody says how many."""

ROUNDING, ROUNDED_PATIENCE = 1e-12, 30
"""max(gap, infeasibility) that is nothing but rounding, about; and the fewest iterations where nothing else is left."""

FINE, FINER = 1e-6, 0.01
"""The gap at which a bound between two numbers that an answer can come to is left there: so small, and this part of the
gap that was asked for.
"""

_Limit = tuple[float, float | None]


@dataclass(frozen=True)
class Stagnation:
    """smallest: of all max(gap, infeasibility) that counted as progress, the last. bound: at the last progress, at k;
    None before the first. ended: the correction has no better point to go to.
    """

    smallest: float = np.inf
    bound: float | None = None
    k: int = 0
    ended: bool = False

    def after(self, record: IterationRecord) -> Stagnation:
        """With one more record: it is progress where the figure has fallen by a hundredth. So it is where the bound has
        moved by a thousandth, as it does on its way to prove that the constraints cannot hold, beyond all objectives.
        """
        figure = max(record.gap, record.infeasibility)
        if figure < 0.99 * self.smallest or np.isnan(figure):
            return replace(self, smallest=figure if np.isfinite(figure) else np.inf, bound=record.bound, k=record.k)
        if self.bound is not None and abs(record.bound - self.bound) > 1e-3 * max(abs(record.bound), abs(record.total)):
            return replace(self, bound=record.bound, k=record.k)
        return self


@dataclass(frozen=True)
class StopRules:
    """iterations: the budget of steps. gap, infeasibility: relative tolerances; those given must hold together.
    gap_absolute: |total - bound|, which will do in place of the gap. time: seconds. objective: a value that is good
    enough, in the user's sense, at the infeasibility asked for. stagnation: iterations without progress. spacing: what
    the answers' values are multiples of, to which the bound is rounded; 0 if of nothing. bound: one that is enough,
    in the user's sense, whatever the objective is.
    """

    iterations: int
    gap: float | None = None
    infeasibility: float | None = None
    time: float | None = None
    objective: float | None = None
    stagnation: int | None = None
    gap_absolute: float | None = None
    spacing: float = 0.0
    bound: float | None = None

    @property
    def debt(self) -> float | None:
        """What the objective may owe to infeasibility, relative as the gap is; None where either has no tolerance."""
        return None if self.gap is None or self.infeasibility is None else max(self.gap, self.infeasibility)

    def allowed(self, scale: float) -> float:
        """The largest |total - bound| that will do, where a gap is relative to this scale; 0 where none is asked."""
        return max((self.gap or 0.0) * scale, self.gap_absolute or 0.0)

    def converged(self, record: IterationRecord) -> bool:
        """Whether every tolerance given is met (never, if none is given); a gap that is not a number is not met.

        Beside a gap, what the objective owes to infeasibility has to be within the larger of the two tolerances: else
        it may be as far from the optimum as that, whatever the gap is. Beside a target objective, the infeasibility
        alone is no end. Beside answers of some spacing, a gap is not met while a better bound would still be rounded to
        another number.
        """
        limits, gaps = self._limits(record)
        given, of_gap = _given(limits), _given(gaps)
        if not of_gap and (not given or self.objective is not None):
            return False
        is_near = not of_gap or any(value <= limit for value, limit in of_gap)
        return is_near and all(value <= limit for value, limit in given) and self._is_settled(record)

    def short_by(self, record: IterationRecord) -> float:
        """How many times as large as its tolerance is what is farthest from it: at most 1 where all are met, infinite
        where none is given, or one that is met by zero alone.
        """
        limits, gaps = self._limits(record)
        parts = [_times(*pair) for pair in _given(limits)]
        if of_gap := _given(gaps):
            parts.append(min(_times(*pair) for pair in of_gap))
        return max(parts, default=math.inf)

    def _limits(self, record: IterationRecord) -> tuple[list[_Limit], list[_Limit]]:
        """What has to be within its tolerance, and of what one has to be; each with that, None where none is given."""
        gaps = [(record.gap, self.gap), (abs(record.total - record.bound), self.gap_absolute)]
        return [(record.infeasibility, self.infeasibility), (record.owed, self.debt)], gaps

    def _is_settled(self, record: IterationRecord) -> bool:
        """Whether no multiple of the spacing lies between bound and objective, or the gap is too small to care."""
        if self.gap is None or not self.spacing or record.gap <= max(FINE, FINER * self.gap):
            return True
        return math.floor(record.total / self.spacing) == math.floor(record.bound / self.spacing)

    def fails_by_debt_alone(self, record: IterationRecord) -> bool:
        """Whether what the objective owes to infeasibility is all that stands between this record and convergence."""
        return not self.converged(record) and self.converged(replace(record, owed=0.0))

    def refuse_hidden_gap(self, problem: CompositeProblem, record: IterationRecord) -> None:
        """Raise ProblemError once it is plain that no gap as small as that asked for can be shown, because f is not
        quite convex: without constraints F* lies between bound and total, so that the gap can never be less than
        `tangent_excess` over the larger of them; with constraints, once the run would have converged but for that.
        """
        excess = problem.tangent_excess
        if self.gap is None or excess == 0.0 or np.isnan(record.bound):
            return
        bound = record.bound + problem.sense_sign * excess
        would_do = replace(record, gap=problem.relative(abs(record.total - bound), record.total, bound))
        hidden = problem.relative(excess, record.total, bound) > self.gap
        if not hidden or (problem.has_constraints and not self.converged(would_do)):
            return
        assert problem.loss is not None  # which the excess is of
        least, across = -problem.loss.weak_convexity, problem.domain.diameter
        raise ProblemError(
            f"the quadratic is not convex, or too nearly so for the gap of {self.gap:g} that is asked for: its matrix "
            f"has an eigenvalue of {least:.3g} (rounding included), which over a domain {across:.3g} across takes "
            f"{excess:.3g} off every bound. Add {-least:.2g} to its diagonal, compute it in double precision if it was "
            "not, narrow the domain, or ask for a larger `stop.gap`",
            ("problem", "objective", "matrix"),
        )

    def reached(self, record: IterationRecord, sign: float) -> Status | None:
        """TARGET_REACHED at the target objective; sign: 1 for a minimisation, -1 for a maximisation."""
        if self.objective is None or sign * record.total > sign * self.objective:
            return None
        near_enough = self.infeasibility is None or record.infeasibility <= self.infeasibility
        return Status.TARGET_REACHED if near_enough else None

    def is_bounded(self, record: IterationRecord, sign: float) -> bool:
        """Whether the bound is one that is enough; sign: as above."""
        return self.bound is not None and sign * record.bound >= sign * self.bound

    def exhausted(self, record: IterationRecord) -> Status | None:
        """The budget that is spent, if one is."""
        if record.k >= self.iterations:
            return Status.ITERATION_LIMIT
        return Status.TIME_LIMIT if self.out_of_time(record.seconds) else None

    def out_of_time(self, seconds: float) -> bool:
        """Whether the time is spent."""
        return self.time is not None and seconds >= self.time

    def patience(self, progress: Stagnation, k: int) -> float:
        """How many iterations without progress end a run that has come to k. Where nobody says, and a tolerance is to
        be met, it is half of all: even where errors fall as 1 / sqrt(k), a hundredth takes a fiftieth.
        """
        if self.stagnation is not None:
            return self.stagnation
        asked = self.objective is None and (self.allowed(1.0) > 0.0 or self.infeasibility is not None)
        if not asked:
            return np.inf
        return ROUNDED_PATIENCE if progress.smallest <= ROUNDING else max(PATIENCE, 0.5 * k)

    def stagnated(self, progress: Stagnation, k: int) -> Status | None:
        """STAGNATED after too many iterations without progress, of k in all."""
        return Status.STAGNATED if k - progress.k >= self.patience(progress, k) else None


def _times(value: float, limit: float) -> float:
    if not value > 0.0:
        return 0.0
    return value / limit if limit > 0.0 else math.inf


def _given(limits: list[_Limit]) -> list[tuple[float, float]]:
    return [(value, limit) for value, limit in limits if limit is not None]
