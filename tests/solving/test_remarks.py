"""What a result tells beside its figures: what of the domain stops the objective."""

import numpy as np
import pytest

from cgm_cli.blocks.domains.box import Box
from cgm_cli.blocks.domains.norm_balls import L1Ball, L2Ball, LinfBall
from cgm_cli.blocks.domains.nuclear import NuclearBall
from cgm_cli.blocks.domains.product import Product
from cgm_cli.blocks.domains.psd import PSDTrace
from cgm_cli.blocks.domains.simplex import Simplex
from cgm_cli.blocks.losses.least_squares import LeastSquares
from cgm_cli.blocks.losses.linear import Linear
from cgm_cli.blocks.maps.identity import Identity
from cgm_cli.blocks.maps.matrix import MatrixMap
from cgm_cli.blocks.penalties.box import BoxSet
from cgm_cli.blocks.penalties.huber import Huber
from cgm_cli.blocks.penalties.shifted import Shifted
from cgm_cli.blocks.problem import CompositeProblem, Term
from cgm_cli.methods.status import Status
from cgm_cli.solving.direct import solve_problem

TARGET = np.array([0.6, 0.3, 0.2])
BALLS = {
    "l1": (lambda r: L1Ball((3,), r), 1.1),
    "l2": (lambda r: L2Ball((3,), r), 0.7),
    "linf": (lambda r: LinfBall((3,), r), 0.6),
    "simplex": (lambda r: Simplex(3, r, at_most=True), 1.1),
}
"""With the least radius that holds the target."""


@pytest.mark.parametrize("kind", BALLS)
def test_a_radius_that_binds_is_told_and_one_that_does_not_is_not(kind):
    make, least = BALLS[kind]
    for radius in (0.5 * least, 1.5 * least):
        problem = CompositeProblem(make(radius), LeastSquares(Identity((3,)), TARGET))
        result = solve_problem(problem, "auto", {"gap": 1e-6})
        binds = radius < least
        assert result.active_bounds == (("radius",) if binds else ())
        assert ("`radius` of the domain stops the objective" in result.message) == binds


def test_a_radius_that_is_far_is_not_told_where_the_objective_is_zero():
    """There v is but what the steps leave, and a ball of this size makes much of it."""
    rng = np.random.default_rng(0)
    matrix = rng.standard_normal((60, 8)) * 10.0 ** -np.linspace(0.0, 2.0, 8)
    offset = matrix @ rng.standard_normal(8)
    term = Term("fit", MatrixMap(matrix, (8,)), Shifted(Huber((60,), 1.0, 1.0), offset))
    result = solve_problem(CompositeProblem(L2Ball((8,), 100.0), None, (term,)))
    assert result.status is Status.CONVERGED and 0.0 < result.record.total < 1e-4
    assert result.active_bounds == ()


@pytest.mark.parametrize("sense", ["minimise", "maximise"])
def test_what_it_is_worth(sense):
    """min <c, x> over |x|_2 <= r is -r |c|."""
    problem = CompositeProblem(L2Ball((3,), 2.0), Linear(np.array([3.0, 0.0, 4.0]), (3,)), sense=sense)
    better = "lower" if sense == "minimise" else "higher"
    assert f"a hundredth larger, that could be {better} by up to 0.1" in solve_problem(problem).message


@pytest.mark.parametrize("short", [1e-7, 1e-4])
def test_no_more_is_promised_than_there_is(short):
    """min |x - b|^2 / 2 over |x|_2 <= |b| - d is d^2 / 2, its slope d, and no radius makes it less than zero."""
    problem = CompositeProblem(L2Ball((3,), 0.7 - short), LeastSquares(Identity((3,)), TARGET))
    message = solve_problem(problem, "auto", {"gap": 1e-6}).message
    assert ("could be lower by up to 5e-09" in message) == (short == 1e-4)
    assert ("stops the objective" in message) == (short == 1e-4)


def test_matrices():
    cost = Linear(np.diag([1.0, -1.0]), (2, 2))
    assert solve_problem(CompositeProblem(PSDTrace(2, 5.0, False), cost)).active_bounds == ("radius",)
    # That the trace is five is part of the problem.
    assert solve_problem(CompositeProblem(PSDTrace(2, 5.0, True), cost)).active_bounds == ()
    assert solve_problem(CompositeProblem(NuclearBall((2, 2), 5.0), cost)).active_bounds == ("radius",)


def test_a_contradiction_is_told_by_the_constraints_that_make_it():
    """x + y >= 24.5 beside x, y <= 12 of the domain; and a third row that has nothing to do with it."""
    rows = MatrixMap(np.array([[0.0, 0.0, 1.0], [1.0, 1.0, 0.0]]), (3,))
    term = Term("rows", rows, BoxSet((2,), np.array([0.0, 24.5]), np.array([1.0, np.inf])))
    problem = CompositeProblem(Box(np.zeros(3), np.full(3, 12.0)), Linear(-np.ones(3), (3,)), (term,))
    result = solve_problem(problem)
    assert result.status is Status.INFEASIBLE
    assert "What contradicts itself, with the domain, is -1 `rows`[1] (entries" in result.message


def test_bounds_of_a_box():
    """min <c, x> over 1 <= x <= 2: -c_j at the upper bound where c_j < 0, at the lower one where c_j > 0."""
    cost = Linear(np.array([-1.0, 3.0]), (2,))
    result = solve_problem(CompositeProblem(Box(np.ones(2), np.full(2, 2.0)), cost))
    assert result.active_bounds == ("upper", "lower")
    assert (
        "`upper` of the domain stops the objective: were it a hundredth further out, that could be lower by up to 0.02"
        in (result.message)
    )
    # Zero is no size that could be another, and a variable that is fixed has a value.
    assert solve_problem(CompositeProblem(Box(np.zeros(2), np.ones(2)), cost)).active_bounds == ("upper",)
    fixed = Box(np.array([1.0, 0.0]), np.array([1.0, 1.0]))
    assert solve_problem(CompositeProblem(fixed, cost)).active_bounds == ()


def test_blocks_of_a_product():
    blocks = L2Ball((2,), 1.0), Simplex(2), L1Ball((2,), 3.0), Box(np.zeros(1), np.ones(1))
    cost = Linear(np.array([1.0, 0.0, 1.0, 2.0, 0.0, 0.0, -1.0]), (7,))
    result = solve_problem(CompositeProblem(Product(blocks), cost))
    assert result.active_bounds == ("blocks[0].radius", "blocks[3].upper")
    assert "`blocks[0].radius` of the domain stops the objective: were it a hundredth larger" in result.message
