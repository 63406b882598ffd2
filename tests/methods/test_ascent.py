"""Dual ascent: smoothing centred at multipliers is the augmented Lagrangian, and its runs are tighter and as true."""

from __future__ import annotations

import copy
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from cgm_cli.blocks.atoms import DenseAtom
from cgm_cli.blocks.directions import DenseDirection
from cgm_cli.blocks.domains.base import OracleRequest
from cgm_cli.blocks.iterates import DenseIterate, FactoredIterate
from cgm_cli.methods import codec
from cgm_cli.methods.duals.ascent import DualAscent
from cgm_cli.methods.duals.multipliers import MethodOfMultipliers, MultiplierState
from cgm_cli.methods.loop import run
from cgm_cli.methods.method import Method
from cgm_cli.methods.oracles.fixed import FixedAccuracy
from cgm_cli.methods.policies import Solution
from cgm_cli.methods.scaling import objective_size
from cgm_cli.methods.smoothing.homotopy import Homotopy
from cgm_cli.methods.status import Status
from cgm_cli.methods.steps.classic import ClassicStep
from cgm_cli.methods.stopping import StopRules
from tests.methods.problems import KNOWN, begun, generic, solve_scaled
from tests.methods.test_variants import PROBLEMS, instance

BETA = 0.3


def some_state(name, seed, centred=True):
    """A state some steps into a run, with random multipliers for its terms."""
    problem = instance(PROBLEMS[name]).problem
    rng = np.random.default_rng(seed)
    state = begun(problem, seed, centres=[] if centred else None)
    for _ in range(3):
        direction = rng.standard_normal(problem.domain.shape)
        direction = direction + direction.T if problem.domain.symmetric else direction
        request = OracleRequest(rng=rng)
        state.point.step(problem.domain.lmo(DenseDirection(direction), request).atom, 0.4)
    centres = []
    for term in problem.terms:
        centre = 0.5 * rng.standard_normal(term.map.out_shape)
        square = centre.ndim == 2 and centre.shape[0] == centre.shape[1] and problem.domain.symmetric
        centres.append(0.5 * (centre + centre.T) if square else centre)
    if centred:
        state.point.multipliers = centres
    return state


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
    state = some_state(name, seed)
    point, problem = state.point, state.point.problem
    centres = point.multipliers
    found = point.evaluate(BETA)
    images = point.images
    expected = augmented_lagrangian(problem, images.loss, images.terms, centres)
    assert found.smoothed == pytest.approx(expected, rel=1e-10, abs=1e-10)
    # The direction is its gradient: central differences along random atoms.
    rng = np.random.default_rng(seed)
    x = point.iterate.array.copy()
    pairing = float(np.vdot(found.direction.dense(), x))
    assert found.pairing == pytest.approx(pairing, rel=1e-9, abs=1e-9)
    move = rng.standard_normal(x.shape)
    move = 0.5 * (move + move.T) if problem.domain.symmetric else move
    h = 1e-6
    ends = [
        augmented_lagrangian(problem, *point.images_of(DenseAtom(x + sign * h * move)), centres) for sign in (1.0, -1.0)
    ]
    slope = float(np.vdot(found.direction.dense(), move))
    assert (ends[0] - ends[1]) / (2 * h) == pytest.approx(slope, rel=1e-5, abs=1e-5)
    # How infeasible x is does not depend on the multipliers.
    plain = some_state(name, seed, centred=False).point.evaluate(BETA)
    assert found.infeasibilities == pytest.approx(plain.infeasibilities)
    assert found.distance == pytest.approx(plain.distance)
    assert found.penalty == pytest.approx(plain.penalty)


@pytest.mark.parametrize("name", PROBLEMS)
def test_multipliers_at_zero_change_nothing(name):
    centred = some_state(name, 0).point
    centred.multipliers = [0.0 * c for c in centred.multipliers]
    zero, plain = centred.evaluate(BETA), some_state(name, 0, centred=False).point.evaluate(BETA)
    np.testing.assert_allclose(zero.direction.dense(), plain.direction.dense(), rtol=1e-12, atol=1e-14)
    for field in ("objective", "penalty", "pairing", "smoothed", "constant"):
        assert getattr(zero, field) == pytest.approx(getattr(plain, field), rel=1e-12, abs=1e-12)


