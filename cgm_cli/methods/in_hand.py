"""Answers in hand while a run goes on: what x is rounded to at little cost, and how far the best of them is from the
bound.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from cgm_cli.blocks.iterates import Iterate
from cgm_cli.blocks.problem import CompositeProblem


@dataclass(frozen=True)
class InHand:
    """name: of the answer. part: of the bound on the objective, which is then one on the value of every answer, both
    in the user's sense. value: of an answer that the iterate after k steps is rounded to, nan for none; of the same
    always the same.
    """

    name: str
    part: float
    value: Callable[[Iterate, int], float]

    def better(self, problem: CompositeProblem, best: float, found: float) -> float:
        """The better of two values, either of which may be nan."""
        if math.isnan(best) or math.isnan(found):
            return found if math.isnan(best) else best
        return min(best, found) if problem.sense_sign > 0 else max(best, found)

    def figures(self, problem: CompositeProblem, best: float, bound: float) -> Mapping[str, float]:
        """The value by the name of the answer, and its gap to the bound, relative as that of the objective is; nothing
        without an answer.
        """
        if math.isnan(best):
            return {}
        value = best / self.part
        return {self.name: best, f"{self.name}_gap": problem.relative(abs(value - bound), value, bound)}
