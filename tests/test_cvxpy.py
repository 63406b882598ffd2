"""The solver for CVXPY: its answers are Clarabel's, and what it rests on is checked against closed forms."""

from __future__ import annotations

import importlib
import re
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

cp = pytest.importorskip("cvxpy")

import cgm_cli.cvxpy  # noqa: E402
from cgm_cli.cvxpy import CGM, cones, conic, forms  # noqa: E402
from cgm_cli.cvxpy.cones import Cones  # noqa: E402
from cgm_cli.cvxpy.elimination import Elimination  # noqa: E402


def weights(rng, n):
    upper = np.triu(rng.random((n, n)) < 0.5, 1).astype(float)
    return upper + upper.T


def symmetric(rng, n):
    matrix = rng.standard_normal((n, n))
    return matrix + matrix.T


def max_cut():
    """With four nodes more, or so, on the one side than on the other."""
    n, w = 12, weights(np.random.default_rng(0), 12)
    x = cp.Variable((n, n), PSD=True)
    return cp.Problem(cp.Maximize(cp.sum(cp.multiply(w, 1 - x)) / 4), [cp.diag(x) == 1, cp.sum(x) == 16])


def nearest_correlation():
    n, a = 8, symmetric(np.random.default_rng(1), 8)
    x = cp.Variable((n, n), PSD=True)
    return cp.Problem(cp.Minimize(cp.norm(x - a, "fro")), [cp.diag(x) == 1])


def trace_completion():
    rng = np.random.default_rng(2)
    n, factor = 7, rng.standard_normal((7, 7))
    target, known = factor @ factor.T, np.triu(rng.random((7, 7)) < 0.6, 1)
    x = cp.Variable((n, n), symmetric=True)
    places = np.nonzero(known)
    return cp.Problem(cp.Minimize(cp.trace(x)), [x >> 0, x[places] == target[places]])


def largest_eigenvalues():
    rng = np.random.default_rng(3)
    parts, x = [symmetric(rng, 6) for _ in range(3)], cp.Variable(3)
    whole = sum(x[place] * part for place, part in enumerate(parts))
    return cp.Problem(cp.Minimize(cp.lambda_sum_largest(whole, 2)), [cp.sum(x) == 1])


def lovasz_theta():
    x = cp.Variable((5, 5), PSD=True)
    edges = [x[i, (i + 1) % 5] == 0 for i in range(5)]
    return cp.Problem(cp.Maximize(cp.sum(x)), [cp.trace(x) == 1, *edges])


def linear_program():
    rng = np.random.default_rng(4)
    x = cp.Variable(6)
    limits = [rng.random((4, 6)) @ x <= 1, x >= 0, x[0] + x[1] == 0.3]
    return cp.Problem(cp.Maximize(rng.random(6) @ x + 2.0), limits)


def least_norm():
    rng = np.random.default_rng(5)
    x = cp.Variable(10)
    limits = [rng.standard_normal((4, 10)) @ x == rng.standard_normal(4), x <= 0.6, x >= -0.5]
    return cp.Problem(cp.Minimize(cp.norm(x)), limits)


def least_squares():
    """A second-order cone of 43 dimensions."""
    rng = np.random.default_rng(6)
    x = cp.Variable(5)
    misfit = cp.sum_squares(rng.standard_normal((40, 5)) @ x - rng.standard_normal(40))
    return cp.Problem(cp.Minimize(misfit + cp.norm1(x)), [cp.sum(x) == 1])


def hermitian():
    x = cp.Variable((2, 2), hermitian=True)
    return cp.Problem(cp.Minimize(cp.real(cp.trace(x))), [x >> 0, x[0, 1] == 1j])


def markov_chain():
    """The weights of edges of a cycle with a chord for which a random walk mixes fastest."""
    edges = [(i, (i + 1) % 7) for i in range(7)] + [(0, 3)]
    ends = np.array([np.eye(7)[i] - np.eye(7)[j] for i, j in edges])
    w, rate, mean = cp.Variable(len(edges)), cp.Variable(), np.full((7, 7), 1.0 / 7.0)
    walk = np.eye(7) - ends.T @ cp.diag(w) @ ends - mean
    within = [walk << rate * np.eye(7), walk >> -rate * np.eye(7), w >= 0, abs(ends).T @ w <= 1]
    return cp.Problem(cp.Minimize(rate), within)


