"""Interior-point steps for vectors: the form against matrices written out, and optima that are known by other means."""

from __future__ import annotations

import copy

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import linprog, lsq_linear

from cgm_cli.blocks.directions import DenseDirection
from cgm_cli.blocks.domains.base import OracleRequest
from cgm_cli.blocks.domains.box import Box
from cgm_cli.blocks.domains.product import Product
from cgm_cli.blocks.domains.simplex import Simplex
from cgm_cli.blocks.losses.least_squares import LeastSquares
from cgm_cli.blocks.losses.linear import Linear
from cgm_cli.blocks.maps.identity import Identity
from cgm_cli.blocks.maps.matrix import MatrixMap
from cgm_cli.blocks.penalties.box import BoxSet
from cgm_cli.blocks.penalties.equals import Equals
from cgm_cli.blocks.penalties.shifted import Shifted
from cgm_cli.blocks.problem import CompositeProblem, Term
from cgm_cli.methods.corrections.bounded_form import BoundedForm
from cgm_cli.methods.corrections.bounded_newton import BoundedNewton
from cgm_cli.methods.scaling import scaled
from cgm_cli.methods.stopping import StopRules
from cgm_cli.numerics.deadline import Deadline, OutOfTime
from cgm_cli.solving.direct import solve_problem
from cgm_cli.solving.presets import chosen
from cgm_cli.spec.model import SolverSpec
from tests.blocks.support import InlineContext, spec
from tests.methods.problems import solve

TIGHT = {"gap": 1e-8, "infeasibility": 1e-8}
SOLVER = {"method": "cgal", "correction": "interior-point"}
DOMAINS = [
    Box(-np.ones(9), np.linspace(0.0, 4.0, 9) - 0.9),
    Box(np.zeros(9), np.where(np.arange(9) < 3, 0.0, 2.0)),
    Simplex(9, 2.5),
    Simplex((3, 3), 2.5, at_most=True),
    Product((Simplex(4), Box(np.zeros((1, 3)), np.ones((1, 3))), Simplex(2, 3.0, at_most=True))),
]


def polytope_of(domain):
    """For linprog."""
    known = domain.polyhedron
    rows = known.rows.toarray()
    exact = known.least == known.most
    return {
        "bounds": np.column_stack([known.lower.reshape(-1), known.upper.reshape(-1)]),
        "A_eq": rows[exact],
        "b_eq": known.least[exact],
        "A_ub": rows[~exact],
        "b_ub": known.most[~exact],
    }


def both(one, other):
    """Of two sets of constraints."""
    return {
        "bounds": one["bounds"],
        **{name: np.concatenate([one[name], other[name]]) for name in ("A_eq", "b_eq", "A_ub", "b_ub")},
    }


def rows_and_ranges(rng, domain, m, sparse):
    """Rows, some dependent, with ranges of every kind that a point of the domain meets, and the same for linprog."""
    x = sum(domain.lmo(DenseDirection(rng.standard_normal(domain.shape)), OracleRequest()).atom.dense() for _ in "1234")
    rows = rng.standard_normal((m, x.size)) * (rng.random((m, x.size)) < (0.3 if sparse else 1.0))
    rows[-1] = rows[0] - 2.0 * rows[1]
    image = rows @ (0.25 * x.reshape(-1))
    lower, upper = image - 0.2 * rng.random(m), image + 0.2 * rng.random(m)
    lower[0] = upper[0] = image[0]
    lower[1] = upper[1] = image[1]
    lower[-1] = upper[-1] = image[-1]
    lower[2], upper[3] = -np.inf, np.inf
    exact, above, below = lower == upper, np.isfinite(upper) & (lower < upper), np.isfinite(lower) & (lower < upper)
    ranges = {
        "bounds": None,
        "A_eq": rows[exact],
        "b_eq": image[exact],
        "A_ub": np.concatenate([rows[above], -rows[below]]),
        "b_ub": np.concatenate([upper[above], -lower[below]]),
    }
    linear = MatrixMap(sp.csr_array(rows) if sparse else rows, domain.shape)
    return Term("rows", linear, BoxSet((m,), lower, upper)), ranges


