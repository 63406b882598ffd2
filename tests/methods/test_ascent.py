"""Dual ascent: smoothing centred at multipliers is the augmented Lagrangian, and its runs are tighter and as true."""

from __future__ import annotations

import copy

import numpy as np
import pytest

from cgm_cli.blocks.atoms import DenseAtom
from cgm_cli.blocks.directions import DenseDirection
from cgm_cli.blocks.domains.base import OracleRequest
from cgm_cli.blocks.iterates import DenseIterate, FactoredIterate
from cgm_cli.methods.ascent import DualAscent
from cgm_cli.methods.evaluation import Evaluator
from cgm_cli.methods.loop import run
from cgm_cli.methods.policies import ClassicStep, FixedAccuracy, Homotopy, Method
from cgm_cli.methods.scaling import objective_size
from cgm_cli.methods.state import State
from cgm_cli.methods.status import Status
from cgm_cli.methods.stopping import StopRules
from tests.methods.problems import KNOWN, solve_scaled
from tests.methods.test_variants import PROBLEMS, instance

BETA = 0.3


def state_and_centres(name, seed):
    """A state some steps into a run, and random centres for its terms."""
    problem = instance(PROBLEMS[name]).problem
    rng = np.random.default_rng(seed)
    state = State(problem, DenseIterate(problem.first), rng)
    for _ in range(3):
        direction = rng.standard_normal(problem.domain.shape)
        direction = direction + direction.T if problem.domain.symmetric else direction
        request = OracleRequest(rng=rng)
        state.advance(problem.domain.lmo(DenseDirection(direction), request).atom, 0.4)
    centres = []
    for term in problem.terms:
        centre = 0.5 * rng.standard_normal(term.map.out_shape)
        square = centre.ndim == 2 and centre.shape[0] == centre.shape[1] and problem.domain.symmetric
        centres.append(0.5 * (centre + centre.T) if square else centre)
    return state, centres


def augmented_lagrangian(problem, loss_image, images, centres):
    """f + sum_i min_p g_i(p) + <c_i, z_i - p> + w_i |z_i - p|^2 / (2 beta), by its definition."""
    value = 0.0 if problem.loss is None else problem.loss.value(loss_image)
    for term, z, c in zip(problem.terms, images, centres, strict=True):
        step = BETA / term.weight
        p = term.penalty.prox(z + step * c, step)
        cost = 0.0 if term.penalty.is_set else term.penalty.value(p)
        value += cost + float(np.vdot(c, z - p)) + float(np.vdot(z - p, z - p)) / (2 * step)
    return value


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("name", PROBLEMS)
def test_the_evaluation_is_that_of_the_augmented_lagrangian(name, seed):
    state, centres = state_and_centres(name, seed)
    problem, evaluator = state.problem, Evaluator(state.problem, state.iterate)
    found = evaluator.evaluate(state.loss_image, state.images, BETA, centres)
    expected = augmented_lagrangian(problem, state.loss_image, state.images, centres)
    assert found.smoothed == pytest.approx(expected, rel=1e-10, abs=1e-10)
    # The direction is its gradient: central differences along random atoms.
    rng = np.random.default_rng(seed)
    x = state.iterate.array.copy()
    pairing = float(np.vdot(found.direction.dense(), x))
    assert found.pairing == pytest.approx(pairing, rel=1e-9, abs=1e-9)
    move = rng.standard_normal(x.shape)
    move = 0.5 * (move + move.T) if problem.domain.symmetric else move
    h = 1e-6
    ends = [
        augmented_lagrangian(problem, *state.images_of(DenseAtom(x + sign * h * move)), centres) for sign in (1.0, -1.0)
    ]
    slope = float(np.vdot(found.direction.dense(), move))
    assert (ends[0] - ends[1]) / (2 * h) == pytest.approx(slope, rel=1e-5, abs=1e-5)
    # How infeasible x is does not depend on the centres.
    plain = evaluator.evaluate(state.loss_image, state.images, BETA)
    assert found.infeasibilities == pytest.approx(plain.infeasibilities)
    assert found.distance == pytest.approx(plain.distance)
    assert found.penalty == pytest.approx(plain.penalty)


@pytest.mark.parametrize("name", PROBLEMS)
def test_centres_at_zero_change_nothing(name):
    state, centres = state_and_centres(name, 0)
    evaluator = Evaluator(state.problem, state.iterate)
    zero = evaluator.evaluate(state.loss_image, state.images, BETA, [0.0 * c for c in centres])
    direction = zero.direction.dense().copy()
    plain = evaluator.evaluate(state.loss_image, state.images, BETA)
    np.testing.assert_allclose(direction, plain.direction.dense(), rtol=1e-12, atol=1e-14)
    for field in ("objective", "penalty", "pairing", "smoothed", "constant"):
        assert getattr(zero, field) == pytest.approx(getattr(plain, field), rel=1e-12, abs=1e-12)