def lyapunov():
    a = np.random.default_rng(3).standard_normal((4, 4)) - 3.0 * np.eye(4)
    p = cp.Variable((4, 4), symmetric=True)
    return cp.Problem(cp.Minimize(cp.trace(p)), [p >> np.eye(4), a.T @ p + p @ a << -np.eye(4)])


def schur_complement():
    """|A x - b|^2 at its least, as the t with [[I, A x - b], [., t]] semidefinite."""
    rng = np.random.default_rng(4)
    a, b, x, t = rng.standard_normal((5, 3)), rng.standard_normal((5, 1)), cp.Variable((3, 1)), cp.Variable((1, 1))
    missed = a @ x - b
    return cp.Problem(cp.Minimize(t[0, 0]), [cp.bmat([[np.eye(5), missed], [missed.T, t]]) >> 0])


def affine_matrix():
    """A_0 + sum x_i A_i semidefinite, x free."""
    rng = np.random.default_rng(5)
    x, first, *others = cp.Variable(3), *(symmetric(rng, 5) for _ in range(4))
    total = sum(x[i] * other for i, other in enumerate(others))
    return cp.Problem(cp.Minimize(rng.standard_normal(3) @ x), [first + 5.0 * np.eye(5) + total >> 0])


SOLVED = [
    max_cut,
    nearest_correlation,
    trace_completion,
    largest_eigenvalues,
    lovasz_theta,
    linear_program,
    least_norm,
    least_squares,
    markov_chain,
    lyapunov,
    schur_complement,
    affine_matrix,
]


def solution(problem, solver, **options):
    """(value, values of the variables, duals of the constraints)."""
    value = problem.solve(solver=solver, **options)
    return value, [v.value for v in problem.variables()], [c.dual_value for c in problem.constraints]


@pytest.mark.parametrize("make", SOLVED)
def test_values_and_duals_are_those_of_clarabel(make):
    problem = make()
    expected, x, duals = solution(problem, cp.CLARABEL)
    found, own, own_duals = solution(problem, CGM())
    assert problem.status == cp.OPTIMAL
    assert found == pytest.approx(expected, rel=1e-5)
    for a, b in zip([*own, *own_duals], [*x, *duals], strict=True):
        np.testing.assert_allclose(a, b, atol=2e-3 * max(1.0, np.abs(b).max()))
    assert all(np.max(constraint.violation()) < 1e-5 for constraint in problem.constraints)


@pytest.mark.parametrize("make", SOLVED)
def test_the_bound_is_one(make):
    """It is of the minimisation that CVXPY makes of a problem."""
    problem = make()
    optimum = problem.solve(solver=cp.CLARABEL, tol_gap_abs=1e-10, tol_gap_rel=1e-10, tol_feas=1e-10)
    problem.solve(solver=CGM())
    stats = problem.solver_stats
    figures, sign = stats.extra_stats, -1.0 if isinstance(problem.objective, cp.Maximize) else 1.0
    beyond = (figures["bound"] - sign * optimum) * (1.0 if figures["bound_side"] == "below" else -1.0)
    assert -2e-6 * abs(optimum) <= beyond <= 1e-8 * abs(optimum)
    assert figures["bound_is"] == "certified" and figures["status"] == "converged" and figures["gap"] <= 1e-6
    assert stats.solver_name == "CGM" and stats.num_iters > 0 and stats.solve_time > 0.0


def test_no_inner_point():
    """As many nodes on the one side of a cut as on the other: 1 is in the kernel of every X, and no dual is unique."""
    n, w = 12, weights(np.random.default_rng(0), 12)
    x = cp.Variable((n, n), PSD=True)
    problem = cp.Problem(cp.Maximize(cp.sum(cp.multiply(w, 1 - x)) / 4), [cp.diag(x) == 1, cp.sum(x) == 0])
    expected = problem.solve(solver=cp.CLARABEL)
    assert problem.solve(solver=CGM()) == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize("seed", range(4))
