"""The smoothed objective along the segment from the current point to an atom: images are affine in the step."""

from __future__ import annotations

import numpy as np

from cgm_cli.blocks.losses.base import Loss
from cgm_cli.blocks.problem import CompositeProblem
from cgm_cli.numerics.bands import combined, shifted


class ImageSegment:
    """t -> F_beta(x + t (s - x)) and its slope, <h'(z + t dz), dz> + sum_i <y_i, dz_i>, at a cost of O(images)."""

    def __init__(
        self,
        problem: CompositeProblem,
        loss_image: np.ndarray | None,
        images: list[np.ndarray],
        loss_target: np.ndarray | None,
        targets: list[np.ndarray],
        beta: float | None,
        centres: list[np.ndarray] | None = None,
    ):
        """images and targets: A_i x and A_i s, one per term, and M x and M s of the loss. centres: the multipliers."""
        assert beta is not None or not problem.terms
        self._problem, self._beta = problem, 0.0 if beta is None else beta
        self._images = images
        self._loss: tuple[Loss, np.ndarray, np.ndarray] | None = None  # h, z and dz
        if problem.loss is not None:
            assert loss_image is not None and loss_target is not None
            self._loss = problem.loss, loss_image, loss_target - loss_image
        self._moves = [combined(np.subtract, target, image) for image, target in zip(images, targets, strict=True)]
        self._shift = 0.0
        if centres is not None:
            # g_b(z; c) = g_b(z + b c) - b |c|^2 / 2
            steps = [self._beta / term.weight for term in problem.terms]
            self._images = [shifted(z, b, c) for z, b, c in zip(images, steps, centres, strict=True)]
            self._shift = sum(0.5 * b * float(np.vdot(c, c)) for b, c in zip(steps, centres, strict=True))

    def value(self, t: float) -> float:
        """F_beta(x + t (s - x))."""
        loss_image = None if self._loss is None else self._loss[1] + t * self._loss[2]
        images = [image + t * move for image, move in zip(self._images, self._moves, strict=True)]
        return self._problem.smoothed(loss_image, images, self._beta) - self._shift

    def slope(self, t: float) -> float:
        """The derivative at t; it does not decrease, since F_beta is convex."""
        total = 0.0
        if self._loss is not None:
            loss, image, move = self._loss
            total += loss.slope(image + t * move, move)
        for term, image, move in zip(self._problem.terms, self._images, self._moves, strict=True):
            total += term.penalty.slope(image, move, t, self._beta / term.weight)
        return total