@pytest.mark.parametrize("domain", DOMAINS)
def test_what_a_domain_says_of_itself_has_the_minimum_of_its_oracle(domain):
    rng = np.random.default_rng(0)
    for _ in range(5):
        cost = rng.standard_normal(domain.shape)
        wanted = linprog(cost.reshape(-1), **polytope_of(domain))
        assert domain.lmo(DenseDirection(cost), OracleRequest()).value == pytest.approx(wanted.fun, abs=1e-9)


@pytest.mark.parametrize("sparse", [True, False])
@pytest.mark.parametrize("domain", DOMAINS)
def test_the_form_is_what_its_definition_says(domain, sparse):
    """A, written out by products with unit vectors, against its adjoint and A D A^T; and y of rows of one length."""
    rng = np.random.default_rng(1)
    term, _ = rows_and_ranges(rng, domain, 6, sparse)
    form = BoundedForm(CompositeProblem(domain, terms=(term,)))
    size, weights = form.cost.size, rng.random(form.cost.size)
    rows = np.array([form.forward(unit) for unit in np.eye(size)]).T
    assert np.array([form.adjoint(unit) for unit in np.eye(len(rows))]) == pytest.approx(rows, abs=1e-12)
    assert form.normal(weights) == pytest.approx(rows * weights @ rows.T, abs=1e-12)
    assert np.linalg.matrix_rank(rows) == len(rows) == form.right.size
    values = rng.random(form.low.size + form.high.size)
    assert form.gather(weights) @ values == pytest.approx(weights @ form.scatter(values))
    # What A^T y is of y for terms alone, on the entries that are free: none of it is of rows of the domain.
    of_terms = np.array([form.duals(unit)[0].any() for unit in np.eye(len(rows))])
    y = np.where(of_terms, rng.standard_normal(len(rows)), 0.0)
    free = (domain.polyhedron.lower < domain.polyhedron.upper).reshape(-1)
    direction = term.map.adjoint(form.duals(y)[0]).dense().reshape(-1)[free]
    assert direction == pytest.approx(-form.adjoint(y)[: form.variables], abs=1e-12)


@pytest.mark.parametrize("unit", [1.0, 1e-5, 1e5])
@pytest.mark.parametrize("sparse", [True, False])
@pytest.mark.parametrize("domain", DOMAINS)
def test_linear_programs_against_another_method(domain, sparse, unit):
    rng = np.random.default_rng(2)
    term, ranges = rows_and_ranges(rng, domain, 6, sparse)
    cost = rng.standard_normal(domain.shape)
    wanted = linprog(cost.reshape(-1), **both(polytope_of(domain), ranges))
    problem = CompositeProblem(domain, Linear(unit * cost, domain.shape), (term,))
    found = solve_problem(problem, "auto", TIGHT)
    assert (found.status.value, found.bound_is) == ("converged", "certified")
    assert found.record.total == pytest.approx(unit * wanted.fun, rel=1e-7)
    assert found.record.bound <= unit * (wanted.fun + 1e-9)
    assert found.record.k < 25
    assert domain.contains(found.solution["x"])


@pytest.mark.parametrize("width", [1e4, 1e6, 1e8])
@pytest.mark.parametrize("seed", range(4))
def test_bounds_far_wider_than_solutions(seed, width):
    """Entries that are all but free on both sides, beside others that are not; and those that go as far as they may."""
    rng = np.random.default_rng(seed)
    rows, x = rng.standard_normal((12, 20)), rng.uniform(0.0, 1.0, 20)
    lower, upper = np.zeros(20), np.ones(20)
    upper[:10], lower[:5] = width, -width
    for cost in (rows.T @ rng.standard_normal(12) + np.r_[np.zeros(5), rng.uniform(0.1, 1.0, 15)], rng.normal(size=20)):
        term = Term("rows", MatrixMap(rows, (20,)), Equals((12,), rows @ x))
        problem = CompositeProblem(Box(lower, upper), Linear(cost, (20,)), (term,))
        found = solve_problem(problem, SOLVER, {"gap": 1e-6, "infeasibility": 1e-6})
        twin = linprog(cost, A_eq=rows, b_eq=rows @ x, bounds=np.c_[lower, upper])
        assert (found.status.value, found.bound_is) == ("converged", "certified")
        assert found.record.total == pytest.approx(twin.fun, rel=1e-5)


