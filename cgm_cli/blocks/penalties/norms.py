"""The l1-, l2- and linf-norm as penalties."""

from __future__ import annotations

import math
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike
from pydantic import Field

from cgm_cli.blocks.fitting import fit, numbers
from cgm_cli.blocks.penalties.epigraph import Epigraph, of_slopes
from cgm_cli.blocks.penalties.support import SupportFunction
from cgm_cli.errors import ProblemError
from cgm_cli.numerics.projections import project_l1_ball, project_l2_ball, safe_norm
from cgm_cli.readers.context import BuildContext
from cgm_cli.spec.fields import ArrayField, BlockSpec, Positive


class L1Norm(SupportFunction):
    """g(z) = scale * sum w_i |z_i|, w = 1 unless given; D is the box |y_i| <= w_i; prox: soft thresholding.

    L_g = scale |w|, which is scale sqrt(n) for w = 1.
    """

    prox_is_exact = True
    minimum = 0.0
    separable = True
    takes_rounded_duals = True

    class Spec(BlockSpec):
        kind: Literal["l1"]
        scale: Positive = Field(1.0, description="factor of the norm")
        weights: ArrayField = Field(
            1.0, description="w, zero or positive, for every entry of the image; a number: the same for all"
        )

        examples: ClassVar[list[dict[str, Any]]] = [
            {"kind": "l1"},
            {"kind": "l1", "scale": 0.3},
            {"kind": "l1", "scale": 2.0, "weights": [1.0, 0.0, 0.5, 3.0]},
        ]

        def build(self, context: BuildContext, shape: tuple[int, ...]) -> L1Norm:
            return L1Norm(shape, self.scale, context.array(self.weights))

    def __init__(self, shape: tuple[int, ...], scale: float = 1.0, weights: ArrayLike = 1.0):
        """Raises ProblemError unless the weights fit the shape, and none is negative."""
        super().__init__(shape, scale)
        given = numbers(weights, "the array of weights")
        self.uniform = given.ndim == 0
        self.weights = given if self.uniform else fit(given, shape, "the array of weights", "the image they belong to")
        if (self.weights < 0.0).any():
            raise ProblemError(f"the weights of an l1-norm are zero or positive, but one is {self.weights.min():g}")
        length = float(given) * math.sqrt(math.prod(shape)) if self.uniform else safe_norm(self.weights)
        self.lipschitz = scale * length

    @property
    def epigraph(self) -> Epigraph:
        size = math.prod(self.shape)
        zero, price = np.zeros(size), np.full(size, self.scale * self.weights.reshape(-1))
        return of_slopes(zero, zero, price, price)

    def value(self, z: np.ndarray) -> float:
        return self.scale * float((self.weights * np.abs(z)).sum())

    def project_dual(self, z: np.ndarray, radius: float) -> np.ndarray:
        limits = radius * self.weights
        return np.clip(z, -limits, limits)

    def subgradient(self, z: np.ndarray) -> np.ndarray:
        return self.scale * self.weights * np.sign(z)


class L2Norm(SupportFunction):
    """g(z) = scale * |z|_2, not squared; D is the l2-ball; L_g = scale."""

    prox_is_exact = True
    minimum = 0.0
    uniform = True

    class Spec(BlockSpec):
        kind: Literal["l2"]
        scale: Positive = Field(1.0, description="factor of the norm")

        examples: ClassVar[list[dict[str, Any]]] = [{"kind": "l2"}, {"kind": "l2", "scale": 2.5}]

        def build(self, context: BuildContext, shape: tuple[int, ...]) -> L2Norm:
            return L2Norm(shape, self.scale)

    def __init__(self, shape: tuple[int, ...], scale: float = 1.0):
        super().__init__(shape, scale)
        self.lipschitz = scale

    def value(self, z: np.ndarray) -> float:
        return self.scale * safe_norm(z)

    def project_dual(self, z: np.ndarray, radius: float) -> np.ndarray:
        return project_l2_ball(z, radius)

    def subgradient(self, z: np.ndarray) -> np.ndarray:
        """scale z / |z|, and 0 at 0. z is divided by max |z_i| first, so that a tiny z keeps its direction."""
        peak = float(np.max(np.abs(z)))
        if peak == 0.0:
            return np.zeros(z.shape)
        unit = z / peak
        return unit * (self.scale / float(np.linalg.norm(unit.reshape(-1))))


class LinfNorm(SupportFunction):
    """g(z) = scale * max |z_i|; D is the l1-ball; L_g = scale."""

    prox_is_exact = True
    minimum = 0.0

    class Spec(BlockSpec):
        kind: Literal["linf"]
        scale: Positive = Field(1.0, description="factor of the norm")

        examples: ClassVar[list[dict[str, Any]]] = [{"kind": "linf"}, {"kind": "linf", "scale": 0.7}]

        def build(self, context: BuildContext, shape: tuple[int, ...]) -> LinfNorm:
            return LinfNorm(shape, self.scale)

    def __init__(self, shape: tuple[int, ...], scale: float = 1.0):
        super().__init__(shape, scale)
        self.lipschitz = scale

    def value(self, z: np.ndarray) -> float:
        return self.scale * float(np.abs(z).max())

    def project_dual(self, z: np.ndarray, radius: float) -> np.ndarray:
        return project_l1_ball(z, radius)

    def subgradient(self, z: np.ndarray) -> np.ndarray:
        """scale sign(z_i) e_i for the first largest |z_i|; 0 at 0."""
        out = np.zeros(z.shape)
        index = int(np.argmax(np.abs(z)))
        out.reshape(-1)[index] = self.scale * np.sign(z.reshape(-1)[index])
        return out
