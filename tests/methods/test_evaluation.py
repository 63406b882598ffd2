"""The fused pass over a dense iterate against the generic one, and the dual point against both."""

import copy
import dataclasses
from functools import partial

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
from cgm_cli.methods.evaluation import Evaluator
from cgm_cli.methods.loop import Schedule
from cgm_cli.methods.state import State
from tests.blocks.support import random_direction, random_vertex
from tests.methods.problems import hcgm, solve


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


def generic(problem):
    """The same problem without anything that could be fused."""
    terms = [
        dataclasses.replace(t, map=Opaque(t.map.in_shape)) if isinstance(t.map, Identity) else t for t in problem.terms
    ]
    return dataclasses.replace(problem, terms=tuple(terms))


def at_some_point(problem, steps=4, seed=3):
    """A state some random steps from the start."""
    rng = np.random.default_rng(seed)
    state = State(problem, DenseIterate(problem.first), rng)
    for k in range(1, steps + 1):
        atom = problem.domain.lmo(random_direction(problem.domain, rng), OracleRequest(0.0)).atom
        state.advance(atom, 1.0 / (k + 1))
    return state


@pytest.mark.parametrize("name", PROBLEMS)
@pytest.mark.parametrize("beta", [10.0, 1.0, 1e-4])
def test_the_fused_pass_equals_the_generic_one(name, beta):
    problem = PROBLEMS[name]()
    state = at_some_point(problem)
    fused = Evaluator(problem, state.iterate)
    assert fused.folded is not None
    # Every dual written out: what the evaluator does when told to fold nothing.
    plain = Evaluator(problem, state.iterate)
    plain.folded = None
    first = fused.evaluate(state.loss_image, state.images, beta)
    second = plain.evaluate(state.loss_image, state.images, beta)
    scale = np.abs(second.direction.dense()).max()
    np.testing.assert_allclose(first.direction.dense(), second.direction.dense(), atol=1e-12 * scale)
    assert first.objective == second.objective
    assert first.penalty == second.penalty
    assert first.infeasibilities == pytest.approx(second.infeasibilities, rel=1e-12, abs=1e-15)
    assert list(first.infeasibilities) == list(second.infeasibilities)
    assert first.constant == pytest.approx(second.constant, rel=1e-10, abs=1e-12 * scale)
    assert first.direction.peak() >= np.abs(first.direction.dense()).max()
    assert first.margin > 0


def at_some_halved_point(problem):
    """Some steps from the start, of an iterate whose entries above the diagonal are out of date."""
    rng = np.random.default_rng(3)
    state = State(problem, DenseIterate(problem.first, halves=True), rng)
    for k in range(1, 5):
        atom = problem.domain.lmo(random_direction(problem.domain, rng), OracleRequest(1e-8)).atom
        state.advance(atom, 1.0 / (k + 1))
    return state


@pytest.mark.parametrize("extra", [False, True])
@pytest.mark.parametrize("rough", [False, True])
@pytest.mark.parametrize("beta", [1.0, 1e-3])
def test_one_half_of_a_large_iterate_is_enough(beta, rough, extra):
    problem = kmeans_like(190, PSDTrace(190, 3.0, False))
    problem = diagonal_too(problem) if extra else problem
    state = at_some_halved_point(problem)
    evaluator = Evaluator(problem, state.iterate)
    images = state.images_with_half(evaluator.folded)
    assert not np.array_equal(images[1], images[1].T)
    first = evaluator.evaluate(state.loss_image, images, beta, rough=rough)
    assert isinstance(first.direction, SingleDirection if rough and not extra else LowerDirection)
    vector = np.random.default_rng(0).standard_normal(190)
    peak = first.direction.peak()
    # Asked before anything completes the direction.
    product = first.direction.rough(peak, 1)(vector) if rough and not extra else first.direction.matmat(vector) / peak
    whole = DenseIterate(problem.first)
    whole.unpack(state.iterate.pack())
    plain = Evaluator(problem, whole)
    plain.folded = None
    second = plain.evaluate(state.loss_image, state.images, beta)
    array = second.direction.dense()
    scale = np.abs(array).max()
    tolerance = 1e-5 if rough and not extra else 1e-11
    assert np.abs(peak * product - array @ vector).max() <= tolerance * np.abs(array @ vector).max()
    assert peak >= scale
    np.testing.assert_allclose(first.direction.dense(), array, atol=1e-12 * scale)
    assert first.objective == pytest.approx(float(np.vdot(problem.loss.map.direction.array, whole.array)), rel=1e-12)
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


