"""One typed record per iteration; its fields are the columns of the console table, of run.h5 and of the report."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from cgm_cli.blocks.problem import CompositeProblem
    from cgm_cli.methods.best_bound import Bound
    from cgm_cli.methods.turn import Turn

MARKS = {"estimated": "~", "probable": "*"}
"""What stands before a bound that is not certified."""

_PREFIXES = {
    "phases": "seconds",
    "infeasibilities": "infeasibility",
    "metrics": "metric",
    "in_hand": "best",
    "theory": "theory",
}


@dataclass(frozen=True)
class IterationRecord:
    """What is known of the iterate after k steps, in the user's units and sense (for a maximisation the bound is an
    upper bound).

    k: steps taken, 0 for the start. seconds: wall time since the solve began. objective: f. penalty: sum of the finite
    g_i. total: objective + penalty. infeasibility: the largest of `infeasibilities`, each |A x - p| / v.
    owed: an estimate of what the total owes to missing constraints, relative as the gap is: the sum of |y_i| |A_i x -
    p|, or what it costs to mend x (cgm_cli.methods.repair) where that was looked at and is more. bound: best bound so
    far (nan before the first), `certified` or not. bound_failure: the probability that it is none; 0 if it is
    certified, nan if it is an estimate. gap: |total - bound| / max(u, |total|, |bound|). u, v: `unit` and `image_scale`
    of the problem. beta: smoothing, 0 for none. eta: size of the step that follows. lmo_value: <v, s>. lmo_matvecs:
    matrix products of this oracle call. lmo_residual: relative residual of its vectors. fw_gap: <v, x - s>. Those three
    are nan where the oracle was broken off to leave. rank: of x at the most, the columns of its factors; nan where it
    is kept in another form. ended: the correction has no better point to go to. phases: seconds of this iteration by
    phase. metrics: of the template, where evaluated. in_hand: the best answer so far, and its gap to the bound
    (cgm_cli.methods.in_hand). theory: what the paper promises beside what is measured
    (cgm_cli.methods.theory), in the minimisation's units.
    """

    k: int
    seconds: float
    objective: float
    penalty: float
    total: float
    infeasibility: float
    bound: float
    certified: bool
    gap: float
    beta: float
    eta: float
    lmo_value: float
    lmo_matvecs: int
    lmo_residual: float
    fw_gap: float
    bound_failure: float = math.nan
    rank: float = math.nan
    owed: float = 0.0
    ended: bool = False
    phases: Mapping[str, float] = field(default_factory=dict[str, float])
    infeasibilities: Mapping[str, float] = field(default_factory=dict[str, float])
    metrics: Mapping[str, float] = field(default_factory=dict[str, float])
    in_hand: Mapping[str, float] = field(default_factory=dict[str, float])
    theory: Mapping[str, float] = field(default_factory=dict[str, float])

    @classmethod
    def of(
        cls,
        problem: CompositeProblem,
        turn: Turn,
        bound: Bound | None,
        seconds: float,
        owed: float,
        rank: float = math.nan,
        ended: bool = False,
    ) -> IterationRecord:
        """What is known of a turn."""
        sign = problem.sense_sign
        found, value, total = turn.evaluation, math.nan if bound is None else bound.value, turn.total
        # An oracle broken off after a product or two has told nothing of the minimum.
        silent = turn.is_interrupted
        minimum, residual = (math.nan, math.nan) if silent else (turn.answer.value, turn.answer.residual)
        return cls(
            k=turn.k,
            seconds=seconds,
            objective=sign * found.objective + 0.0,  # no -0.0
            penalty=sign * found.penalty + 0.0,
            total=sign * total + 0.0,
            infeasibility=max(found.infeasibilities.values(), default=0.0),
            bound=sign * value + 0.0,
            certified=bound is not None and bound.certified,
            bound_failure=math.nan if bound is None else bound.failure,
            gap=problem.relative(abs(total - value), total, value),
            owed=owed,
            rank=rank,
            ended=ended,
            beta=turn.beta or 0.0,
            eta=turn.eta,
            lmo_value=minimum,
            lmo_matvecs=turn.answer.products,
            lmo_residual=residual,
            fw_gap=found.pairing - minimum,
        )

    @property
    def bound_is(self) -> str:
        """ "certified", "probable", "estimated" or "none"."""
        return "none" if math.isnan(self.bound) else kind_of(self.certified, self.bound_failure)

    @property
    def mark(self) -> str:
        """What stands before the bound in a table."""
        return MARKS.get(self.bound_is, "")

    def columns(self) -> dict[str, Any]:
        """The record as a flat row, in which <prefix>_<name> stands for an entry of a mapping."""
        row = {f.name: getattr(self, f.name) for f in fields(self) if f.name not in _PREFIXES}
        for group, prefix in _PREFIXES.items():
            row.update({f"{prefix}_{name}": value for name, value in getattr(self, group).items()})
        return row


def kind_of(certified: bool, failure: float) -> str:
    """What a bound is called: "certified", "probable" or "estimated"."""
    if certified:
        return "certified"
    return "estimated" if math.isnan(failure) else "probable"
