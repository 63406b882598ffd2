"""Interior-point steps: optima that are known by other means, bounds that need no radius, and what has no solution."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.linalg
import scipy.sparse as sp
from scipy.optimize import linprog

from cgm_cli.blocks.domains.psd import PSDTrace
from cgm_cli.blocks.domains.psd_blocks import PSDBlocks
from cgm_cli.blocks.losses.linear import Linear
from cgm_cli.blocks.maps.matrices import Matrices
from cgm_cli.blocks.maps.matrix import MatrixMap
from cgm_cli.blocks.penalties.box import BoxSet
from cgm_cli.blocks.penalties.equals import Equals
from cgm_cli.blocks.problem import CompositeProblem, Term
from cgm_cli.methods.corrections import interior_point
from cgm_cli.methods.corrections.conic_form import ConicForm
from cgm_cli.methods.corrections.schur import SchurComplement
from cgm_cli.methods.unboundedness import ray_of
from cgm_cli.numerics.blockwise import Blocks
from cgm_cli.solving.direct import solve_problem

MANY = (2,) * 40 + (3,) * 30
SIZES = [(3,), (-4,), (4, 4, -2), (2, 3, 3, -1, 5), (70, -5)]
TIGHT = {"gap": 1e-8, "infeasibility": 1e-8}


def random_program(sizes, count, rng, scale=1.0):
    """Blocks, symmetric rows, a right-hand side that an interior X meets, and a cost with an interior dual slack."""
    blocks = Blocks(sizes)
    rows = np.array([blocks.symmetric(rng.standard_normal(blocks.entries)) for _ in range(count)])
    inside = [blocks.symmetric(rng.standard_normal(blocks.entries)) / np.sqrt(blocks.order) for _ in range(2)]
    x, s = (blocks.composed([(np.exp(values), vectors) for values, vectors in blocks.eigenvalues(y)]) for y in inside)
    return blocks, scale * rows, scale * rows @ x, s + rng.standard_normal(count) @ rows


def posed(blocks, rows, right, cost, radius, expected=None, lower=None):
    domain = PSDBlocks(blocks.sizes, radius, False, expected)
    kept = Equals(right.shape, right) if lower is None else BoxSet(right.shape, lower, right)
    term = Term("rows", MatrixMap(rows, domain.shape), kept)
    return CompositeProblem(domain, Linear(cost, domain.shape), (term,))


@pytest.mark.parametrize("sizes", SIZES)
@pytest.mark.parametrize("seed", range(3))
def test_the_schur_complement_is_what_its_definition_says(sizes, seed):
    """With rows of few entries, which are paired, and full ones, which are multiplied out."""
    rng = np.random.default_rng(seed)
    blocks, rows, *_ = random_program(sizes, 6, rng)
    rows[::2] = blocks.symmetric(np.where(rng.random(blocks.entries) < 0.2, rows[0], 0.0))
    rows[1] = 0.0
    x, inverse = (blocks.symmetric(rng.standard_normal(blocks.entries)) for _ in range(2))
    found = SchurComplement(blocks, sp.csr_array(rows)).at(x, inverse)
    full = [written_out(blocks, row) for row in rows]
    left, right = written_out(blocks, x), written_out(blocks, inverse)
    wanted = np.array([[np.vdot(a, left @ b @ right) for b in full] for a in full])
    np.testing.assert_allclose(found, 0.5 * (wanted + wanted.T), atol=1e-10 * np.abs(wanted).max())


def written_out(blocks, flat):
    """The whole matrix, zeros between the blocks included."""
    parts = []
    for stack in blocks.stacks:
        view = stack.of(flat)
        parts += [np.diag(view)] if stack.n == 0 else list(view)
    return scipy.linalg.block_diag(*parts)


@pytest.mark.parametrize(
    ("sizes", "count", "share"),
    [
        ((2,) * 40 + (3,) * 30, 25, 0.03),
        ((2,) * 40 + (3,) * 30, 5, 0.8),
        ((19, 19, 19), 12, 0.1),
        ((100, -9), 30, 0.03),
    ],
)
def test_it_is_the_same_of_blocks_at_once_and_of_large_ones(sizes, count, share):
    """Sparse and dense rows over many small blocks, over some that are less small, and over a large one."""
    rng = np.random.default_rng(0)
    blocks, rows, *_ = random_program(sizes, count, rng)
    rows = np.array([blocks.symmetric(np.where(rng.random(blocks.entries) < share, row, 0.0)) for row in rows])
    rows[0, : sizes[0] ** 2] = 0.0
    x, inverse = (blocks.symmetric(rng.standard_normal(blocks.entries)) for _ in range(2))
    found = SchurComplement(blocks, sp.csr_array(rows)).at(x, inverse)
    between = np.array([blocks.symmetric(blocks.product(blocks.product(x, row), inverse)) for row in rows])
    wanted = rows @ between.T
    np.testing.assert_allclose(found, wanted, atol=1e-12 * np.abs(wanted).max())


@pytest.mark.parametrize("kinds", ["l", "fl", "lm", "flm", "fflllmm", "llll"])
@pytest.mark.parametrize("sizes", [(40,), (12, -3), (40, 41, -2)])
def test_rows_of_low_rank_are_the_same_as_any(kinds, sizes):
    """Beside others of few entries and of many, in blocks of their own and in shared ones."""
    rng = np.random.default_rng(len(kinds))
    blocks, rows, *_ = random_program(sizes, len(kinds), rng)
    for row, kind, rank in zip(rows, kinds, 1 + rng.integers(0, 3, len(kinds)), strict=True):
        if kind == "m":
            continue
        for stack in blocks.stacks:
            for part in stack.of(row) if stack.n else ():
                left = rng.standard_normal((stack.n, rank)) * (rng.random((stack.n, 1)) < 0.8)
                part[:] = (left * [1.0, -1.0, 2.0][:rank]) @ left.T if kind == "l" else 0.0
                if kind == "f":
                    part[0, 1] = part[1, 0] = part[2, 2] = 1.0 + rank
    x, inverse = (blocks.symmetric(rng.standard_normal(blocks.entries)) for _ in range(2))
    between = np.array([blocks.symmetric(blocks.product(blocks.product(x, row), inverse)) for row in rows])
    wanted = rows @ between.T
    found = SchurComplement(blocks, sp.csr_array(rows)).at(x, inverse)
    np.testing.assert_allclose(found, wanted, atol=1e-11 * np.abs(wanted).max())


@pytest.mark.parametrize("sizes", SIZES)
@pytest.mark.parametrize("seed", range(2))
def test_both_sides_of_a_program_meet_whatever_the_radius_is(sizes, seed):
    """A bound from a definite slack does not change with a radius that is far too large."""
    rng = np.random.default_rng(seed)
    blocks, rows, right, cost = random_program(sizes, 3, rng)
    values = []
    for radius in (1e3, 1e9):
        found = solve_problem(posed(blocks, rows, right, cost, radius, 10.0), "auto", TIGHT)
        assert (found.status.value, found.bound_is, found.bound_rests_on) == ("converged", "certified", None)
        x, y = found.solution["x"], found.duals["rows"]
        slack = cost + y @ rows
        assert blocks.bottom(slack).value >= -1e-12
        assert found.record.bound <= -(y @ right) + 1e-9
        assert np.linalg.norm(rows @ x - right) < 1e-6 * np.linalg.norm(right)
        values.append(found.record.total)
    assert values[0] == pytest.approx(values[1], rel=1e-6)


@pytest.mark.parametrize("seed", range(5))
def test_linear_programs_against_another_method(seed):
    """With lower and upper bounds on the rows, of which some are equal and some are missing."""
    rng = np.random.default_rng(seed)
    n, m = 12, 5
    rows, x = rng.standard_normal((m, n)), rng.random(n)
    image = rows @ x
    lower, upper = image - rng.random(m), image + rng.random(m)
    lower[0], upper[1], lower[2] = -np.inf, np.inf, upper[2]
    cost = rng.random(n) - 0.2
    radius = 20.0
    domain = PSDBlocks((-n,), radius, False)
    box = BoxSet((m,), lower, upper)
    problem = CompositeProblem(domain, Linear(cost, (n,)), (Term("rows", MatrixMap(rows, (n,)), box),))
    sides = [(rows, upper), (-rows, -lower), (np.ones((1, n)), [radius])]
    a, b = np.vstack([side for side, _ in sides]), np.concatenate([value for _, value in sides])
    wanted = linprog(cost, A_ub=a[np.isfinite(b)], b_ub=b[np.isfinite(b)])
    assert wanted.status == 0
    solver = {"method": "cgal", "correction": "interior-point"}
    found = solve_problem(problem, solver, TIGHT)
    assert found.status.value == "converged"
    assert found.record.total == pytest.approx(wanted.fun, rel=1e-6, abs=1e-8)
    assert found.record.bound <= wanted.fun + 1e-10


def test_dependent_rows_are_left_out_and_contradicting_ones_are_not():
    rng = np.random.default_rng(1)
    blocks, rows, right, cost = random_program((4, -3), 3, rng)
    more = np.vstack([rows, rows[0] - 2.0 * rows[2]])
    told = np.append(right, right[0] - 2.0 * right[2])
    problem = posed(blocks, more, told, cost, 1e3, 10.0)
    assert ConicForm(problem).rows.shape[0] == 3 + 1  # and that of the trace
    alone = solve_problem(posed(blocks, rows, right, cost, 1e3, 10.0), "auto", TIGHT)
    again = solve_problem(problem, "auto", TIGHT)
    assert again.status.value == "converged"
    assert again.record.total == pytest.approx(alone.record.total, rel=1e-6)
    told[-1] += 0.1
    wrong = solve_problem(posed(blocks, more, told, cost, 1e3, 10.0), "auto", TIGHT)
    assert wrong.status.value == "infeasible"
    assert "whatever the trace" in wrong.message


@pytest.mark.parametrize("unit", [1e-6, 1.0, 1e6])
@pytest.mark.parametrize(
    ("rows", "right"),
    [
        ([[1.0, 0, 0, 1.0, 0], [1.0, 0, 0, 1.0, 0]], [1.0, 2.0]),
        ([[0.0, 0, 0, 0, 0]], [5.0]),
        ([[1.0, 0, 0, 0, 0], [2.0, 0, 0, 0, 0]], [1.0, 0.0]),
        ([[1.0, 0, 0, 0, 1], [0, 0.5, 0.5, 0, 1], [1.0, 0.5, 0.5, 0, 2]], [1.0, 1.0, 1.0]),
    ],
)
def test_rows_that_contradict_each_other_are_seen_at_once(rows, right, unit):
    rows, right = unit * np.array(rows), unit * np.array(right)
    problem = posed(Blocks((2, -1)), rows, right, np.array([1.0, 0, 0, -1.0, 0.5]), 1e3, 3.0)
    found = solve_problem(problem, {"method": "cgal", "correction": "interior-point"})
    assert found.status.value == "infeasible"
    assert found.record.k < 5
    y = found.duals["rows"]
    assert np.abs(y @ rows).max() < 1e-9 * np.abs(y).max() * unit
    assert y @ right < 0.0


def test_the_program_is_brought_into_its_form_once(monkeypatch):
    """To say how long it takes, and to solve it."""
    built = []
    monkeypatch.setattr(interior_point, "ConicForm", lambda problem: built.append(problem) or ConicForm(problem))
    found = solve_problem(posed(*random_program((4, -2), 3, np.random.default_rng(0)), 1e3, 10.0))
    assert found.status.value == "converged"
    assert len(built) == 1


def test_auto_sees_contradictions_on_a_diagonal():
    """Which it would leave to descent on factors."""
    domain = PSDTrace(3, 3.0, True)
    rows = sp.csr_array(np.array([np.diag([1.0, 0, 0]).reshape(-1), np.diag([2.0, 0, 0]).reshape(-1)]))
    for right, status in (([1.0, 0.0], "infeasible"), ([1.0, 2.0], "converged")):
        term = Term("rows", Matrices.of_rows(rows, (3, 3)), Equals((2,), np.array(right)))
        problem = CompositeProblem(domain, Linear(np.diag([1.0, 2.0, 3.0]), (3, 3)), (term,))
        assert solve_problem(problem).status.value == status


def test_without_an_end_there_is_a_ray():
    """min -X_11 with X_22 = 1; and max over a cone that another constraint closes."""
    blocks, rows = Blocks((2, -1)), np.array([[0.0, 0.0, 0.0, 1.0, 0.0]])
    cost = np.array([-1.0, 0.0, 0.0, 0.0, 0.0])
    problem = posed(blocks, rows, np.ones(1), cost, 1e6, 3.0)
    found = solve_problem(problem)
    assert found.status.value == "unbounded"
    assert found.status.exit_code == 4
    ray = found.solution["ray"]
    assert blocks.bottom(ray).value >= -1e-12
    assert abs(rows @ ray).max() < 1e-12
    assert cost @ ray < -0.1
    # A bound from above closes it, one from below does not.
    closed = CompositeProblem(
        problem.domain,
        problem.loss,
        (*problem.terms, Term("trace", MatrixMap(np.array([[1.0, 0, 0, 0, 0]]), (5,)), BoxSet((1,), -np.inf, 7.0))),
    )
    assert solve_problem(closed).record.total == pytest.approx(-7.0, rel=1e-3)
    assert ray_of(closed, 1e6 * ray) is None
    open_below = CompositeProblem(
        problem.domain,
        problem.loss,
        (*problem.terms, Term("trace", MatrixMap(np.array([[1.0, 0, 0, 0, 0]]), (5,)), BoxSet((1,), 0.5, np.inf))),
    )
    assert solve_problem(open_below).status.value == "unbounded"


def test_a_radius_that_is_given_is_no_guess():
    blocks, rows = Blocks((2, -1)), np.array([[0.0, 0.0, 0.0, 1.0, 0.0]])
    problem = posed(blocks, rows, np.ones(1), np.array([-1.0, 0.0, 0.0, 0.0, 0.0]), 5.0)
    found = solve_problem(problem)
    assert found.status.value == "converged"
    assert found.record.total == pytest.approx(-4.0, rel=1e-3)
    assert found.active_bounds == ("radius",)


def test_it_ends_where_rounding_leaves_nothing_to_gain():
    rng = np.random.default_rng(2)
    found = solve_problem(posed(*random_program((5, -2), 3, rng), 1e3, 10.0), "auto", {"gap": 1e-18})
    assert found.status.value in ("stagnated", "converged")
    assert found.record.k < 100
    assert found.record.gap < 1e-9


def least_eigenvalue_program(matrix, others=0):
    """max t subject to X + t I = C, with t a difference of two numbers, and `others` that say the same again."""
    n = len(matrix)
    blocks = Blocks((n, -2 - 2 * others))
    where = [(i, j) for i in range(n) for j in range(i + 1)]
    rows = np.zeros((len(where), blocks.entries))
    for row, (i, j) in zip(rows, where, strict=True):
        row[[i * n + j, j * n + i]] = 0.5 + 0.5 * (i == j)
        row[n * n :] = np.resize([1.0, -1.0], 2 + 2 * others) * (i == j)
    cost = np.zeros(blocks.entries)
    cost[n * n :] = np.resize([-1.0, 1.0], 2 + 2 * others)
    return blocks, rows, np.array([matrix[i, j] for i, j in where]), cost


@pytest.mark.parametrize("others", [0, 1])
@pytest.mark.parametrize("shift", [-5.0, 0.0, 5.0])
def test_a_free_number_that_is_a_difference_of_two(others, shift):
    """The largest t with C - t I semidefinite is the least eigenvalue of C."""
    values = np.array([shift, shift + 0.1, shift + 1.0, shift + 3.0, shift + 9.0])
    basis = scipy.linalg.qr(np.random.default_rng(3).standard_normal((5, 5)))[0]
    blocks, rows, right, cost = least_eigenvalue_program((basis * values) @ basis.T, others)
    problem = posed(blocks, rows, right, cost, 1e7, 10.0)
    form = ConicForm(problem)
    assert form.free.shape[1] == 1 + others
    found = solve_problem(problem, "auto", {"gap": 1e-6, "infeasibility": 1e-8})
    assert found.status.value == "converged" or shift == 0.0
    assert found.record.total == pytest.approx(-shift, abs=1e-5)
    # A rounding of 1e-14 times the trace that is assumed is lost.
    assert found.record.bound == pytest.approx(-shift, abs=1e-5)
    assert found.record.bound <= -shift + 1e-9
    # Where the trace is known, it is one of both numbers, and none of them is free.
    assert not ConicForm(posed(blocks, rows, right, cost, 1e7)).free.shape[1]


def test_a_free_number_without_an_end():
    blocks, rows, right, cost = least_eigenvalue_program(np.diag([1.0, 2.0]))
    assert solve_problem(posed(blocks, rows, right, -cost, 1e7, 10.0)).status.value == "unbounded"


def test_free_numbers_that_cannot_make_up_for_contradictions():
    """X_11 + t = 0 and X_11 + t = 1; and -X_11 = 1 beside a number that is free elsewhere."""
    blocks = Blocks((2, -2))
    both = np.array([[1.0, 0.0, 0.0, 0.0, 1.0, -1.0]] * 2)
    beside = np.array([[-1.0, 0.0, 0.0, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 1.0, 1.0, -1.0]])
    cost = np.array([1.0, 0.0, 0.0, 1.0, 0.0, 0.0])
    for rows, right in ((both, [0.0, 1.0]), (beside, [1.0, 0.0])):
        assert solve_problem(posed(blocks, rows, np.array(right), cost, 1e7, 10.0)).status.value == "infeasible"


def test_a_start_beside_a_radius_far_too_large_is_as_good():
    """The slack of an assumed trace weighs no more than other entries: what is found and missed stays the same."""
    blocks, rows, right, cost = random_program((4, -3), 4, np.random.default_rng(8))
    found = [solve_problem(posed(blocks, rows, right, cost, radius, 10.0), "auto", TIGHT) for radius in (1e3, 1e9)]
    assert [each.status.value for each in found] == ["converged"] * 2
    assert found[1].record.total == pytest.approx(found[0].record.total, rel=1e-7)
    assert abs(found[1].record.k - found[0].record.k) <= 4
