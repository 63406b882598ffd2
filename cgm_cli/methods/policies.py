"""The choices that make a method of the one loop: smoothing, step size, oracle accuracy. Iterations count from 1, as in
the paper.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Homotopy:
    """beta_k = beta0 / sqrt(k + 1): smoothing that vanishes (paper, Algorithm 2)."""

    beta0: float

    def beta(self, k: int) -> float:
        return self.beta0 / float(np.sqrt(k + 1))


@dataclass(frozen=True)
class Subgradient:
    """No smoothing: a subgradient stands for the gradient of a non-smooth term (paper, section 5.3: this fails)."""

    def beta(self, k: int) -> None:
        return None


@dataclass(frozen=True)
class ClassicStep:
    """eta_k = 2 / (k + 1) (paper, Algorithms 1 and 2)."""

    def size(self, k: int) -> float:
        return 2.0 / (k + 1)


@dataclass(frozen=True)
class FixedAccuracy:
    """The same relative tolerance for every oracle call; 0 asks for full factorisations."""

    tolerance: float

    def at(self, k: int) -> float:
        return self.tolerance


@dataclass(frozen=True)
class Method:
    """A named method: one policy of each kind."""

    name: str
    smoothing: Homotopy | Subgradient
    step: ClassicStep
    oracle: FixedAccuracy