def test_what_has_no_inner_point_is_not_unbounded(seed):
    """Of trace one, with a diagonal entry of zero: what tests a direction along which it falls ends early, anywhere."""
    s = symmetric(np.random.default_rng(seed), 4)
    y = cp.Variable((4, 4), PSD=True)
    problem = cp.Problem(cp.Maximize(cp.trace(s @ y)), [cp.trace(y) == 1, y[0, 0] == 0])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of what is not accurate
        value = problem.solve(solver=CGM())
    assert problem.status in (cp.OPTIMAL, cp.OPTIMAL_INACCURATE)
    assert value == pytest.approx(np.linalg.eigvalsh(s[1:, 1:])[-1], abs=2e-3)


def test_complex_matrices():
    assert hermitian().solve(solver=CGM()) == pytest.approx(2.0, rel=1e-5)


def unmet_ball():
    x = cp.Variable(3)
    return cp.Problem(cp.Minimize(cp.sum(x)), [x >= 1, cp.norm(x) <= 1])


def negative_diagonal():
    x = cp.Variable((3, 3), PSD=True)
    return cp.Problem(cp.Minimize(cp.trace(x)), [x[0, 0] == -1])


def unequal_equations():
    x = cp.Variable(2)
    return cp.Problem(cp.Minimize(cp.sum_squares(x)), [x[0] + x[1] == 1, 2 * x[0] + 2 * x[1] == 3])


def unmet_matrix_inequality():
    x = cp.Variable()
    return cp.Problem(cp.Minimize(x), [cp.bmat([[x, 2.0], [2.0, 1.0 - x]]) >> 0])


def falling_in_a_cone():
    x = cp.Variable(3)
    return cp.Problem(cp.Minimize(cp.sum(x)), [cp.norm(x[:2]) <= x[2] + 1, x[1] <= 3, x[0] <= -x[2]])


def growing_trace():
    x = cp.Variable((3, 3), PSD=True)
    return cp.Problem(cp.Maximize(cp.trace(x)), [x[0, 0] == 1])


def unseen_variable():
    x = cp.Variable(2)
    return cp.Problem(cp.Minimize(x[0]), [x[1] >= 1])


def unseen_variable_of_no_point():
    x = cp.Variable(2)
    return cp.Problem(cp.Minimize(x[0]), [x[1] >= 1, x[1] <= 0])


def nothing_asked():
    return cp.Problem(cp.Minimize(cp.sum(cp.Variable(2))))


@pytest.mark.parametrize(
    ("make", "status"),
    [
        (unmet_ball, cp.INFEASIBLE),
        (negative_diagonal, cp.INFEASIBLE),
        (unequal_equations, cp.INFEASIBLE),
        (unmet_matrix_inequality, cp.INFEASIBLE),
        (unseen_variable_of_no_point, cp.INFEASIBLE),
        (falling_in_a_cone, cp.UNBOUNDED),
        (growing_trace, cp.UNBOUNDED),
        (unseen_variable, cp.UNBOUNDED),
        (nothing_asked, cp.UNBOUNDED),
    ],
)
def test_what_has_no_solution(make, status):
    problem = make()
    problem.solve(solver=CGM())
    assert problem.status == status
    assert np.isinf(problem.value)


@pytest.mark.parametrize("small", [1e-3, 1e-6, 1e-8])
def test_a_solution_that_is_far_away_is_no_contradiction(small):
    """Though it is larger than what a trace is assumed to be."""
    x = cp.Variable(2)
    problem = cp.Problem(cp.Minimize(cp.sum(x)), [small * x[1] >= 1, x >= 0])
    assert problem.solve(solver=CGM()) == pytest.approx(1.0 / small, rel=1e-5)


def test_an_optimum_of_zero_at_the_edge_of_the_cone():
    x = cp.Variable(2)
    problem = cp.Problem(cp.Minimize(cp.sum(x)), [x >= 0])
    assert problem.solve(solver=CGM()) == pytest.approx(0.0, abs=1e-7)
    assert problem.status == cp.OPTIMAL