@pytest.mark.parametrize("more", [lambda problem: problem, diagonal_too])
@pytest.mark.parametrize("rough", [False, True])
def test_a_step_may_be_taken_in_the_pass_that_comes_after_it(more, rough):
    problem = more(kmeans_like(190, PSDTrace(190, 3.0, False)))
    found = []
    for taken in (False, True):
        state = at_some_halved_point(problem)
        evaluator = Evaluator(problem, state.iterate)
        atom = problem.domain.lmo(random_direction(problem.domain, np.random.default_rng(9)), OracleRequest(1e-8)).atom
        state.advance(atom, 0.2, partial(evaluator.take, beta=0.1, rough=rough) if taken else None)
        assert (evaluator._ahead is not None) == taken
        images = state.images_with_half(evaluator.folded)
        point = evaluator.evaluate(state.loss_image, images, 0.1, rough=rough)
        product = (point.direction.rough(1.0, 1) or point.direction.matmat)(np.ones(190))
        found.append((state, point, product))
        assert evaluator._ahead is None
    (one, plain, first), (other, ahead, second) = found
    np.testing.assert_allclose(other.iterate.array, one.iterate.array, rtol=1e-13, atol=1e-15)
    assert float(other.loss_image) == pytest.approx(float(one.loss_image), rel=1e-13)
    np.testing.assert_allclose(second, first, atol=(1e-4 if rough else 1e-11) * np.abs(first).max())
    for name in ("objective", "distance", "pairing", "smoothed", "constant", "margin"):
        assert getattr(ahead, name) == pytest.approx(getattr(plain, name), rel=1e-11), name
    assert ahead.infeasibilities == pytest.approx(plain.infeasibilities, rel=1e-11)


@pytest.mark.parametrize("change", ["beta", "images", "loss", "rough"])
def test_what_was_made_ahead_is_used_for_nothing_else(change):
    problem = kmeans_like(190, PSDTrace(190, 3.0, False))
    state = at_some_halved_point(problem)
    evaluator = Evaluator(problem, state.iterate)
    atom = problem.domain.lmo(random_direction(problem.domain, np.random.default_rng(9)), OracleRequest(1e-8)).atom
    state.advance(atom, 0.2, partial(evaluator.take, beta=0.1, rough=False))
    # As if it were of another point: whoever uses it is found out.
    evaluator._ahead = dataclasses.replace(evaluator._ahead, figures=[np.nan] * 4)
    images, loss_image = state.images_with_half(evaluator.folded), state.loss_image
    beta, rough = 0.2 if change == "beta" else 0.1, change == "rough"
    if change == "images":
        images = [np.array(images[0]), images[1]]
    if change == "loss":
        loss_image = np.array(loss_image)
    point = evaluator.evaluate(loss_image, images, beta, rough=rough)
    plain = Evaluator(problem, state.iterate).evaluate(state.loss_image, state.images, beta)
    assert point.constant == pytest.approx(plain.constant, rel=1e-11)
    np.testing.assert_array_equal(point.direction.dense(), plain.direction.dense())


def test_a_step_is_not_taken_ahead_of_a_pass_over_x_itself():
    problem = second_bound_too(kmeans_like(190, PSDTrace(190, 3.0, False)))
    state = at_some_halved_point(problem)
    evaluator = Evaluator(problem, state.iterate)
    atom = problem.domain.lmo(random_direction(problem.domain, np.random.default_rng(9)), OracleRequest(1e-8)).atom
    expected = 0.8 * state.iterate.array + 0.2 * atom.dense()
    state.advance(atom, 0.2, partial(evaluator.take, beta=0.1, rough=False))
    assert evaluator._ahead is None
    np.testing.assert_allclose(state.iterate.array, expected, rtol=1e-13, atol=1e-15)


@pytest.mark.parametrize("tolerance", [1e-7, 1e-2])
def test_a_halved_run_taken_up_again_ends_the_same_to_the_last_bit(tolerance):
    problem = kmeans_like(190, PSDTrace(190, 3.0, False))
    packs = {}

    def go(resume=None, keep=lambda state, ending: None):
        iterate = DenseIterate(problem.first, halves=True)
        options = {"method": hcgm(1.0, tolerance), "iterate": iterate, "schedule": Schedule(refresh=7)}
        return solve(problem, 20, resume=resume, keep=keep, **options)

    whole, records = go(keep=lambda state, ending: packs.update({state.k: copy.deepcopy(state.pack())}))
    for start in (1, 7, 12):  # 7: right after the images were computed anew
        again, later = go(resume=packs[start])
        assert again.state.iterate.array.tobytes() == whole.state.iterate.array.tobytes()
        assert again.record.objective == whole.record.objective
        np.testing.assert_array_equal(later.column("bound"), records.column("bound")[start:])
    plain, _ = go()
    assert plain.state.iterate.array.tobytes() == whole.state.iterate.array.tobytes()


