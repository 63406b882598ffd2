"""The choices that make a method of the one loop: smoothing, step size, oracle accuracy. Iterations count from 1, as in the paper."""

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
    """The same relative tolerance for every oracle call."""

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


EXACT_TOLERANCE = 1e-12
"""What `oracle: {mode: exact}` asks of an iterative oracle: rounding level."""

METHODS = {
    "hcgm": "homotopy conditional gradient: smoothing beta0 / sqrt(k + 1), every penalty and constraint through its prox",
    "cgm": "classical conditional gradient (Frank-Wolfe): a subgradient stands for the gradient of a non-smooth penalty",
}
"""Every method by the name it has in a spec, with the sentence `cgm list` prints."""
