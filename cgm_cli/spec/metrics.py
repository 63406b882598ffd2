"""What a template says of the figures that it computes, for whoever lists, ranks or draws them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class Metric:
    """One figure of a template.

    name: as `metrics` and `round` call it; `metric_<name>` in the trace. description: one line. better: which values
    are the better ones; None where neither are, as of a rank. comparable: whether values of different problems compare,
    which those in the units of the data do not. log: whether orders of magnitude matter, as of an error that vanishes.
    """

    name: str
    description: str
    better: Literal["higher", "lower"] | None = None
    comparable: bool = True
    log: bool = False

    @property
    def sign(self) -> int:
        """1 if higher values are better, -1 if lower ones are, 0 if neither."""
        return {"higher": 1, "lower": -1, None: 0}[self.better]
