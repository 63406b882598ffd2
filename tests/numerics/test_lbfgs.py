"""L-BFGS against a direct solution and SciPy's own, within its budget, and never uphill."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize, rosen, rosen_der

import cgm_cli.numerics.lbfgs as lbfgs_module
from cgm_cli.numerics.lbfgs import lbfgs


class Counted:
    def __init__(self, value, gradient):
        self._value, self._gradient, self.values = value, gradient, []

    def __call__(self, x):
        self.values.append(self._value(x))
        return self.values[-1], self._gradient(x)


@pytest.mark.parametrize("condition", [1.0, 1e3])
def test_a_quadratic_is_solved(condition):
    rng = np.random.default_rng(1)
    basis = np.linalg.qr(rng.standard_normal((30, 30)))[0]
    matrix = basis * np.geomspace(1.0, condition, 30) @ basis.T
    target = rng.standard_normal(30)
    evaluate = Counted(lambda x: 0.5 * x @ matrix @ x - target @ x, lambda x: matrix @ x - target)
    found = lbfgs(evaluate, np.ones(30), 400)
    np.testing.assert_allclose(found, np.linalg.solve(matrix, target), rtol=1e-5, atol=1e-6)


def test_as_good_as_another_one_on_a_curved_valley():
    start = np.full(10, -1.2)
    found = lbfgs(Counted(rosen, rosen_der), start, 150)
    reference = minimize(rosen, start, jac=rosen_der, method="L-BFGS-B", options={"maxfun": 150, "maxcor": 6})
    assert rosen(found) <= 10.0 * reference.fun + 1e-8


@pytest.mark.parametrize("budget", [1, 2, 3, 7, 40])
def test_the_budget_holds_and_the_value_never_grows(budget):
    evaluate = Counted(rosen, rosen_der)
    found = lbfgs(evaluate, np.full(6, -1.2), budget)
    assert len(evaluate.values) <= budget
    assert rosen(found) == min(evaluate.values)


def test_a_stationary_start_is_left_alone():
    evaluate = Counted(lambda x: float(x @ x), lambda x: 2.0 * x)
    np.testing.assert_array_equal(lbfgs(evaluate, np.zeros(3), 50), np.zeros(3))
    assert len(evaluate.values) == 1


def test_steps_into_infinity_are_taken_back():
    def value(x):
        return -np.log(1.0 - x @ x) if x @ x < 1.0 else np.inf

    def gradient(x):
        return 2.0 * x / (1.0 - x @ x) if x @ x < 1.0 else np.full_like(x, np.nan)

    found = lbfgs(Counted(value, gradient), np.full(3, 0.57), 60)
    np.testing.assert_allclose(found, 0.0, atol=1e-4)


@pytest.mark.parametrize("reduction", [0.5, 1e-2, 1e-5])
def test_it_ends_where_the_gradient_is_reduced_enough(reduction):
    """At the first point whose gradient is that part of the first one: what follows is not looked at."""
    gradients = []

    def gradient(x):
        gradients.append(float(np.linalg.norm(rosen_der(x))))
        return rosen_der(x)

    start = np.full(6, -1.2)
    found = lbfgs(Counted(rosen, gradient), start, 500, reduction)
    limit = reduction * gradients[0]
    assert np.linalg.norm(rosen_der(found)) == gradients[-1] <= limit
    # Fewer evaluations than to the end, and the same way.
    spent = len(gradients)
    gradients.clear()
    lbfgs(Counted(rosen, gradient), start, 500)
    assert spent < len(gradients)
    assert gradients[spent - 1] <= limit
    np.testing.assert_array_equal(lbfgs(Counted(rosen, gradient), start, spent), found)


def test_nothing_is_left_to_do_where_all_of_the_gradient_may_be_left():
    evaluate = Counted(rosen, rosen_der)
    start = np.full(6, -1.2)
    np.testing.assert_array_equal(lbfgs(evaluate, start, 50, 1.0), start)
    assert len(evaluate.values) == 1


@pytest.mark.parametrize("unit", [1e-60, 1e-25, 1e12, 1e60])
@pytest.mark.parametrize("length", [1e-40, 1.0, 1e40])
def test_units_do_not_matter(unit, length):
    """Values, and arguments, of any size: the memory in single precision has a narrow range."""
    plain = lbfgs(Counted(rosen, rosen_der), np.full(6, -1.2), 15)
    scaled = Counted(lambda x: unit * rosen(x / length), lambda x: unit / length * rosen_der(x / length))
    found = lbfgs(scaled, np.full(6, -1.2 * length), 15) / length
    assert len(scaled.values) == 15
    np.testing.assert_allclose(found, plain, rtol=0.0, atol=1e-4 * np.abs(plain).max())


def test_descent_is_that_of_the_two_loops():
    """Of Nocedal and Wright, Algorithm 7.4, written out; through pairs of no use, and more pairs than are kept."""
    rng = np.random.default_rng(3)
    memory, size = 4, lbfgs_module.PIECE + 50
    pairs, kept, gradient = lbfgs_module._Pairs(memory, size), [], rng.standard_normal(size)
    np.testing.assert_array_equal(pairs.descent(gradient), -gradient)
    for turn in range(9):
        step, change = rng.standard_normal((2, size))
        change += (-2.0 if turn in (0, 5) else 3.0) * step
        gradient = gradient + change
        pairs.add(step, change, gradient)
        if step @ change > 0.0:
            kept = [*kept, (step, change)][-memory:]
        expected, alphas = gradient.copy(), []
        for s, y in reversed(kept):
            alphas.append((s @ expected) / (s @ y))
            expected -= alphas[-1] * y
        if kept:
            expected *= (kept[-1][0] @ kept[-1][1]) / (kept[-1][1] @ kept[-1][1])
        for (s, y), alpha in zip(kept, reversed(alphas), strict=True):
            expected += (alpha - (y @ expected) / (s @ y)) * s
        found = pairs.descent(gradient)
        assert np.linalg.norm(found + expected) <= 1e-5 * np.linalg.norm(expected), turn
    assert pairs.count == 7


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("curvature", [1e-40, 1e-14, 1e14, 1e40])
def test_a_pair_of_another_curvature_takes_the_place_of_all(curvature):
    """Single precision could not hold both."""
    rng = np.random.default_rng(4)
    steps, gradients = rng.standard_normal((2, 8)), rng.standard_normal((2, 8))
    pairs, alone = lbfgs_module._Pairs(4, 8), lbfgs_module._Pairs(4, 8)
    pairs.add(steps[0], steps[0] + 0.1, gradients[0])
    for memory in (pairs, alone):
        memory.add(steps[1], curvature * steps[1], curvature * gradients[1])
    expected = alone.descent(curvature * gradients[1])
    np.testing.assert_array_equal(pairs.descent(curvature * gradients[1]), expected)
    np.testing.assert_allclose(expected, -gradients[1], rtol=1e-5)


def test_a_step_whose_square_vanishes_is_no_pair():
    pairs = lbfgs_module._Pairs(4, 2)
    pairs.add(np.array([1.0, 0.0]), np.array([1.0, 0.0]), np.ones(2))
    pairs.add(np.array([1e-170, 0.0]), np.array([1e-80, 0.0]), np.ones(2))
    assert pairs.count == 1
