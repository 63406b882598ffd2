"""Constraints that cannot hold are proven so, and those that can are never called impossible."""

from dataclasses import replace

import numpy as np
import pytest

from cgm_cli.blocks.directions import DenseDirection
from cgm_cli.blocks.domains.base import OracleRequest
from cgm_cli.blocks.domains.box import Box
from cgm_cli.blocks.domains.psd import PSDTrace
from cgm_cli.blocks.domains.simplex import Simplex
from cgm_cli.blocks.losses.least_squares import LeastSquares
from cgm_cli.blocks.losses.linear import Linear
from cgm_cli.blocks.maps.diagonal import Diagonal
from cgm_cli.blocks.maps.identity import Identity
from cgm_cli.blocks.maps.matrix import MatrixMap
from cgm_cli.blocks.penalties.box import BoxSet
from cgm_cli.blocks.penalties.equals import Equals
from cgm_cli.blocks.problem import CompositeProblem, Term
from cgm_cli.methods.schedule import Schedule
from cgm_cli.methods.status import Status
from cgm_cli.solving.direct import solve_problem
from tests.methods.problems import (
    KNOWN,
    hcgm,
    solve,
)

LOSSES = {
    "linear": lambda: Linear(np.arange(6.0), (6,)),
    "none": lambda: None,
    "least-squares": lambda: LeastSquares(Identity((6,)), np.full(6, 3.0)),
}


def sign(problem):
    return -1.0 if problem.sense == "maximise" else 1.0


def sum_is(value, n=6, loss=None):
    return CompositeProblem(
        Simplex(n), loss, (Term("sum", MatrixMap(np.ones((1, n)), (n,)), Equals((1,), np.array([value]))),)
    )


@pytest.mark.parametrize("loss", LOSSES)
def test_impossible_constraints_are_proven(loss):
    outcome, keep = solve(sum_is(3.0, loss=LOSSES[loss]()), 2000)
    assert outcome.status is Status.INFEASIBLE
    assert outcome.record.certified
    assert keep.records[-1] == outcome.record
    assert outcome.status.exit_code == 4


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("beta0", [1e-8, 1e-3, 1.0])
def test_constraints_that_hold_everywhere_are_never_called_impossible(loss, beta0):
    outcome, _ = solve(sum_is(1.0, loss=LOSSES[loss]()), 300, method=hcgm(beta0))
    assert outcome.status is Status.ITERATION_LIMIT


@pytest.mark.parametrize("n", [10, 80])
@pytest.mark.parametrize("tolerance", [0.0, 1e-6, 1e-2])
@pytest.mark.parametrize("certify", ["final", "always"])
def test_impossible_matrices_are_proven_with_any_oracle(n, tolerance, certify):
    # tr X = 1 and diag X = 1.
    problem = CompositeProblem(
        PSDTrace(n, 1.0, True),
        Linear(np.eye(n), (n, n)),
        (Term("diagonal", Diagonal((n, n)), Equals((n,), np.ones(n))),),
    )
    outcome, _ = solve(problem, 200, method=hcgm(1.0, tolerance), schedule=Schedule(certify=certify))
    assert outcome.status is Status.INFEASIBLE
    assert outcome.record.certified


@pytest.mark.parametrize("name", ["linear-programme", "cycle-5", "cycle-71", "two-clusters", "two-clusters-80"])
@pytest.mark.parametrize("beta0", [1e-10, 1e-4, 1.0])
@pytest.mark.parametrize("tolerance", [0.0, 1e-1])
def test_feasible_problems_are_never_called_impossible(name, beta0, tolerance):
    problem, optimum = KNOWN[name]()
    outcome, _ = solve(problem, 25, method=hcgm(beta0, tolerance))
    assert outcome.status is Status.ITERATION_LIMIT
    assert sign(problem) * (optimum - outcome.record.bound) >= -1e-13 * abs(optimum)


def test_a_feasible_set_of_one_point_is_never_called_impossible():
    # The only feasible point is where the objective is largest: the bound may reach, not pass, the largest value.
    target = np.eye(6)[3]
    terms = (Term("all", Identity((6,)), Equals((6,), target)),)
    problem = CompositeProblem(Simplex(6), Linear(np.array([0.0, 0, 0, 1, 0, 0]), (6,)), terms)
    outcome, _ = solve(problem, 2000)
    assert outcome.status is Status.ITERATION_LIMIT
    assert outcome.record.bound <= 1.0
    assert outcome.record.bound == pytest.approx(1.0, abs=1e-2)


def test_a_constant_objective_that_is_not_zero_is_counted_in():
    # f = |0 x - b|^2 / 2 is constant: a bound above zero proves nothing, one above f does.
    loss = LeastSquares(MatrixMap(np.zeros((1, 6)), (6,)), np.array([2.0]))
    possible, keep = solve(sum_is(1.0, loss=loss), 50)
    assert possible.status is Status.ITERATION_LIMIT
    assert np.all(keep.column("bound") <= 2.0)
    impossible, _ = solve(sum_is(3.0, loss=loss), 50)
    assert impossible.status is Status.INFEASIBLE
    assert impossible.record.bound > 2.0


