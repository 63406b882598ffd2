"""What a run does now and then."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class Schedule:
    """What is done every how many iterations: a record, the template's metrics, a bound, fresh images; when to certify;
    and the probability of failure of a bound that cannot be certified (0: it stays an estimate).
    """

    log: int = 1
    metrics: int = 10
    bound: int = 1
    refresh: int = 1000
    certify: Literal["final", "always", "never"] = "final"
    failure: float = 1e-9

    @property
    def certifies(self) -> bool:
        """Whether anything is certified at all."""
        return self.certify != "never"
