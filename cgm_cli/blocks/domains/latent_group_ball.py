"""The ball of the latent group norm: sums of a few vectors, each non-zero in one group; groups may overlap."""

from __future__ import annotations

from functools import cached_property
from typing import Any, ClassVar, Literal

import numpy as np
import scipy.sparse as sp
from pydantic import Field, field_validator

from cgm_cli.blocks.atoms import Atom, SparseAtom
from cgm_cli.blocks.directions import Direction
from cgm_cli.blocks.domains.base import Domain, Lift, OracleAnswer, OracleRequest
from cgm_cli.blocks.domains.group_ball import GroupL1Ball, steepest
from cgm_cli.blocks.groups import Groups, apart, check_cover
from cgm_cli.readers.context import BuildContext
from cgm_cli.spec.fields import BlockSpec, Count, Positive


class LatentGroupBall(Domain):
    """{sum_G v_G : v_G zero outside of G, sum_G |v_G|_2 <= r}: r times the hull of the groups' unit l2-balls.

    Jacob, Obozinski and Vert, "Group lasso with overlap and graph lasso", ICML 2009: its points are non-zero on unions
    of groups. If no groups overlap it is the group-l1-ball, and else the image of one: x = S v, v the v_G side by side.
    """

    class Spec(BlockSpec):
        kind: Literal["latent-group-ball"]
        groups: list[list[Count]] = Field(
            ..., description="the indices in each group; together 0, ..., n-1, each at least once"
        )
        radius: Positive = Field(1.0, description="radius of the ball")

        examples: ClassVar[list[dict[str, Any]]] = [
            {"kind": "latent-group-ball", "groups": [[0, 1, 2], [2, 3], [4, 3, 0], [5]], "radius": 1.5},
            {"kind": "latent-group-ball", "groups": [[1, 0], [2]]},
        ]

        @field_validator("groups")
        @classmethod
        def _cover(cls, groups: list[list[int]]) -> list[list[int]]:
            check_cover(groups)
            return groups

        def build(self, context: BuildContext) -> LatentGroupBall:
            return LatentGroupBall(self.groups, self.radius)

    def __init__(self, groups: list[list[int]], radius: float = 1.0):
        """Raises ValueError unless the groups cover 0, ..., n - 1."""
        check_cover(groups)
        self.members = [np.array(group, dtype=np.intp) for group in groups]
        self._entries, self._places = apart(groups)
        self._groups = Groups(self._places)
        self.shape = (int(self._entries.max()) + 1,)
        self.radius = radius
        self.diameter = 2.0 * radius

    @property
    def sizing(self) -> str | None:
        return "radius"

    @cached_property
    def lift(self) -> Lift | None:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Every entry is the sum of its copies, one for each group that it is in; those of the groups lie apart."""
        copies = self._entries.size
        matrix = sp.csr_array((np.ones(copies), (self._entries, np.arange(copies))), shape=(self.shape[0], copies))
        return Lift(GroupL1Ball(self._places, self.radius), matrix)

    def lmo(self, direction: Direction, request: OracleRequest) -> OracleAnswer:
        """min <g, x> = -r max_G |g_G|, at -r g_G / |g_G| on the first such group; zero for g = 0."""
        g = direction.dense()
        return steepest(g, self._groups.norms(g[self._entries]), self.members, self.radius)

    def contains(self, x: np.ndarray, tolerance: float = 1e-9) -> bool:
        """Whether the gauge exceeds r by at most the tolerance; the distance is no larger than that excess."""
        return bool(np.isfinite(x).all()) and self.gauge(x) - self.radius <= tolerance * self.radius

    def project(self, x: np.ndarray) -> np.ndarray:
        """The nearest multiple of x in X, which is near the nearest point where x is."""
        gauge = self.gauge(x)
        return x * (self.radius / gauge) if gauge > self.radius else x.copy()

    def gauge(self, x: np.ndarray) -> float:
        """min sum_G |v_G| over all splits sum_G v_G = x, from above, to 1e-12 where rounding allows.

        Its dual is: maximise <x, y> subject to |y_G|^2 <= 1 for every G. With the multipliers eta_G / 2 and zeta_i =
        the sum of eta_G over the groups of i, the optimum has y = x / zeta and v_G = eta_G y_G. A primal-dual
        interior-point method follows eta_G (1 - |y_G|^2) = mu: each step eliminates y and solves for eta. y stays
        feasible, so that <x, y> is a lower bound; the split v_G = eta_G x_G / zeta_G is an upper bound.
        """
        peak = float(np.max(np.abs(x)))
        if peak == 0.0:
            return 0.0
        x = x / peak
        member = np.zeros((x.size, len(self.members)))
        for number, members in enumerate(self.members):
            member[members, number] = 1.0
        y, eta, best = np.zeros(x.size), np.ones(len(self.members)), np.inf
        for _ in range(100):
            zeta, slack = member @ eta, 1.0 - member.T @ y**2
            split = x / zeta
            best = min(best, float(eta @ np.sqrt(member.T @ split**2)))
            if best - float(x @ y) <= 1e-12 * best:
                break
            mu = 0.1 * float(eta @ slack) / eta.size
            rest = x - zeta * y
            # zeta dy + y (member deta) = rest,   slack deta - 2 eta (member^T (y dy)) = mu - eta slack
            system = np.diag(slack) + 2.0 * eta[:, None] * (member.T @ ((y**2 / zeta)[:, None] * member))
            d_eta = np.linalg.solve(system, mu - eta * slack + 2.0 * eta * (member.T @ (y * rest / zeta)))
            d_y = (rest - y * (member @ d_eta)) / zeta
            step = min(1.0, 0.99 / max(float(np.max(-d_eta / eta)), 1e-300))
            while np.min(1.0 - member.T @ (y + step * d_y) ** 2 - 0.01 * slack) < 0.0:
                step *= 0.9
            y, eta = y + step * d_y, eta + step * d_eta
        return peak * best

    def start(self) -> Atom:
        return SparseAtom.zero(self.shape)
