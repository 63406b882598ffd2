"""The fused pass over a dense iterate against the generic one, and the dual point against both."""

import copy
import dataclasses

import numpy as np
import pytest

from cgm_cli.blocks.directions import DenseDirection, LowerDirection, SingleDirection
from cgm_cli.blocks.domains.base import OracleRequest
from cgm_cli.blocks.domains.fantope import Fantope
from cgm_cli.blocks.domains.nuclear import NuclearBall
from cgm_cli.blocks.domains.psd import PSDTrace
from cgm_cli.blocks.iterates import DenseIterate
from cgm_cli.blocks.losses.linear import Linear
from cgm_cli.blocks.maps.base import LinearMap
from cgm_cli.blocks.maps.diagonal import Diagonal
from cgm_cli.blocks.maps.identity import Identity
from cgm_cli.blocks.maps.matrix import MatrixMap
from cgm_cli.blocks.maps.row_sums import RowSums
from cgm_cli.blocks.penalties.box import BoxSet, Nonnegative
from cgm_cli.blocks.penalties.equals import Equals
from cgm_cli.blocks.penalties.norms import L1Norm
from cgm_cli.blocks.problem import CompositeProblem, Term
from cgm_cli.methods.best_bound import certify, estimate
from cgm_cli.methods.evaluation import Images, evaluate
from cgm_cli.methods.fused_box import FusedBoxPoint, point_at
from cgm_cli.methods.schedule import Schedule
from tests.blocks.support import random_direction, random_vertex
from tests.methods.problems import generic, hcgm, solve


class Opaque(LinearMap):
    """An identity that no fast path knows."""

    norm = 1.0

    def __init__(self, shape):
        self.in_shape = self.out_shape = shape

    def forward(self, x):
        return np.array(x)

    def adjoint(self, y):
        return DenseDirection(np.array(y))


def kmeans_like(n, domain=None, seed=0):
    rng = np.random.default_rng(seed)
    points = rng.standard_normal((n, 3))
    distances = ((points[:, None] - points[None]) ** 2).sum(axis=2)
    shape = (n, n)
    terms = (
        Term("rows", RowSums(shape), Equals((n,), np.ones(n)), 2.5),
        Term("nonnegative", Identity(shape), Nonnegative(shape), 7.0),
    )
    return CompositeProblem(domain or Fantope(n, 3), Linear(distances, shape), terms)


def boxed(m, n, seed=1):
    rng = np.random.default_rng(seed)
    shape = (m, n)
    terms = (
        Term("nonnegative", Identity(shape), Nonnegative(shape), 3.0),
        Term("box", Identity(shape), BoxSet(shape, np.array(-0.1), np.array(0.2)), 0.5),
        Term("rows", RowSums(shape), Equals((m,), rng.standard_normal(m))),
        Term("size", Identity(shape), L1Norm(shape, 0.3)),
        Term("inner", MatrixMap(rng.standard_normal((4, m * n)), shape), Equals((4,), rng.standard_normal(4))),
    )
    return CompositeProblem(NuclearBall(shape, 2.0), Linear(rng.standard_normal(shape), shape), terms)


def with_diagonal(n):
    problem = kmeans_like(n, PSDTrace(n, 3.0, False))
    extra = Term("diagonal", Diagonal((n, n)), Equals((n,), np.full(n, 0.5)), 0.25)
    return dataclasses.replace(problem, terms=(problem.terms[1], extra, problem.terms[0]))


PROBLEMS = {
    "kmeans": lambda: kmeans_like(20),
    "kmeans-1": lambda: kmeans_like(1, PSDTrace(1, 1.0, True)),
    "kmeans-trace": lambda: kmeans_like(70, PSDTrace(70, 3.0, False)),
    "diagonal": lambda: with_diagonal(15),
    "boxed": lambda: boxed(6, 9),
}


def unfused(problem):
    """The same problem without anything that could be fused."""
    terms = [
        dataclasses.replace(t, map=Opaque(t.map.in_shape)) if isinstance(t.map, Identity) else t for t in problem.terms
    ]
    return dataclasses.replace(problem, terms=tuple(terms))


def at_some_point(problem, steps=4, seed=3):
    """A point some random steps from the start."""
    rng = np.random.default_rng(seed)
    point = point_at(problem, DenseIterate(problem.first))
    for k in range(1, steps + 1):
        atom = problem.domain.lmo(random_direction(problem.domain, rng), OracleRequest(0.0)).atom
        point.step(atom, 1.0 / (k + 1))
    return point


