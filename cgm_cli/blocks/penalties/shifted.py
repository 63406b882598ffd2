"""A penalty or a set moved by an offset."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from cgm_cli.blocks.fitting import fit, numbers
from cgm_cli.blocks.penalties.base import Dual, Penalty, Smoothing
from cgm_cli.blocks.penalties.epigraph import Epigraph
from cgm_cli.numerics.projections import safe_norm


class Shifted(Penalty):
    """z -> g(z - offset) for a penalty g, or the set K + offset for a set K.

    prox(z) = offset + prox_g(z - offset); y is that of g at z - offset; the conjugate is g*(y) + <y, offset>.
    """

    def __init__(self, inner: Penalty, offset: np.ndarray):
        """`offset` of shape () or of the shape of `inner`; ProblemError otherwise."""
        offset = numbers(offset, "the offset")
        self.inner = inner
        self.shape = inner.shape
        self.lipschitz = inner.lipschitz
        self.is_set, self.is_point, self.prox_is_exact = inner.is_set, inner.is_point, inner.prox_is_exact
        self.minimum = inner.minimum
        self.separable, self.takes_rounded_duals = inner.separable, inner.takes_rounded_duals
        self.uniform = inner.uniform and offset.ndim == 0
        self.offset = fit(offset, inner.shape, "the offset", "the image")
        self.shift = safe_norm(self.offset) + inner.shift

    @property
    def only_point(self) -> np.ndarray | None:
        point = self.inner.only_point
        return None if point is None else point + self.offset

    @property
    def intervals(self) -> tuple[np.ndarray, np.ndarray] | None:
        inner = self.inner.intervals
        return None if inner is None else (inner[0] + self.offset, inner[1] + self.offset)

    @property
    def epigraph(self) -> Epigraph | None:
        inner = self.inner.epigraph
        return None if inner is None else inner.moved(self.offset)

    @property
    def away(self) -> float:
        """At most |offset| more than that of the inner function, of a set at most twice as much."""
        return (2.0 if self.is_set else 1.0) * safe_norm(self.offset) + self.inner.away

    def value(self, z: np.ndarray) -> float:
        return self.inner.value(z - self.offset)

    def prox(self, z: np.ndarray, step: float) -> np.ndarray:
        return self.offset + self.inner.prox(z - self.offset, step)

    def subgradient(self, z: np.ndarray) -> np.ndarray:
        return self.inner.subgradient(z - self.offset)

    def smoothed(self, z: np.ndarray, beta: float) -> Dual:
        dual = self.inner.smoothed(z - self.offset, beta)
        # The scale of a distance is the size of the projection, z - beta y, which has moved.
        reference = float(np.linalg.norm((z - beta * dual.slope).reshape(-1))) if self.is_set else 0.0
        return self._moved(replace(dual, reference=reference))

    def dual(self, z: np.ndarray, step: Smoothing) -> np.ndarray:
        return self.inner.dual(z - self.offset, step)

    def conjugate_size(self, y: np.ndarray) -> float | None:
        own = self.inner.conjugate_size(y)
        return None if own is None else own + float(np.vdot(np.abs(y), np.abs(self.offset)))

    def linearised(self, z: np.ndarray) -> Dual:
        return self._moved(self.inner.linearised(z - self.offset))

    def _moved(self, dual: Dual) -> Dual:
        return replace(dual, conjugate=dual.conjugate + float(np.vdot(dual.slope, self.offset)))
