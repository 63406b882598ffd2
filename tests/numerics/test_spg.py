"""The spectral projected gradient method against closed forms, and the projection of its spectral sets."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize

from cgm_cli.numerics.projections import project_hypersimplex, project_simplex
from cgm_cli.numerics.spg import spectral_projected_gradient


@pytest.mark.parametrize("seed", range(10))
def test_quadratic_over_the_simplex_against_slsqp(seed):
    rng = np.random.default_rng(seed)
    root, c = rng.standard_normal((6, 6)), rng.standard_normal(6)
    q = root @ root.T

    def evaluate(x):
        return 0.5 * x @ q @ x + c @ x, q @ x + c

    found, value = spectral_projected_gradient(evaluate, project_simplex, np.full(6, 1 / 6), 500, 0.1)
    reference = minimize(
        lambda x: evaluate(x)[0],
        np.full(6, 1 / 6),
        jac=lambda x: evaluate(x)[1],
        bounds=[(0, 1)] * 6,
        constraints={"type": "eq", "fun": lambda x: x.sum() - 1},
        options={"ftol": 1e-14, "maxiter": 500},
    )
    assert value == pytest.approx(reference.fun, abs=1e-7)
    assert found.min() >= 0 and found.sum() == pytest.approx(1.0)


def test_never_worse_than_the_start_and_within_the_budget():
    calls = []

    def evaluate(x):
        calls.append(x)
        return float(np.sum(np.abs(x) ** 1.5)), 1.5 * np.sign(x) * np.sqrt(np.abs(x))

    start = np.array([1.0, -2.0])
    _, value = spectral_projected_gradient(evaluate, lambda x: x, start, 7, 1e3)
    assert len(calls) == 7
    assert value <= evaluate(start)[0]


@pytest.mark.parametrize("seed", range(30))
def test_hypersimplex_projection_satisfies_its_optimality_conditions(seed):
    """p is nearest iff <z - p, q - p> <= 0 for every vertex q: the k largest of z - p, against <z - p, p>."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 9))
    k = int(rng.integers(0, n + 1))
    z = rng.standard_normal(n) * 10.0 ** rng.integers(-3, 4)
    if seed % 3 == 0:
        z = np.round(z)  # ties
    p = project_hypersimplex(z, k)
    assert p.sum() == pytest.approx(k, abs=1e-9 * max(1.0, np.abs(z).max()))
    assert p.min() >= 0.0 and p.max() <= 1.0
    gap = np.sort(z - p)[::-1][:k].sum() - (z - p) @ p
    assert gap <= 1e-9 * max(1.0, np.abs(z).max() ** 2)
    assert project_hypersimplex(p, k) == pytest.approx(p, abs=1e-9)


def test_hypersimplex_projection_of_what_is_no_number():
    assert np.isnan(project_hypersimplex(np.array([1.0, np.nan]), 1)).all()


@pytest.mark.parametrize("unit", [1e-60, 1.0, 1e60])
def test_a_linear_function_has_no_curvature_and_still_an_end(unit):
    cost = unit * np.array([3.0, -1.0, 2.0])
    start = np.full(3, 1 / 3)
    found, value = spectral_projected_gradient(
        lambda x: (float(cost @ x), cost), project_simplex, start, 10, np.inf, np.sqrt(2.0)
    )
    np.testing.assert_array_equal(found, [0.0, 1.0, 0.0])
    assert value == -unit


def test_a_gradient_of_zero_is_an_end():
    found, value = spectral_projected_gradient(
        lambda x: (0.0, np.zeros(2)), project_simplex, np.full(2, 0.5), 10, np.inf, np.sqrt(2.0)
    )
    np.testing.assert_array_equal(found, [0.5, 0.5])
    assert value == 0.0


@pytest.mark.parametrize(
    ("z", "total", "expected"),
    [
        ([1e30, 1e30, 0.0], 1.0, [0.5, 0.5, 0.0]),
        ([1e30, 0.0, -1e30], 2.0, [1.0, 1.0, 0.0]),
        ([1e20 + 2e4, 1e20, 1e20], 1.5, [1.0, 0.25, 0.25]),
        ([-1e300, -1e300], 1.0, [0.5, 0.5]),
    ],
)
def test_hypersimplex_projection_at_any_magnitude(z, total, expected):
    np.testing.assert_array_equal(project_hypersimplex(np.array(z), total), expected)
