"""Nearly dependent equations: their rests against exact fractions, and programs whose optimum is known."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import linprog

from cgm_cli.blocks.domains.box import Box
from cgm_cli.blocks.losses.linear import Linear
from cgm_cli.blocks.maps.matrix import MatrixMap
from cgm_cli.blocks.penalties.equals import Equals
from cgm_cli.blocks.problem import CompositeProblem, Term
from cgm_cli.methods.corrections.rests import apart, within_reach
from cgm_cli.solving.direct import solve_problem

TIGHT = {"gap": 1e-6, "infeasibility": 1e-6}


def nearly_dependent(rng, n, more, eps):
    """Rows F, and behind them combinations of these with a rest of about eps: all of length one; and the u."""
    basis = rng.standard_normal((3, n))
    basis /= np.linalg.norm(basis, axis=1)[:, None]
    rests = rng.standard_normal((more, n))
    rests /= np.linalg.norm(rests, axis=1)[:, None]
    others = rng.standard_normal((more, 3)) @ basis + eps * rests
    others /= np.linalg.norm(others, axis=1)[:, None]
    return np.vstack([basis, others]), rests


@pytest.mark.parametrize("eps", [1e-2, 1e-5, 1e-8])
@pytest.mark.parametrize("more", [1, 3])
def test_what_is_in_their_place_is_well_apart_and_says_the_same(eps, more):
    """T A and T b in exact arithmetic: of the length and the right-hand side that T A has, and as far from dependent as
    random rows are, where A is as near as eps.
    """
    rng = np.random.default_rng(0)
    rows, _ = nearly_dependent(rng, 12, more, eps)
    found = apart(sp.csr_array(rows), rows @ rng.random(12))
    exact = [[Fraction(value) for value in row] for row in rows.tolist()]
    combined = found.combined.toarray().tolist()
    images = np.array(
        [
            [float(sum(Fraction(w) * row[j] for w, row in zip(weights, exact, strict=True))) for j in range(12)]
            for weights in combined
        ]
    )
    assert found.contradiction is None
    assert len(combined) == len(rows)
    assert np.linalg.norm(images, axis=1) == pytest.approx(1.0, abs=1e-6)
    assert np.linalg.cond(images) < 50.0
    assert np.linalg.cond(rows) > 0.1 / eps


def test_rests_that_are_nearly_dependent_in_their_turn():
    rng = np.random.default_rng(1)
    rows, rests = nearly_dependent(rng, 12, 2, 1e-4)
    third = rng.standard_normal(3) @ rows[:3] + 1e-4 * (rests[0] - rests[1]) + 1e-8 * rng.standard_normal(12)
    rows = np.vstack([rows, third / np.linalg.norm(third)])
    found = apart(sp.csr_array(rows), rows @ rng.random(12))
    images = found.combined @ rows
    assert images.shape == (6, 12)
    assert np.linalg.cond(images) < 50.0


@pytest.mark.parametrize("eps", [1e-3, 1e-5, 1e-7])
def test_what_is_rounding_of_a_rest_is_no_rest(eps):
    """Four rows are combinations but for multiples of one u: what their rests, made longer, differ by is noise."""
    rng = np.random.default_rng(2)
    rows = np.vstack([rng.standard_normal((3, 12)), np.zeros((4, 12))])
    rows[:3] /= np.linalg.norm(rows[:3], axis=1)[:, None]
    rows[3:] = rng.standard_normal((4, 3)) @ rows[:3] + eps * np.outer(rng.uniform(1, 2, 4), rng.standard_normal(12))
    rows /= np.linalg.norm(rows, axis=1)[:, None]
    found = apart(sp.csr_array(rows), rows @ rng.random(12))
    assert found.contradiction is None
    assert found.combined.shape[0] == 4
    assert np.linalg.cond(found.combined @ rows) < 50.0


def test_combinations_are_left_out_and_contradictions_told():
    rows = np.array([[1.0, 0, 0], [0, 1, 0], [0.6, 0.8, 0], [1, 0, 0], [0, 0, 0]])
    found = apart(sp.csr_array(rows), np.array([1.0, 2, 2.2, 1, 0]))
    assert found.contradiction is None
    assert found.combined.shape == (2, 5)
    right = np.array([1.0, 2, 2.3, 1, 0])
    found = apart(sp.csr_array(rows), right)
    assert found.contradiction @ rows == pytest.approx(np.zeros(3), abs=1e-12)
    assert found.contradiction @ right > 0.05


def test_rests_that_no_point_meets_for_rounding_alone_are_left_out():
    """x_1 - x_2 = 1e-7 (x_3 + 2), which x_3 <= 1 all but meets in single precision, or else misses."""
    rows = np.array([[0.6, 0.8, 0.0], [0.6, 0.8, 1e-7]])
    box = np.zeros(3), np.array([np.inf, np.inf, 1.0])
    for right, count in ((1.0 + 3e-7, 1), (1.0 + 0.5e-7, 2), (1.001, 2)):
        told = apart(sp.csr_array(rows), np.array([1.0, right]))
        assert told.combined.shape[0] == 2
        kept = within_reach(told.combined, sp.csr_array(rows), np.array([1.0, right]), *box)
        assert kept.shape[0] == count


@pytest.mark.parametrize("seed", [*range(1000, 1012), 1023, 1051, 1191])
def test_programs_in_single_precision_are_solved_as_closely_as_they_can_be(seed):
    """Combinations of rows, which no longer are when all are rounded: some x misses them by 1e-7, and if none misses
    them by less, the point found does so, and none that misses them by a millionth is much better.
    """
    rng = np.random.default_rng(seed)
    n = int(rng.integers(6, 40))
    m = int(rng.integers(2, max(3, n // 3)))
    rows = rng.normal(size=(m, n))
    rows = np.vstack([rows, rng.integers(-2, 3, size=(int(rng.integers(1, 4)), m)) @ rows])
    x = rng.uniform(0, 1, size=n) * (rng.random(n) < 0.7)
    right, rows = ((each.astype(np.float32)).astype(float) for each in (rows @ x, rows))
    term = Term("rows", MatrixMap(rows, (n,)), Equals(right.shape, right))
    cost = rng.normal(size=n)
    problem = CompositeProblem(Box(np.zeros(n), np.ones(n)), Linear(cost, (n,)), (term,))
    found = solve_problem(problem, "auto", {"gap": 1e-4, "infeasibility": 1e-6})
    assert found.status.value == "converged"
    assert found.record.infeasibility < 1e-6
    assert found.record.total == pytest.approx(found.record.bound, rel=1e-4)
    slack = 1e-6 * np.abs(right)
    both = np.vstack([rows, -rows]), np.concatenate([right + slack, slack - right])
    assert found.record.total >= linprog(cost, *both, bounds=(0.0, 1.0)).fun


@pytest.mark.parametrize("eps", [1e-2, 1e-4, 3e-6, 1e-8])
@pytest.mark.parametrize("seed", range(3))
def test_programs_are_solved_however_near_their_rows_are(eps, seed):
    """With multipliers of the size of the objective for the rests, and slopes that are nonnegative where x is zero."""
    if eps < 1e-6 and np.finfo(np.longdouble).eps == np.finfo(float).eps:
        pytest.skip("this machine has no more digits than double precision")
    rng = np.random.default_rng(seed)
    rows, rests = nearly_dependent(rng, 15, 2, eps)
    x = np.where(np.arange(15) < 5, rng.uniform(0.1, 0.9, 15), 0.0)
    slopes = np.where(x > 0.0, 0.0, rng.uniform(0.1, 1.0, 15))
    cost = rng.standard_normal(3) @ rows[:3] + rng.standard_normal(2) @ rests + slopes
    term = Term("rows", MatrixMap(rows, (15,)), Equals((5,), rows @ x))
    problem = CompositeProblem(Box(np.zeros(15), np.ones(15)), Linear(cost, (15,)), (term,))
    found = solve_problem(problem, "auto", TIGHT)
    assert (found.status.value, found.bound_is) == ("converged", "certified")
    assert found.solution["x"] == pytest.approx(x, abs=1e-5)
    assert found.record.bound <= cost @ x + 1e-15 / eps
