"""Smooth losses h: values, gradients, and the constant of the lower bound, h(z) - <h'(z), z> = -h*(h'(z)).

The constant has a closed form for every kind, in which what cancels between h(z) and <h'(z), z> never appears.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from cgm_cli.blocks.losses.base import Loss
from cgm_cli.blocks.losses.least_squares import LeastSquares
from cgm_cli.blocks.losses.linear import Linear
from cgm_cli.blocks.losses.logistic import Logistic
from cgm_cli.blocks.losses.quadratic import Quadratic
from cgm_cli.verify.precision import ZERO, Total, entry, extended, product, total


@dataclass(frozen=True)
class LossView:
    """h seen from an image z: value h(z), gradient h'(z) of the shape of z, constant h(z) - <h'(z), z>."""

    value: Total
    gradient: np.ndarray
    constant: Total


def view_loss(loss: Loss, z: np.ndarray) -> LossView:
    """h at z, in extended precision. Raises Unchecked for a kind without an entry."""
    return entry(LOSSES, loss, "an objective")(loss, extended(z))


def _linear(loss: Linear, z: np.ndarray) -> LossView:
    return LossView(total(z), np.ones((), dtype=np.longdouble), ZERO)


def _quadratic(loss: Quadratic, z: np.ndarray) -> LossView:
    """<z, Q z> / 2 + <c, z>; the constant is -<z, Q z> / 2."""
    if loss.factor is not None:
        image = loss.factor * z
    else:
        image = product(sp.csr_array(loss.matrix), z.reshape(-1)).reshape(z.shape)
    linear = extended(loss.linear)
    return LossView(total(0.5 * z * image, linear * z), image + linear, total(-0.5 * z * image))


def _least_squares(loss: LeastSquares, z: np.ndarray) -> LossView:
    """|z - b|^2 / 2; the constant is (|b|^2 - |z|^2) / 2 = sum (b - z) (b + z) / 2."""
    target = extended(loss.target)
    gap = z - target
    return LossView(total(0.5 * gap * gap), gap, total(-0.5 * gap * (target + z)))


def _logistic(loss: Logistic, z: np.ndarray) -> LossView:
    """mean log(1 + e^t) with t = -b z, whose derivative in t is s = 1 / (1 + e^-t); the constant is the mean of
    log(1 + e^t) - t s.
    """
    labels, count = extended(loss.labels), loss.labels.size
    t = -labels * z
    tail = np.exp(-np.abs(t))
    softplus = np.maximum(t, 0.0) + np.log1p(tail)
    share = np.where(t >= 0.0, 1.0, tail) / (1.0 + tail)
    return LossView(total(softplus / count), -labels * share / count, total(softplus / count, -t * share / count))


LOSSES: dict[type, Callable[..., LossView]] = {
    Linear: _linear,
    Quadratic: _quadratic,
    LeastSquares: _least_squares,
    Logistic: _logistic,
}