def test_equations_alone():
    x = cp.Variable(3)
    problem = cp.Problem(cp.Minimize(x[0]), [x[0] == 2, x[1] + x[2] == 1, 2 * x[1] + 2 * x[2] == 2])
    assert problem.solve(solver=CGM()) == pytest.approx(2.0)
    assert problem.constraints[0].dual_value == pytest.approx(-1.0)
    assert problem.solver_stats.extra_stats["status"] == "exact"


def test_sides_that_are_infinite_say_nothing():
    x = cp.Variable(3)
    upper = np.array([np.inf, 2.0, np.inf])
    problem = cp.Problem(cp.Maximize(x[1] - cp.norm(x)), [x <= upper, x >= 1])
    expected, _, duals = solution(problem, cp.CLARABEL)
    assert problem.solve(solver=CGM()) == pytest.approx(expected, rel=1e-5)
    np.testing.assert_allclose(problem.constraints[0].dual_value, duals[0], atol=1e-4)


def planted(seed):
    """All cones at once, with a point inside of them and multipliers inside of theirs."""
    rng = np.random.default_rng(seed)
    n, m, k = rng.integers(2, 8, size=3)
    x, x0, y = cp.Variable(n), rng.standard_normal(n), cp.Variable((m, m), PSD=True)
    y0, inner = np.eye(m) + np.outer(x0[0], x0[0]), np.eye(m) * rng.random()
    rows, many, ball = rng.standard_normal((2, n)), rng.standard_normal((4, n)), rng.standard_normal((k, n))
    parts, own = [symmetric(rng, 3) for _ in range(n)], symmetric(rng, m)
    matrix = np.eye(3) - sum(a * b for a, b in zip(x0, parts, strict=True))
    constraints = [
        rows @ x + cp.trace(own @ y) * np.array([1.0, -2.0]) == rows @ x0 + np.trace(own @ y0) * np.array([1.0, -2.0]),
        many @ x <= many @ x0 + rng.random(4),
        cp.norm(ball @ (x - x0)) <= 1.0 + rng.random(),
        matrix + sum(x[place] * part for place, part in enumerate(parts)) >> 0,
    ]
    free, positive = rng.standard_normal(2), rng.random(4)
    costs = rows.T @ free - many.T @ positive + 0.5 * ball.T @ np.full(k, k**-0.5)
    costs = costs + np.array([np.trace(part) for part in parts])
    matrix_costs = own * (free[0] - 2.0 * free[1]) + inner + 0.1 * np.eye(m)
    return cp.Problem(cp.Minimize(costs @ x + cp.trace(matrix_costs @ y) + 1.0), constraints)


@pytest.mark.parametrize("seed", range(20))
def test_random_problems(seed):
    """To a gap at which the slack of the trace, which is large, is a product of very small numbers."""
    problem = planted(seed)
    expected, _, duals = solution(problem, cp.CLARABEL)
    found, _, own_duals = solution(problem, CGM(gap=1e-8))
    assert problem.status == cp.OPTIMAL
    assert found == pytest.approx(expected, rel=1e-5, abs=1e-6)
    assert all(np.max(constraint.violation()) < 1e-5 for constraint in problem.constraints)
    for a, b in zip(own_duals, duals, strict=True):
        np.testing.assert_allclose(a, b, atol=1e-2 * max(1.0, np.abs(b).max()))


def test_parameters_may_change():
    x, least = cp.Variable(3), cp.Parameter(value=1.0)
    problem = cp.Problem(cp.Minimize(cp.sum(x)), [x >= least])
    assert problem.solve(solver=CGM()) == pytest.approx(3.0, rel=1e-5)
    least.value = 2.0
    assert problem.solve(solver=CGM()) == pytest.approx(6.0, rel=1e-5)