@pytest.mark.parametrize("name", PROBLEMS)
@pytest.mark.parametrize("beta", [10.0, 1.0, 1e-4])
def test_the_fused_pass_equals_the_generic_one(name, beta):
    problem = PROBLEMS[name]()
    point = at_some_point(problem)
    assert isinstance(point, FusedBoxPoint)
    first, second = point.evaluate(beta), generic(point, beta)
    scale = np.abs(second.direction.dense()).max()
    np.testing.assert_allclose(first.direction.dense(), second.direction.dense(), atol=1e-12 * scale)
    assert first.objective == second.objective
    assert first.penalty == second.penalty
    assert first.infeasibilities == pytest.approx(second.infeasibilities, rel=1e-12, abs=1e-15)
    assert list(first.infeasibilities) == list(second.infeasibilities)
    assert first.constant == pytest.approx(second.constant, rel=1e-10, abs=1e-12 * scale)
    assert first.direction.peak() >= np.abs(first.direction.dense()).max()
    assert first.margin > 0


def at_some_halved_point(problem, single=False):
    """Some steps from the start, of an iterate whose entries above the diagonal are out of date."""
    rng = np.random.default_rng(3)
    point = point_at(problem, DenseIterate(problem.first, halves=True), single=single)
    for k in range(1, 5):
        atom = problem.domain.lmo(random_direction(problem.domain, rng), OracleRequest(1e-8)).atom
        point.step(atom, 1.0 / (k + 1))
    return point


@pytest.mark.parametrize("extra", [False, True])
@pytest.mark.parametrize("rough", [False, True])
@pytest.mark.parametrize("beta", [1.0, 1e-3])
def test_one_half_of_a_large_iterate_is_enough(beta, rough, extra):
    problem = kmeans_like(190, PSDTrace(190, 3.0, False))
    problem = diagonal_too(problem) if extra else problem
    point = at_some_halved_point(problem, single=rough)
    lower = point.iterate.lower
    assert not np.array_equal(lower, lower.T)
    first = point.evaluate(beta)
    assert isinstance(first.direction, SingleDirection if rough and not extra else LowerDirection)
    vector = np.random.default_rng(0).standard_normal(190)
    peak = first.direction.peak()
    # Asked before anything completes the direction.
    product = (
        first.direction.single_precision(peak, 1)(vector)
        if rough and not extra
        else first.direction.matmat(vector) / peak
    )
    second = generic(point, beta)
    array = second.direction.dense()
    scale = np.abs(array).max()
    tolerance = 1e-5 if rough and not extra else 1e-11
    assert np.abs(peak * product - array @ vector).max() <= tolerance * np.abs(array @ vector).max()
    assert peak >= scale
    np.testing.assert_allclose(first.direction.dense(), array, atol=1e-12 * scale)
    assert first.objective == pytest.approx(
        float(np.vdot(problem.loss.map.direction.array, point.iterate.array)), rel=1e-12
    )
    assert first.infeasibilities == pytest.approx(second.infeasibilities, rel=1e-11, abs=1e-15)
    assert first.pairing == pytest.approx(second.pairing, rel=1e-11)
    assert first.constant == pytest.approx(second.constant, rel=1e-10)


def diagonal_too(problem):
    """The problem with a term whose piece of the direction is neither folded nor a sum of rows and columns."""
    n = problem.domain.shape[0]
    term = Term("diagonal", Diagonal((n, n)), Equals((n,), np.full(n, 0.5)), 0.25)
    return dataclasses.replace(problem, terms=(*problem.terms, term))


def second_bound_too(problem):
    """The problem with a second constraint on the entries themselves."""
    shape = problem.domain.shape
    return dataclasses.replace(
        problem, terms=(*problem.terms, Term("below", Identity(shape), BoxSet(shape, np.array(-1.0), np.array(2.0))))
    )


def some_atom(problem):
    return problem.domain.lmo(random_direction(problem.domain, np.random.default_rng(9)), OracleRequest(1e-8)).atom


@pytest.mark.parametrize("more", [lambda problem: problem, diagonal_too])
@pytest.mark.parametrize("rough", [False, True])
def test_a_step_may_be_taken_in_the_pass_that_comes_after_it(more, rough):
    problem = more(kmeans_like(190, PSDTrace(190, 3.0, False)))
    found = []
    for upcoming in (None, 0.1):
        point = at_some_halved_point(problem, single=rough)
        point.step(some_atom(problem), 0.2, upcoming)
        evaluation = point.evaluate(0.1)
        direction = evaluation.direction
        product = (direction.single_precision(1.0, 1) or direction.matmat)(np.ones(190))
        found.append((point, evaluation, product))
    (one, plain, first), (other, ahead, second) = found
    np.testing.assert_allclose(other.iterate.array, one.iterate.array, rtol=1e-13, atol=1e-15)
    assert float(other.loss_image) == pytest.approx(float(one.loss_image), rel=1e-13)
    np.testing.assert_allclose(second, first, atol=(1e-4 if rough else 1e-11) * np.abs(first).max())
    for name in ("objective", "distance", "pairing", "smoothed", "constant", "margin"):
        assert getattr(ahead, name) == pytest.approx(getattr(plain, name), rel=1e-11), name
    assert ahead.infeasibilities == pytest.approx(plain.infeasibilities, rel=1e-11)


