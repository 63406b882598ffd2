"""Tolerances mean the same in other units: the same run stops at the same iteration, with the same relative figures."""

import numpy as np
import pytest

from cgm_cli.blocks.domains.box import Box
from cgm_cli.blocks.domains.norm_balls import L1Ball
from cgm_cli.blocks.domains.psd import PSDTrace
from cgm_cli.blocks.domains.simplex import Simplex
from cgm_cli.blocks.losses.least_squares import LeastSquares
from cgm_cli.blocks.losses.linear import Linear
from cgm_cli.blocks.losses.quadratic import Quadratic
from cgm_cli.blocks.maps.diagonal import Diagonal
from cgm_cli.blocks.maps.identity import Identity
from cgm_cli.blocks.maps.matrix import MatrixMap
from cgm_cli.blocks.penalties.box import BoxSet
from cgm_cli.blocks.penalties.equals import Equals
from cgm_cli.blocks.penalties.maximum import MaxCoordinate
from cgm_cli.blocks.penalties.norms import L1Norm
from cgm_cli.blocks.problem import CompositeProblem, Term
from cgm_cli.methods.status import Status
from cgm_cli.solving.direct import solve_problem

RNG = np.random.default_rng(3)
MATRIX, TARGET = RNG.standard_normal((12, 6)), RNG.standard_normal(12)
FACTOR, MEANS = RNG.standard_normal((6, 3)), RNG.random(6)
COST = RNG.standard_normal((5, 5))


# Each in units: c of the objective, s of x. Powers of two change no digit.


def fit(c, s):
    loss = LeastSquares(MatrixMap(np.sqrt(c) / s * MATRIX, (6,)), np.sqrt(c) * TARGET)
    return CompositeProblem(L1Ball((6,), 0.4 * s), loss)


def portfolio(c, s):
    loss = Quadratic(c / s**2 * (FACTOR @ FACTOR.T + 0.01 * np.eye(6)), np.zeros(6), (6,))
    earns = Term("earns", MatrixMap(MEANS[None, :], (6,)), BoxSet((1,), np.array([0.6 * s]), np.array([np.inf])))
    return CompositeProblem(Simplex(6, s), loss, (earns,))


def program(c, s):
    inside = np.full(6, 0.4)
    rows = Term("rows", MatrixMap(MATRIX[:3], (6,)), Equals((3,), s * MATRIX[:3] @ inside))
    return CompositeProblem(Box(np.zeros(6), np.full(6, s)), Linear(c / s * MATRIX[5], (6,)), (rows,))


def coupled(c, s):
    """Of a constraint whose right-hand side is zero."""
    rows = Term("rows", MatrixMap(MATRIX[:2], (6,)), Equals((2,), np.zeros(2)))
    return CompositeProblem(Box(-np.full(6, s), np.full(6, s)), Linear(c / s * MATRIX[5], (6,)), (rows,))


def game(c, s):
    """Of value zero."""
    skew = COST - COST.T
    payoff = Term("payoff", MatrixMap(c / s * skew, (5,)), MaxCoordinate((5,)))
    return CompositeProblem(Simplex(5, s), None, (payoff,))


def penalised(c, s):
    loss = LeastSquares(MatrixMap(np.sqrt(c) / s * MATRIX, (6,)), np.sqrt(c) * TARGET)
    small = Term("small", Identity((6,)), L1Norm((6,), 0.5 * c / s))
    return CompositeProblem(Box(-np.full(6, s), np.full(6, s)), loss, (small,))


def cut(c, s):
    ones = Term("ones", Diagonal((5, 5)), Equals((5,), np.full(5, s)))
    return CompositeProblem(PSDTrace(5, 5.0 * s, fixed_trace=True), Linear(c / s * (COST + COST.T), (5, 5)), (ones,))


MAKERS = [fit, portfolio, program, coupled, game, penalised, cut]
UNITS = [(2.0**20, 1.0), (1.0, 2.0**16), (2.0**-24, 2.0**-12)]


