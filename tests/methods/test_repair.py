"""What an objective owes to missed constraints: against pseudo-inverses, and against the optimum of linear programs."""

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import linprog

from cgm_cli.blocks.atoms import DenseAtom
from cgm_cli.blocks.domains.box import Box
from cgm_cli.blocks.domains.psd import PSDTrace
from cgm_cli.blocks.iterates import DenseIterate
from cgm_cli.blocks.losses.linear import Linear
from cgm_cli.blocks.losses.quadratic import Quadratic
from cgm_cli.blocks.maps.diagonal import Diagonal
from cgm_cli.blocks.maps.identity import Identity
from cgm_cli.blocks.maps.matrix import MatrixMap
from cgm_cli.blocks.maps.row_sums import RowSums
from cgm_cli.blocks.maps.stack import Stack
from cgm_cli.blocks.penalties.box import BoxSet, Nonnegative
from cgm_cli.blocks.penalties.equals import Equals
from cgm_cli.blocks.penalties.norms import L1Norm
from cgm_cli.blocks.penalties.shifted import Shifted
from cgm_cli.blocks.problem import CompositeProblem, Term
from cgm_cli.methods.repair import AMPLIFIED, ENTRIES, STEPS, WORK, Repair, _residual, repair
from cgm_cli.solving.direct import solve_problem
from cgm_cli.spec.load import dump, loads
from cgm_cli.templates.build import build

NEARLY = np.array([[1.0, 1.0], [1.0, 1.001]])


def box_problem(cost, terms, n=2, loss=None):
    return CompositeProblem(Box(np.zeros(n), np.full(n, 10.0)), loss or Linear(np.array(cost), (n,)), tuple(terms))


def mended(problem, x):
    images = [term.map.forward(x) for term in problem.terms]
    return repair(problem, DenseIterate(DenseAtom(x)), problem.loss.map.forward(x), images)


def test_nearly_dependent_rows():
    """x = (0, 0.9988) misses both rows by less than 1e-3; what meets them is (0.5, 0.5)."""
    problem = box_problem([1.0, 0.0], [Term("equals", MatrixMap(NEARLY, (2,)), Equals((2,), np.array([1.0, 1.0005])))])
    found = mended(problem, np.array([0.0, 0.9988]))
    assert found.length == found.cost == pytest.approx(np.hypot(0.5, 0.4988), rel=1e-6)  # f falls by 0.5 of that
    assert found.amplification > AMPLIFIED


@pytest.mark.parametrize("apart", [1e-3, 1e-5, 1e-6, 1e-7, 1e-8])
def test_rows_that_differ_by_less_and_less(apart):
    """x_1 + x_2 = 0.7 and x_1 + (1 + apart) x_2 = 0.7 + 0.4 apart: (0.3, 0.4) alone, however near the rows are."""
    rows, right = np.array([[1.0, 1.0], [1.0, 1.0 + apart]]), np.array([0.7, 0.7 + 0.4 * apart])
    problem = box_problem([1.0, -1.0], [Term("equals", MatrixMap(rows, (2,)), Equals((2,), right))])
    found = mended(problem, np.array([0.0, 0.7006]))
    assert found.length == pytest.approx(np.hypot(0.3, 0.3006), rel=1e-2)
    assert found.cost >= 0.6


@pytest.mark.parametrize("apart", [1e-5, 1e-7])
def test_what_no_point_of_the_domain_meets_costs_nothing(apart):
    """The same rows ask for x_2 = 12, in a box of 10: of (0, 10), which data in single precision may come to at 1e-7.
    As long as x misses them by more than that, it is to be mended.
    """
    rows, right = np.array([[1.0, 1.0], [1.0, 1.0 + apart]]), np.array([10.0, 10.0 + 12.0 * apart])
    problem = box_problem([1.0, -1.0], [Term("equals", MatrixMap(rows, (2,)), Equals((2,), right))])
    found = mended(problem, np.array([0.0, 10.0]))
    assert (found.unmet > 0.0, found.cost > 1.0) == ((True, False) if apart < 1e-6 else (False, True))


def test_rows_in_units_of_their_own_count_one_by_one():
    """A row of 1e-9, met but for rounding, has a multiplier of 1e9; and another one is missed by 1e-9."""
    rng = np.random.default_rng(0)
    rows = np.array([[1.0, 1.0, 1.0], [1e-9, 0.0, -1e-9]])
    term = Term("rows", MatrixMap(rows, (3,)), Equals((2,), np.array([1.0, 0.0])))
    problem = box_problem(rng.standard_normal(3), [term], n=3)
    found = solve_problem(problem, "auto", {"gap": 1e-6, "infeasibility": 1e-6})
    assert found.status.value == "converged"
    assert np.abs(found.duals["rows"][1]) > 1e7


