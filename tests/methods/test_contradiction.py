"""What equations are missed by at the least, against bounded least squares and programs that are feasible by design."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import lsq_linear

from cgm_cli.blocks.domains.box import Box
from cgm_cli.blocks.domains.simplex import Simplex
from cgm_cli.blocks.losses.linear import Linear
from cgm_cli.blocks.maps.matrix import MatrixMap
from cgm_cli.blocks.penalties.equals import Equals
from cgm_cli.blocks.problem import CompositeProblem, Term
from cgm_cli.methods.contradiction import least_miss
from cgm_cli.solving.direct import solve_problem


def equations(rows, right, domain=None):
    n = rows.shape[1]
    term = Term("rows", MatrixMap(rows, (n,)), Equals(right.shape, right))
    return CompositeProblem(domain or Box(np.zeros(n), np.ones(n)), Linear(np.linspace(-1.0, 1.0, n), (n,)), (term,))


def nearly_the_same(rng, m, n, eps):
    rows = rng.standard_normal((m, n))
    return np.vstack([rows, rows[0] - rows[1] + eps * rng.standard_normal(n)])


@pytest.mark.parametrize("eps", [1e-3, 1e-6, 1e-8])
@pytest.mark.parametrize("beyond", [0.5, 2.0, 1e4])
def test_a_second_entry_that_two_rows_ask_to_be_too_large(eps, beyond):
    """x_1 + x_2 = 1 and x_1 + (1 + eps) x_2 = 1 + beyond eps say x_2 = beyond. That at (0, 1) is missed by least is
    plain, and so is by how much: that of lsq_linear, where it has the digits.
    """
    rows, right = np.array([[1.0, 1.0], [1.0, 1.0 + eps]]), np.array([1.0, 1.0 + beyond * eps])
    found = least_miss(equations(rows, right))
    if beyond <= 1.0:
        assert found == 0.0
        return
    residual = rows @ np.array([0.0, 1.0]) - right
    assert 0.0 < found <= np.linalg.norm(residual) / np.linalg.norm(right)
    # In the metric of the rests, which differ from rows by a factor of two here, it is as sharp as it can be.
    assert found > 0.1 * np.linalg.norm(residual) / np.linalg.norm(right)
    if eps * beyond > 1e-4:
        least = 2.0 * lsq_linear(rows, right, (0.0, 1.0), tol=1e-14).cost
        assert found <= np.sqrt(least) / np.linalg.norm(right)


@pytest.mark.parametrize("eps", [1e-4, 1e-7, 1e-9, 1e-12])
@pytest.mark.parametrize("domain", [None, Simplex(9)])
def test_what_some_x_meets_is_never_said_to_be_missed(eps, domain):
    """At a vertex, or in the middle: in exact arithmetic up to the rounding of b."""
    for seed in range(5):
        rng = np.random.default_rng(seed)
        rows = nearly_the_same(rng, 3, 9, eps)
        x = np.eye(9)[0] if seed % 2 else np.full(9, 1.0 / 9.0)
        assert least_miss(equations(rows, rows @ x, domain)) < 1e-15


def test_combinations_of_rows_that_say_something_else():
    rows = np.array([[1.0, 1.0, 0.0], [0.0, 1.0, 1.0], [1.0, 2.0, 1.0]])
    right = np.array([1.0, 1.0, 2.0 + 6e-8])
    found = least_miss(equations(rows, right))
    # The shortest residual is the share of 6e-8 that a combination of norm sqrt(3) leaves.
    assert found == pytest.approx(6e-8 / 3.0, rel=0.5)
    assert found <= 6e-8 / np.sqrt(3.0) / np.linalg.norm(right)


@pytest.mark.parametrize("seed", range(6))
def test_a_run_says_so(seed):
    """Rests out of reach for the rounding of b alone: x is optimal for some b within it, and owes nothing to none."""
    rng = np.random.default_rng(seed)
    rows = nearly_the_same(rng, 3, 12, 1e-8)
    right = (rows @ rng.uniform(0.0, 1.0, 12)).astype(np.float32).astype(float)
    problem = equations(rows, right)
    found = solve_problem(problem, "auto", {"gap": 1e-6, "infeasibility": 1e-6})
    assert found.status.value == "converged"
    is_unmet = "No point of the domain meets the constraints: each misses them by" in found.message
    assert is_unmet == (least_miss(problem) > 0.0)