@pytest.mark.parametrize("method", ["auto", "hcgm", "cgal"])
@pytest.mark.parametrize("make", MAKERS)
def test_a_run_stops_alike_in_other_units(make, method):
    solver = {"method": method, "iterations": 150}
    one = solve_problem(make(1.0, 1.0), solver, {"gap": 1e-4, "infeasibility": 1e-4})
    if method == "auto":
        assert one.status is Status.CONVERGED
    for c, s in UNITS:
        other = solve_problem(make(c, s), solver, {"gap": 1e-4, "infeasibility": 1e-4})
        assert (other.status, other.record.k) == (one.status, one.record.k), (c, s)
        assert other.record.gap == pytest.approx(one.record.gap, rel=1e-3)
        assert other.record.infeasibility == pytest.approx(one.record.infeasibility, rel=1e-3, abs=1e-14)
        assert other.record.total / c == pytest.approx(one.record.total, rel=1e-6, abs=1e-12)


@pytest.mark.parametrize("right", [2.1, 0.5])
def test_variables_in_units_of_their_own_hide_no_residual(right):
    """0.001 x + 1000 y = b, x <= 1000, y <= 0.001: at most 2. What |A| |x| is here, a million, says nothing of b."""
    rows = Term("row", MatrixMap(np.array([[0.001, 1000.0]]), (2,)), Equals((1,), np.array([right])))
    problem = CompositeProblem(
        Box(np.zeros(2), np.array([1000.0, 0.001])), Linear(np.array([-1.0, 0.0]), (2,)), (rows,)
    )
    result = solve_problem(problem, "auto", {"gap": 1e-4, "infeasibility": 1e-4})
    x = result.solution["x"]
    assert result.record.infeasibility == pytest.approx(abs(0.001 * x[0] + 1000.0 * x[1] - right) / right, rel=1e-6)
    assert result.status is not Status.CONVERGED or result.record.total == pytest.approx(-500.0, rel=2e-4)


def wide_program(width):
    """Linear, of equations that leave a polytope far inside of its bounds."""
    inside = np.where(np.arange(6) < 3, 0.7, 0.0)
    cost = MATRIX[:3].T @ TARGET[:3] + np.where(inside > 0.0, 0.0, 1.0)
    rows = Term("rows", MatrixMap(MATRIX[:3], (6,)), Equals((3,), MATRIX[:3] @ inside))
    return CompositeProblem(Box(np.zeros(6), np.full(6, width)), Linear(cost, (6,)), (rows,)), cost @ inside


def wide_fit(width):
    """Least squares in a ball that the solution is far inside of."""
    _, residual, *_ = np.linalg.lstsq(MATRIX, TARGET, rcond=None)
    return CompositeProblem(L1Ball((6,), width), LeastSquares(MatrixMap(MATRIX, (6,)), TARGET)), 0.5 * residual[0]


def wide_inequalities(width):
    """As the program, of rows that need not be equations, as x = 0 meets them."""
    problem, optimum = wide_program(width)
    (rows,) = problem.terms
    value = rows.penalty.only_point
    signs = np.where(TARGET[:3] > 0.0, 1.0, -1.0)  # of the multipliers
    least, most = np.where(signs > 0.0, value, -np.inf), np.where(signs > 0.0, np.inf, value)
    return CompositeProblem(problem.domain, problem.loss, (Term("rows", rows.map, BoxSet((3,), least, most)),)), optimum


@pytest.mark.parametrize("width", [1e3, 1e6, 1e12])
@pytest.mark.parametrize("make", [wide_program, wide_inequalities, wide_fit])
def test_a_bound_that_nobody_means_to_reach_is_no_measure(make, width):
    problem, optimum = make(width)
    method = {"method": "auto", "iterations": 50}
    found = solve_problem(problem, method, {"gap": 1e-4, "infeasibility": 1e-6})
    assert found.record.bound <= optimum * (1 + 1e-9 * np.sign(optimum))
    if found.status is Status.CONVERGED:
        assert found.record.total == pytest.approx(optimum, rel=2e-4)
        assert found.record.bound == pytest.approx(optimum, rel=2e-4)
    assert found.status is Status.CONVERGED or width >= 1e9


def test_what_cannot_be_met_is_told_within_wide_bounds_as_well():
    rows = Term("rows", MatrixMap(np.array([[1.0, 2.0], [2.0, 4.0]]), (2,)), Equals((2,), np.array([1.0, 2.5])))
    problem = CompositeProblem(Box(np.zeros(2), np.full(2, 1e10)), Linear(np.array([1.0, -1.0]), (2,)), (rows,))
    assert solve_problem(problem, "auto", {"gap": 1e-4, "infeasibility": 1e-4}).status is Status.INFEASIBLE
