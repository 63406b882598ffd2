"""What policies are told of each other when a method is put together."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Setting:
    """beta0: the smoothing of the first iteration. share: the delta that a multiplicative oracle guarantees, which
    slows smoothing and steps down (Theorems 7-9); 1 for every other oracle. follows: the dual update follows the
    solutions of the correction, which then need not be compared with the plain step. pace: the steps of the correction
    that make up a turn.
    """

    beta0: float
    share: float = 1.0
    follows: bool = False
    pace: int = 1