@pytest.mark.parametrize("seed", [5, 28, 49, 56])
def test_columns_in_units_of_their_own(seed):
    """Lengths from 1e-4 to 1e4, and few points between the bounds: once the long ones are fixed, what is left of the
    rows is 1e-8 of them, and of A D A^T rounding. That the point is optimal is what its certified bound says.
    """
    rng = np.random.default_rng(seed)
    m = int(rng.integers(8, 24))
    n = m + int(rng.integers(1, 12))
    rows, upper = rng.standard_normal((m, n)) * np.logspace(-4.0, 4.0, n), rng.uniform(0.4, 5.0, n)
    x = upper * rng.random(n)
    x = np.where(rng.random(n) < 0.5, 0.0, np.where(rng.random(n) < 0.5, upper, x))
    term = Term("rows", MatrixMap(rows, (n,)), Equals((m,), rows @ x))
    cost = rng.standard_normal(n)
    found = solve_problem(
        CompositeProblem(Box(np.zeros(n), upper), Linear(cost, (n,)), (term,)),
        "auto",
        {"gap": 1e-4, "infeasibility": 1e-6},
    )
    assert (found.status.value, found.bound_is) == ("converged", "certified")
    assert found.record.bound <= cost @ x + 1e-9


@pytest.mark.parametrize("rows", [4, 20])
def test_least_squares_with_and_without_a_map_of_full_rank(rows):
    """Over a box beside a range that is wide; and beside a sum, which a heavy row says nearly."""
    rng = np.random.default_rng(3)
    matrix, target = rng.standard_normal((rows, 9)), 3.0 * rng.standard_normal(rows)
    loss, box = LeastSquares(MatrixMap(matrix, (9,)), target), Box(np.zeros(9), np.ones(9))
    wide = Term("sum", MatrixMap(np.ones((1, 9)), (9,)), BoxSet((1,), -1.0, 10.0))
    free = lsq_linear(matrix, target, (0.0, 1.0), tol=1e-14)
    found = solve_problem(CompositeProblem(box, loss, (wide,)), SOLVER, TIGHT)
    assert (found.status.value, found.bound_is) == ("converged", "certified")
    assert found.record.total == pytest.approx(free.cost, rel=1e-7)
    sums = Term("sum", wide.map, Equals((1,), np.array([2.0])))
    heavy = np.vstack([matrix, np.full((1, 9), 1e5)])
    tied = lsq_linear(heavy, np.append(target, 2e5), (0.0, 1.0), tol=1e-14)
    found = solve_problem(CompositeProblem(box, loss, (sums,)), SOLVER, TIGHT)
    assert found.status.value == "converged"
    assert found.record.total == pytest.approx(tied.cost, rel=1e-6)


@pytest.mark.parametrize(
    ("rows", "right"),
    [
        ([[1.0, 1.0, 0.0], [1.0, 1.0, 0.0]], [1.0, 1.1]),
        ([[0.0, 0.0, 0.0]], [0.5]),
        ([[1.0, 1.0, 1.0]], [4.0]),
        ([[1.0, -1.0, 0.0], [0.0, 1.0, -1.0], [1.0, 0.0, -1.0]], [0.1, 0.1, 0.3]),
    ],
)
def test_what_cannot_be_met_is_proven(rows, right):
    """By rows that contradict each other, and by what the domain allows."""
    term = Term("rows", MatrixMap(np.array(rows), (3,)), Equals((len(right),), np.array(right)))
    problem = CompositeProblem(Box(np.zeros(3), np.ones(3)), Linear(np.array([1.0, -1.0, 0.5]), (3,)), (term,))
    found = solve_problem(problem, SOLVER)
    assert found.status.value == "infeasible"
    assert found.record.k < 40


