"""What is known of a problem beyond its blocks: what to measure on iterates, and how to round the last one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from cgm_cli.blocks.iterates import Iterate
from cgm_cli.methods.answers import Multiples
from cgm_cli.numerics.deadline import NEVER, Deadline

_ROUNDING = 1e-13
"""Part of the sum of the sizes of some terms, which is no more than rounding of their sum."""


@dataclass(frozen=True)
class Rounding:
    """What is made of the final iterate: numbers for the summary, arrays for run.h5 (under /solution)."""

    metrics: Mapping[str, float] = field(default_factory=dict[str, float])
    arrays: Mapping[str, np.ndarray] = field(default_factory=dict[str, np.ndarray])


def certified_ratio(value: float, bound: float | None, size: float) -> dict[str, float]:
    """The metric `certified_ratio` of an answer to what is maximised, over its bound: the answer is at least that part
    of the best. None without a bound, nor of an answer that is not positive: 0 may be the best, whose bound is 0 but
    for the accuracy, and a part of it says nothing. size: the sum of the sizes of what the value is a sum of.
    """
    if bound is None or min(value, bound) <= _ROUNDING * size:
        return {}
    return {"certified_ratio": value / bound}


@dataclass(frozen=True)
class Quick:
    """Answers that are made of an iterate at little cost, on the way. name: what one is called. part: of the bound,
    which is then one on the value of every answer.
    """

    name: str
    part: float = 1.0


class Meaning(Protocol):
    """A template has one; a problem in hand has none."""

    @property
    def multiples(self) -> Multiples | None:
        """What the values of rounded answers are multiples of, where that is known."""
        ...

    @property
    def quick(self) -> Quick | None:
        """What `quick_value` is about; None without it."""
        ...

    def metrics(self, iterate: Iterate) -> Mapping[str, float]:
        """Numbers about the current iterate, each a scalar."""
        ...

    def quick_value(self, iterate: Iterate, rng: np.random.Generator) -> float:
        """Of an answer that is made of the iterate at no more cost than a step."""
        ...

    def round(
        self, iterate: Iterate, bound: float | None, rng: np.random.Generator, deadline: Deadline = NEVER
    ) -> Rounding:
        """The final iterate as an answer in the user's terms. bound: the certified bound in the user's sense, None
        without. After the deadline no more is tried than it takes to have an answer.
        """
        ...


class Plain:
    """Nothing is known."""

    multiples: Multiples | None = None
    quick: Quick | None = None

    def metrics(self, iterate: Iterate) -> Mapping[str, float]:
        return {}

    def quick_value(self, iterate: Iterate, rng: np.random.Generator) -> float:
        return np.nan

    def round(
        self, iterate: Iterate, bound: float | None, rng: np.random.Generator, deadline: Deadline = NEVER
    ) -> Rounding:
        return Rounding()
