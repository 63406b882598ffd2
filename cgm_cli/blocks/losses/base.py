"""What every loss is: f(x) = h(M x), h smooth and convex. The loop keeps the image M x, so h is all it evaluates."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod

import numpy as np

from cgm_cli.blocks.atoms import Atom
from cgm_cli.blocks.directions import Direction
from cgm_cli.blocks.domains.base import Domain
from cgm_cli.blocks.maps.base import LinearMap


class Loss(ABC):
    """f(x) = h(M x). `map` is M; `lipschitz` is L_f, the Lipschitz constant of grad f, as near as it can be had, and
    `lipschitz_bound` at least that, rounding errors included: what proofs rest on. Infinite where there is none: such
    an h may be infinite itself, as at the end of a step, and is finite at its `start`.

    `weak_convexity` is a mu >= 0 for which h + mu |.|^2 / 2 is convex, so that no tangent of h lies more than
    mu |z - z'|^2 / 2 above it: zero for what is convex by its form, and otherwise what the data and their rounding
    make of it. Where `convexity_proven` is false, mu is an estimate, and no bound on the optimum is certified.

    What a loss says of itself, beside that: `cost`, the C of f(x) = <C, x> where f is linear; `squares`, the b of
    h(z) = |z - b|^2 / 2 where it is that. None where it is not, or says nothing.

    The gradient of f is `map.adjoint(gradient(z))` at the image z = M x, and f(x) - <grad f(x), x> = h(z) - <h'(z), z>.
    """

    map: LinearMap
    lipschitz: float
    lipschitz_bound: float = math.inf
    weak_convexity: float = 0.0
    convexity_proven: bool = False

    @property
    def cost(self) -> Direction | None:
        return None

    @property
    def squares(self) -> np.ndarray | None:
        return None

    @property
    def lowest(self) -> np.ndarray | None:
        """z with h'(z) = 0, where h is smallest; None where there is none, or it would have to be found first."""
        return None

    @abstractmethod
    def value(self, z: np.ndarray) -> float:
        """h(z)."""

    @abstractmethod
    def gradient(self, z: np.ndarray) -> np.ndarray:
        """h'(z), of the shape of z; a new array or a constant, not to be written to."""

    @abstractmethod
    def curvature(self, z: np.ndarray, dz: np.ndarray) -> float:
        """The second derivative of t -> h(z + t dz) at t = 0 (at every t when h is quadratic)."""

    def slope(self, z: np.ndarray, dz: np.ndarray) -> float:
        """The first derivative of t -> h(z + t dz) at t = 0; infinite where h is."""
        return float(np.vdot(self.gradient(z), dz))

    def start(self, domain: Domain) -> Atom | None:
        """The point of a domain that runs start from, where not every one will do; None where the domain may say."""
        return None

    def rounding_scale(self, gradient: np.ndarray, image: np.ndarray) -> float:
        """What rounding errors of h'(z) are relative to, which meets the image, and that of every point of the domain:
        |h'(z)| + L |z|, with L = L_f / |M|^2.
        """
        norm = self.map.norm
        curvature = self.lipschitz / norm**2 if norm > 0.0 else 0.0
        return float(np.linalg.norm(gradient)) + curvature * float(np.linalg.norm(image))

    def entries_of_gradient(self, values: np.ndarray, places: np.ndarray) -> np.ndarray | None:
        """The entries of h'(z) at these places of z in C order, from the values of z there, of a loss that is a sum
        over entries; None of any other.
        """
        return None

    has_hessian: bool = False

    def hessian(self, z: np.ndarray, dz: np.ndarray) -> np.ndarray:
        """h''(z) dz, of a loss that says `has_hessian`."""
        raise NotImplementedError

    @property
    def is_smooth(self) -> bool:
        """Whether grad f has a Lipschitz constant."""
        return math.isfinite(self.lipschitz)

    @property
    def is_linear(self) -> bool:
        """Whether f is linear: its curvature is zero everywhere."""
        return self.lipschitz == 0.0
