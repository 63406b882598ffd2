"""Runs of the loop between which inequalities join the problem that x violates, and leave it that do nothing any more.

A round is a run of its own from where the last has come to: point, factor, multipliers and the certified bound go on,
with a multiplier of zero for what is new. So every bound of a round is one of the problem with all inequalities, and
the best is kept. Nothing is dropped that the current multipliers or the best bound rest on.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np

from cgm_cli.blocks.iterates import DenseIterate, Iterate
from cgm_cli.blocks.problem import CompositeProblem
from cgm_cli.methods import codec
from cgm_cli.methods.best_bound import BestBound, Bound
from cgm_cli.methods.loop import run
from cgm_cli.methods.method import Method
from cgm_cli.methods.outcome import Outcome
from cgm_cli.methods.state import Attempts, State
from cgm_cli.methods.status import Status
from cgm_cli.methods.stopping import Stagnation, StopRules

TURNS = 10
"""The turns of a round. A descent needs some of them to have multipliers that fit; where they are not yet right, those
of the next round begin where these have come to.
"""

NEAR = 1e-3
"""Part of the largest image within which an inequality is met with so little room that it stays."""


@dataclass(frozen=True)
class Rows:
    """Which inequalities a round has: their places (m, w), and the k at which it ends."""

    places: np.ndarray
    until: int

    @classmethod
    def begin(cls, problem: CompositeProblem) -> Rows | None:
        """Of the first round; None where the problem has no family of inequalities."""
        if problem.growing is None:
            return None
        family = problem.terms[problem.growing].family
        assert family is not None
        return cls(family.first, TURNS)


OnRound = Callable[[State, Status | None, Rows | None], None]
"""A checkpoint (cgm_cli.methods.checkpoints), with the rows of the round."""


def run_in_rounds(
    problem: CompositeProblem,
    method: Method,
    stop: StopRules,
    iterate: Iterate,
    *,
    rows: Rows | None,
    on_checkpoint: OnRound,
    resume: Mapping[str, Any] | None = None,
    began: float | None = None,
    **others: Any,
) -> tuple[Outcome, CompositeProblem, Rows | None]:
    """`loop.run`, again and again while x violates inequalities of the problem's family and there is time; how the last
    round ended, its problem and its rows. rows, resume: of the round that a run goes on with.
    """
    before = 0.0 if began is None else time.perf_counter() - began
    while True:
        here, limit = problem, stop.iterations
        if rows is not None:
            here, limit = problem.with_rows(rows.places), min(rows.until, stop.iterations)

        def keep(state: State, ending: Status | None, held: Rows | None = rows, limit: int = limit) -> None:
            """What ends a round alone does not end the run."""
            of_round = ending is Status.ITERATION_LIMIT and limit < stop.iterations
            on_checkpoint(state, None if of_round else ending, held)

        outcome = run(
            here,
            method,
            replace(stop, iterations=limit),
            iterate,
            resume=resume,
            on_checkpoint=keep,
            began=None if began is None else time.perf_counter() - before,
            **others,
        )
        ended = time.perf_counter()
        left = outcome.status is Status.ITERATION_LIMIT and limit < stop.iterations
        if rows is None or not (left or outcome.status in (Status.CONVERGED, Status.STAGNATED)):
            return outcome, here, rows
        exchange = _Exchange.of(here, outcome, rows)
        if exchange.joins.size:
            rows = Rows(exchange.places, outcome.state.k + TURNS)
            resume = exchange.carried(problem.with_rows(rows.places), method, outcome)
        elif left:
            # The turn that ended the round is undone, but what it has proven stands.
            if outcome.bound is not None:
                outcome.state.bounds.offer(outcome.bound)
            rows = replace(rows, until=2 * outcome.state.k)
            resume = outcome.state.pack()
        else:
            return outcome, here, rows
        resume["seconds"] += time.perf_counter() - ended


@dataclass(frozen=True)
class _Exchange:
    """grown: the place of the term. stays: of its rows, whether they do (m,). places: of all that the next round has,
    those that stay first; joins: of those that are new. x: the point, written out.
    """

    grown: int
    stays: np.ndarray
    places: np.ndarray
    joins: np.ndarray
    x: np.ndarray

    @classmethod
    def of(cls, problem: CompositeProblem, outcome: Outcome, rows: Rows) -> _Exchange:
        grown = problem.growing
        assert grown is not None
        family, point = problem.terms[grown].family, outcome.state.point
        assert family is not None
        x = cast(DenseIterate, point.iterate).array
        room = np.abs(point.images.terms[grown])
        stays = room <= NEAR * room.max()
        stays[: len(family.first)] = True
        for duals in (point.multipliers, None if outcome.bound is None else outcome.bound.dual.duals):
            if duals is not None:
                stays |= duals[grown] != 0.0
        held = {tuple(place) for place in rows.places[stays].tolist()}
        found = [place for place in family.violated(x).tolist() if tuple(place) not in held]
        joins = np.array(found, dtype=rows.places.dtype).reshape(-1, rows.places.shape[1])
        return cls(grown, stays, np.vstack([rows.places[stays], joins]), joins, x)

    def carried(self, problem: CompositeProblem, method: Method, outcome: Outcome) -> dict[str, Any]:
        """The state that the next round begins with, packed: what the loop resumes from."""
        state, bound = outcome.state, outcome.bound
        certified = None
        if bound is not None and bound.certified:
            certified = Bound.proven(bound.value, replace(bound.dual, duals=self._spread(bound.dual.duals)))
        tree, point = state.pack(), state.point.pack()
        image = problem.terms[self.grown].map.forward(self.x)
        point["images"] = {**point["images"], str(self.grown): image}
        if state.point.multipliers is not None:
            spread = self._spread(tuple(state.point.multipliers))
            point["multipliers"] = {str(place): y for place, y in enumerate(spread)}
        held = state.duals
        duals = replace(method.duals.init(problem), sharpness=held.sharpness, is_decisive=held.is_decisive)
        return tree | {
            "point": point,
            "duals": codec.pack(duals),
            "bounds": codec.pack(BestBound(certified=certified)),
            "attempts": codec.pack(Attempts()),
            "progress": codec.pack(Stagnation()),
        }

    def _spread(self, duals: tuple[np.ndarray, ...]) -> tuple[np.ndarray, ...]:
        """Those of the next round's rows: what stays keeps its own, what is new has zero."""
        new = np.zeros(len(self.joins))
        return tuple(np.append(y[self.stays], new) if i == self.grown else y for i, y in enumerate(duals))