@pytest.mark.parametrize("squares", [False, True])
@pytest.mark.parametrize("domain", DOMAINS[2:], ids=["simplex", "matrix", "product"])
def test_bounds_on_all_entries_are_no_rows(domain, squares):
    """Two terms of them, each the closer one for some, and one entry that they fix: by linprog, and by primal-dual
    steps.
    """
    rng = np.random.default_rng(4)
    n = int(np.prod(domain.shape))
    cost, rows = rng.standard_normal(n), rng.standard_normal((2, n))
    inside = 0.25 * sum(
        domain.lmo(DenseDirection(rng.standard_normal(domain.shape)), OracleRequest()).atom.dense() for _ in "1234"
    ).reshape(-1)
    caps = [inside + rng.random(n), inside + rng.random(n)]
    floor = np.where(np.arange(n) == 1, inside, inside - 0.3)
    caps[0][1] = inside[1]
    shape = domain.shape
    terms = (
        Term("one", Identity(shape), BoxSet(shape, floor.reshape(shape), caps[0].reshape(shape))),
        Term("rows", MatrixMap(rows, shape), BoxSet((2,), rows @ inside - 0.1, rows @ inside + 0.1)),
        Term("other", Identity(shape), BoxSet(shape, np.full(shape, -np.inf), caps[1].reshape(shape))),
    )
    matrix, target = rng.standard_normal((5, n)), rng.standard_normal(5)
    loss = LeastSquares(MatrixMap(matrix, shape), target) if squares else Linear(cost.reshape(shape), shape)
    problem = CompositeProblem(domain, loss, terms)
    assert BoundedForm(problem).right.size <= 2 + 5 * squares + domain.polyhedron.rows.shape[0]
    found = solve_problem(problem, SOLVER, TIGHT)
    if squares:
        known = solve_problem(problem, {"method": "cgal", "correction": "primal-dual"}, TIGHT).record.total
    else:
        known = polytope_of(domain)
        known["bounds"][:, 0] = np.maximum(known["bounds"][:, 0], floor)
        known["bounds"][:, 1] = np.minimum(known["bounds"][:, 1], np.minimum(*caps))
        known["A_ub"] = np.concatenate([known["A_ub"], rows, -rows])
        known["b_ub"] = np.concatenate([known["b_ub"], rows @ inside + 0.1, 0.1 - rows @ inside])
        known = linprog(cost, **known).fun
    assert (found.status.value, found.bound_is) == ("converged", "certified")
    assert found.record.total == pytest.approx(known, rel=1e-6, abs=1e-7)
    assert found.record.bound <= known + 1e-7


def test_a_run_taken_up_ends_the_same_to_the_last_bit():
    term, _ = rows_and_ranges(np.random.default_rng(5), DOMAINS[-1], 6, True)
    problem = scaled(CompositeProblem(DOMAINS[-1], Linear(np.arange(9.0) - 4.0, (9,)), (term,)))
    method = chosen(SolverSpec.model_validate(SOLVER, context={}), problem).method

    def states(resume=None):
        kept = {}
        solve(
            problem,
            method=method,
            stop=StopRules(8),
            resume=resume,
            on_checkpoint=lambda state, ending: kept.setdefault(state.k, copy.deepcopy(state.pack())),
        )
        return kept

    whole = states()
    again = states(copy.deepcopy(whole[3]))
    for k in range(3, 9):
        whole[k].pop("seconds"), again[k].pop("seconds")
        np.testing.assert_equal(again[k], whole[k])


