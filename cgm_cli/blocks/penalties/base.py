"""What every penalty and constraint set is: a closed convex g, reached through its prox.

With smoothing beta > 0 (paper, section 3; Moreau envelope):

    p = prox_{beta g}(z)          y = (z - p) / beta  in  dg(p)
    g*(y) = <y, p> - g(p)         g_beta(z) = g(p) + |z - p|^2 / (2 beta)

The third identity (Fenchel-Young, equality because y is a subgradient at p) is what makes the lower bound free.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np

from cgm_cli.blocks.penalties.epigraph import Epigraph, of_intervals
from cgm_cli.errors import ProblemError
from cgm_cli.numerics.projections import safe_norm

Smoothing = float | np.ndarray
"""One for all entries of an image, or one for each."""


@dataclass(frozen=True)
class Dual:
    """g seen from one point z.

    y: the subgradient, shape of z; None where it went straight into a direction. conjugate: g*(y). value: g(z) for a
    finite g, 0 for a set. distance: |z - p| for a set, 0 for a finite g. reference: |p| for a set, the scale that makes
    its distance relative.
    """

    y: np.ndarray | None
    conjugate: float
    value: float
    distance: float
    reference: float

    @property
    def slope(self) -> np.ndarray:
        """y, which is kept."""
        assert self.y is not None
        return self.y


class Penalty(ABC):
    """A finite convex function g on arrays of shape `shape`; `lipschitz` = L_g in the Euclidean norm.

    `prox_is_exact`: a closed form, or an algorithm that ends, up to rounding. Bounds rest on that: where nobody says
    so, none is certified.
    """

    shape: tuple[int, ...]
    lipschitz: float
    prox_is_exact: bool = False
    is_set = False
    # g is the indicator of a single point: every entry of the image has a value to take.
    is_point = False
    # g(z) is a sum over entries with the same function everywhere: g then maps symmetric matrices to symmetric duals.
    uniform = False
    # g(z) is a sum over entries of functions of one entry each: every entry may be smoothed by as much as it likes.
    separable = False
    # g* is finite at every y that `smoothed` gives, as it was rounded: what led to y rounds nothing but y.
    takes_rounded_duals = False
    # min g = -g*(0), where it is known to be attained; None where g has no minimum, or nobody says.
    minimum: float | None = None
    # The norm of what is subtracted from z first: rounding errors are relative to it, however small z is.
    shift = 0.0

    @property
    def entry_bounds(self) -> tuple[float, float] | None:
        """(lower, upper) of a set of all z with lower <= z <= upper in every entry; None for anything else."""
        return None

    @property
    def intervals(self) -> tuple[np.ndarray, np.ndarray] | None:
        """(lower, upper), of the shape of an image, of a set of all z with lower <= z <= upper; None of any other."""
        return None

    @property
    def epigraph(self) -> Epigraph | None:
        """g as linear programs know it, where its graph has finitely many faces; None of any other."""
        intervals = self.intervals
        return None if intervals is None else of_intervals(*intervals)

    @property
    def only_point(self) -> np.ndarray | None:
        """b of the set {b}, of the shape of an image; None for anything else."""
        return None

    @property
    def away(self) -> float:
        """How far from zero the constants inside g take a z of zero: |z - offset|, or |p| with p the nearest point of a
        set.
        """
        return self.shift

    @property
    def size(self) -> float:
        """Of the numbers inside g, for how large images are meant to be: `away`, and the finite ends of intervals."""
        if self.entry_bounds is not None:
            ends = [abs(end) for end in self.entry_bounds if math.isfinite(end)]
            return max(self.away, math.sqrt(math.prod(self.shape)) * max(ends, default=0.0))
        if self.intervals is None:
            return self.away
        return max(self.away, *(safe_norm(np.where(np.isfinite(end), end, 0.0)) for end in self.intervals))

    @abstractmethod
    def value(self, z: np.ndarray) -> float:
        """g(z)."""

    @abstractmethod
    def prox(self, z: np.ndarray, step: float) -> np.ndarray:
        """argmin_p step g(p) + |p - z|^2 / 2, for step > 0; a new array."""

    @abstractmethod
    def subgradient(self, z: np.ndarray) -> np.ndarray:
        """One element of dg(z), deterministic; what the classical method uses where g is not smooth."""

    def smoothed(self, z: np.ndarray, beta: float) -> Dual:
        """The dual point of the Moreau envelope g_beta at z."""
        p = self.prox(z, beta)
        y = (z - p) / beta
        return Dual(y, float(np.vdot(y, p)) - self.value(p), self.value(z), 0.0, 0.0)

    def envelope(self, z: np.ndarray, beta: float) -> float:
        """g_beta(z) = <z, y> - g*(y) - beta |y|^2 / 2, the maximum over y that defines it (paper, section 2)."""
        dual = self.smoothed(z, beta)
        y = dual.slope
        return float(np.vdot(y, z)) - dual.conjugate - 0.5 * beta * float(np.vdot(y, y))

    def dual(self, z: np.ndarray, step: Smoothing) -> np.ndarray:
        """The y of `smoothed`, and nothing else; what is `separable` may have another smoothing for every entry."""
        return (z - self.prox(z, step)) / step  # pyright: ignore[reportArgumentType]

    def conjugate_size(self, y: np.ndarray) -> float | None:
        """What the rounding of g*(y) is relative to, as n eps is, where it is a sum of products of y with constants;
        None where it comes from a difference of images.
        """
        return None

    def slope(self, z: np.ndarray, dz: np.ndarray, t: float, beta: float) -> float:
        """The derivative of t -> g_beta(z + t dz): <y, dz> with y the dual at that point."""
        return float(np.vdot(self.smoothed(z + t * dz, beta).slope, dz))

    def linearised(self, z: np.ndarray) -> Dual:
        """The dual point of a plain subgradient at z (no smoothing)."""
        y = self.subgradient(z)
        value = self.value(z)
        return Dual(y, float(np.vdot(y, z)) - value, value, 0.0, 0.0)


class ConvexSet(Penalty):
    """The indicator of a closed convex set K; its prox is the projection, whatever the step.

    reach: max |y| over K, infinite where K is unbounded.
    """

    lipschitz = np.inf
    is_set = True
    minimum = 0.0

    @property
    def reach(self) -> float:
        return np.inf

    @abstractmethod
    def project(self, z: np.ndarray) -> np.ndarray:
        """The nearest point of K; a new array."""

    @property
    def away(self) -> float:
        return safe_norm(self.project(np.zeros(self.shape)))

    def farthest(self, z: np.ndarray) -> np.ndarray:
        """A maximiser of <y, z> over y in K, deterministic; a new array. Sets of finite `reach` override it."""
        raise ProblemError("no point of an unbounded set is the farthest")

    def value(self, z: np.ndarray) -> float:
        """0 inside (up to rounding, relative to the size of z), infinity outside."""
        slack = 1e-12 * max(1.0, float(np.linalg.norm(z)))
        return 0.0 if float(np.linalg.norm(z - self.project(z))) <= slack else np.inf

    def prox(self, z: np.ndarray, step: float) -> np.ndarray:
        return self.project(z)

    def subgradient(self, z: np.ndarray) -> np.ndarray:
        raise ProblemError("a constraint has no subgradient method: solve it with `method: hcgm`")

    def smoothed(self, z: np.ndarray, beta: float) -> Dual:
        p = self.project(z)
        gap = z - p
        y = gap / beta
        return Dual(y, float(np.vdot(y, p)), 0.0, float(np.linalg.norm(gap)), float(np.linalg.norm(p)))
