"""Smoothing that vanishes with the steps of a stochastic method, of which a turn of the loop makes up many."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar


@dataclass(frozen=True)
class ByStep(ABC):
    """beta0 times what falls from step to step, `pace` of them in a turn."""

    beta0: float
    pace: int = 1
    vanishes: ClassVar[bool] = False

    def beta(self, k: int) -> float:
        """Of the first step of the k-th turn; before the first, that of the start."""
        return self.at(self.pace * max(0, k - 1) + 1)

    @abstractmethod
    def at(self, step: int) -> float:
        """Of a step, which count from 1."""
