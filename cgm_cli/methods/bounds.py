"""The best lower bound of a run: estimated as it goes, certified on demand."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from cgm_cli.blocks.directions import Direction
from cgm_cli.blocks.domains.base import Domain, OracleAnswer
from cgm_cli.blocks.problem import CompositeProblem
from cgm_cli.methods.evaluation import DualPoint

_EPS = float(np.finfo(float).eps)


@dataclass(frozen=True)
class Bound:
    """A lower bound on F*: its value, whether it is certified, and the dual point it comes from."""

    value: float
    certified: bool
    dual: DualPoint


def certify(problem: CompositeProblem, dual: DualPoint) -> float | None:
    """The bound of a dual point with the minimum over the domain certified; None where that is out of reach."""
    minimum = problem.domain.certified_minimum(dual.direction(problem))
    return None if minimum is None else dual.constant + minimum - _allowance(dual.margin, minimum)


def estimate(domain: Domain, direction: Direction, constant: float, margin: float, answer: OracleAnswer) -> float:
    """The bound that an oracle's answer gives: certified if the oracle is exact, otherwise an estimate.

    An inexact oracle's own value lies above the minimum; its `lower` subtracts the residual, which is honest but no
    proof.
    """
    rounding = domain.rounding(direction) if answer.exact else 0.0
    return constant + answer.lower - rounding - _allowance(margin, answer.lower)


def _allowance(margin: float, minimum: float) -> float:
    return margin + 8 * _EPS * abs(minimum)


LATENESS = 4
"""The j-th dual point weighs as j^4 in the mean: of a thousand, the last two hundred make two thirds of it."""


@dataclass(frozen=True)
class AveragedDual:
    """The weighted mean of `count` dual points. For a linear or quadratic f its bound is at least the mean of theirs.

    The dual function is concave: min over X of <v, x> is concave in v, and so is minus a conjugate. Single dual points
    scatter from one iteration to the next, the more so the sloppier the oracle, and their mean does not.
    """

    count: int = 0
    mean: DualPoint | None = None

    def joined_by(self, dual: DualPoint, problem: CompositeProblem) -> AveragedDual:
        """The mean with one more point; a new object, as is every array in it."""
        count = self.count + 1
        share = (LATENESS + 1) / (count + LATENESS)
        return AveragedDual(count, dual if self.mean is None else self.mean.blended(dual, share, problem.loss))

    @property
    def dual(self) -> DualPoint:
        """The mean, with an allowance for the rounding errors of averaging: each is damped by all later shares."""
        return replace(self.mean, margin=self.mean.margin * (1.0 + self.count / (LATENESS + 1)))


@dataclass
class BestBound:
    """Keeps the best certified and the best estimated bound apart: an estimate may turn out too high when it is
    certified. Beside them the averaged dual, whose bound is known only once it is certified.
    """

    estimated: Bound | None = None
    certified: Bound | None = None
    average: AveragedDual = field(default_factory=AveragedDual)
    tried: int = 0  # the count of the average when it was last certified

    def improves(self, value: float, exact: bool) -> bool:
        """Whether a bound of this value would be the best of its sort."""
        held = self.certified if exact else self.estimated
        return np.isfinite(value) and (held is None or value > held.value)

    def offer(self, bound: Bound) -> None:
        """Take the bound if it is the best of its sort."""
        if self.improves(bound.value, bound.certified):
            if bound.certified:
                self.certified = bound
            else:
                self.estimated = bound

    def certify(self, problem: CompositeProblem) -> None:
        """Certify the averaged dual and that of the best estimate, where the domain can; this spends the estimate."""
        self.certify_average(problem)
        if self.estimated is not None and self._certify(problem, self.estimated.dual):
            self.estimated = None

    def certify_average(self, problem: CompositeProblem) -> None:
        """Certify the averaged dual, unless nothing has joined it since."""
        if self.average.count > self.tried:
            self.tried = self.average.count
            self._certify(problem, self.average.dual)

    def _certify(self, problem: CompositeProblem, dual: DualPoint) -> bool:
        value = certify(problem, dual)
        if value is None:
            return False
        self.offer(Bound(value, True, dual))
        return True

    def pack(self) -> dict[str, Any]:
        """All of it as nested mappings of arrays and plain values."""
        tree: dict[str, Any] = {"tried": self.tried, "count": self.average.count}
        if self.average.mean is not None:
            tree["mean"] = self.average.mean.pack()
        for name in ("estimated", "certified"):
            bound = getattr(self, name)
            if bound is not None:
                tree[name] = {"value": bound.value, "dual": bound.dual.pack()}
        return tree

    @classmethod
    def unpacked(cls, tree: Mapping[str, Any]) -> BestBound:
        """What `pack` made the tree of."""
        bounds = {
            name: Bound(tree[name]["value"], name == "certified", DualPoint.unpacked(tree[name]["dual"]))
            for name in ("estimated", "certified")
            if name in tree
        }
        mean = DualPoint.unpacked(tree["mean"]) if "mean" in tree else None
        return cls(**bounds, average=AveragedDual(tree["count"], mean), tried=tree["tried"])

    @property
    def shown(self) -> Bound | None:
        """What the table shows: the larger of the two, marked for what it is."""
        candidates = [bound for bound in (self.certified, self.estimated) if bound is not None]
        return max(candidates, key=lambda bound: (bound.value, bound.certified), default=None)

    @property
    def final(self) -> Bound | None:
        """What a run reports: the certified bound if there is one."""
        return self.certified or self.estimated
