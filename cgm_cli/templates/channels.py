"""The channels of an image as one point: together in one matrix, or each in a matrix of its own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

import numpy as np
from pydantic import Field

from cgm_cli.blocks.domains.base import Domain
from cgm_cli.blocks.domains.nuclear import NuclearBall
from cgm_cli.blocks.domains.product import Product
from cgm_cli.blocks.maps.block import Block
from cgm_cli.blocks.maps.differences import Differences
from cgm_cli.blocks.penalties.group_norm import GroupNorm
from cgm_cli.blocks.penalties.norms import L1Norm
from cgm_cli.blocks.problem import Term

ChannelsField = Annotated[
    Literal["together", "each"],
    Field(description="colours: their channels beside each other in one matrix, or each in one of its own"),
]

Variation = Annotated[Literal["isotropic", "anisotropic"], Field(description="which total variation")]


@dataclass(frozen=True)
class Channels:
    """Levels (m, n c), the c channels of a pixel beside each other as in Photo, and the points that stand for them.

    Together, these are the same matrix, in one nuclear-norm ball, and the differences of a pixel are those of all of
    its channels (Bresson and Chan, Inverse Probl. Imaging 2, 2008). Each by itself, a point has the c matrices (m, n)
    one after the other, in a ball each, and an objective is the sum of theirs: it is least where every one of them is.
    """

    shape: tuple[int, int]
    count: int = 1
    each: bool = False

    def point(self, levels: np.ndarray) -> np.ndarray:
        return np.moveaxis(levels.reshape(len(levels), -1, self.count), 2, 0).reshape(-1) if self.apart else levels

    def levels(self, point: np.ndarray) -> np.ndarray:
        return np.moveaxis(point.reshape(self.count, *self._plane), 0, 2).reshape(self.shape) if self.apart else point

    @property
    def apart(self) -> bool:
        return self.each and self.count > 1

    def radii(self, radius: float | np.ndarray) -> tuple[float, ...]:
        """Those of the balls: r of each, or the nuclear norms of an image."""
        if not isinstance(radius, np.ndarray):
            return (radius,) * (self.count if self.apart else 1)
        return tuple(self._norms(self.point(radius)))

    def ball(self, radii: tuple[float, ...]) -> Domain:
        """|X|_* <= r, of every channel where they are apart."""
        balls = tuple(NuclearBall(self._matrix, radius) for radius in radii)
        return Product(balls) if self.apart else balls[0]

    def shrunk(self, point: np.ndarray, radii: tuple[float, ...]) -> np.ndarray:
        """Each matrix of a point towards zero, as far as its ball asks: what is in [0, 1] stays there."""
        norms = self._norms(point)
        factors = [min(1.0, radius / norm) if norm > 0.0 else 1.0 for radius, norm in zip(radii, norms, strict=True)]
        matrices = point.reshape(len(radii), *self._matrix)
        return (matrices * np.reshape(factors, (-1, 1, 1))).reshape(point.shape)

    def _norms(self, point: np.ndarray) -> list[float]:
        return [float(np.linalg.norm(matrix, "nuc")) for matrix in point.reshape(-1, *self._matrix)]

    @property
    def _matrix(self) -> tuple[int, int]:
        """The shape of each matrix of a point."""
        return self._plane if self.apart else self.shape

    def variation(self, scale: float, isotropic: bool) -> tuple[Term, ...]:
        """scale * TV, a term for every channel where they are apart; none where it is zero."""
        if scale == 0.0:
            return ()
        if not self.apart:
            return (_total_variation("tv", Differences(self.shape, self.count), scale, isotropic),)
        plane = _total_variation("tv", Differences(self._plane), scale, isotropic)
        size = self._plane[0] * self._plane[1]
        return tuple(
            Term(f"tv-{place + 1}", Block(plane.map, place, place * size, self.count * size), plane.penalty)
            for place in range(self.count)
        )

    @property
    def _plane(self) -> tuple[int, int]:
        return self.shape[0], self.shape[1] // self.count


def _total_variation(name: str, differences: Differences, scale: float, isotropic: bool) -> Term:
    if not isotropic:
        return Term(name, differences, L1Norm(differences.out_shape, scale))
    # The two differences of a pixel, in every channel, are one group.
    (_, rows, columns), channels = differences.out_shape, differences.channels
    pixels = rows * columns // channels
    groups = np.arange(2 * pixels * channels).reshape(2, pixels, channels).swapaxes(0, 1).reshape(pixels, -1).tolist()
    return Term(name, differences, GroupNorm(differences.out_shape, groups, scale))
