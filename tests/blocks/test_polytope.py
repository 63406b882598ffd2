"""Polytopes: minima against all vertices in rational numbers, bounds that are found, nearest points, refusals."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from pydantic import ValidationError
from scipy.optimize import minimize

from cgm_cli import solve
from cgm_cli.blocks.directions import DenseDirection
from cgm_cli.blocks.domains.base import OracleRequest
from cgm_cli.blocks.domains.polytope import Polytope
from cgm_cli.blocks.losses.least_squares import LeastSquares
from cgm_cli.blocks.losses.linear import Linear
from cgm_cli.blocks.losses.quadratic import Quadratic
from cgm_cli.blocks.maps.matrix import MatrixMap
from cgm_cli.blocks.problem import CompositeProblem
from cgm_cli.errors import ProblemError
from tests.blocks.support import domain


def vertices(a, b) -> list[tuple[Fraction, ...]]:
    """Of {x in R^2 : a x <= b}: every crossing of two lines that meets all other inequalities, exactly."""
    rows = [tuple(map(Fraction, (*row, right))) for row, right in zip(a.tolist(), b.tolist(), strict=True)]
    found = []
    for (p, q, r), (s, t, u) in combinations(rows, 2):
        det = p * t - q * s
        if det:
            x = ((r * t - q * u) / det, (p * u - r * s) / det)
            if all(i * x[0] + j * x[1] <= k for i, j, k in rows):
                found.append(x)
    return found


def random_polygon(rng, unit: float):
    """Half-planes around a point, and a triangle that bounds them."""
    a = np.vstack([rng.standard_normal((6, 2)), [[1.0, 1.0], [-1.0, 0.0], [0.0, -1.0]]])
    return a, unit * (a @ rng.standard_normal(2) + rng.random(9) + 0.1)


@pytest.mark.parametrize("unit", [1.0, 1e-9, 1e9])
@pytest.mark.parametrize("seed", range(8))
def test_what_is_proven_is_below_the_minimum_in_rational_numbers(seed, unit):
    rng = np.random.default_rng(seed)
    a, b = random_polygon(rng, unit)
    corners = vertices(a, b)
    x = Polytope(a, b)
    for j in range(2):
        assert Fraction(x.lower[j]) <= min(corner[j] for corner in corners)
        assert Fraction(x.upper[j]) >= max(corner[j] for corner in corners)
        assert x.lower[j] == pytest.approx(float(min(corner[j] for corner in corners)), abs=1e-12 * x.radius)
        assert x.upper[j] == pytest.approx(float(max(corner[j] for corner in corners)), abs=1e-12 * x.radius)
    for _ in range(5):
        g = rng.standard_normal(2)
        least = min(sum(Fraction(entry) * z for entry, z in zip(g.tolist(), corner, strict=True)) for corner in corners)
        answer = x.lmo(DenseDirection(g), OracleRequest())
        proven = x.certified_minimum(DenseDirection(g))
        assert Fraction(proven) <= least
        assert proven == pytest.approx(float(least), abs=1e-13 * x.radius * np.linalg.norm(g))
        assert answer.value == pytest.approx(float(least), abs=1e-13 * x.radius * np.linalg.norm(g))


@pytest.mark.parametrize("wrong", [1e-3, 1.0, 1e3])
def test_any_dual_proves_a_bound(wrong):
    rng = np.random.default_rng(1)
    a, b = random_polygon(rng, 1.0)
    x, corners = Polytope(a, b), np.array(vertices(a, b), dtype=float)
    for _ in range(20):
        g, y = rng.standard_normal(2), wrong * rng.random(len(b))
        assert x.program.proven(g, y, np.zeros(0)) <= (corners @ g).min() + 1e-12


@pytest.mark.parametrize("seed", range(5))
def test_the_projection_is_the_nearest_point(seed):
    rng = np.random.default_rng(seed)
    a, c = rng.standard_normal((5, 4)), rng.standard_normal((1, 4))
    middle = rng.standard_normal(4)
    b, d = a @ middle + rng.random(5), c @ middle
    x = Polytope(a, b, c, d, -4.0, 4.0)
    far = middle + 2.0 * rng.standard_normal(4)
    found = x.project(far)
    twin = minimize(
        lambda p: 0.5 * np.square(p - far).sum(),
        middle,
        jac=lambda p: p - far,
        bounds=[(-4.0, 4.0)] * 4,
        constraints=[
            {"type": "ineq", "fun": lambda p: b - a @ p, "jac": lambda p: -a},
            {"type": "eq", "fun": lambda p: c @ p - d, "jac": lambda p: c},
        ],
        method="SLSQP",
        options={"ftol": 1e-15},
    )
    np.testing.assert_allclose(found, twin.x, atol=1e-6)
    assert (a @ found - b).max() <= 1e-13
    assert np.abs(c @ found - d).max() <= 1e-13
    np.testing.assert_allclose(x.project(found), found, atol=1e-13)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"at_most": [1.0, -2.0]}, "the polytope is empty"),
        ({"at_most": [1.0, -2.0], "lower": -5.0, "upper": 5.0}, "the polytope is empty"),
        ({}, "no upper|no lower"),
        ({"lower": 0.0}, "give `lower` and `upper`"),
        ({"at_most": [1.0, 2.0, 3.0]}, "b is a vector of 3"),
        ({"equations": [[1.0]], "lower": 0.0, "upper": 1.0}, "but A has 2 columns"),
        ({"matrix": [1.0, 2.0]}, "A must be a matrix, not a vector of 2"),
        ({"lower": [0.0, 3.0], "upper": [1.0]}, "the upper bound is a vector of 1"),
        ({"matrix": np.ones((1, 201)).tolist(), "at_most": 1.0}, "here 201, both bounds are needed"),
    ],
)
def test_what_is_no_polytope_is_refused(changes, words):
    with pytest.raises(ProblemError, match=words):
        domain(**{"kind": "polytope", "matrix": [[1.0, -1.0], [-1.0, 1.0]], "at_most": 1.0, **changes})


def test_bounds_that_cross_are_refused_when_read():
    with pytest.raises(ValidationError, match="exceeds the upper bound"):
        domain(kind="polytope", matrix=[[1.0]], at_most=1.0, lower=2.0, upper=1.0)


@pytest.mark.parametrize("objective", ["linear", "quadratic", "least-squares"])
def test_auto_solves_over_a_polytope_to_many_digits(objective):
    """Against SLSQP."""
    rng = np.random.default_rng(5)
    a, b = rng.standard_normal((12, 6)), rng.uniform(0.5, 1.5, 12)
    root, cost = rng.standard_normal((6, 6)), rng.standard_normal(6)
    domain = Polytope(a, b, lower=-2.0, upper=2.0)
    matrix = MatrixMap(root, (6,))
    loss = {
        "linear": Linear(cost, (6,)),
        "quadratic": Quadratic(root.T @ root, cost, (6,)),
        "least-squares": LeastSquares(matrix, cost),
    }[objective]
    answer = solve(CompositeProblem(domain, loss), stop={"gap": 1e-8})
    assert answer.status.value == "converged" and answer.record.k < 100
    value = {
        "linear": lambda x: cost @ x,
        "quadratic": lambda x: 0.5 * x @ root.T @ root @ x + cost @ x,
        "least-squares": lambda x: 0.5 * np.sum((root @ x - cost) ** 2),
    }[objective]
    found = minimize(
        value,
        np.zeros(6),
        method="SLSQP",
        bounds=[(-2.0, 2.0)] * 6,
        constraints={"type": "ineq", "fun": lambda x: b - a @ x, "jac": lambda x: -a},
        options={"ftol": 1e-13, "maxiter": 500},
    )
    assert found.success and answer.objective == pytest.approx(found.fun, rel=1e-6, abs=1e-7)
    assert answer.bound <= found.fun + 1e-7
