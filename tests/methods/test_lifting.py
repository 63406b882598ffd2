"""Domains that are the image of one that projects, against solvers that know nothing of it."""

import cvxpy as cp
import numpy as np
import pytest

from cgm_cli.blocks.domains.box import Box
from cgm_cli.blocks.domains.latent_group_ball import LatentGroupBall
from cgm_cli.blocks.domains.product import Product
from cgm_cli.blocks.lifting import lifted
from cgm_cli.blocks.losses.least_squares import LeastSquares
from cgm_cli.blocks.losses.quadratic import Quadratic
from cgm_cli.blocks.maps.identity import Identity
from cgm_cli.blocks.maps.matrix import MatrixMap
from cgm_cli.blocks.penalties.equals import Equals
from cgm_cli.blocks.problem import CompositeProblem, Term
from cgm_cli.methods import codec
from cgm_cli.methods.corrections.accelerated import AcceleratedState
from cgm_cli.methods.status import Status
from cgm_cli.solving.direct import solve_problem

GROUPS = [[0, 1, 2], [2, 3, 4], [4, 5, 0], [1, 3, 5], [6]]
TIGHT = {"gap": 1e-9, "infeasibility": 1e-9}
METHODS = [{"method": "hcgm", "correction": "accelerated"}, {"method": "cgal", "correction": "primal-dual"}]


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("seed", range(2))
def test_the_nearest_point_of_a_latent_group_ball(method, seed):
    """x is nearest to p where max <p - x, .> over the ball is attained at x, which the gauge says is in it."""
    rng = np.random.default_rng(seed)
    domain, p = LatentGroupBall(GROUPS, 1.5), 2.0 * rng.standard_normal(7)
    start = domain.project(rng.standard_normal(7)) if seed % 2 else None
    problem = CompositeProblem(domain, LeastSquares(Identity((7,)), p), start=start)
    result = solve_problem(problem, method | {"iterations": 1000}, TIGHT)
    x = result.solution["x"]
    assert (result.status, result.bound_is) == (Status.CONVERGED, "certified")
    assert domain.gauge(x) <= 1.5 * (1.0 + 1e-9)
    most = 1.5 * max(np.linalg.norm((p - x)[group]) for group in GROUPS)
    assert most - float(np.vdot(p - x, x)) <= 1e-7


@pytest.mark.parametrize("seed", range(2))
def test_a_product_with_equations(seed):
    """Beside a box, with rows of both: Clarabel, with a limit for the sum of the lengths of the copies."""
    rng = np.random.default_rng(seed)
    rows, root = rng.standard_normal((2, 10)), rng.standard_normal((10, 10))
    q, c = root @ root.T / 10.0, rng.standard_normal(10)
    right = 0.1 * rng.standard_normal(2)
    domain = Product((LatentGroupBall(GROUPS, 1.0), Box(np.full(3, -1.0), np.full(3, 2.0))))
    term = Term("rows", MatrixMap(rows, (10,)), Equals((2,), right))
    problem = CompositeProblem(domain, Quadratic(q, c, (10,)), (term,))

    copies, box = [cp.Variable(len(group)) for group in GROUPS], cp.Variable(3)
    inside = sum(np.eye(7)[:, group] @ copy for group, copy in zip(GROUPS, copies, strict=True))
    x = cp.hstack([inside, box])
    limits = [sum(map(cp.norm, copies)) <= 1.0, box >= -1.0, box <= 2.0]
    objective = cp.Minimize(0.05 * cp.sum_squares(root.T @ x) + c @ x)
    best = float(cp.Problem(objective, [*limits, rows @ x == right]).solve(solver="CLARABEL"))
    result = solve_problem(problem, "auto", {"gap": 1e-7, "infeasibility": 1e-7})
    assert (result.status, result.bound_is) == (Status.CONVERGED, "certified")
    assert result.record.total == pytest.approx(best, rel=1e-5)
    assert result.record.bound <= best + 1e-6 * abs(best)
    assert domain.contains(result.solution["x"], 1e-9)


def test_maps_and_losses_behind_a_lift():
    """A S and its adjoint belong together, and norms are what they are of its matrix, or no less."""
    rng = np.random.default_rng(3)
    domain = Product((LatentGroupBall(GROUPS), Box(np.zeros(2), np.ones(2))))
    terms = (Term("all", Identity((9,)), Equals((9,), np.zeros(9))),)
    problem = CompositeProblem(domain, LeastSquares(MatrixMap(rng.standard_normal((4, 9)), (9,)), np.ones(4)), terms)
    above = lifted(problem)
    assert above.domain.projects and not domain.projects
    assert above.loss is not None and problem.loss is not None and domain.lift is not None
    for linear, below in ((above.loss.map, problem.loss.map), (above.terms[0].map, terms[0].map)):
        matrix = np.array([linear.forward(unit) for unit in np.eye(*above.domain.shape * 2)]).T
        y = rng.standard_normal(linear.out_shape)
        np.testing.assert_allclose(linear.adjoint(y).dense(), matrix.T @ y)
        assert linear.norm >= np.linalg.norm(matrix, 2) * (1.0 - 1e-9)
        v = above.domain.project(rng.standard_normal(above.domain.shape))
        assert domain.contains(domain.lift.down(v))
        np.testing.assert_allclose(matrix @ v, below.forward(domain.lift.down(v)))
    assert above.loss.lipschitz == pytest.approx(above.loss.map.norm**2)


def test_what_a_run_is_taken_up_from():
    memory = AcceleratedState(lifted=np.arange(3.0), former=np.ones(3), theta=1.5, curvature=2.0)
    again = codec.unpack(AcceleratedState, codec.pack(memory))
    np.testing.assert_equal(vars(again), vars(memory))
