"""What all accuracies share: a budget of products."""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass
from typing import ClassVar, Self

from pydantic import Field, model_validator

from cgm_cli.blocks.domains.base import OracleRequest
from cgm_cli.blocks.problem import CompositeProblem
from cgm_cli.methods.policies import Allowance, OracleAccuracy
from cgm_cli.methods.setting import Setting
from cgm_cli.spec.fields import PolicySpec, Positive
from cgm_cli.spec.model import SolverSpec

TOLERANCE = 1e-6
"""The relative residual where the spec names none."""


class AccuracySpec(PolicySpec):
    """The parameters of every accuracy; which of them may be given depends on the mode."""

    is_inexact: ClassVar[bool] = False
    mode: str
    tolerance: float | None = Field(
        None,
        gt=0,
        lt=1,
        description="relative residual of the eigen- or singular vectors; left out: 1e-6, or 1e-3 where `method: auto` "
        "chooses local descent",
    )
    delta: Positive | None = Field(None, description="how inexact: > 0 if additive, at most 1 if multiplicative")
    budget: Positive | None = Field(
        None, description="the k-th call may cost budget * k^(1/4) log n products per eigenvector; left out: no limit"
    )
    perturb: bool = Field(False, description="oracles in closed form err by all that is allowed, to test the theory")

    @model_validator(mode="after")
    def _delta_fits(self) -> Self:
        if self.is_inexact and self.delta is None:
            raise ValueError(f"an oracle with {self.mode} error needs a `delta`")
        if not self.is_inexact and (self.delta is not None or self.perturb):
            raise ValueError(f"`delta` and `perturb` say how inexact an oracle is, but `mode: {self.mode}` is not")
        return self

    @abstractmethod
    def build(self, problem: CompositeProblem, setting: Setting) -> OracleAccuracy:
        """The policy for a problem."""

    @property
    def precision(self) -> float:
        """The tolerance as a number."""
        return TOLERANCE if self.tolerance is None else self.tolerance

    @property
    def limit(self) -> float:
        """The budget as a number."""
        return math.inf if self.budget is None else self.budget


def accuracy_of(solver: SolverSpec) -> AccuracySpec:
    """What a solver section says of its oracle."""
    assert isinstance(solver.oracle, AccuracySpec)
    return solver.oracle


@dataclass(frozen=True, kw_only=True)
class Accuracy:
    """How well an oracle answers; its k-th call may cost budget k^(1/4) log n products per eigenvector of size n.

    So many products of a Lanczos method leave an error that falls as fast as the theory asks, however close the
    eigenvalues lie (Yurtsever, Tropp, Fercoq, Udell and Cevher, "Scalable semidefinite programming", SIAM J. Math. Data
    Sci. 3, 2021, section 3.4).
    """

    budget: float = math.inf
    perturb: bool = False

    @property
    def additive(self) -> float:
        """The delta of Theorems 4 to 6; 0 for every other oracle."""
        return 0.0

    @property
    def share(self) -> float | None:
        """The delta of Theorems 7 to 9; None for every other oracle."""
        return None

    @property
    def is_loose(self) -> bool:
        return False

    @property
    def is_limited(self) -> bool:
        return math.isfinite(self.budget)

    def products(self, k: int, size: int) -> int:
        return math.ceil(min(OracleRequest.max_products, self.budget * k**0.25 * max(1.0, math.log(size))))

    def allowance(self, eta: float, beta: float | None, current: float) -> Allowance | None:
        return None
