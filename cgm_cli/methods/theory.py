"""The paper's bounds beside what is measured: Theorems 1-3, with additive error 4-6, with multiplicative error 7-9.

For the iterate after k >= 1 steps, x_{k+1}, in the minimisation's units and for the stacked map of rows sqrt(w_i) A_i
(a term of weight w is smoothed with beta / w):

    smoothed gap   F_{beta_k}(x_{k+1}) - F*     Theorems 1, 4, 7
    residual       F(x_{k+1}) - F*              Theorems 2, 5, 8 for Lipschitz g; 3, 6, 9 (and a floor) for constraints
    distance       dist(A x_{k+1}, K)           Theorems 3, 6, 9
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from cgm_cli.methods.record import IterationRecord

if TYPE_CHECKING:  # a report fits lines, too, and needs nothing of what solves
    from cgm_cli.blocks.problem import CompositeProblem
    from cgm_cli.methods.method import Method


@dataclass(frozen=True)
class Theory:
    """The constants of a run. lipschitz L_f, norm |A|, diameter D_X, lipschitz_g L_g (infinite with a constraint),
    beta0.

    additive: the delta of an additive oracle, 0 for an exact one. share: the delta of a multiplicative oracle, None
    for any other. optimum: F*, dual_norm: |y*|, start_gap: F(x_1) - F*; None where unknown. constrained: whether g is
    the indicator of a set; None if it is partly so, which the theorems on F and on distances do not cover.
    """

    lipschitz: float
    norm: float
    diameter: float
    lipschitz_g: float
    beta0: float
    constrained: bool | None
    additive: float = 0.0
    share: float | None = None
    optimum: float | None = None
    dual_norm: float | None = None
    start_gap: float | None = None

    @classmethod
    def of(
        cls,
        problem: CompositeProblem,
        method: Method,
        beta0: float,
        optimum: float | None = None,
        dual_norm: float | None = None,
    ) -> Theory | None:
        """What the theorems need to know of a problem, with F* of the minimisation and |y*| as far as they are known;
        None for a method that they do not cover.
        """
        if problem.loss is not None and not problem.loss.is_smooth:
            return None
        if not method.correction.keeps_theory:
            return None
        if problem.terms and (method.duals.is_centred or not method.smoothing.vanishes):
            return None
        constants = problem.constants()
        kinds = {term.penalty.is_set for term in problem.terms}
        return cls(
            constants["L_f"],
            constants["|A|"],
            constants["D_X"],
            constants["L_g"],
            beta0 if problem.terms else 1.0,
            constrained=None if len(kinds) > 1 else True in kinds,
            additive=method.oracle.additive,
            share=method.oracle.share,
            optimum=optimum,
            dual_norm=dual_norm,
            start_gap=None if optimum is None else problem.total(problem.first) - optimum,
        )

    def columns(self, k: int, objective: float, smoothed: float, distance: float) -> dict[str, float]:
        """Measured values and their bounds after k steps, as far as the constants go; nothing for the start.

        objective: F(x_{k+1}). smoothed: F_{beta_k}(x_{k+1}). distance: of A x_{k+1} from K, in the stacked norm.
        """
        if k < 1:
            return {}
        found: dict[str, float] = {"smoothed_bound": self._smoothed_bound(k)}
        if self.optimum is not None:
            found["smoothed_gap"] = smoothed - self.optimum
            found["residual"] = objective - self.optimum
        if self.constrained is False:
            found["residual_bound"] = self._later_bound(k) + 0.5 * self.beta0 * self.lipschitz_g**2 / self._root(k)
        if self.constrained:
            found["residual_bound"] = self._later_bound(k)
            found["distance"] = distance
            if self.dual_norm is not None:
                found["residual_floor"] = -self.dual_norm * distance
                found["distance_bound"] = self._distance_bound(k)
        return {name: value for name, value in found.items() if np.isfinite(value)}

    def _root(self, k: int) -> float:
        """sqrt(j) for an index j = k + 1 of the theorems; sqrt(delta j + 1) with a multiplicative oracle."""
        return float(np.sqrt(k + 1 if self.share is None else self.share * (k + 1) + 1))

    def _spread(self) -> tuple[float, float]:
        """D_X^2 L_f and D_X^2 |A|^2 / beta0."""
        rough = self.diameter**2 * self.norm**2 / self.beta0 if self.norm > 0 else 0.0
        return self.diameter**2 * self.lipschitz, rough

    def _smoothed_bound(self, k: int) -> float:
        smooth, rough = self._spread()
        if self.share is None:
            return 2.0 * (smooth / (k + 1) + rough / np.sqrt(k + 1)) * (1.0 + self.additive)
        if self.start_gap is None:
            return np.nan
        j = self.share * k + 2
        return 2.0 / self.share * ((smooth + self.share * self.start_gap) / j + rough / np.sqrt(j))

    def _later_bound(self, k: int) -> float:
        """The first part of Theorems 2, 3 (5, 6; 8, 9), at the index j = k + 1."""
        smooth, rough = self._spread()
        root = self._root(k)
        if self.share is None:
            return 2.0 * (smooth / root**2 + rough / root) * (1.0 + self.additive)
        if self.start_gap is None:
            return np.nan
        return 2.0 / self.share * ((smooth + self.share * self.start_gap) / root**2 + rough / root)

    def _distance_bound(self, k: int) -> float:
        smooth, rough = self._spread()  # D_X^2 C_0 = smooth + rough, with C_0 = L_f + |A|^2 / beta0
        if self.share is None:
            spread = np.sqrt((smooth + rough) * (1.0 + self.additive) / self.beta0)
        elif self.start_gap is None:
            return np.nan
        else:
            spread = np.sqrt((smooth + rough + self.share * self.start_gap) / (self.beta0 * self.share))
        return 2.0 * self.beta0 / self._root(k) * (self.dual_norm + spread)


def fitted_slope(k: np.ndarray, values: np.ndarray) -> float | None:
    """The slope of `fitted_line`."""
    line = fitted_line(k, values)
    return None if line is None else line[0]


def fitted_line(k: np.ndarray, values: np.ndarray) -> tuple[float, float] | None:
    """Slope and intercept of log(values) against log(k) by least squares, over the last nine tenths of the iterations.

    None if fewer than ten positive values are left to fit.
    """
    k, values = np.asarray(k, dtype=float), np.asarray(values, dtype=float)
    used = (k >= max(1.0, 0.1 * k.max(initial=0.0))) & (values > 0.0) & np.isfinite(values)
    if used.sum() < 10 or np.ptp(k[used]) == 0.0:
        return None
    slope, intercept = np.polyfit(np.log(k[used]), np.log(values[used]), 1)
    return float(slope), float(intercept)


class Rates:
    """An observer that fits the rates at which a run converges."""

    def __init__(self) -> None:
        self._k: list[int] = []
        self._residual: list[float] = []
        self._infeasibility: list[float] = []

    def on_record(self, record: IterationRecord) -> None:
        """Take note of one record, which may take the place of the last one."""
        if self._k and self._k[-1] == record.k:
            for column in (self._k, self._residual, self._infeasibility):
                column.pop()
        self._k.append(record.k)
        self._residual.append(abs(record.theory.get("residual", np.nan)))
        self._infeasibility.append(record.infeasibility)

    def pack(self) -> dict[str, np.ndarray]:
        """What was noted, as arrays."""
        return {
            "k": np.array(self._k, dtype=np.int64),
            "residual": np.array(self._residual, dtype=float),
            "infeasibility": np.array(self._infeasibility, dtype=float),
        }

    def unpack(self, tree: Mapping[str, np.ndarray], stop: int) -> None:
        """Go back to what `pack` gave, as far as records of k < stop are concerned."""
        known = tree["k"] < stop
        self._k = tree["k"][known].tolist()
        self._residual, self._infeasibility = tree["residual"][known].tolist(), tree["infeasibility"][known].tolist()

    def slopes(self) -> dict[str, float]:
        """slope_residual and slope_infeasibility, d log / d log k, where there is something to fit."""
        measured = {"slope_residual": self._residual, "slope_infeasibility": self._infeasibility}
        fitted = {name: fitted_slope(np.array(self._k), np.array(values)) for name, values in measured.items()}
        return {name: slope for name, slope in fitted.items() if slope is not None}