class TestOptions:
    def problem(self):
        x = cp.Variable(2)
        return cp.Problem(cp.Minimize(cp.norm(x)), [cp.sum(x) == 1])

    @pytest.mark.parametrize(
        ("options", "told"),
        [
            ({"gaap": 1e-3}, "no option `gaap`: did you mean `gap`"),
            ({"gap": -1.0}, "gap: expected more than 0"),
            ({"gap": None}, "numbers above zero"),
            ({"time": "soon"}, "time"),
        ],
    )
    def test_what_is_none(self, options, told):
        with pytest.raises(cp.SolverError, match=told):
            self.problem().solve(solver=CGM(), **options)

    def test_a_method_that_is_none(self):
        with pytest.raises(cp.SolverError, match="nope"):
            self.problem().solve(solver=CGM(method="nope"))

    @pytest.mark.parametrize("solver", [CGM(gap=1e-2), CGM()])
    def test_a_gap_is_what_is_asked_for(self, solver):
        problem = self.problem()
        problem.solve(solver=solver, gap=1e-3)
        loose = problem.solver_stats.num_iters
        problem.solve(solver=solver, gap=1e-7)
        assert loose < problem.solver_stats.num_iters

    def test_no_time(self):
        problem = max_cut()
        with pytest.warns(UserWarning, match="inaccurate"):
            problem.solve(solver=CGM(method="hcgm", gap=1e-9, infeasibility=1e-9), time=0.2)
        assert problem.status == cp.USER_LIMIT

    def test_verbose(self, capsys):
        self.problem().solve(solver=CGM(), verbose=True)
        assert "lower bound" in capsys.readouterr().err

    def test_quiet(self, capsys):
        self.problem().solve(solver=CGM())
        assert capsys.readouterr() == ("", "")


