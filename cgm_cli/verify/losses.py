"""Smooth losses h: values, gradients, and the constant of the lower bound, h(z) - <h'(z), z> = -h*(h'(z)).

The constant has a closed form for every kind, in which what cancels between h(z) and <h'(z), z> never appears.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from cgm_cli.blocks.losses.base import Loss
from cgm_cli.blocks.losses.factored_quadratic import FactoredQuadratic
from cgm_cli.blocks.losses.least_squares import LeastSquares
from cgm_cli.blocks.losses.linear import Linear
from cgm_cli.blocks.losses.log_det import LogDet
from cgm_cli.blocks.losses.logistic import Logistic
from cgm_cli.blocks.losses.quadratic import Quadratic
from cgm_cli.verify.precision import ZERO, Total, Unchecked, entry, extended, product, total


@dataclass(frozen=True)
class LossView:
    """h seen from an image z: value h(z), gradient h'(z) of the shape of z, constant h(z) - <h'(z), z>. curvature: the
    most that |h''| is near z, of an h that has no Lipschitz constant.
    """

    value: Total
    gradient: np.ndarray
    constant: Total
    curvature: float | None = None


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


def _factored_quadratic(loss: FactoredQuadratic, z: np.ndarray) -> LossView:
    """|z|^2 / 2 + t; the constant is -|z|^2 / 2."""
    rest, t = z[:-1], z[-1:]
    squares = 0.5 * rest * rest
    return LossView(total(squares, t), np.append(rest, np.longdouble(1)), total(-squares))


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


def _log_det(loss: LogDet, z: np.ndarray) -> LossView:
    """-log det H, by the pivots of an elimination, H = U^T D U with a unit upper U, which takes the a_i along: with
    w_i = U^-T a_i, <a_i, H^-1 a_i> = sum_j w_ij^2 / d_j. The constant is p - log det H. |h''| is at most the square of
    the sum of all <a_i, H^-1 a_i>, here twice that for points near z.
    """
    m, p = loss.vectors.shape
    if m * p * p > FORMED:
        raise Unchecked(f"the determinant was not recomputed: {m} vectors of {p} numbers are too many")
    rows = extended(loss.vectors)
    with np.errstate(all="ignore"):
        matrix, right = rows.T @ (z.reshape(-1, 1) * rows), rows.T.copy()
        for j in range(p):
            multipliers = matrix[j + 1 :, j] / matrix[j, j]
            matrix[j + 1 :, j:] -= np.outer(multipliers, matrix[j, j:])
            right[j + 1 :] -= np.outer(multipliers, right[j])
    pivots = np.diag(matrix)
    if not (pivots > 0.0).all():
        raise Unchecked("the matrix is not positive definite at this point")
    gradient = -np.square(right) / pivots[:, None]
    gradient = gradient.sum(axis=0).reshape(z.shape)
    logs = -np.log(pivots)
    order = np.longdouble(p)
    return LossView(total(logs), gradient, total(logs, order), 2.0 * float(gradient.sum()) ** 2)


FORMED = 10**9
"""The most operations, in extended precision, of a matrix and its factor."""

LOSSES: dict[type, Callable[..., LossView]] = {
    Linear: _linear,
    Quadratic: _quadratic,
    FactoredQuadratic: _factored_quadratic,
    LeastSquares: _least_squares,
    Logistic: _logistic,
    LogDet: _log_det,
}