def elsewhere(point, change):
    """Something that makes a pass that was made ahead that of another point, or of another smoothing."""
    if change == "step":
        point.step(some_atom(point.problem), 0.3)
    elif change == "refresh":
        point.refresh()
    elif change == "another point":
        point.evaluate_at(point.images_of(point.problem.first), 0.1)
    elif change == "unpacked":
        tree = point_at(point.problem, DenseIterate(point.problem.first, halves=True)).pack()
        point.unpack(copy.deepcopy(tree))
    return 0.2 if change == "beta" else 0.1


@pytest.mark.parametrize("change", ["beta", "step", "refresh", "another point", "unpacked"])
def test_what_was_made_ahead_is_used_for_nothing_else(change):
    problem = kmeans_like(190, PSDTrace(190, 3.0, False))
    point = at_some_halved_point(problem)
    point.step(some_atom(problem), 0.2, 0.1)
    beta = elsewhere(point, change)
    found = point.evaluate(beta)
    expected = generic(point, beta)
    assert found.constant == pytest.approx(expected.constant, rel=1e-11)
    array = expected.direction.dense()
    np.testing.assert_allclose(found.direction.dense(), array, atol=1e-12 * np.abs(array).max())


def test_a_step_is_not_taken_ahead_of_a_pass_over_x_itself():
    problem = second_bound_too(kmeans_like(190, PSDTrace(190, 3.0, False)))
    point = at_some_halved_point(problem)
    expected = 0.8 * point.iterate.array + 0.2 * some_atom(problem).dense()
    point.step(some_atom(problem), 0.2, 0.1)
    np.testing.assert_allclose(point.iterate.array, expected, rtol=1e-13, atol=1e-15)
    assert point.evaluate(0.1).constant == pytest.approx(generic(point, 0.1).constant, rel=1e-11)


@pytest.mark.parametrize("tolerance", [1e-7, 1e-2])
def test_a_halved_run_taken_up_again_ends_the_same_to_the_last_bit(tolerance):
    problem = kmeans_like(190, PSDTrace(190, 3.0, False))
    packs = {}

    def go(resume=None, on_checkpoint=lambda state, ending: None):
        iterate = DenseIterate(problem.first, halves=True)
        options = {"method": hcgm(1.0, tolerance), "iterate": iterate, "schedule": Schedule(refresh=7)}
        return solve(problem, 20, resume=resume, on_checkpoint=on_checkpoint, **options)

    whole, records = go(on_checkpoint=lambda state, ending: packs.update({state.k: copy.deepcopy(state.pack())}))
    for start in (1, 7):  # 7: right after the images were computed anew
        again, later = go(resume=packs[start])
        assert again.state.point.iterate.array.tobytes() == whole.state.point.iterate.array.tobytes()
        assert again.record.objective == whole.record.objective
        np.testing.assert_array_equal(later.column("bound"), records.column("bound")[start:])
    plain, _ = go()
    assert plain.state.point.iterate.array.tobytes() == whole.state.point.iterate.array.tobytes()


@pytest.mark.parametrize("scale", [1e-25, 1e25])
def test_what_single_precision_cannot_hold_is_kept_in_double(scale):
    problem = kmeans_like(190, PSDTrace(190, 3.0, False))
    problem = dataclasses.replace(problem, loss=Linear(scale * problem.loss.map.direction.array, (190, 190)))
    found, exact = (
        at_some_halved_point(problem, single=single).evaluate(1.0 / min(scale, 1.0)) for single in (True, False)
    )
    assert not isinstance(found.direction, SingleDirection)
    np.testing.assert_array_equal(found.direction.dense(), exact.direction.dense())


