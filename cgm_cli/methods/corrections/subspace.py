"""Accelerated projected gradient steps on matrices of low rank, for a smooth f over a set of singular values.

    Y = X_k + theta_k (X_k - X_{k-1})        X_{k+1} = P_X(Y - grad f(Y) / L)

are those of Beck and Teboulle ("A fast iterative shrinkage-thresholding algorithm for linear inverse problems", SIAM J.
Imaging Sci. 2, 2009), begun anew where f rises (O'Donoghue and Candes, "Adaptive restart for accelerated gradient
schemes", Found. Comput. Math. 15, 2015). P_X keeps the singular vectors of what it is given, Z, and brings all but the
largest values to zero. Z is a matrix of low rank less a gradient, and known by its products, and its largest singular
vectors are nearly those of the point before: one subspace iteration from those, Q = orth(Z V), Q^T Z = (U S W^T), tells
them well enough (Yao and Kwok, "Accelerated and inexact soft-impute for large-scale matrix and tensor completion", IEEE
TKDE 31, 2019). V has some columns more than X has, from which those come that X is to have next.

Descent on a factor slows down where X has light columns beside heavy ones: X curves along a column as its weight says.
These steps know nothing of that.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from cgm_cli.blocks.atoms import LowRankAtom
from cgm_cli.blocks.directions import Direction
from cgm_cli.blocks.domains.factorable import SingularValueSet
from cgm_cli.blocks.losses.base import Loss
from cgm_cli.numerics.deadline import Deadline

MARGIN, LEAST, SLACK = 1.5, 1e-6, 1e-12
"""L over the curvature of f along the last step, which it comes down to by halves, to this part of the largest at the
least; and the part of f up to which what seems to be curvature is rounding.
"""


@dataclass(frozen=True)
class Found:
    """atom: the best point, its singular vectors and values. spare: (n, b), right singular vectors of the last Z behind
    those of X. curvature: L of the last step.
    """

    atom: LowRankAtom
    spare: np.ndarray
    curvature: float


@dataclass(frozen=True)
class _Point:
    atom: LowRankAtom
    image: np.ndarray
    value: float


@dataclass(frozen=True)
class _Ahead:
    """Y, its image, and grad f(Y), as the derivative h' at the image."""

    here: LowRankAtom
    before: LowRankAtom
    theta: float
    image: np.ndarray
    slope: np.ndarray

    def times(self, block: np.ndarray, transposed: bool = False) -> np.ndarray:
        """Y B, or Y^T B."""
        out = _times(self.here, block, transposed) * (1.0 + self.theta)
        return out - self.theta * _times(self.before, block, transposed) if self.theta else out

    def distance(self, atom: LowRankAtom) -> float:
        """|X - Y|_F^2."""
        parts = [(1.0, atom), (-1.0 - self.theta, self.here), (self.theta, self.before)]
        return max(0.0, sum(a * b * _inner(one, two) for a, one in parts for b, two in parts if a and b))


def descend(
    loss: Loss,
    values: SingularValueSet,
    start: LowRankAtom,
    block: np.ndarray,
    curvature: float,
    steps: int,
    deadline: Deadline,
) -> Found:
    """So many steps from a point with orthonormal columns. values: X. block: (n, b), directions for the rows of x
    beside those that it has. curvature: L of the first step. Raises OutOfTime once the deadline has come.
    """
    here = before = best = _point(loss, start)
    vectors, momentum = np.linalg.qr(np.hstack([start.right, block]))[0], 1.0
    for _ in range(steps):
        following = 0.5 * (1.0 + math.sqrt(1.0 + 4.0 * momentum**2))
        theta, momentum = (momentum - 1.0) / following, following
        image = here.image + theta * (here.image - before.image)
        ahead = _Ahead(here.atom, before.atom, theta, image, loss.gradient(image))
        gradient, height = loss.map.adjoint(ahead.slope), loss.value(image)
        while True:
            deadline.check()
            atom, right = _projected(ahead, gradient, 1.0 / curvature, vectors, values)
            found, distance = _point(loss, atom), ahead.distance(atom)
            bend = found.value - height - float(np.vdot(ahead.slope, found.image - image))
            needed = 2.0 * bend / distance if distance > 0.0 else 0.0
            if needed <= curvature or bend <= SLACK * abs(height):
                break
            curvature = MARGIN * needed
        curvature = max(0.5 * curvature, MARGIN * needed, LEAST * loss.lipschitz)
        if found.value > here.value:
            momentum = 1.0
        before, here, vectors = here, found, right
        best = min(best, here, key=lambda point: point.value)
    return Found(best.atom, vectors[:, here.atom.weights.size :], curvature)


def _point(loss: Loss, atom: LowRankAtom) -> _Point:
    image = loss.map.forward_atom(atom)
    return _Point(atom, image, loss.value(image))


def _projected(
    ahead: _Ahead, gradient: Direction, step: float, vectors: np.ndarray, allowed: SingularValueSet
) -> tuple[LowRankAtom, np.ndarray]:
    """P_X(Y - step * gradient), as far as it is seen from the span of `vectors`, (n, q), and the right singular vectors
    that were found there.
    """
    basis = np.linalg.qr(ahead.times(vectors) - step * gradient.matmat(vectors))[0]
    across, triangle = np.linalg.qr(ahead.times(basis, True) - step * gradient.rmatmat(basis))
    rows, values, columns = np.linalg.svd(triangle.T)
    left, right = basis @ rows, across @ columns.T
    weights = allowed.nearest_singular_values(values)
    kept = int(np.count_nonzero(weights > 0.0))
    return LowRankAtom(left[:, :kept], weights[:kept], right[:, :kept]), right


def _times(atom: LowRankAtom, block: np.ndarray, transposed: bool) -> np.ndarray:
    left, right = (atom.right, atom.left) if transposed else (atom.left, atom.right)
    return left @ (atom.weights[:, None] * (right.T @ block))


def _inner(one: LowRankAtom, two: LowRankAtom) -> float:
    """<X, X'>."""
    across = (one.left.T @ two.left) * (one.right.T @ two.right)
    return float(one.weights @ across @ two.weights)
