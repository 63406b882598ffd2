"""Conjugate gradients on quadratics, where they end after as many moves as there are unknowns, and on a curved one."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize_scalar

from cgm_cli.numerics.conjugate import LineSearchResult, descend


def result(gradient, *others):
    return LineSearchResult(*(float(gradient @ other) for other in (gradient, *others)))


class Quadratic:
    """x^T A x / 2 - b^T x."""

    def __init__(self, matrix, target, start):
        self.matrix, self.target, self.x = matrix, target, np.array(start, dtype=float)
        self.values, self.sizes = [self.value], [float(np.linalg.norm(self.gradient))]

    @property
    def value(self):
        return 0.5 * float(self.x @ self.matrix @ self.x) - float(self.target @ self.x)

    @property
    def gradient(self):
        return self.matrix @ self.x - self.target

    def move(self, direction):
        former = self.gradient
        slope = float(former @ direction)
        if slope > -1e-20:
            return None
        self.x = self.x - slope / float(direction @ self.matrix @ direction) * direction
        self.values.append(self.value)
        self.sizes.append(float(np.linalg.norm(self.gradient)))
        return result(self.gradient, former, direction)


def quadratic(eigenvalues, seed=5):
    rng = np.random.default_rng(seed)
    size = len(eigenvalues)
    basis = np.linalg.qr(rng.standard_normal((size, size)))[0]
    return Quadratic(basis * eigenvalues @ basis.T, rng.standard_normal(size), np.zeros(size))


def test_a_quadratic_takes_as_many_moves_as_it_has_curvatures():
    point = quadratic([1.0, 3.0, 10.0, 40.0] * 3)
    descend(point, 4)
    np.testing.assert_allclose(point.x, np.linalg.solve(point.matrix, point.target), atol=1e-10)
    assert np.all(np.diff(point.values) < 0.0)


@pytest.mark.parametrize("reduction", [0.5, 1e-2, 1e-6])
def test_it_ends_where_the_gradient_is_reduced_enough(reduction):
    point = quadratic(np.geomspace(1.0, 100.0, 30))
    descend(point, 300, reduction)
    assert point.sizes[-1] <= reduction * point.sizes[0] < min(point.sizes[:-1])


def test_it_does_not_end_where_the_gradient_has_just_grown():
    """Curvatures of two sizes: the gradient grows with every other move, once the large ones are dealt with."""
    grown = 0
    for moves in range(4, 24):
        point = quadratic(np.concatenate([np.linspace(1.0, 2.0, 60), np.linspace(300.0, 310.0, 60)]))
        descend(point, moves)
        made = len(point.sizes) - 1
        assert moves <= made <= 2 * moves
        assert point.sizes[-1] <= point.sizes[-2]
        assert np.all(np.diff(point.sizes[moves:-1]) > 0.0)
        grown += made > moves
    assert grown >= 5


def test_a_stationary_point_is_left_alone():
    point = quadratic([1.0, 2.0])
    point.x = np.linalg.solve(point.matrix, point.target)
    point.target = point.matrix @ point.x
    descend(point, 10)
    assert len(point.values) == 1


class Valley:
    """Rosenbrock's function, by line searches that are as exact as they can be."""

    def __init__(self, size):
        from scipy.optimize import rosen, rosen_der

        self._value, self._gradient, self.x = rosen, rosen_der, np.full(size, -1.2)

    @property
    def gradient(self):
        return self._gradient(self.x)

    def move(self, direction):
        along = minimize_scalar(lambda t: self._value(self.x + t * direction), bracket=(0.0, 1e-3), tol=1e-12)
        if not along.x > 0.0 or not along.fun < self._value(self.x):
            return None
        former, self.x = self.gradient, self.x + along.x * direction
        return result(self.gradient, former, direction)


def test_a_curved_valley_is_followed_to_its_end():
    point = Valley(6)
    descend(point, 400)
    np.testing.assert_allclose(point.x, 1.0, atol=1e-5)


def test_where_no_direction_is_downhill_the_steepest_is_tried_before_it_ends():
    tried = []

    class Wall:
        gradient = np.array([1.0, 2.0])

        def move(self, direction):
            tried.append(direction.copy())
            if len(tried) > 1:
                return None
            former, self.gradient = self.gradient, np.array([2.0, -1.5])
            return result(self.gradient, former, direction)

    descend(Wall(), 50)
    assert len(tried) == 3
    assert not np.allclose(tried[1], [-2.0, 1.5])
    np.testing.assert_array_equal(tried[2], [-2.0, 1.5])
