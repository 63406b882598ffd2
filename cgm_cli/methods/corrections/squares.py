"""Least squares as one more term of primal-dual steps, with a dual y of its own in place of its gradient.

Taken by its gradient, f limits tau to 1 / L_f, which crawls where M is badly conditioned, or has few rows. But f(x) =
h(M x) with h*(y) = |y|^2 / 2 + <b, y>, whose prox is a formula in the norm <y, G y> / w, G = M C M^T / |M|^2, in which
the rows of M are orthonormal: with s = 1 / (sigma w),

    y' = argmin h*(y) - <z, y> + s <y - y0, G (y - y0)> / 2 = (I + s G)^-1 (s G y0 + z - b).
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import scipy.linalg

from cgm_cli.blocks.maps.base import LinearMap
from cgm_cli.blocks.penalties.base import Penalty
from cgm_cli.blocks.problem import CompositeProblem, Term
from cgm_cli.methods.corrections.metrics import PrimalMetric, is_small
from cgm_cli.numerics.projections import safe_norm

NAME = "the loss"

EVEN = 0.05
"""Part of the largest eigenvalue of M^T M that the smallest is at least where gradients are as good, and cost less."""


class Squares(Penalty):
    """h(z) = |z - b|^2 / 2. lipschitz: over the images of a domain, none of which is longer than `reach`."""

    prox_is_exact = True

    def __init__(self, target: np.ndarray, reach: float):
        self.target, self.shape = target, target.shape
        self.lipschitz = reach + safe_norm(target)

    def value(self, z: np.ndarray) -> float:
        off = z - self.target
        return 0.5 * float(np.vdot(off, off))

    def prox(self, z: np.ndarray, step: float) -> np.ndarray:
        return (z + step * self.target) / (1.0 + step)

    def subgradient(self, z: np.ndarray) -> np.ndarray:
        return z - self.target


class SquaresMetric:
    """N is the inverse of G, which is gone over in its eigenvectors."""

    def __init__(self, primal: PrimalMetric, term: Term, target: np.ndarray):
        gram = primal.gram(term.map) / term.map.norm**2
        self._values, self._vectors = scipy.linalg.eigh(gram)
        self._values = np.maximum(self._values, 0.0)
        self._weight, self._target = term.weight, target

    def step(self, y: np.ndarray, image: np.ndarray, sigma: float) -> np.ndarray:
        s = 1.0 / (sigma * self._weight)
        off = self._vectors.T @ (image - self._target).reshape(-1)
        ahead = s * self._values * (self._vectors.T @ y.reshape(-1)) + off
        return (self._vectors @ (ahead / (1.0 + s * self._values))).reshape(y.shape)

    def coordinates(self, move: np.ndarray) -> np.ndarray:
        return np.sqrt(self._values / self._weight) * (self._vectors.T @ move.reshape(-1))


def posed(problem: CompositeProblem) -> CompositeProblem:
    """The problem with f as its last term, as heavy as the others; as it is, where that would not pay."""
    loss, terms = problem.loss, problem.terms
    target = None if loss is None else loss.squares
    if loss is None or target is None or not terms or loss.map.norm == 0.0:
        return problem
    if not is_small(loss.map) or is_even(loss.map):
        return problem
    size = sum(term.weight * term.map.norm**2 for term in terms) / len(terms)
    own = Squares(np.asarray(target), loss.map.norm * problem.domain.radius)
    term = Term(NAME, loss.map, own, size / loss.map.norm**2)
    return replace(problem, loss=None, terms=(*terms, term))


def is_even(linear: LinearMap) -> bool:
    """Whether |M x| is of the size of |M| |x| for every x."""
    rows, columns = math.prod(linear.out_shape), math.prod(linear.in_shape)
    if rows < columns or linear.is_identity:
        return linear.is_identity
    images = [linear.forward(unit.reshape(linear.in_shape)).reshape(-1) for unit in np.eye(columns)]
    return float(np.linalg.norm(np.array(images), -2)) ** 2 >= EVEN * linear.norm**2