def test_of_what_was_mended_the_rest_alone_is_priced():
    assert Repair(1.0, 0.5, 2.0, left=1e-4).owed(100.0) == pytest.approx(0.51)
    assert Repair(1.0, 0.5, 2.0, left=0.1).owed(100.0) == 100.0
    assert Repair(1.0, 0.5, 50.0).owed(0.1) == 0.5


def test_rows_that_are_there_twice_amplify_nothing():
    """Exactly dependent, and one of them off by the rounding of single precision: that is for no step to mend."""
    rows = np.array([[1.0, 2.0], [1.0, 2.0], [3.0, 6.0]])
    for noise in (0.0, 1e-16, 3e-8):
        right = np.array([1.0, 1.0, 3.0 + noise])
        problem = box_problem([1.0, 1.0], [Term("equals", MatrixMap(rows, (2,)), Equals((3,), right))])
        found = mended(problem, np.array([0.1, 0.4495]))
        assert found.amplification < 2.0 and found.cost < 2e-3


@pytest.mark.parametrize("missed", [1e-7, 1e-3])
def test_what_no_x_could_meet_is_not_counted(missed):
    """The mean of two contradictory equations is met, at the edge of the box: there is nothing left to mend."""
    rows, right = np.array([[1.0, 1.0], [1.0, 1.0]]), np.array([1.0, 1.0 + missed])
    problem = box_problem([5.0, 1.0], [Term("equals", MatrixMap(rows, (2,)), Equals((2,), right))])
    found = mended(problem, np.array([0.0, 1.0 + 0.5 * missed]))
    assert found.cost == found.length == 0.0
    # Beside it, what can be met is mended as ever, and costs what it costs.
    found = mended(problem, np.array([0.0, 1.0 + 0.5 * missed - 0.01]))
    assert found.length == pytest.approx(0.01 / np.sqrt(2.0), rel=1e-6) and found.cost == pytest.approx(0.03, rel=1e-6)


@pytest.mark.parametrize("seed", range(5))
def test_an_equation_is_met_by_the_pseudo_inverse(seed):
    rng = np.random.default_rng(seed)
    a, c, x = rng.standard_normal((4, 7)), rng.standard_normal(7), rng.random(7)
    b = a @ rng.random(7)
    problem = box_problem(c, [Term("equals", MatrixMap(a, (7,)), Equals((4,), b))], 7)
    step = np.linalg.pinv(a) @ (b - a @ x)
    found = mended(problem, x)
    assert found.length == pytest.approx(np.linalg.norm(step), rel=1e-4)
    assert found.amplification < AMPLIFIED and found.cost == pytest.approx(max(0.0, c @ step), rel=1e-4, abs=1e-6)
    assert found.amplification == pytest.approx(
        np.linalg.norm(step) * np.linalg.norm(a, 2) / np.linalg.norm(b - a @ x), rel=1e-4
    )


def test_of_inequalities_only_what_is_missed_is_mended():
    x = np.array([3.0, 0.0, 5.0])
    problem = box_problem(
        [1.0, 1.0, 1.0], [Term("cap", Identity((3,)), BoxSet((3,), np.array(-np.inf), np.array(4.0)))], 3
    )
    found = mended(problem, x)
    assert (found.length, found.cost) == (pytest.approx(1.0), 0.0)  # it lowers the objective
    problem = box_problem(
        [-1.0, -1.0, -1.0], [Term("cap", Identity((3,)), BoxSet((3,), np.array(-np.inf), np.array(4.0)))], 3
    )
    assert mended(problem, x).cost == pytest.approx(1.0)


def test_the_whole_objective_counts():
    """A quadratic f, and a penalty beside the constraint, which has an offset."""
    x = np.array([1.0, 2.0])
    terms = [
        Term(
            "equals", MatrixMap(np.array([[1.0, 0.0]]), (2,)), Shifted(Equals((1,), np.array([1.0])), np.array([0.5]))
        ),
        Term("l1", Identity((2,)), L1Norm((2,), 3.0)),
    ]
    problem = box_problem(None, terms, loss=Quadratic(np.eye(2), np.zeros(2), (2,)))
    assert mended(problem, x).cost == pytest.approx(0.5 * (1.5**2 - 1.0) + 3.0 * 0.5)


