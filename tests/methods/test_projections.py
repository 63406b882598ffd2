"""Primal-dual and accelerated steps against solvers that share nothing with them."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import linprog, lsq_linear, minimize

from cgm_cli.blocks.directions import DenseDirection
from cgm_cli.blocks.domains.birkhoff import Birkhoff
from cgm_cli.blocks.domains.box import Box
from cgm_cli.blocks.domains.fantope_face import FantopeFace
from cgm_cli.blocks.domains.simplex import Simplex
from cgm_cli.blocks.iterates import DenseIterate
from cgm_cli.blocks.losses.least_squares import LeastSquares
from cgm_cli.blocks.losses.linear import Linear
from cgm_cli.blocks.losses.logistic import Logistic
from cgm_cli.blocks.maps.diagonal import Diagonal
from cgm_cli.blocks.maps.matrix import MatrixMap
from cgm_cli.blocks.maps.row_sums import RowSums
from cgm_cli.blocks.penalties.box import BoxSet
from cgm_cli.blocks.penalties.equals import Equals
from cgm_cli.blocks.penalties.maximum import MaxCoordinate
from cgm_cli.blocks.problem import CompositeProblem, Term
from cgm_cli.methods.corrections.metrics import PrimalMetric
from cgm_cli.methods.corrections.primal_dual import PrimalDual
from cgm_cli.methods.corrections.saddle_operator import SaddleOperator
from cgm_cli.methods.corrections.squares import Squares, SquaresMetric, is_even, posed
from cgm_cli.methods.fused_box import point_at
from cgm_cli.methods.policies import PlainStep
from cgm_cli.methods.state import State
from cgm_cli.methods.status import Status
from cgm_cli.numerics.deadline import NEVER
from cgm_cli.solving.direct import solve_problem
from cgm_cli.spec.load import dump, loads
from cgm_cli.templates.build import build

TIGHT = {"gap": 1e-8, "infeasibility": 1e-8}
PRIMAL_DUAL = {"method": "cgal", "correction": "primal-dual", "iterations": 5000}
ACCELERATED = {"method": "hcgm", "correction": "accelerated", "iterations": 5000}


def programme(rng, rows, columns):
    """A linear program over [0, 2]^n, and its optimum by HiGHS."""
    matrix, cost = rng.standard_normal((rows, columns)), rng.standard_normal(columns)
    right = matrix @ rng.uniform(0.0, 2.0, columns)
    linear = MatrixMap(matrix, (columns,))
    problem = CompositeProblem(
        Box(np.zeros(columns), np.full(columns, 2.0)),
        Linear(cost, (columns,)),
        (Term("rows", linear, Equals((rows,), right)),),
    )
    return problem, linprog(cost, A_eq=matrix, b_eq=right, bounds=(0.0, 2.0)).fun


@pytest.mark.parametrize("seed", range(8))
def test_linear_programs(seed):
    rng = np.random.default_rng(seed)
    problem, optimum = programme(rng, int(rng.integers(1, 12)), int(rng.integers(12, 30)))
    result = solve_problem(problem, PRIMAL_DUAL, TIGHT, seed=seed)
    assert (result.status, result.bound_is) == (Status.CONVERGED, "certified")
    assert result.record.bound <= optimum + 1e-9 * max(1.0, abs(optimum))
    assert result.record.total == pytest.approx(optimum, rel=3e-8, abs=3e-8)
    x = result.solution["x"]
    assert x.min() >= 0.0 and x.max() <= 2.0


def test_a_turn_ends_where_the_tolerances_are_likely_to_be_met():
    """Eleven steps are the fewest; a turn that has nothing to be near to takes all it has."""
    problem, _ = programme(np.random.default_rng(3), 8, 25)
    correction = PrimalDual(SaddleOperator(problem), iterations=200)
    state = State(point_at(problem, DenseIterate(problem.first)), np.random.default_rng(0), correction.init(problem))
    # From within an epoch, which else begins anew first.
    state.correction = replace(correction.init(problem), first=1e-9, step=1, taken=10_000, next_try=20_000)
    taken = {}
    for short in (0.0, 1.5, 3.0, np.inf):
        plain = PlainStep(1, problem.first, 1.0, None, DenseDirection(np.zeros(problem.domain.shape)), short)
        taken[short] = correction.choose(state, plain, NEVER).memory.taken - 10_000
    assert 11 <= taken[0.0] <= taken[1.5] < taken[3.0] < taken[np.inf] == 200


@pytest.mark.parametrize("seed", [0, 1, 7, 29])
def test_assignments_within_a_budget(seed):
    """x stays at a vertex for whole epochs, where what it has moved by says nothing of the weight. By HiGHS."""
    rng = np.random.default_rng(seed)
    n, budgets = int(rng.integers(5, 11)), int(rng.integers(1, 4))
    cost, rows = rng.random((n, n)), rng.random((budgets, n * n))
    most = rows.sum(axis=1) / n * rng.uniform(0.8, 0.95)
    sums = np.vstack([np.kron(np.eye(n), np.ones(n)), np.kron(np.ones(n), np.eye(n))])
    twin = linprog(cost.ravel(), rows, most, sums, np.ones(2 * n))
    term = Term("budget", MatrixMap(rows, (n, n)), BoxSet((budgets,), np.full(budgets, -np.inf), most))
    problem = CompositeProblem(Birkhoff(n), Linear(cost, (n, n)), (term,))
    result = solve_problem(problem, PRIMAL_DUAL | {"iterations": 300}, {"gap": 1e-6, "infeasibility": 1e-6})
    assert twin.success and result.status == Status.CONVERGED
    assert result.record.total == pytest.approx(twin.fun, rel=1e-5)
    assert result.record.bound <= twin.fun + 1e-9


def ranged(right, is_equation):
    """A x = b, or A x <= b."""
    size = right.shape
    return Equals(size, right) if is_equation else BoxSet(size, np.full(size, -np.inf), right)


@pytest.mark.parametrize("is_equation", [True, False])
@pytest.mark.parametrize(("scaled_rows", "scaled_columns"), [(True, False), (False, True), (True, True)])
@pytest.mark.parametrize("seed", range(3))
def test_rows_and_columns_in_units_of_their_own(seed, scaled_rows, scaled_columns, is_equation):
    """From 1e-3 to 1e3 each: the optimum is that of the program in one unit, by HiGHS."""
    rng = np.random.default_rng(seed)
    matrix, cost = rng.standard_normal((10, 20)), rng.standard_normal(20)
    right = matrix @ rng.uniform(0.0, 1.0, 20)
    sides = {"A_eq": matrix, "b_eq": right} if is_equation else {"A_ub": matrix, "b_ub": right}
    optimum = linprog(cost, **sides, bounds=(0.0, 1.0)).fun
    r, s = 10.0 ** rng.uniform(-3, 3, 10) ** scaled_rows, 10.0 ** rng.uniform(-3, 3, 20) ** scaled_columns
    term = Term("rows", MatrixMap(r[:, None] * matrix * s, (20,)), ranged(r * right, is_equation))
    problem = CompositeProblem(Box(np.zeros(20), 1.0 / s), Linear(cost * s, (20,)), (term,))
    result = solve_problem(problem, "auto", {"gap": 1e-6, "infeasibility": 1e-6})
    assert (result.status, result.bound_is) == (Status.CONVERGED, "certified")
    assert result.record.total == pytest.approx(optimum, rel=3e-6)
    assert optimum * (1.0 - 2e-6 * np.sign(optimum)) <= result.record.bound <= optimum + 1e-9 * abs(optimum)


def test_a_long_row_beside_a_short_one():
    """min -sum x over [0, 1]^4 with sum x <= 1 and 100 x1 - 100 x2 + 200 x3 <= 100: -1."""
    rows = MatrixMap(np.array([[1.0, 1.0, 1.0, 1.0], [100.0, -100.0, 200.0, 0.0]]), (4,))
    term = Term("rows", rows, ranged(np.array([1.0, 100.0]), False))
    problem = CompositeProblem(Box(np.zeros(4), np.ones(4)), Linear(-np.ones(4), (4,)), (term,))
    result = solve_problem(problem, "auto", {"gap": 1e-6, "infeasibility": 1e-6})
    assert result.status is Status.CONVERGED
    assert result.record.total == pytest.approx(-1.0, abs=2e-6)


@pytest.mark.parametrize("seed", range(3))
def test_equations_whose_lengths_differ_by_eight_digits(seed):
    rng = np.random.default_rng(seed)
    matrix, cost = rng.standard_normal((4, 12)), rng.standard_normal(12)
    right, r = matrix @ rng.uniform(0.0, 1.0, 12), np.array([1e8, 1e5, 1e3, 1.0])
    term = Term("rows", MatrixMap(r[:, None] * matrix, (12,)), Equals((4,), r * right))
    problem = CompositeProblem(Box(np.zeros(12), np.ones(12)), Linear(cost, (12,)), (term,))
    result = solve_problem(problem, "auto", {"gap": 1e-6, "infeasibility": 1e-6})
    optimum = linprog(cost, A_eq=matrix, b_eq=right, bounds=(0.0, 1.0)).fun
    assert (result.status, result.bound_is) == (Status.CONVERGED, "certified")
    assert result.record.bound == pytest.approx(optimum, rel=2e-6)


@pytest.mark.parametrize("offset", [0.0, 100.0, 1e4])
@pytest.mark.parametrize("kind", ["game", "equations", "inequalities"])
def test_what_is_constant_on_the_domain_shortens_no_step(kind, offset):
    """A constant c in every entry of A adds c to A x where sum x = 1."""
    rng = np.random.default_rng(5)
    matrix, cost = rng.standard_normal((5, 20)), rng.standard_normal(20)
    sums = {"A_eq": np.ones((1, 20)), "b_eq": [1.0]}
    if kind == "game":
        top, objective = np.hstack([matrix, -np.ones((5, 1))]), np.r_[np.zeros(20), 1.0]
        sums["A_eq"] = np.r_[np.ones(20), 0.0][None, :]
        optimum = offset + linprog(objective, top, np.zeros(5), **sums, bounds=[(0, None)] * 20 + [(None, None)]).fun
        loss, penalty = None, MaxCoordinate((5,))
    else:
        right = matrix @ rng.dirichlet(np.ones(20))
        if kind == "equations":
            sums = {"A_eq": np.vstack([matrix, np.ones(20)]), "b_eq": np.r_[right, 1.0]}
            optimum = linprog(cost, **sums).fun
        else:
            optimum = linprog(cost, matrix, right, **sums).fun
        loss, penalty = Linear(cost, (20,)), ranged(right + offset, kind == "equations")
    term = Term("rows", MatrixMap(matrix + offset, (20,)), penalty)
    tight = {"gap": 1e-6 / max(1.0, offset if kind == "game" else 0.0), "infeasibility": 1e-6}
    result = solve_problem(CompositeProblem(Simplex(20), loss, (term,)), "auto", tight)
    assert result.status is Status.CONVERGED
    assert result.record.total == pytest.approx(optimum, abs=3e-6)
    assert result.record.bound <= optimum + 1e-9 * max(1.0, abs(optimum))


@pytest.mark.parametrize(
    ("payoff", "value"),
    [
        ([[4, 1], [1, 2]], 7 / 4),
        ([[-1, -1, -1], [0, 0, 0], [-1, -1, -10000]], 0.0),
        ([[0, -1, 1], [1, 0, -1], [-1, 1, 0]], 0.0),
        ([[3]], 3.0),
    ],
)
def test_matrix_games(payoff, value):
    """min over x in the simplex of max_i (A^T x)_i is the negative of the value for the player who picks rows of -A."""
    matrix = -np.array(payoff, dtype=float).T
    columns, rows = matrix.shape
    term = Term("payoff", MatrixMap(matrix, (rows,)), MaxCoordinate((columns,)))
    result = solve_problem(
        CompositeProblem(Simplex(rows), None, (term,)), PRIMAL_DUAL, {"gap": 1e-7 if value else 1e-4}
    )
    assert (result.status, result.bound_is) == (Status.CONVERGED, "certified")
    assert -result.record.total == pytest.approx(value, abs=2e-7 * max(1.0, abs(value)))


@pytest.mark.parametrize("condition", [1.0, 30.0])
@pytest.mark.parametrize("seed", range(4))
def test_least_squares_in_a_box(seed, condition):
    rng = np.random.default_rng(seed)
    matrix, target = rng.standard_normal((30, 12)) * np.geomspace(1.0, 1.0 / condition, 12), rng.standard_normal(30)
    problem = CompositeProblem(Box(-np.full(12, 0.1), np.full(12, 0.2)), LeastSquares(MatrixMap(matrix, (12,)), target))
    result = solve_problem(problem, ACCELERATED, TIGHT)
    twin = lsq_linear(matrix, target, (-0.1, 0.2), tol=1e-14)
    assert (result.status, result.bound_is) == (Status.CONVERGED, "certified")
    assert result.record.total == pytest.approx(twin.cost, abs=1e-7)
    assert result.record.bound <= twin.cost * (1.0 + 1e-10)


@pytest.mark.parametrize("solver", [PRIMAL_DUAL, ACCELERATED], ids=["primal-dual", "accelerated"])
def test_a_single_point_and_a_linear_objective_alone(solver):
    point = CompositeProblem(Box(np.ones(3), np.ones(3)), LeastSquares(MatrixMap(np.eye(3), (3,)), np.zeros(3)))
    assert solve_problem(point, solver, {"gap": 1e-9}).record.total == pytest.approx(1.5)
    linear = CompositeProblem(Simplex(4), Linear(np.array([3.0, 1.0, 2.0, 5.0]), (4,)))
    result = solve_problem(linear, solver, {"gap": 1e-9})
    assert (result.record.total, result.record.k) == (1.0, 1)


def test_the_smoothness_of_f_is_heeded():
    """Beside a stiff f the reflection is shorter, and tau is: a step that ignored L_f would not converge."""
    rng = np.random.default_rng(0)
    stiff = LeastSquares(MatrixMap(100.0 * rng.standard_normal((8, 8)), (8,)), np.ones(8))
    sums = Term("sum", MatrixMap(np.ones((1, 8)), (8,)), Equals((1,), np.array([1.0])))
    problem = CompositeProblem(Box(-np.ones(8), np.ones(8)), stiff, (sums,))
    result = solve_problem(problem, PRIMAL_DUAL, {"gap": 1e-6, "infeasibility": 1e-6})
    assert result.status is Status.CONVERGED


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("rows", [3, 40])
def test_least_squares_beside_equations(rows, seed):
    """Of few rows, and of many that are badly conditioned: f takes part by a dual of its own. By SLSQP."""
    rng = np.random.default_rng(seed)
    matrix, right = rng.standard_normal((rows, 12)) * np.logspace(0.0, -2.0, 12), 3.0 * rng.standard_normal(rows)
    equations = rng.standard_normal((2, 12))
    level = equations @ rng.uniform(0.0, 2.0, 12)
    loss = LeastSquares(MatrixMap(matrix, (12,)), right)
    term = Term("rows", MatrixMap(equations, (12,)), Equals((2,), level))
    problem = CompositeProblem(Box(np.zeros(12), np.full(12, 2.0)), loss, (term,))
    assert not is_even(loss.map)
    result = solve_problem(problem, PRIMAL_DUAL | {"iterations": 200}, TIGHT)
    twin = minimize(
        lambda x: 0.5 * np.sum((matrix @ x - right) ** 2),
        np.ones(12),
        jac=lambda x: matrix.T @ (matrix @ x - right),
        bounds=[(0.0, 2.0)] * 12,
        constraints={"type": "eq", "fun": lambda x: equations @ x - level, "jac": lambda x: equations},
        method="SLSQP",
        options={"maxiter": 2000, "ftol": 1e-14},
    )
    assert (result.status, result.bound_is) == (Status.CONVERGED, "certified")
    assert result.record.total == pytest.approx(twin.fun, rel=1e-6)
    assert result.record.bound <= twin.fun * (1.0 + 1e-9)


@pytest.mark.parametrize("sigma", [0.1, 3.0])
def test_the_step_of_least_squares(sigma):
    """It minimises h*(y) - <z, y> + |y - y0|^2 / (2 sigma), in the norm of the dual, also where rows are dependent."""
    rng = np.random.default_rng(1)
    matrix = rng.standard_normal((4, 6))
    matrix[3] = matrix[0] + matrix[1]
    loss = LeastSquares(MatrixMap(matrix, (6,)), rng.standard_normal(4))
    term = Term("rows", MatrixMap(np.ones((1, 6)), (6,)), Equals((1,), np.ones(1)))
    whole = posed(CompositeProblem(Box(-np.ones(6), np.ones(6)), loss, (term,)))
    own = whole.terms[-1]
    assert whole.loss is None and isinstance(own.penalty, Squares)
    metric = SquaresMetric(PrimalMetric(whole), own, own.penalty.target)
    y0, z = rng.standard_normal((2, 4))

    def objective(y):
        return 0.5 * y @ y + (loss.target - z) @ y + 0.5 * float(np.square(metric.coordinates(y - y0)).sum()) / sigma

    found = metric.step(y0, z, sigma)
    twin = minimize(objective, y0, options={"gtol": 1e-10})
    np.testing.assert_allclose(found, twin.x, atol=1e-6)
    assert objective(found) <= twin.fun + 1e-12


def test_an_objective_that_is_constant_on_the_domain():
    """Rounding of its slope along X, 1e-16, is no size to take the first weight from."""
    n = 5
    domain = FantopeFace(np.full(n, n**-0.5), 2)
    loss = Logistic(RowSums((n, n)), np.ones(n))
    term = Term("diagonal", Diagonal((n, n)), Equals((n,), np.full(n, 2.0 / n)))
    result = solve_problem(CompositeProblem(domain, loss, (term,)), PRIMAL_DUAL | {"iterations": 50}, TIGHT)
    assert result.status == Status.CONVERGED
    assert result.record.total == pytest.approx(np.log1p(np.exp(-1.0)), rel=1e-8)


@pytest.mark.parametrize("shape", [(12, 11), (9, 9), (34, 1), (1, 7), (20, 3)])
@pytest.mark.parametrize("kind", ["zero", "one number", "tiny", "rows", "columns", "one row"])
def test_games_in_which_a_choice_changes_nothing(shape, kind):
    """A x is the same for all x of the simplex, exactly or but for rounding; or A^T y for all y."""
    rng = np.random.default_rng(0)
    one = np.zeros(shape)
    one[-1] = 1e-3
    payoff = {
        "zero": np.zeros(shape),
        "one number": np.full(shape, -1.0 / 3.0),
        "tiny": np.full(shape, 1e-9),
        "rows": np.outer(rng.random(shape[0]), np.ones(shape[1])),
        "columns": np.outer(np.ones(shape[0]), rng.random(shape[1])),
        "one row": one,
    }[kind]
    spec = {"name": "game", "problem": {"template": "matrix-game", "payoff": payoff.tolist()}}
    result = solve_problem(build(loads(dump(spec))).template.problem, "auto")
    assert result.status is Status.CONVERGED
    assert result.record.total == pytest.approx(payoff.max(axis=0).min(), rel=1e-4, abs=1e-12)
