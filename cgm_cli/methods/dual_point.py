"""What a lower bound is made of: a point of the dual.

With f(x) = h(M x), any z and any y_i,

    F*  >=  h(z) - <h'(z), z> - sum_i g_i*(y_i)  +  min over X of <v, .>,      v = M^T h'(z) + sum_i A_i^T y_i

(weak duality), so drifting images cost tightness, never truth; where h is not quite convex the constant loses what the
tangent at z may lie above h (`CompositeProblem.tangent_excess`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from cgm_cli.blocks.directions import Direction, SumDirection
from cgm_cli.blocks.losses.base import Loss
from cgm_cli.blocks.problem import CompositeProblem
from cgm_cli.numerics.blockwise import Blocks
from cgm_cli.numerics.semidefinite import is_semidefinite

LOOKED_AT = 1000
"""The order of blocks up to which a cost is looked at, whether it is semidefinite: that takes a second at the most."""


@dataclass(frozen=True)
class DualPoint:
    """The loss's image z (None without a loss), one y_i per term, and the constant beside the minimum.

    margin: an allowance for the rounding errors of the constant; drift: for those of the direction, that of <., x>
    over all points x of the domain.
    """

    loss_image: np.ndarray | None
    duals: tuple[np.ndarray, ...]
    constant: float
    margin: float
    drift: float = 0.0

    def direction(self, problem: CompositeProblem) -> Direction:
        """v = M^T h'(z) + sum_i A_i^T y_i."""
        pieces = [term.map.adjoint(y) for term, y in zip(problem.terms, self.duals, strict=True)]
        if problem.loss is not None and self.loss_image is not None:
            pieces.insert(0, problem.loss.map.adjoint(problem.loss.gradient(self.loss_image)))
        total = SumDirection(tuple(pieces))
        return total.symmetrised() if problem.domain.symmetric else total

    def lagrangian(
        self, problem: CompositeProblem, loss_image: np.ndarray | None, images: Sequence[np.ndarray]
    ) -> float:
        """The Lagrangian at a point x of the domain and this dual point, of which the bound is the minimum over all x;
        from M x and the A_i x, with f linearised at z.
        """
        total = sum(float(np.vdot(y, image)) for y, image in zip(self.duals, images, strict=True))
        if problem.loss is not None and self.loss_image is not None:
            total += float(np.vdot(problem.loss.gradient(self.loss_image), loss_image))
        return self.constant + total

    def blended(self, other: DualPoint, share: float, loss: Loss | None, duals: tuple[np.ndarray, ...]) -> DualPoint:
        """(1 - share) self + share other, of which the duals are given; the larger of the two allowances.

        Convexity bounds the conjugates of the mean by the mean of the conjugates. The part of the loss, which is
        h(z) - <h'(z), z>, is computed anew at the mean of the images.
        """
        allowances = max(self.margin, other.margin), max(self.drift, other.drift)
        own, others = self.constant, other.constant
        if loss is None or self.loss_image is None or other.loss_image is None:
            return DualPoint(None, duals, (1.0 - share) * own + share * others + 0.0, *allowances)
        image = (1.0 - share) * self.loss_image + share * other.loss_image
        own, others = own - _tangent(loss, self.loss_image), others - _tangent(loss, other.loss_image)
        return DualPoint(image, duals, (1.0 - share) * own + share * others + _tangent(loss, image), *allowances)


def dual_of_minima(problem: CompositeProblem) -> DualPoint | None:
    """That of y = 0 and h'(z) = 0, whose bound needs no oracle: F is at least the sum of the minima of h and the g_i.
    None where one of these is not known.
    """
    loss, image = problem.loss, None
    minima = [term.penalty.minimum for term in problem.terms]
    if loss is not None:
        image = loss.lowest
        minima.append(None if image is None else loss.value(image))
    known = [each for each in minima if each is not None]
    if len(known) < len(minima):
        return None
    return DualPoint(image, tuple(np.zeros(term.map.out_shape) for term in problem.terms), sum(known) + 0.0, 0.0)


def dual_of_the_cost(problem: CompositeProblem) -> DualPoint | None:
    """That of y = 0, where the domain is a cone but for a radius that was assumed, and a linear f = <C, .> is proven to
    be at least zero all over it: the bound needs neither an oracle nor that radius. None where it is not so.
    """
    loss, domain = problem.loss, problem.domain
    minima = [term.penalty.minimum for term in problem.terms]
    known = [each for each in minima if each is not None]
    if (
        domain.cone is None
        or not domain.assumes_radius
        or loss is None
        or loss.cost is None
        or len(known) < len(minima)
    ):
        return None
    blocks = Blocks(domain.cone.sizes)
    if blocks.largest > LOOKED_AT:
        return None
    cost = loss.cost.dense().reshape(-1)
    for stack in blocks.stacks:
        part = stack.of(cost)
        if not (all(map(is_semidefinite, part)) if stack.n else (part >= 0.0).all()):
            return None
    zero = tuple(np.zeros(term.map.out_shape) for term in problem.terms)
    return DualPoint(loss.map.forward_atom(problem.first), zero, sum(known) + 0.0, 0.0)


def _tangent(loss: Loss, image: np.ndarray) -> float:
    """h(z) - <h'(z), z>: where the tangent of h at z meets the axis."""
    return loss.value(image) - float(np.vdot(loss.gradient(image), image))
