"""What all steps share: the step of the theory, which an additive oracle's allowance is measured by."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class PlannedStep:
    """eta_k = 2 / (delta (k - 1) + 2), which is 2 / (k + 1) for delta = 1 (paper, Algorithms 1 and 2; Theorem 7)."""

    delta: float = 1.0

    def planned(self, k: int) -> float:
        return 2.0 / (self.delta * (k - 1) + 2.0)
