"""The choices that make a method of the one loop. Iterations count from 1, as in the paper.

`delta` in smoothing and step is the share that a multiplicative oracle guarantees (Theorems 7-9); 1 for every other
oracle.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from cgm_cli.blocks.domains.base import OracleRequest
from cgm_cli.numerics.roots import increasing_zero

if TYPE_CHECKING:
    from cgm_cli.methods.state import State

Allowance = Callable[[float], float]
"""Given <v, s~>, how far it may lie above min <v, .>."""


WIDE = 1e6
"""How many times wider a smoothing is that leaves the duals at their centres, up to this part of a residual."""


@dataclass(frozen=True)
class Homotopy:
    """beta_k = beta0 / sqrt(delta k + 1): smoothing that vanishes (paper, Algorithm 2; Theorem 7 for delta < 1)."""

    beta0: float
    delta: float = 1.0

    def beta(self, k: int) -> float:
        return self.beta0 / float(np.sqrt(self.delta * k + 1))


@dataclass(frozen=True)
class Constant:
    """beta0, for a method whose multipliers meet the constraints however wide the smoothing is."""

    beta0: float

    def beta(self, k: int) -> float:
        return self.beta0


@dataclass(frozen=True)
class Subgradient:
    """No smoothing: a subgradient stands for the gradient of a non-smooth term (paper, section 5.3: this fails)."""

    def beta(self, k: int) -> None:
        return None


class Segment(Protocol):
    """The smoothed objective along x + eta (s - x), 0 <= eta <= 1."""

    def slope(self, eta: float) -> float: ...


@dataclass(frozen=True)
class ClassicStep:
    """eta_k = 2 / (delta (k - 1) + 2), which is 2 / (k + 1) for delta = 1 (paper, Algorithms 1 and 2; Theorem 7)."""

    delta: float = 1.0

    def planned(self, k: int) -> float:
        """The step of the theory, which an additive oracle's allowance is measured by."""
        return 2.0 / (self.delta * (k - 1) + 2.0)

    def size(self, k: int, segment: Callable[[], Segment]) -> float:
        return self.planned(k)


@dataclass(frozen=True)
class LineSearch(ClassicStep):
    """The minimiser of the smoothed objective along the segment (paper, remark after Theorem 3)."""

    def size(self, k: int, segment: Callable[[], Segment]) -> float:
        return minimiser(segment().slope)


@dataclass(frozen=True)
class CappedLineSearch(ClassicStep):
    """The minimiser of the smoothed objective over [0, eta_k], with the classical eta_k.

    The exact step zigzags: now and then it is several times the classical one, and the gap leaps with it. This one is
    no worse than the classical step in F_beta, which is all that Theorems 1 to 3 ask for.
    """

    def size(self, k: int, segment: Callable[[], Segment]) -> float:
        return min(self.planned(k), minimiser(segment().slope))


def minimiser(slope: Callable[[float], float]) -> float:
    """The zero in [0, 1] of a non-decreasing slope, or the end of the interval that it points to."""
    return increasing_zero(slope, 0.0, 1.0)


LOOSE = 1e-5
"""Relative tolerances from which products in single precision will do: ten times their rounding errors
(cgm_cli.numerics.eigen.ROUGH).
"""


@dataclass(frozen=True)
class Accuracy:
    """How well an oracle answers; its k-th call may cost budget k^(1/4) log n products per eigenvector of size n.

    So many products of a Lanczos method leave an error that falls as fast as the theory asks, however close the
    eigenvalues lie (Yurtsever, Tropp, Fercoq, Udell and Cevher, "Scalable semidefinite programming", SIAM J. Math. Data
    Sci. 3, 2021, section 3.4).
    """

    budget: float = field(default=np.inf, kw_only=True)

    @property
    def is_loose(self) -> bool:
        """Whether products in single precision are likely to be good enough for every answer."""
        return False

    def products(self, k: int, size: int) -> int:
        """The most products of the k-th call."""
        return int(np.ceil(min(OracleRequest.max_products, self.budget * k**0.25 * max(1.0, np.log(size)))))


@dataclass(frozen=True)
class FixedAccuracy(Accuracy):
    """The same relative tolerance for every oracle call; 0 asks for full factorisations."""

    tolerance: float

    @property
    def is_loose(self) -> bool:
        return self.tolerance >= LOOSE

    def allowance(self, eta: float, beta: float | None, current: float) -> None:
        return None


@dataclass(frozen=True)
class AdditiveAccuracy(Accuracy):
    """<v, s~> <= min <v, .> + delta (eta_k / 2) D_X^2 (L_f + |A|^2 / beta_k) (paper, equation 4.1; Theorems 4-6)."""

    delta: float
    lipschitz: float
    norm: float
    diameter: float
    tolerance: float = 1e-9

    def allowance(self, eta: float, beta: float | None, current: float) -> Allowance:
        curvature = self.lipschitz + (self.norm**2 / beta if self.norm > 0 else 0.0)
        allowed = 0.5 * self.delta * eta * self.diameter**2 * curvature
        return lambda value: allowed


@dataclass(frozen=True)
class MultiplicativeAccuracy(Accuracy):
    """<v, s~ - x> <= delta <v, s - x>, 0 < delta <= 1 (paper, equation 4.2; Theorems 7-9), with current = <v, x>.

    For s~ at a distance e above the minimum that is e <= (1 - delta) / delta * <v, x - s~>.
    """

    delta: float
    tolerance: float = 1e-9

    def allowance(self, eta: float, beta: float | None, current: float) -> Allowance:
        share = (1.0 - self.delta) / self.delta
        return lambda value: share * (current - value)


@dataclass(frozen=True)
class Method:
    """A named method: one policy of each kind. perturb: an oracle in closed form errs on purpose, by all it may.

    correction: see cgm_cli.methods.corrections; None for the plain step. ascent: see cgm_cli.methods.ascent; None for
    smoothing that stays centred at zero; beside the `multipliers` of a correction, what takes their place once it has
    given way.
    """

    name: str
    smoothing: Homotopy | Constant | Subgradient
    step: ClassicStep
    oracle: FixedAccuracy | AdditiveAccuracy | MultiplicativeAccuracy
    perturb: bool = False
    correction: Any = None
    ascent: Any = None

    @property
    def is_centred(self) -> bool:
        """Whether the smoothing is centred at dual variables that move."""
        return self.ascent is not None or self.multipliers is not None

    def evaluated_at(self, beta: float | None, state: State) -> float | None:
        """The smoothing of the duals that the oracle and the bound are given: so wide for a correction with multipliers
        that those are the duals.
        """
        return WIDE * beta if self.is_multiplied(state) else beta

    def is_multiplied(self, state: State) -> bool:
        """Whether the smoothing is centred at the multipliers of a correction, which has not given way."""
        return self.multipliers is not None and not self.correction.gave_way(state)

    @property
    def multipliers(self) -> Any:
        """Those of the correction, or None."""
        return getattr(self.correction, "multipliers", None)
