"""Newton's method for a smooth f over a domain that projects, where conditioning leaves gradients far behind.

x minimises f over X where x = P_X(u), u = x - t grad f(x), for any t > 0. With D the derivative of P_X at some u, which
is symmetric with eigenvalues from 0 (what stops u) to 1 (what lets it through), z = P_X(u) and H the Hessian of f, a
semismooth Newton step of that equation (Qi and Sun 1993) leads to z + d with

    (I - D + t D H) d = D (z - t grad f(z) - u),

and to the minimiser over a face of a polytope at once, where f is quadratic and u is seen from that face. To come to
such a u the quadratic model of f is minimised over X, roughly, by alternating directions (Boyd et al. 2011; the step
after them is the polish of OSQP, Stellato et al. 2020), whose projections see the faces of X in the metric of H:

    y = argmin q(y) + |y - (2 z - u)|^2 / (2 t),      u' = u + y - z,      z' = P_X(u').

Several t are tried, and what f is least at is taken; near the solution, where rounding hides that, what has the least
Frank-Wolfe gap, max <grad f(x), x - s> over X.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
import scipy.linalg

from cgm_cli.blocks.directions import DenseDirection
from cgm_cli.blocks.domains.base import Domain, OracleRequest
from cgm_cli.blocks.problem import CompositeProblem
from cgm_cli.numerics.deadline import Deadline
from cgm_cli.numerics.eigh import eigenpairs
from cgm_cli.numerics.threads import one_thread

SIZE, WORK = 120, 2e7
"""The most entries of x, and operations that it may take to multiply out a Hessian: some milliseconds."""

STEPS = 20
"""Of a call, at the most."""

STEPSIZES = 10.0 ** np.arange(0, 19, 3)
"""The t that are tried, over 1 / L."""

SHARP, DIFFERENCE = 1e-5, 1e-6
"""How near to 0 or 1 an eigenvalue of D is taken for one; and the difference it is computed by, over the radius."""

PARTS = 1.0, 0.25
"""Of a step, that are tried: far from the solution the whole of it may lead too far."""

ROUNDS = 0, 60
"""Of alternating directions, between Newton steps."""

KNOWN = 1e-12
"""Up to which part f is known."""


def takes(problem: CompositeProblem) -> bool:
    """Whether a step is cheap: for few entries, and a loss that has its second derivative."""
    loss, size = problem.loss, math.prod(problem.domain.shape)
    if loss is None or problem.terms or not problem.domain.projects or loss.lipschitz == 0.0 or size > SIZE:
        return False
    return loss.has_hessian and size * loss.map.work <= WORK


def newton(problem: CompositeProblem, x: np.ndarray, deadline: Deadline) -> np.ndarray | None:
    """A better point of X, by some steps; None where there is none. Raises OutOfTime at the deadline."""
    with one_thread():
        return _improved(problem, x, deadline)


def _improved(problem: CompositeProblem, x: np.ndarray, deadline: Deadline) -> np.ndarray | None:
    assert problem.loss is not None
    here, improved = _Place(problem, x), False
    for _ in range(STEPS):
        hessian, best = here.hessian(), here
        for t in STEPSIZES / problem.loss.lipschitz:
            for target in here.targets(hessian, t, deadline):
                for part in PARTS:
                    there = problem.domain.project(here.x + part * (target - here.x))
                    best = min(best, _Place(problem, there), key=here.rank)
        if here.rank(best) >= here.rank(here):
            break
        here, improved = best, True
    return here.x if improved else None


class _Place:
    """x with f, its gradient, and the gap."""

    def __init__(self, problem: CompositeProblem, x: np.ndarray):
        assert problem.loss is not None
        self._problem, self._loss, self.x = problem, problem.loss, x
        self._image = self._loss.map.forward(x)
        self.value = self._loss.value(self._image)
        gradient = self._loss.map.adjoint(self._loss.gradient(self._image)).dense()
        self.gradient = 0.5 * (gradient + gradient.T) if problem.domain.symmetric else gradient
        direction = DenseDirection(self.gradient, symmetric=problem.domain.symmetric)
        self.gap = float(np.vdot(self.gradient, x)) - problem.domain.lmo(direction, OracleRequest()).value

    def hessian(self) -> np.ndarray:
        """(n, n)."""
        loss, shape = self._loss, self.x.shape
        columns = [loss.map.forward(unit.reshape(shape)) for unit in np.eye(self.x.size)]
        bent = [loss.map.adjoint(loss.hessian(self._image, column)).dense().reshape(-1) for column in columns]
        return 0.5 * (np.array(bent) + np.array(bent).T)

    def rank(self, other: _Place) -> tuple[float, float]:
        """How good another place is: by f or, where that is the same but for rounding, by the gap."""
        fallen = (self.value - other.value) / max(abs(self.value), abs(other.value), np.finfo(float).tiny)
        return (0.0 if abs(fallen) <= KNOWN else -fallen), other.gap

    def targets(self, hessian: np.ndarray, t: float, deadline: Deadline) -> Iterator[np.ndarray]:
        """Where Newton steps lead to: from x, and from where alternating directions have come to."""
        domain, shape, slope = self._problem.domain, self.x.shape, self.gradient.reshape(-1)
        try:
            solve = np.linalg.inv(np.eye(slope.size) + t * hessian)
        except np.linalg.LinAlgError:  # numbers out of range
            return
        u = self.x - t * self.gradient
        z = domain.project(u)
        for rounds in ROUNDS:
            for _ in range(rounds):
                deadline.check()
                # y - x, which solves (I + t H) (y - x) = 2 z - u - x - t grad f(x)
                y = self.x + (solve @ ((2.0 * z - u - self.x).reshape(-1) - t * slope)).reshape(shape)
                u = u + y - z
                z = domain.project(u)
            rest = (z - u).reshape(-1) - t * (slope + hessian @ (z - self.x).reshape(-1))
            yield z + _step(domain, u, z, hessian, rest, t)


def _step(domain: Domain, u: np.ndarray, z: np.ndarray, hessian: np.ndarray, rest: np.ndarray, t: float) -> np.ndarray:
    """d, by the eigenvectors of D; rest: z - t grad f(z) - u."""
    values, vectors = _derivative(domain, u, z)
    free = values > 0.0
    own = vectors[:, free]
    # What is let through, divided by t times its eigenvalue.
    matrix = own.T @ hessian @ own + np.diag((1.0 - values[free]) / (t * values[free]))
    return (own @ _solved(matrix, own.T @ rest / t)).reshape(z.shape)


def _derivative(domain: Domain, u: np.ndarray, projected: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Eigenvalues and eigenvectors of P_X at u, by differences: exact but for rounding where X is a polytope."""
    width = DIFFERENCE * domain.radius
    columns = [(domain.project(u + width * unit.reshape(u.shape)) - projected).reshape(-1) for unit in np.eye(u.size)]
    matrix = np.array(columns) / width
    values, vectors = eigenpairs(0.5 * (matrix + matrix.T))
    return np.where(values < SHARP, 0.0, np.where(values > 1.0 - SHARP, 1.0, values)), vectors


def _solved(matrix: np.ndarray, right: np.ndarray) -> np.ndarray:
    """A solution of a semidefinite system, in units in which its diagonal is one."""
    size = np.sqrt(np.maximum(np.diag(matrix), 0.0))
    size[size == 0.0] = 1.0
    scaled = matrix / np.outer(size, size)
    return scipy.linalg.lstsq(scaled, right / size, cond=1e-16)[0] / size  # pyright: ignore[reportOptionalSubscript]