@pytest.mark.parametrize("scale", [1e-25, 1e25])
def test_what_single_precision_cannot_hold_is_kept_in_double(scale):
    problem = kmeans_like(190, PSDTrace(190, 3.0, False))
    problem = dataclasses.replace(problem, loss=Linear(scale * problem.loss.map.direction.array, (190, 190)))
    state = at_some_halved_point(problem)
    evaluator = Evaluator(problem, state.iterate)
    found = evaluator.evaluate(state.loss_image, state.images, 1.0 / min(scale, 1.0), rough=True)
    exact = evaluator.evaluate(state.loss_image, state.images, 1.0 / min(scale, 1.0)).direction.dense()
    assert not isinstance(found.direction, SingleDirection)
    np.testing.assert_array_equal(found.direction.dense(), exact)


@pytest.mark.parametrize("name", PROBLEMS)
@pytest.mark.parametrize("beta", [1.0, 1e-3])
def test_against_the_formulas_written_out(name, beta):
    problem = PROBLEMS[name]()
    state = at_some_point(problem)
    found = Evaluator(problem, state.iterate).evaluate(state.loss_image, state.images, beta)
    x = state.iterate.array
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
    state = at_some_point(problem)
    evaluator = Evaluator(problem, state.iterate)
    found = evaluator.evaluate(state.loss_image, state.images, 0.3)
    assert found.beta == 0.3
    dual = evaluator.dual_point(found, state.loss_image, state.images)
    kept = found.direction.dense().copy()
    scale = np.abs(kept).max()
    np.testing.assert_allclose(dual.direction(problem).dense(), kept, atol=1e-12 * scale)
    assert (dual.constant, dual.margin) == (found.constant, found.margin)
    # The dual point owns its arrays: steps and evaluations that follow do not change it.
    state.advance(problem.domain.lmo(found.direction, OracleRequest(0.0)).atom, 0.5)
    evaluator.evaluate(state.loss_image, state.images, 0.1)
    np.testing.assert_allclose(dual.direction(problem).dense(), kept, atol=1e-12 * scale)


@pytest.mark.parametrize("name", PROBLEMS)
def test_estimate_and_certificate_of_one_dual_point_agree(name):
    problem = PROBLEMS[name]()
    state = at_some_point(problem)
    evaluator = Evaluator(problem, state.iterate)
    found = evaluator.evaluate(state.loss_image, state.images, 0.3)
    answer = problem.domain.lmo(found.direction, OracleRequest(0.0))
    value = estimate(problem.domain, found.direction, found.constant, found.margin, answer)
    certified = certify(problem, evaluator.dual_point(found, state.loss_image, state.images))
    assert certified == pytest.approx(value, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("name", ["kmeans", "diagonal", "boxed"])
def test_a_whole_run_is_the_same_without_the_fast_paths(name):
    problem = PROBLEMS[name]()
    _, first = solve(problem, 25, method=hcgm(0.5, 0.0))
    _, second = solve(generic(problem), 25, method=hcgm(0.5, 0.0))
    for column in ("total", "infeasibility", "bound"):
        np.testing.assert_allclose(second.column(column), first.column(column), rtol=1e-7, atol=1e-9, err_msg=column)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_a_bad_entry_never_hides_in_the_fused_pass(value):
    problem = kmeans_like(10)
    state = at_some_point(problem)
    state.iterate.array[3, 4] = value
    found = Evaluator(problem, state.iterate).evaluate(state.loss_image, state.images, 1.0)
    numbers = [found.constant, found.direction.peak(), found.infeasibilities["nonnegative"]]
    assert not any(np.isfinite(numbers))


@pytest.mark.parametrize("beta", [None, 0.3])
def test_a_direction_that_is_called_symmetric_is(beta):
    """x is symmetric but for rounding, by which the sign of an entry at zero, a subgradient of its size, may change."""
    shape = (5, 5)
    x = np.eye(5)
    x[1, 2], x[2, 1], x[3, 4] = 1e-18, -1e-18, 1e-18
    problem = CompositeProblem(PSDTrace(5, 5.0, True), None, (Term("l1", Identity(shape), L1Norm(shape, 0.7)),))
    found = Evaluator(problem, None).evaluate(None, [x], beta)
    array = found.direction.dense()
    assert np.abs(array - array.T).max() <= 1e-15
    point = random_vertex(problem.domain, np.random.default_rng(0))
    block = np.ones((5, 1))
    np.testing.assert_allclose(found.direction.matmat(block)[:, 0], found.direction.matmat(block[:, 0]), atol=1e-14)
    np.testing.assert_allclose(found.direction.matmat(block), array @ block, atol=1e-14)
    # And it is still a subgradient: 0.7 |p|_1 >= <y, p> for every p.
    assert np.vdot(array, point) <= 0.7 * np.abs(point).sum() + 1e-14