@pytest.mark.parametrize("name", PROBLEMS)
@pytest.mark.parametrize("beta", [1.0, 1e-3])
def test_against_the_formulas_written_out(name, beta):
    problem = PROBLEMS[name]()
    point = at_some_point(problem)
    found = point.evaluate(beta)
    x = point.iterate.array
    cost = problem.loss.map.direction.array
    direction, constant, penalty = cost.copy(), 0.0, 0.0
    for term in problem.terms:
        step = beta / term.weight
        image = term.map.forward(x)
        p = term.penalty.prox(image, step)
        y = (image - p) / step
        direction += term.map.adjoint(y).dense()
        constant -= float(np.vdot(y, p)) - (0.0 if term.penalty.is_set else term.penalty.value(p))
        penalty += 0.0 if term.penalty.is_set else term.penalty.value(image)
    if problem.domain.symmetric:
        direction = 0.5 * (direction + direction.T)
    scale = np.abs(direction).max()
    np.testing.assert_allclose(found.direction.dense(), direction, atol=1e-11 * scale)
    assert found.objective == pytest.approx(float(np.vdot(cost, x)), rel=1e-12, abs=1e-13)
    assert found.constant == pytest.approx(constant, rel=1e-10, abs=1e-12 * scale)
    assert found.penalty == pytest.approx(penalty, rel=1e-12)
    # Products with the direction do not depend on the form it is kept in.
    block = np.random.default_rng(0).standard_normal((x.shape[1], 3))
    np.testing.assert_allclose(found.direction.matmat(block), direction @ block, atol=1e-10 * scale)


@pytest.mark.parametrize("name", PROBLEMS)
def test_the_dual_point_has_the_direction_of_the_evaluation(name):
    problem = PROBLEMS[name]()
    point = at_some_point(problem)
    found = point.evaluate(0.3)
    assert found.beta == 0.3
    dual = point.dual_point(found)
    kept = found.direction.dense().copy()
    scale = np.abs(kept).max()
    np.testing.assert_allclose(dual.direction(problem).dense(), kept, atol=1e-12 * scale)
    assert (dual.constant, dual.margin) == (found.constant, found.margin)
    # The dual point owns its arrays: steps and evaluations that follow do not change it.
    point.step(problem.domain.lmo(found.direction, OracleRequest(0.0)).atom, 0.5)
    point.evaluate(0.1)
    np.testing.assert_allclose(dual.direction(problem).dense(), kept, atol=1e-12 * scale)


@pytest.mark.parametrize("name", PROBLEMS)
def test_estimate_and_certificate_of_one_dual_point_agree(name):
    problem = PROBLEMS[name]()
    point = at_some_point(problem)
    found = point.evaluate(0.3)
    answer = problem.domain.lmo(found.direction, OracleRequest(0.0))
    value = estimate(problem.domain, found, answer)
    certified = certify(problem, point.dual_point(found))
    assert certified == pytest.approx(value, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("name", ["kmeans", "diagonal", "boxed"])
def test_a_whole_run_is_the_same_without_the_fast_paths(name):
    problem = PROBLEMS[name]()
    _, first = solve(problem, 25, method=hcgm(0.5, 0.0))
    _, second = solve(unfused(problem), 25, method=hcgm(0.5, 0.0))
    for column in ("total", "infeasibility", "bound"):
        np.testing.assert_allclose(second.column(column), first.column(column), rtol=1e-7, atol=1e-9, err_msg=column)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_a_bad_entry_never_hides_in_the_fused_pass(value):
    problem = kmeans_like(10)
    point = at_some_point(problem)
    point.iterate.array[3, 4] = value
    found = point.evaluate(1.0)
    numbers = [found.constant, found.direction.peak(), found.infeasibilities["nonnegative"]]
    assert not any(np.isfinite(numbers))


@pytest.mark.parametrize("beta", [None, 0.3])
def test_a_direction_that_is_called_symmetric_is(beta):
    """x is symmetric but for rounding, by which the sign of an entry at zero, a subgradient of its size, may change."""
    shape = (5, 5)
    x = np.eye(5)
    x[1, 2], x[2, 1], x[3, 4] = 1e-18, -1e-18, 1e-18
    problem = CompositeProblem(PSDTrace(5, 5.0, True), None, (Term("l1", Identity(shape), L1Norm(shape, 0.7)),))
    found = evaluate(problem, Images(None, [x]), beta, None, lambda: np.empty(shape), 1.0)
    array = found.direction.dense()
    assert np.abs(array - array.T).max() <= 1e-15
    point = random_vertex(problem.domain, np.random.default_rng(0))
    block = np.ones((5, 1))
    np.testing.assert_allclose(found.direction.matmat(block)[:, 0], found.direction.matmat(block[:, 0]), atol=1e-14)
    np.testing.assert_allclose(found.direction.matmat(block), array @ block, atol=1e-14)
    # And it is still a subgradient: 0.7 |p|_1 >= <y, p> for every p.
    assert np.vdot(array, point) <= 0.7 * np.abs(point).sum() + 1e-14