def test_the_example_of_the_docs(capsys):
    text = (Path(__file__).resolve().parents[1] / "docs" / "cvxpy.md").read_text(encoding="utf-8")
    (example,) = re.findall(r"^```python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    exec(compile(example, "cvxpy.md", "exec"), {})
    shown = capsys.readouterr().out
    assert shown.startswith("optimal 4.522") and "{'bound': -4.522" in shown and "'bound_is': 'certified'" in shown


def test_cones_that_there_are_not():
    x, whole = cp.Variable(2), cp.Variable(2, integer=True)
    with pytest.raises(cp.SolverError, match="second-order and semidefinite cones, and this problem needs ExpCone"):
        cp.Problem(cp.Minimize(cp.sum(cp.exp(x)))).solve(solver=CGM())
    with pytest.raises(cp.SolverError, match="CGM is not MIP-capable"):
        cp.Problem(cp.Minimize(cp.sum(whole)), [whole >= 0.5]).solve(solver=CGM())


def test_without_cvxpy_it_says_what_to_install(monkeypatch):
    for name in [name for name in sys.modules if name.split(".")[0] == "cvxpy" or name == "cgm_cli.cvxpy.solver"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "cvxpy", None)
    with pytest.raises(ImportError, match=r"pip install 'cgm\[cvxpy\]'"):
        importlib.reload(cgm_cli.cvxpy)


@pytest.mark.parametrize("make", [max_cut, nearest_correlation, largest_eigenvalues, linear_program, least_norm])
@pytest.mark.parametrize("form", [forms.Primal, forms.Dual])
def test_both_forms_have_the_same_solution(make, form, monkeypatch):
    problem = make()
    expected, x, _ = solution(problem, cp.CLARABEL)
    monkeypatch.setattr(conic, "standard_form", form)
    found, own, _ = solution(problem, CGM())
    assert found == pytest.approx(expected, rel=1e-5)
    np.testing.assert_allclose(own[0], x[0], atol=2e-3 * max(1.0, np.abs(x[0]).max()))


class TestCones:
    def test_numbers_alone(self):
        numbers = Cones(3, (), ())
        assert numbers.sizes == (-3,)
        np.testing.assert_array_equal(numbers.embedding.toarray(), np.eye(3))

    @pytest.mark.parametrize("arrow", [2, 100])
    @pytest.mark.parametrize("k", [2, 3, 8])
    def test_second_order_cones(self, arrow, k, monkeypatch):
        """The least <g, u> over all u of the cone with u_0 = 1 is g_0 - |(g_1, ..., g_k-1)|."""
        monkeypatch.setattr(cones, "ARROW", arrow)
        g = np.random.default_rng(k).standard_normal(k)
        u = cp.Variable(k)
        problem = cp.Problem(cp.Minimize(g @ u), [cp.SOC(u[0], u[1:]), u[0] == 1])
        assert problem.solve(solver=CGM()) == pytest.approx(g[0] - np.linalg.norm(g[1:]), rel=1e-5)
        np.testing.assert_allclose(u.value[1:], -g[1:] / np.linalg.norm(g[1:]), atol=1e-2)

    @pytest.mark.parametrize("arrow", [2, 100])
    def test_images_are_in_the_cones(self, arrow, monkeypatch):
        monkeypatch.setattr(cones, "ARROW", arrow)
        rng = np.random.default_rng(8)
        both = Cones(2, (1, 4, 3), (5, 2))
        z = []
        shared = 1.0
        for size in both.sizes:
            n = abs(size)
            block = rng.standard_normal((n, n))
            block = np.abs(block[0]) if size < 0 else block @ block.T
            if arrow == 2 and size == 2:  # what pairs have in common
                block *= shared / block[0, 0]
            z.append(block.reshape(-1))
        assert sorted(both.sizes[1:]) == list(both.sizes[1:])  # those of one order are worked on at once
        z = np.concatenate(z)
        np.testing.assert_allclose(both.links @ z, 0.0, atol=1e-12)
        u = both.embedding @ z
        assert u.size == both.entries
        assert (u[:3] >= 0.0).all()
        assert u[3] >= np.linalg.norm(u[4:7]) and u[7] >= np.linalg.norm(u[8:10])
        matrix = np.zeros((5, 5))
        matrix[np.triu_indices(5)] = u[10:25] * np.where(np.eye(5)[np.triu_indices(5)] == 1.0, 1.0, np.sqrt(0.5))
        matrix = matrix + np.triu(matrix, 1).T
        np.testing.assert_allclose(matrix, z[-25:].reshape(5, 5))
        assert u[25] >= 0.0 and 2.0 * u[25] * u[27] >= u[26] ** 2

    @pytest.mark.parametrize("n", [1, 2, 5])
    def test_the_triangle_is_the_one_that_cvxpy_means(self, n):
        from cvxpy.utilities.psd_utils import tri_to_full

        matrix = symmetric(np.random.default_rng(n), n)
        vector = Cones(0, (), (n,)).embedding @ matrix.reshape(-1)
        full = tri_to_full(vector, n, CGM.PSD_TRIANGLE_KIND, CGM.PSD_SQRT2_SCALING)
        np.testing.assert_allclose(full, matrix)


class TestElimination:
    @pytest.mark.parametrize("seed", range(20))
    def test_of_any_shape_and_rank(self, seed):
        rng = np.random.default_rng(seed)
        rows, columns = rng.integers(1, 12, size=2)
        matrix = sp.random_array((rows, columns), density=rng.random(), rng=rng).toarray()
        if seed % 2:
            matrix = matrix @ np.diag(rng.random(columns) < 0.7) + 0.0
            matrix[rng.integers(rows)] = matrix.sum(axis=0)
        found = Elimination(sp.csr_array(matrix))
        rank = np.linalg.matrix_rank(matrix)
        assert found.rows.size == found.pivots.size == rank
        null = np.zeros((columns, found.others.size))
        null[found.pivots], null[found.others] = -found.table.toarray(), np.eye(found.others.size)
        np.testing.assert_allclose(matrix @ null, 0.0, atol=1e-9 * max(1.0, np.abs(null).max(initial=0.0)))
        right = matrix @ rng.standard_normal(columns)
        x = np.zeros(columns)
        x[found.pivots] = found.solve(right[found.rows])
        np.testing.assert_allclose(matrix @ x, right, atol=1e-9 * max(1.0, np.abs(x).max()))
        costs = matrix.T @ rng.standard_normal(rows)
        y = np.zeros(rows)
        y[found.rows] = found.solve_transposed(costs[found.pivots])
        np.testing.assert_allclose(matrix.T @ y, costs, atol=1e-9 * max(1.0, np.abs(y).max()))