@pytest.mark.parametrize("name", PROBLEMS)
def test_the_constraint_that_is_folded_into_the_pass_is_evaluated_like_the_others(name):
    state, centres = state_and_centres(name, 1)
    problem = state.problem
    folded = Evaluator(problem, state.iterate).evaluate(state.loss_image, state.images, BETA, centres)
    unfolded = Evaluator(problem, None).evaluate(state.loss_image, state.images, BETA, centres)
    np.testing.assert_allclose(folded.direction.dense(), unfolded.direction.dense(), rtol=1e-12, atol=1e-13)
    for field in ("objective", "pairing", "smoothed", "constant", "distance"):
        assert getattr(folded, field) == pytest.approx(getattr(unfolded, field), rel=1e-11, abs=1e-12)


@pytest.mark.parametrize("name", PROBLEMS)
def test_the_segment_is_that_of_the_evaluation(name):
    state, centres = state_and_centres(name, 2)
    state.centres = centres
    evaluator = Evaluator(state.problem, state.iterate)
    atom = state.problem.first
    segment = state.segment(atom, BETA)
    for point, t in ((state.images, 0.0), (None, 1.0)):
        images = (state.loss_image, point) if point is not None else state.images_of(atom)
        value = evaluator.evaluate(*images, BETA, centres).smoothed
        assert segment.value(t) == pytest.approx(value, rel=1e-10, abs=1e-10)
    h = 1e-6
    assert segment.slope(0.5) == pytest.approx((segment.value(0.5 + h) - segment.value(0.5 - h)) / (2 * h), abs=1e-4)


@pytest.mark.parametrize("name", PROBLEMS)
def test_a_step_of_the_ascent_is_one_along_the_residual(name):
    state, centres = state_and_centres(name, 3)
    state.centres = [c.copy() for c in centres]
    evaluator = Evaluator(state.problem, state.iterate)
    gamma = 0.7
    # A gain that never binds leaves gamma = 1 / beta0.
    DualAscent(1 / gamma, norm=1e9, diameter=1.0).climb(state, evaluator, 0.5, BETA)
    evaluator.evaluate(state.loss_image, state.images, BETA, state.centres, state.ascent)
    for term, z, before, after in zip(state.problem.terms, state.images, centres, state.centres, strict=True):
        step = BETA / term.weight
        residual = z - term.penalty.prox(z + step * before, step)
        np.testing.assert_allclose(after, before + gamma * term.weight * residual, rtol=1e-9, atol=1e-12)
    # A bound on the centres is held.
    held = [c.copy() for c in state.centres]
    DualAscent(1.0, norm=1e9, diameter=1.0, bound=1e-9).climb(state, evaluator, 0.5, BETA)
    for before, after in zip(held, state.centres, strict=True):
        np.testing.assert_array_equal(before, after)


@pytest.mark.parametrize("name", KNOWN)
def test_converges_to_the_known_optimum_and_meets_the_constraints_better(name):
    problem, optimum = KNOWN[name]()
    iterations = 400 if max(problem.domain.shape) > 64 else 2000
    plain, _ = solve_scaled(problem, iterations)
    outcome, keep = solve_scaled(problem, iterations, ascent=True)
    assert outcome.status is Status.ITERATION_LIMIT
    # A single step moves x by 2 / k of the way to a vertex, which no multiplier can undo.
    assert outcome.record.infeasibility <= max(0.5 * plain.record.infeasibility, 2.0 / iterations)
    size = objective_size(problem)
    assert abs(outcome.record.total - optimum) < 0.02 * size
    sign = -1.0 if problem.sense == "maximise" else 1.0
    for record in keep.records:
        if record.certified:
            assert sign * record.bound <= sign * optimum + 1e-9 * size


def test_a_factored_iterate_takes_the_same_path():
    problem, _ = KNOWN["cycle-71"]()
    dense, _ = solve_scaled(problem, 50, ascent=True)
    factored = FactoredIterate(problem.first, 200, problem.domain.symmetric)
    other, _ = solve_scaled(problem, 50, ascent=True, iterate=factored)
    assert other.record.total == pytest.approx(dense.record.total, rel=1e-9)
    assert other.record.infeasibility == pytest.approx(dense.record.infeasibility, rel=1e-7)


@pytest.mark.parametrize("name", PROBLEMS)
def test_a_run_taken_up_with_a_step_of_the_ascent_still_to_make_ends_the_same(name):
    problem = instance(PROBLEMS[name]).problem
    ascent = DualAscent(1.0, problem.constants()["|A|"], problem.domain.diameter)
    method = Method("cgal", Homotopy(1.0), ClassicStep(), FixedAccuracy(1e-6), ascent=ascent)
    packs = {}

    def go(resume=None, keep=lambda state: None):
        iterate = DenseIterate(problem.first)
        return run(problem, method, StopRules(iterations=20), iterate, resume=resume, keep=keep).state

    whole = go(keep=lambda state: packs.update({state.k: copy.deepcopy(state.pack())}))
    again = go(resume=packs[9])
    assert ("ascent" in packs[9]) == (Evaluator(problem, whole.iterate).folded is not None)
    for one, two in zip([whole.iterate.array, *whole.centres], [again.iterate.array, *again.centres], strict=True):
        assert one.tobytes() == two.tobytes()