def test_symmetric_matrices_stay_symmetric():
    """Rows of a symmetric X sum to one: the shortest step is (e r^T + r e^T) / n - (e^T r) e e^T / n^2."""
    n, rng = 5, np.random.default_rng(0)
    x = rng.standard_normal((n, n))
    x = x @ x.T / np.trace(x @ x.T)
    terms = (Term("rows", RowSums((n, n)), Equals((n,), np.array(1.0))),)
    problem = CompositeProblem(PSDTrace(n, 3.0, True), Linear(x, (n, n)), terms)
    r, e = 1.0 - x.sum(axis=1), np.ones(n)
    step = (np.outer(e, r) + np.outer(r, e)) / n - r.sum() * np.outer(e, e) / n**2
    np.testing.assert_allclose(_residual(problem, [x.sum(axis=1)]).shortest_step(STEPS), step, atol=1e-6)


def test_what_the_domain_stands_in_the_way_of_is_followed_to_its_end():
    """x_1 + x_2 / 100 = 1.005 over 0 <= x <= 1: at x_1 = 1 only x_2 can make up for what is missed, a hundred times."""
    terms = (
        Term("equals", MatrixMap(np.array([[1.0, 0.01]]), (2,)), Equals((1,), np.array([1.005]))),
        Term("cost", MatrixMap(np.array([[0.0, 3.0]]), (2,)), L1Norm((1,), 1.0)),
    )
    problem = CompositeProblem(Box(np.zeros(2), np.ones(2)), Linear(np.zeros(2), (2,)), terms)
    found = mended(problem, np.array([1.0, 0.4]))
    assert found.amplification == pytest.approx(1.0)
    assert found.cost == pytest.approx(3.0 * 0.1, rel=1e-3)
    assert found.length == pytest.approx(0.1, rel=1e-3)


def test_nothing_is_owed_by_a_point_that_misses_nothing():
    problem = box_problem([1.0, 1.0], [Term("positive", Identity((2,)), Nonnegative((2,)))])
    assert mended(problem, np.ones(2)).cost == mended(problem, np.ones(2)).length == 0.0


def test_large_matrices_are_left_alone():
    n = int(np.sqrt(ENTRIES)) + 1
    terms = (Term("diagonal", Diagonal((n, n)), Equals((n,), np.array(1.0))),)
    problem = CompositeProblem(PSDTrace(n, n, True), Linear(np.eye(n), (n, n)), terms)
    assert repair(problem, DenseIterate(problem.first), np.zeros(()), [np.zeros(n)]) is None


def test_maps_of_many_entries_are_left_alone():
    """A product with them is counted by what is stored, whatever they are wrapped in."""
    n = 2000
    rows = np.ones((WORK // n + 1, n))
    terms = (Term("rows", MatrixMap(rows, (n,)), Equals((len(rows),), np.array(0.0))),)
    problem = CompositeProblem(Box(np.zeros(n), np.ones(n)), Linear(np.ones(n), (n,)), terms)
    assert repair(problem, DenseIterate(problem.first), np.zeros(()), [np.zeros(len(rows))]) is None
    assert Stack((terms[0].map, Identity((n,)))).work > terms[0].map.work > WORK
    assert MatrixMap(sp.eye_array(n, format="csr"), (n,)).work == n


def program(rows, apart, seed):
    """A linear program whose last row is the sum of two others but for `apart`, solved by HiGHS."""
    rng = np.random.default_rng(seed)
    n = 2 * rows
    a = rng.uniform(0.0, 1.0, (rows, n))
    a[-1] = a[:-1][: min(2, rows - 1)].sum(axis=0) + apart * rng.standard_normal(n)
    b, c = a @ rng.uniform(0.2, 0.8, n), rng.standard_normal(n)
    true = linprog(c, A_eq=a, b_eq=b, bounds=[(0.0, 1.0)] * n)
    assert true.status == 0
    return a, b, c, true.fun


@pytest.mark.parametrize("apart", [1e-3, 1e-2, 1.0])
@pytest.mark.parametrize("seed", range(3))
def test_converged_means_near_the_optimum(apart, seed):
    """Whatever is called converged is no further from the optimum than gap and debt allow; the rest says why it is
    not, where rows are nearly dependent.
    """
    a, b, c, optimum = program(3, apart, seed)
    spec = {
        "problem": {
            "domain": {"kind": "box", "lower": 0, "upper": 1, "size": a.shape[1]},
            "objective": {"kind": "linear", "cost": c.tolist()},
            "constraints": [{"kind": "equals", "map": {"kind": "matrix", "matrix": a.tolist()}, "value": b.tolist()}],
        },
        "solver": {"method": "cgal", "iterations": 3000},
        "stop": {"gap": 1e-2},
    }
    result = build(loads(dump(spec))).solve()
    record, scale = result.record, max(1.0, abs(optimum))
    if result.status.value == "converged":
        assert record.owed <= 1e-2
        assert abs(record.total - optimum) <= 2.5e-2 * scale
    elif apart < 1e-2:
        assert record.owed > 1e-2 or record.infeasibility > 1e-2 or record.gap > 1e-2
