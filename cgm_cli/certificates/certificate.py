"""What is proven of a clustering or a cut."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Certificate:
    """A value, and a bound that no other passes but with a probability of `failure`, which is 0 if it is certified.

    value: of the clustering, the sum of squared distances to the means (or the weight of the cut). bound: below that of
    every clustering (above that of every cut). what: "clustering" or "cut". how: "structure", in closed form, "whole",
    by one relaxation of all points, or "samples", by those of `samples` subsets of `size` points each. labels (n,): the
    clustering, from 0. history: how the bound came about, the seconds and what it was. left_out (n,): which points the
    proof by structure leaves open, None where there is none. interrupted: whether it was ended by somebody who did not
    wait.
    """

    value: float
    bound: float
    failure: float
    seconds: float
    what: str
    how: str
    labels: np.ndarray = field(repr=False)
    samples: int = 0
    size: int = 0
    interrupted: bool = False
    history: tuple[tuple[float, float], ...] = field(default=(), repr=False)
    left_out: np.ndarray | None = field(default=None, repr=False)

    @property
    def within_percent(self) -> float:
        """How far from the best possible the value is at most, in percent of the best: infinite without a proof."""
        return self.percent_to(self.bound)

    def percent_to(self, bound: float) -> float:
        """How far that would be with another bound."""
        better, worse = (self.value, bound) if self.what == "cut" else (bound, self.value)
        if worse <= better:
            return 0.0
        return 100.0 * (worse / better - 1.0) if better > 0.0 else math.inf

    @property
    def sentence(self) -> str:
        """For people; the percentage is rounded up."""
        within = self.within_percent
        if math.isinf(within) and math.isfinite(self.bound) and self.what == "cut":
            return (
                f"No cut is worth more than {self.bound:.10g} ({self._proof}), and this one {self.value:.10g}: of what "
                "is not positive there is no percentage."
            )
        if math.isinf(within):
            return f"Nothing is proven of this {self.what} in the time there was: how far it is from the best is open."
        if within == 0.0:
            return f"This {self.what} is the best possible ({self._proof})."
        return f"This {self.what} is within {rounded_up(within)} % of the best possible ({self._proof})."

    @property
    def _proof(self) -> str:
        return "certified" if self.failure == 0.0 else f"with probability 1 - {self.failure:g}"

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        within = self.within_percent
        return {
            "what": self.what,
            "value": self.value,
            "bound": self.bound,
            "within_percent": None if math.isinf(within) else within,
            "failure": self.failure,
            "seconds": self.seconds,
            "how": self.how,
            "samples": self.samples,
            "sample_size": self.size,
            "interrupted": self.interrupted,
            "sentence": self.sentence,
        }


def rounded_up(percent: float) -> str:
    """Two digits, and never less than it is."""
    if percent == 0.0:
        return "0"
    step = 10.0 ** (math.floor(math.log10(percent)) - 1)
    return f"{math.ceil(percent / step - 1e-9) * step:.2g}" if percent < 99.0 else f"{math.ceil(percent)}"