@pytest.mark.parametrize("name", PROBLEMS)
def test_the_constraint_in_the_fused_pass_is_evaluated_like_the_others(name):
    point = some_state(name, 1).point
    fused, plain = point.evaluate(BETA), generic(point, BETA)
    np.testing.assert_allclose(fused.direction.dense(), plain.direction.dense(), rtol=1e-12, atol=1e-13)
    for field in ("objective", "pairing", "smoothed", "constant", "distance"):
        assert getattr(fused, field) == pytest.approx(getattr(plain, field), rel=1e-11, abs=1e-12)


@pytest.mark.parametrize("name", PROBLEMS)
def test_the_segment_is_that_of_the_evaluation(name):
    point = some_state(name, 2).point
    atom = point.problem.first
    segment = point.segment(atom, BETA)
    for images, t in ((point.images, 0.0), (point.images_of(atom), 1.0)):
        value = point.evaluate_at(images, BETA).smoothed
        assert segment.value(t) == pytest.approx(value, rel=1e-10, abs=1e-10)
    h = 1e-6
    assert segment.slope(0.5) == pytest.approx((segment.value(0.5 + h) - segment.value(0.5 - h)) / (2 * h), abs=1e-4)


@pytest.mark.parametrize("name", PROBLEMS)
def test_a_step_of_the_ascent_is_one_along_the_residual(name):
    state = some_state(name, 3)
    point = state.point
    centres = [c.copy() for c in point.multipliers]
    gamma = 0.7
    # A gain that never binds leaves gamma = 1 / beta0.
    DualAscent(1 / gamma, norm=1e9, diameter=1.0).climb(state, 0.5, BETA)
    point.evaluate(BETA)  # which moves what was left to it
    for term, z, before, after in zip(point.problem.terms, point.images.terms, centres, point.multipliers, strict=True):
        step = BETA / term.weight
        residual = z - term.penalty.prox(z + step * before, step)
        np.testing.assert_allclose(after, before + gamma * term.weight * residual, rtol=1e-9, atol=1e-12)
    # A bound on the multipliers is held.
    held = [c.copy() for c in point.multipliers]
    DualAscent(1.0, norm=1e9, diameter=1.0, bound=1e-9).climb(state, 0.5, BETA)
    point.evaluate(BETA)
    for before, after in zip(held, point.multipliers, strict=True):
        np.testing.assert_array_equal(before, after)