@pytest.mark.parametrize("tolerance", [1e-4, 1e-6])
def test_what_can_be_met_within_the_tolerance_is_not_called_impossible(tolerance):
    """Masses that differ by 3e-8, as rounding to single precision leaves them: met by all that the tolerance asks."""
    third = float(np.float32(1.0 / 3.0))
    rows = np.array(
        [[1, 1, 1, 0, 0, 0], [0, 0, 0, 1, 1, 1], [1, 0, 0, 1, 0, 0], [0, 1, 0, 0, 1, 0], [0, 0, 1, 0, 0, 1]]
    )
    masses = np.array([0.5, 0.5, third, third, third])
    problem = CompositeProblem(
        Box(np.zeros(6), np.ones(6)),
        Linear(np.array([0.0, 1.0, 2.0, 1.0, 0.0, 1.0]), (6,)),
        (Term("masses", MatrixMap(rows, (6,)), Equals((5,), masses)),),
    )
    result = solve_problem(problem, "auto", {"gap": tolerance, "infeasibility": tolerance})
    assert result.status is Status.CONVERGED
    assert result.record.total == pytest.approx(0.5, abs=2 * tolerance)
    # Where nothing is tolerated, it is impossible, which is proven.
    assert solve_problem(problem, "auto", {"gap": tolerance, "infeasibility": 1e-12}).status is Status.INFEASIBLE
    # And so is what misses the constraints by more than the tolerance.
    apart = replace(problem.terms[0], penalty=Equals((5,), masses + 1e-3 * np.eye(5)[0]))
    stop = {"gap": tolerance, "infeasibility": tolerance}
    assert solve_problem(replace(problem, terms=(apart,)), "auto", stop).status is Status.INFEASIBLE


def test_rows_in_units_of_their_own_hide_no_contradiction():
    """The sum of four entries of [0, 1] is at most 4; the other row is a million times as long."""
    rows = np.array([[1.0, 1.0, 1.0, 1.0], [1e6, -1e6, 2e6, 0.0]])
    term = Term("rows", MatrixMap(rows, (4,)), Equals((2,), np.array([5.0, 0.0])))
    problem = CompositeProblem(Box(np.zeros(4), np.ones(4)), Linear(np.array([1.0, 2.0, -3.0, -1.0]), (4,)), (term,))
    assert solve_problem(problem).status is Status.INFEASIBLE


def barely_apart(rng, domain, m, margin, equal):
    """Rows of which a combination is `margin` beyond what it may be over the domain, relative to its length."""
    rows = rng.standard_normal((m, 8))
    y = rng.standard_normal(m) if equal else np.abs(rng.standard_normal(m))
    atom = domain.lmo(DenseDirection(rows.T @ y), OracleRequest()).atom.dense()
    right = rows @ atom
    right -= y / (y @ y) * margin * np.linalg.norm(y) * np.linalg.norm(right)
    penalty = Equals((m,), right) if equal else BoxSet((m,), np.array(-np.inf), right)
    return (
        rows,
        right,
        CompositeProblem(domain, Linear(rng.standard_normal(8), (8,)), (Term("rows", MatrixMap(rows, (8,)), penalty),)),
    )


@pytest.mark.parametrize("equal", [True, False])
@pytest.mark.parametrize("margin", [1e-2, 1e-5])
@pytest.mark.parametrize("domain", [Box(np.zeros(8), np.ones(8)), Simplex(8), Simplex(8, 2.0, at_most=True)])
def test_programs_without_a_point_end_with_the_combination_that_says_so(domain, margin, equal):
    """By less than the tolerance, too, where that is so tight that no point comes near enough first: y of the bound
    proves it, by a minimum over the domain that is computed here.
    """
    rng = np.random.default_rng(0)
    for _ in range(3):
        rows, right, problem = barely_apart(rng, domain, int(rng.integers(1, 5)), margin, equal)
        outcome = solve_problem(problem, "auto", {"gap": 1e-12, "infeasibility": 1e-6})
        assert outcome.status is Status.INFEASIBLE
        y = outcome.duals["rows"]
        assert equal or (y >= 0.0).all()
        least = domain.lmo(DenseDirection(rows.T @ y), OracleRequest()).value
        assert least - y @ right > 0.1 * margin * np.linalg.norm(y) * np.linalg.norm(right)


@pytest.mark.parametrize("equal", [True, False])
@pytest.mark.parametrize("margin", [0.0, 1e-15, 1e-12])
def test_programs_that_rounding_keeps_from_having_a_point_are_not_called_impossible(margin, equal):
    rng = np.random.default_rng(1)
    for _ in range(5):
        _, _, problem = barely_apart(rng, Box(np.zeros(8), np.ones(8)), int(rng.integers(1, 5)), margin, equal)
        outcome = solve_problem(problem, "auto", {"gap": 1e-12, "infeasibility": 1e-12})
        assert outcome.status in (Status.CONVERGED, Status.STAGNATED)
