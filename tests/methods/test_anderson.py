"""Anderson's acceleration: what it finds on affine maps, how far it trusts rounding, and what it does for a run."""

import numpy as np
import pytest

from cgm_cli.blocks.domains.simplex import Simplex
from cgm_cli.blocks.losses.linear import Linear
from cgm_cli.blocks.maps.matrix import MatrixMap
from cgm_cli.blocks.penalties.box import BoxSet
from cgm_cli.blocks.problem import CompositeProblem, Term
from cgm_cli.methods.corrections.anderson import LARGEST, LEAST, MOST, Anderson
from cgm_cli.methods.status import Status
from cgm_cli.solving.direct import solve_problem


def slow_map(size, seed=0):
    """T z = M z + c, whose residual falls by a thousandth a step, and its fixed point."""
    rng = np.random.default_rng(seed)
    vectors = np.linalg.qr(rng.standard_normal((size, size)))[0]
    matrix, shift = (vectors * np.linspace(-0.9, 0.999, size)) @ vectors.T, rng.standard_normal(size)
    return (lambda z: matrix @ z + shift), np.linalg.solve(np.eye(size) - matrix, shift)


def gone(apply, start, steps, trail=None):
    followed, z = Anderson(trail), start
    for _ in range(steps):
        found = apply(z)
        followed.add(found, found - z)
        z = found
    return followed, z


def test_the_fixed_point_of_an_affine_map_after_as_many_points_as_it_has_dimensions():
    apply, fixed = slow_map(6)
    followed, last = gone(apply, np.zeros(6), 8)
    found, promised = followed.combined()
    assert np.linalg.norm(last - fixed) > 0.9 * np.linalg.norm(fixed)
    assert np.linalg.norm(found - fixed) < 0.02 * np.linalg.norm(last - fixed)
    assert promised < 1e-3 * np.linalg.norm(apply(last) - last)


def test_what_is_promised_is_the_residual_where_the_map_is_affine():
    apply, _ = slow_map(40)
    followed, _ = gone(apply, np.zeros(40), 12)
    found, promised = followed.combined()
    # found is T of the combination, and T takes every residual to a shorter one.
    assert 0.0 < np.linalg.norm(apply(found) - found) <= promised


def test_a_trail_goes_on_where_it_ended_and_stays_as_it_is():
    apply, _ = slow_map(5)
    whole, _ = gone(apply, np.zeros(5), MOST + 30)
    half, z = gone(apply, np.zeros(5), MOST + 10)
    kept = half.trail
    rows = kept.residual_by.copy()
    again, _ = gone(apply, z, 20, kept)
    for found, other in zip(again.combined(), whole.combined(), strict=True):
        np.testing.assert_array_equal(found, other)
    np.testing.assert_array_equal(kept.residual_by, rows)
    assert len(rows) == MOST and Anderson().trail is None


def test_rounding_of_a_residual_that_does_not_change_leads_nowhere_far():
    """T z = z + v has no fixed point: what a residual seems to change by is rounding, and no way to zero."""
    rng = np.random.default_rng(0)
    followed, z, step = Anderson(), 1e4 * rng.standard_normal(3), np.array([1.0, -2.0, 0.5])
    for _ in range(30):
        found = z + step
        followed.add(found, found - z)
        z = found
    combined, promised = followed.combined()
    assert promised == pytest.approx(np.linalg.norm(step), rel=1e-3)
    assert np.linalg.norm(combined - z) <= 30 * np.linalg.norm(step)


def test_what_is_large_leaves_no_trail():
    followed = Anderson()
    for _ in range(3):
        followed.add(np.zeros(LARGEST + 1), np.zeros(LARGEST + 1))
    assert followed.is_empty and followed.trail is None
    followed = Anderson()
    for _ in range(LEAST + 5):
        followed.add(np.zeros(LARGEST), np.zeros(LARGEST))
    assert followed.trail.residual_by.shape == (LEAST, LARGEST)


def test_a_portfolio_takes_a_few_turns_to_all_digits():
    """Steps alone halve the gap every few dozen, and take three times as many for four more digits."""
    rng = np.random.default_rng(0)
    means = 0.1 * rng.random(60)
    earns = Term("earns", MatrixMap(means[None, :], (60,)), BoxSet((1,), np.array([0.07]), np.array([np.inf])))
    most = Term("most", MatrixMap(np.eye(60), (60,)), BoxSet((60,), np.array(-np.inf), np.array(0.15)))
    problem = CompositeProblem(Simplex(60), Linear(rng.standard_normal(60), (60,)), (earns, most))
    coarse, fine = (solve_problem(problem, "auto", {"gap": at, "infeasibility": at}) for at in (1e-4, 1e-10))
    assert coarse.status is fine.status is Status.CONVERGED
    assert fine.record.k <= coarse.record.k + 3
