"""Factors of the points of spectral domains: true gradients by images and by tiles, and points of the domain."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.linalg

from cgm_cli.blocks.atoms import DenseAtom
from cgm_cli.blocks.domains.fantope import Fantope
from cgm_cli.blocks.domains.fantope_face import FantopeFace
from cgm_cli.blocks.domains.nuclear import NuclearBall
from cgm_cli.blocks.domains.psd import PSDTrace
from cgm_cli.methods.corrections.factors import Chart, by_images, by_tiles, objective, on_sphere
from tests.methods.problems import begun
from tests.methods.test_variants import FACE, FANTOPE, LOW_RANK, SPECTRAL, instance

BETA = 0.3
AT_MOST = {**SPECTRAL, "domain": {"kind": "psd", "size": 6, "radius": 2.0}}
PROBLEMS = {
    "equal trace": SPECTRAL,
    "bounded trace": AT_MOST,
    "nuclear ball": LOW_RANK,
    "fantope": FANTOPE,
    "face of the fantope": FACE,
}
BOXED = {
    "one term": FACE,
    "two terms": SPECTRAL,
    "the folded one in the middle": {
        **SPECTRAL,
        "constraints": [
            {"kind": "equals", "value": 0.2, "map": {"kind": "row-sums"}},
            {"kind": "box", "lower": -0.1, "upper": 0.15},
            {"kind": "equals", "value": 0.4, "map": {"kind": "diagonal"}},
        ],
    },
    "a penalty beside it": {**FACE, "penalties": [{"kind": "l2", "map": {"kind": "diagonal"}}]},
    "weighted": {**FACE, "constraints": [{"kind": "box", "lower": 0.1, "upper": 0.3, "weight": 2.5}]},
}
"""Of bounds on the entries, at least one of which is not met."""
DOMAINS = [
    PSDTrace(7, 2.0, True),
    PSDTrace(7, 2.0, False),
    Fantope(7, 3),
    NuclearBall((4, 7), 2.0),
    FantopeFace(np.full(7, 7**-0.5), 3),
    FantopeFace(np.arange(1.0, 8.0) / np.linalg.norm(np.arange(1.0, 8.0)), 4),
]


def started(name, seed, centred, problems=PROBLEMS):
    problem = instance(problems[name]).problem
    centres = [0.1 * np.ones(term.map.out_shape) for term in problem.terms] if centred else None
    return begun(problem, seed, centres), np.random.default_rng(seed)


def constant(point):
    """What a value by tiles has beside the smoothed objective: b |c|^2 / 2 of the box."""
    if point.box is None or point.multipliers is None or not point.problem.domain.symmetric:
        return 0.0
    centre = point.multipliers[point.problem.terms.index(point.box)]
    return 0.5 * BETA / point.box.weight * float(np.vdot(centre, centre))


@pytest.mark.parametrize("centred", [False, True])
@pytest.mark.parametrize("name", PROBLEMS)
def test_the_gradient_on_the_sphere_is_that_of_the_smoothed_objective(name, centred):
    state, rng = started(name, 1, centred)
    chart = Chart(state.point.problem.domain)

    def value(flat):
        atom = chart.lift(chart.whole(chart.on_sphere(flat)[0]))
        return state.point.evaluate_at(state.point.images_of(DenseAtom(atom.dense())), BETA).smoothed

    # Of any length: the sphere is gone round by a division.
    flat = 1.7 * chart.flat(chart.noise(rng, 3))
    factor, shrink = chart.on_sphere(flat)
    found, gradient = objective(state, chart, BETA)(factor)
    assert found == pytest.approx(value(flat) + constant(state.point), rel=1e-12)
    slope = chart.tangent(flat, shrink, gradient)
    for _ in range(5):
        move = rng.standard_normal(flat.size)
        if chart.known is not None:
            move = chart.orthogonal(move.reshape(factor.shape)).reshape(-1)
        numeric = (value(flat + 1e-6 * move) - value(flat - 1e-6 * move)) / 2e-6
        assert float(slope @ move) == pytest.approx(numeric, rel=1e-5, abs=1e-6)


@pytest.mark.parametrize("domain", DOMAINS, ids=lambda domain: type(domain).__name__)
def test_settled_points_are_points_of_the_domain(domain):
    chart, rng = Chart(domain), np.random.default_rng(2)
    known = 0 if domain.known is None else domain.known.shape[1]
    for width in (3, 4):
        factor = chart.on_sphere(rng.standard_normal(chart.flat(chart.noise(rng, width)).size))[0]
        factor = chart.orthogonal(factor)
        point, ordered = chart.retract(factor)
        assert point.weights.size <= width + known
        assert np.all(np.diff(point.weights) <= 0)
        assert domain.contains(point.dense())
        # The same factor, but for a rotation, its columns in falling order.
        np.testing.assert_allclose(chart.lift(ordered).dense(), chart.lift(factor).dense(), atol=1e-12)
        assert np.all(np.diff(np.square(ordered).sum(axis=0)) <= 1e-15)
        # What is in the domain already stays.
        again, _ = chart.retract(chart.factor(point))
        np.testing.assert_allclose(again.dense(), point.dense(), atol=1e-12)
        lifted = chart.lift(chart.whole(chart.factor(point)))
        np.testing.assert_allclose(lifted.dense(), point.dense(), atol=1e-12)


@pytest.mark.parametrize(("domain", "width"), [(Fantope(7, 3), 2), (FantopeFace(np.full(7, 7**-0.5), 4), 2)])
def test_a_fantope_has_no_point_of_too_few_columns(domain, width):
    chart = Chart(domain)
    factor = chart.noise(np.random.default_rng(0), width)
    point, ordered = chart.retract(factor)
    assert point is None
    np.testing.assert_allclose(chart.lift(ordered).dense(), chart.lift(factor).dense(), atol=1e-12)


@pytest.mark.parametrize("domain", DOMAINS[-2:], ids=["equal entries", "any entries"])
def test_factors_of_the_face_are_orthogonal_to_what_is_known(domain):
    chart, rng = Chart(domain), np.random.default_rng(3)
    vector = domain.known[:, 0]
    noise = chart.noise(rng, 4)
    assert np.linalg.norm(noise) ** 2 == pytest.approx(domain.rank - 1)
    flat = 0.3 * chart.flat(noise)
    factor, _ = chart.on_sphere(flat)
    point, ordered = chart.retract(factor)
    gradient = chart.restrict(rng.standard_normal((7, 5)))
    assert gradient.shape == factor.shape
    for columns in (noise, factor, ordered, chart.factor(point), gradient):
        np.testing.assert_allclose(vector @ columns, 0.0, atol=1e-14)
    # The column of what is known has left, and every other is there.
    assert chart.factor(point).shape[1] == point.weights.size - 1
    np.testing.assert_allclose(point.dense() @ vector, vector, atol=1e-14)
    # X without what is known is the point of a fantope of one rank less.
    rest = point.dense() - np.outer(vector, vector)
    assert chart.domain.contains(rest)
    assert np.trace(rest) == pytest.approx(domain.rank - 1)


@pytest.mark.parametrize("seed", range(3))
def test_values_beyond_one_are_shared_out_within_the_face(seed):
    """The settled point has the vectors of the factor, 1 where that is stronger, and keeps the ratio of the others."""
    domain = DOMAINS[4]
    chart, rng = Chart(domain), np.random.default_rng(seed)
    basis = scipy.linalg.helmert(7).T
    values = np.array([1.6, 0.25, 0.15])
    vectors = basis @ np.linalg.qr(rng.standard_normal((6, 3)))[0]
    point, _ = chart.retract(vectors * np.sqrt(values))
    expected = np.full((7, 7), 1 / 7) + (vectors * [1.0, 0.625, 0.375]) @ vectors.T
    np.testing.assert_allclose(point.dense(), expected, atol=1e-13)


@pytest.mark.parametrize("centred", [False, True])
@pytest.mark.parametrize("name", BOXED)
def test_by_tiles_is_by_images_but_for_a_constant(name, centred):
    state, rng = started(name, 4, centred, BOXED)
    if centred:
        drawn = [0.5 * rng.standard_normal(term.map.out_shape) for term in state.point.problem.terms]
        state.point.multipliers = [0.5 * (c + c.T) if c.ndim == 2 else c for c in drawn]
    assert state.point.box is not None
    chart = Chart(state.point.problem.domain)
    tiles, images = (make(state, chart, BETA) for make in (by_tiles, by_images))
    apart = []
    for width in (1, 3, 5):
        factor = chart.noise(rng, width)
        (value, gradient), (expected, other) = tiles(factor), images(factor)
        np.testing.assert_allclose(gradient, other, rtol=1e-11, atol=1e-12 * np.abs(other).max())
        apart.append(value - expected)
    np.testing.assert_allclose(apart, constant(state.point), atol=1e-12 * max(1.0, abs(value)))


def test_tiles_are_for_bounds_on_the_entries_of_a_dense_matrix_alone():
    for name, tiled in (("face of the fantope", True), ("fantope", False), ("nuclear ball", False)):
        state, _ = started(name, 0, False)
        found = objective(state, Chart(state.point.problem.domain), BETA)
        assert found.__qualname__.startswith("by_tiles" if tiled else "by_images"), name


def test_the_origin_is_no_point_of_the_sphere():
    """A line search that steps onto it goes back."""
    state, _ = started("at most", 1, True, {"at most": AT_MOST})
    chart = Chart(state.point.problem.domain)
    flat = chart.flat(np.ones((state.point.problem.domain.shape[0], 1)))
    value, gradient = on_sphere(chart, objective(state, chart, BETA))(0.0 * flat)
    assert value == np.inf and gradient.shape == flat.shape