@pytest.mark.parametrize("then", ["evaluate", "step", "evaluate_at", "move again"])
@pytest.mark.parametrize("name", PROBLEMS)
def test_a_move_that_is_left_to_an_evaluation_is_made_whatever_comes_next(name, then):
    moved = []
    for do in ("evaluate", then):
        state = some_state(name, 4)
        point = state.point
        DualAscent(2.0, norm=1e9, diameter=1.0).climb(state, 0.5, BETA)
        if do == "evaluate":
            point.evaluate(BETA)
        elif do == "step":
            point.step(point.problem.first, 0.3)
        elif do == "evaluate_at":
            point.evaluate_at(point.images_of(point.problem.first), BETA)
        else:
            point.move_multipliers(point.offsets(BETA), 0.0, BETA)
        moved.append([c.copy() for c in point.multipliers])
    for one, other in zip(*moved, strict=True):
        np.testing.assert_allclose(other, one, rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("name", KNOWN)
def test_converges_to_the_known_optimum_and_meets_the_constraints_better(name):
    problem, optimum = KNOWN[name]()
    iterations = 200 if max(problem.domain.shape) > 64 else 600
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
    method = Method("cgal", Homotopy(1.0), ClassicStep(), FixedAccuracy(1e-6), duals=DualAscent.of(problem, 1.0))
    packs = {}

    def go(resume=None, on_checkpoint=lambda state, ending: None):
        iterate, stop = DenseIterate(problem.first), StopRules(iterations=20)
        return run(problem, method, stop, iterate, resume=resume, on_checkpoint=on_checkpoint).state.point

    whole = go(on_checkpoint=lambda state, ending: packs.update({state.k: copy.deepcopy(state.pack())}))
    again = go(resume=packs[9])
    assert ("pending" in packs[9]["point"]) == (whole.box is not None)
    for one, two in zip(
        [whole.iterate.array, *whole.multipliers], [again.iterate.array, *again.multipliers], strict=True
    ):
        assert one.tobytes() == two.tobytes()


# ---- multipliers of a correction that nearly solves its problem ----


def held(centres, weights, radius=1.0):
    """What the method asks of a state; the images are at most as large as the radius."""
    terms = tuple(SimpleNamespace(weight=weight, map=SimpleNamespace(norm=1.0)) for weight in weights)
    problem = SimpleNamespace(terms=terms, domain=SimpleNamespace(radius=radius))
    point = SimpleNamespace(problem=problem, multipliers=[np.array(c, dtype=float) for c in centres])
    return SimpleNamespace(point=point, duals=MultiplierState())


def method_of_multipliers(**parameters):
    return MethodOfMultipliers(DualAscent(1.0, 1.0, 1.0), **parameters)


def followed(state, residuals, beta=0.5, image=100.0, fitted=None):
    """One turn: to where the problem is centred, then to duals that leave each term such a residual; where it was."""
    method, point = method_of_multipliers(), state.point
    method.extrapolate(state, None)
    centres = [c.copy() for c in point.multipliers]
    directions = [np.eye(c.size)[0].reshape(c.shape) for c in centres]
    duals = [
        c + term.weight / beta * residual * u
        for c, term, residual, u in zip(centres, point.problem.terms, residuals, directions, strict=True)
    ]
    method.follow(state, Solution(beta, [np.full_like(c, image) for c in centres], duals, fitted))
    for centre, dual in zip(point.multipliers, fitted or duals, strict=True):
        np.testing.assert_array_equal(centre, dual)
    return centres


def momenta(turns):
    """(t_j - 1) / t_(j + 1) with t_(j + 1) = (1 + sqrt(1 + 4 t_j^2)) / 2: Nesterov's, from the first turn on."""
    t, out = 1.0, []
    for _ in range(turns):
        t, former = 0.5 * (1.0 + np.sqrt(1.0 + 4.0 * t**2)), t
        out.append((former - 1.0) / t)
    return out


@pytest.mark.parametrize("weights", [[1.0], [2.0, 0.25]])
def test_multipliers_are_led_by_nesterovs_momentum(weights):
    rng = np.random.default_rng(0)
    state = held([rng.standard_normal(3) for _ in weights], weights)
    former, expected = None, [0.0, *momenta(6)]
    for turn in range(7):
        multipliers = [y.copy() for y in state.point.multipliers]
        centres = followed(state, [0.5**turn] * len(weights))
        for i, centre in enumerate(centres):
            ahead = 0.0 if former is None else expected[turn] * (multipliers[i] - former[i])
            np.testing.assert_allclose(centre, multipliers[i] + ahead, rtol=1e-12)
        former = multipliers
    assert expected[:2] == [0.0, 0.0]
    assert expected[2] == pytest.approx(0.5 * (np.sqrt(5.0) - 1.0) / 2.193527, rel=1e-6)
    assert state.duals.sharpness == 1.0


def test_momentum_begins_anew_where_the_residual_has_grown():
    """The residual of all terms together, in the norm of their weights."""
    state = held([np.zeros(2), np.zeros(2)], [4.0, 1.0])
    for residuals in ([1.0, 1.0], [0.9, 0.9], [0.8, 0.8]):
        followed(state, residuals)
    grown = state.duals.momentum
    assert grown == pytest.approx(momenta(3)[-1])
    # The second has grown, but all of them have not: sqrt(4 a^2 + b^2).
    followed(state, [0.5, 1.2])
    assert state.duals.momentum == pytest.approx(momenta(4)[-1])
    assert state.duals.residual == pytest.approx(np.sqrt(4 * 0.5**2 + 1.2**2))
    # The second has fallen, but all of them have grown.
    followed(state, [0.9, 0.3])
    assert state.duals.momentum == 0.0
    multipliers = [y.copy() for y in state.point.multipliers]
    # So the next problem is centred at the multipliers, and the sequence begins with its first.
    for centre, multiplier in zip(followed(state, [0.5, 0.1]), multipliers, strict=True):
        np.testing.assert_array_equal(centre, multiplier)
    assert state.duals.momentum == pytest.approx(momenta(2)[-1])
    assert state.duals.sharpness == 1.0


@pytest.mark.parametrize(
    ("residual", "image", "factor"),
    [(0.049, 0.1, 1), (0.051, 0.1, 2), (0.199, 0.1, 2), (0.201, 0.1, 4), (9.0, 0.1, 4), (0.9, 20.0, 1), (1.1, 20.0, 2)],
)
def test_smoothing_is_sharpened_where_the_residual_is_loose(residual, image, factor):
    """More than 0.05 of the image, or of 1 where that is less; by two, and by four beyond 0.2."""
    state = held([np.zeros(1), np.zeros(1)], [3.0, 1.0])
    followed(state, [1.2 * residual, 1.2 * residual], image=10.0 * image)
    followed(state, [1.1 * residual, 1.1 * residual], image=10.0 * image)
    state.duals = replace(state.duals, sharpness=1.0, age=2.0)
    # Of one of the terms only; the other is met. All of them together have fallen.
    followed(state, [0.0, residual], image=image)
    assert state.duals.sharpness == factor
    # What is sharpened is another problem, where momentum begins anew.
    assert (state.duals.momentum == 0.0) == (factor > 1)


@pytest.mark.parametrize(("residual", "factor"), [(0.049, 1), (0.051, 2), (0.201, 4)])
@pytest.mark.parametrize("radius", [1e-9, 1e-60])
def test_what_is_loose_is_relative_to_the_radius_where_that_is_small(residual, factor, radius):
    state = held([np.zeros(1)], [1.0], radius)
    followed(state, [residual * radius], image=0.0)
    assert state.duals.sharpness == factor


def test_smoothing_is_never_sharper_than_allowed_and_never_wider_again():
    state, sharpness = held([np.zeros(1)], [1.0]), []
    for residual in (0.4, 0.35, 0.15, 0.04, 0.3, 0.19, 0.18, 0.01, 0.5, 0.6):
        followed(state, [residual], image=0.0)
        sharpness.append(state.duals.sharpness)
    assert sharpness == [4.0, 16.0, 32.0, 32.0, 128.0, 256.0, 256.0, 256.0, 256.0, 256.0]
    # Once more where multipliers are known that fit.
    for _ in range(3):
        followed(state, [0.6], image=0.0, fitted=[np.zeros(1)])
    assert state.duals.sharpness == 512.0


@pytest.mark.parametrize("fit", [True, False])
def test_where_multipliers_fit_a_residual_that_falls_slowly_sharpens_the_smoothing(fit):
    """More than a quarter of the last one; momentum goes on, since it still falls."""
    state, sharpness = held([np.zeros(1)], [1.0]), []
    for residual in (1e-2, 2.4e-3, 7e-4, 1.7e-4, 1e-4, 2e-4, 1e-5):
        followed(state, [residual], fitted=[np.full(1, 3.0)] if fit else None)
        sharpness.append((state.duals.sharpness, state.duals.momentum > 0.0))
    moving = [False, True, True, True, True, False, True]
    sharp = [1.0, 1.0, 2.0, 2.0, 4.0, 8.0, 8.0] if fit else [1.0] * 7
    assert sharpness[1:] == list(zip(sharp, moving, strict=True))[1:]


def least_squares(rng, n, m):
    """min |x - a|^2 / 2 with B x = b: a, B, b, and its multiplier by a linear system."""
    a, matrix = rng.standard_normal(n), rng.standard_normal((m, n)) / np.sqrt(n)
    b = matrix @ rng.standard_normal(n)
    return a, matrix, b, np.linalg.solve(matrix @ matrix.T, matrix @ a - b)


@pytest.mark.parametrize("seed", range(5))
def test_multipliers_converge_to_those_of_the_problem_and_momentum_helps(seed):
    a, matrix, b, exact = least_squares(np.random.default_rng(seed), 12, 6)
    beta = 2.0

    def solved(turns, plain):
        state, way = held([np.zeros(6)], [1.0]), method_of_multipliers(loose=np.inf)
        for _ in range(turns):
            if plain:
                state.duals = MultiplierState()
            way.extrapolate(state, None)
            (c,) = state.point.multipliers
            # The minimiser of |x - a|^2 / 2 + <c, B x - b> + |B x - b|^2 / (2 beta).
            x = np.linalg.solve(np.eye(12) + matrix.T @ matrix / beta, a - matrix.T @ (c - b / beta))
            way.follow(state, Solution(beta, [matrix @ x], [c + (matrix @ x - b) / beta]))
        return np.linalg.norm(state.point.multipliers[0] - exact) / np.linalg.norm(exact)

    assert solved(400, False) <= 1e-6
    assert solved(60, False) < 0.5 * solved(60, True)


def test_multipliers_are_kept_in_what_is_packed():
    """Who is taken up leads and follows like one that was never put down."""
    state = held([np.zeros(3), np.zeros(2)], [1.0, 2.0])
    for turn in range(4):
        followed(state, [0.2 * 0.9**turn] * 2, image=0.1)
    again = held(copy.deepcopy(state.point.multipliers), [1.0, 2.0])
    again.duals = codec.unpack(MultiplierState, copy.deepcopy(codec.pack(state.duals)))
    assert again.duals.sharpness == state.duals.sharpness > 1.0
    for _ in range(3):
        for one, two in zip(followed(state, [1e-3] * 2), followed(again, [1e-3] * 2), strict=True):
            assert one.tobytes() == two.tobytes()