def test_no_step_begins_once_the_time_is_up():
    term, _ = rows_and_ranges(np.random.default_rng(6), DOMAINS[0], 6, False)
    form = BoundedForm(CompositeProblem(DOMAINS[0], Linear(np.arange(9.0) - 4.0, (9,)), (term,)))
    newton = BoundedNewton(form, 1.0)
    with pytest.raises(OutOfTime):
        newton.next(newton.start(1.0), Deadline(lambda: -1.0))


def test_it_ends_where_rounding_leaves_nothing_to_gain():
    term, _ = rows_and_ranges(np.random.default_rng(4), DOMAINS[0], 6, False)
    problem = CompositeProblem(DOMAINS[0], Linear(np.arange(9.0) - 4.0, (9,)), (term,))
    found = solve_problem(problem, SOLVER, {"gap": 1e-18})
    assert found.status.value in ("stagnated", "converged")
    assert found.record.gap < 1e-10
    assert found.record.k < 40


def with_penalty(cost, polytope, rows, known, unit):
    """For linprog, in (x, t)."""
    below, above, columns = np.isfinite(known.lower), np.isfinite(known.upper), known.columns.toarray()
    wide = np.zeros((len(polytope["b_eq"]), known.price.size)), np.zeros((len(polytope["b_ub"]), known.price.size))
    own = np.full((known.price.size, 2), [-np.inf if known.is_free else 0.0, np.inf])
    return {
        "c": np.append(cost, known.price / unit),
        "A_eq": np.hstack([polytope["A_eq"], wide[0]]),
        "b_eq": polytope["b_eq"],
        "A_ub": np.vstack(
            [
                np.hstack([polytope["A_ub"], wide[1]]),
                np.hstack([-rows, columns])[below],
                np.hstack([rows, -columns])[above],
            ]
        ),
        "b_ub": np.concatenate([polytope["b_ub"], -known.lower[below], known.upper[above]]),
        "bounds": np.vstack([polytope["bounds"], own]),
    }


PENALTIES = [
    {"kind": "max", "scale": 2.0},
    {"kind": "support", "set": {"kind": "simplex", "length": 3}},
    {"kind": "support", "set": {"kind": "simplex", "sum": "at-most"}},
    {"kind": "l1", "weights": [1.0, 0.0, 0.5, 3.0, 1.0, 1.0]},
    {"kind": "hinge", "labels": [1, -1, -1, 1, 1, -1]},
    {"kind": "quantile", "q": 0.9},
    {"kind": "epsilon-insensitive", "epsilon": 0.3},
]


@pytest.mark.parametrize("unit", [1.0, 1e-5, 1e5])
@pytest.mark.parametrize("penalty", PENALTIES, ids=lambda penalty: penalty["kind"])
def test_penalties_with_finitely_many_faces(penalty, unit):
    """Beside a cost and a range, by linprog in (x, t), whose t are free of the bounds that the steps give them."""
    rng = np.random.default_rng(8)
    sized = {**penalty, "scale": unit * penalty.get("scale", 1.0)}
    for domain in DOMAINS:
        n = domain.polyhedron.lower.size
        offset, rows, cost = rng.standard_normal(6), rng.standard_normal((6, n)), rng.standard_normal(n)
        g = Shifted(spec("penalty", sized).build(InlineContext(), (6,)), offset)
        term, ranges = rows_and_ranges(rng, domain, 6, sparse=False)
        problem = CompositeProblem(
            domain,
            Linear(unit * cost.reshape(domain.shape), domain.shape),
            (Term("penalty", MatrixMap(rows, domain.shape), g), term),
        )
        found = solve_problem(problem, SOLVER, TIGHT)
        wanted = linprog(**with_penalty(cost, both(polytope_of(domain), ranges), rows, g.epigraph, unit))
        assert (found.status.value, found.bound_is) == ("converged", "certified")
        assert found.record.total == pytest.approx(unit * wanted.fun, rel=1e-7, abs=1e-7 * unit)
        assert found.record.bound <= unit * (wanted.fun + 1e-9)
        assert found.record.k < 30
