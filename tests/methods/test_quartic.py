"""The objective along segments of factors, where it is a quartic: against the generic one, and all along a line."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize_scalar

from cgm_cli.blocks.atoms import DenseAtom
from cgm_cli.methods.corrections.factors import Chart, objective, on_sphere
from cgm_cli.methods.corrections.quartic import DiagonalQuartic, Quartic, _least, is_quartic
from cgm_cli.methods.corrections.quartic import quartic as made
from tests.methods.test_factors import AT_MOST, BETA, started
from tests.methods.test_variants import FACE, FANTOPE, LOW_RANK, SPECTRAL

EQUALITIES = [
    {"kind": "equals", "value": 0.2, "map": {"kind": "row-sums"}, "weight": 2.5},
    {"kind": "equals", "value": 0.4, "map": {"kind": "diagonal"}},
]
SAMPLES = {"kind": "sampling", "indices": [0, 4, 9, 15, 3]}
SQUARES = {"kind": "least-squares", "map": SAMPLES, "target": 0.5}
QUARTIC = {
    "equalities": {**SPECTRAL, "constraints": EQUALITIES},
    "slack": {**AT_MOST, "constraints": EQUALITIES},
    "fantope": {**FANTOPE, "constraints": EQUALITIES},
    "least squares": {**SPECTRAL, "objective": SQUARES, "constraints": EQUALITIES[:1]},
    "least squares alone": {**LOW_RANK, "objective": SQUARES, "constraints": [], "penalties": []},
    "nuclear ball": {**LOW_RANK, "constraints": EQUALITIES[:1], "penalties": []},
    "linear alone": {**SPECTRAL, "constraints": []},
    "diagonal": {"template": "max-cut", "graph": {"nodes": 9, "edges": 17}},
}


@pytest.fixture(params=QUARTIC)
def start(request):
    state, rng = started(request.param, 1, True, QUARTIC)
    assert is_quartic(state.point.problem)
    chart = Chart(state.point.problem.domain)
    # Of any length: the sphere is gone round by a division.
    flat = 1.7 * chart.flat(chart.noise(rng, 3))
    return state, chart, flat, rng


def test_value_and_gradient_are_the_generic_ones(start):
    state, chart, flat, rng = start
    generic = on_sphere(chart, objective(state, chart, BETA))
    shifts = []
    for _ in range(3):
        quartic = made(state, chart, BETA, flat)
        expected, slope = generic(flat)
        np.testing.assert_allclose(quartic.gradient, slope, atol=1e-12 * max(1.0, np.abs(slope).max()))
        shifts.append(quartic.value - expected)
        flat = flat + rng.standard_normal(flat.size)
    assert np.ptp(shifts) <= 1e-12 * max(1.0, abs(quartic.value))


def test_the_gradient_is_that_of_the_smoothed_objective(start):
    state, chart, flat, rng = start

    def value(flat):
        atom = chart.lift(chart.on_sphere(flat)[0])
        return state.point.evaluate_at(state.point.images_of(DenseAtom(atom.dense())), BETA).smoothed

    gradient = Quartic(state, chart, BETA, flat).gradient
    for _ in range(4):
        move = rng.standard_normal(flat.size)
        numeric = (value(flat + 1e-6 * move) - value(flat - 1e-6 * move)) / 2e-6
        assert float(gradient @ move) == pytest.approx(numeric, rel=1e-5, abs=1e-6)


@pytest.mark.parametrize("length", [1e-6, 1.0, 1e3])
def test_it_moves_to_the_best_of_a_line_and_carries_along_what_is_known(start, length):
    state, chart, flat, _ = start
    start, quartic = flat.copy(), made(state, chart, BETA, flat)
    generic = on_sphere(chart, objective(state, chart, BETA))
    for _ in range(4):
        value, direction, before = quartic.value, -length * quartic.gradient, quartic.flat.copy()
        former = quartic.gradient
        met = quartic.move(direction)
        inner = [float(quartic.gradient @ other) for other in (quartic.gradient, former, direction)]
        np.testing.assert_allclose(met, inner, rtol=1e-9, atol=1e-12 * float(former @ former) * max(1.0, length))
        reach = float(np.linalg.norm(before)) / float(np.linalg.norm(direction))
        lengths = np.geomspace(1e-4, 1e4, 81)
        along = [generic(before + t * reach * direction)[0] for t in lengths]
        best = minimize_scalar(
            lambda t, before=before, move=reach * direction: generic(before + np.exp(t) * move)[0],
            bracket=np.log(lengths[[max(0, np.argmin(along) - 1), np.argmin(along)]]),
        )
        least = min(best.fun, min(along))
        drop = generic(before)[0] - least
        assert value - quartic.value >= drop * (1.0 - 1e-6) - 1e-13 * abs(value)
        # What was carried along is what is found anew.
        anew = Quartic(state, chart, BETA, quartic.flat)
        assert quartic.value == pytest.approx(anew.value, rel=1e-10, abs=1e-12)
        np.testing.assert_allclose(quartic.gradient, anew.gradient, atol=1e-9 * max(1.0, np.abs(anew.gradient).max()))
    np.testing.assert_array_equal(flat, start)


def test_multipliers_of_the_diagonal_fit_the_point_best():
    state, rng = started("diagonal", 1, True, QUARTIC)
    chart, cost = Chart(state.point.problem.domain), state.point.problem.loss.map.adjoint(np.ones(())).dense()
    flat = chart.flat(chart.noise(rng, 3))
    quartic = made(state, chart, BETA, flat)
    assert isinstance(quartic, DiagonalQuartic)
    for _ in range(3):
        quartic.move(-quartic.gradient)
    factor = chart.columns(quartic.flat)
    # One unknown for each row: y_i r_i = -(C R)_i, in least squares.
    best = [np.linalg.lstsq(row[:, None], -image)[0][0] for row, image in zip(factor, cost @ factor, strict=True)]
    (found,) = quartic.multipliers()
    # With a fixed trace, all may be greater by the same.
    np.testing.assert_allclose(found - found.mean(), best - np.mean(best), atol=1e-10)
    assert found.mean() == pytest.approx(quartic._slopes()[0][0].mean())


def test_nothing_is_ahead_of_a_minimiser_or_of_what_is_not_finite():
    one = np.array([1.0, 0.0, 1.0])  # 1 + t^2
    assert _least(np.array([0.0, 0.0, 1.0, 0.0, 1.0]), one) is None  # t^2 / (1 + t^2): least at 0
    assert _least(np.array([0.0, np.nan, 1.0, 0.0, 1.0]), one) is None
    # (t - 2)^2 (1 + t^2) over its square: least at 2.
    assert _least(np.convolve([4.0, -4.0, 1.0], one), one) == pytest.approx(2.0)
    # Two valleys: the deeper one lies farther away.
    deep = np.convolve(np.convolve([1.0, -1.0], [1.0, -1.0]), np.convolve([4.0, -1.0], [4.0, -1.0]))
    deep[1] -= 0.05
    assert _least(deep, np.array([1.0, 0.0, 0.0])) == pytest.approx(4.0, abs=0.05)


@pytest.mark.parametrize("spec", [FACE, SPECTRAL])
def test_bounds_on_entries_make_no_quartic(spec):
    assert not is_quartic(started("it", 1, False, {"it": spec})[0].point.problem)


@pytest.mark.parametrize("unit", [1e-150, 1.0, 1e100])
def test_a_line_through_the_origin_leads_nowhere(unit):
    """All its points are the same one of the sphere, or its opposite; at t = 1 it is none."""
    through = np.array([1.0, -2.0, 1.0])  # (1 - t)^2
    assert _least(unit * np.convolve(through, through), through) is None
    nearly = through + np.array([1e-15, 0.0, -1e-16])
    assert _least(unit * np.convolve(nearly, through), nearly) is None


@pytest.mark.parametrize("unit", [1e-150, 1.0, 1e100])
def test_the_unit_of_a_quartic_is_no_matter(unit):
    quartic, one = np.convolve([4.0, -4.0, 1.0], [1.0, 0.0, 1.0]), np.array([1.0, 0.0, 1.0])
    assert _least(unit * quartic, one) == pytest.approx(2.0)
    # With a leading coefficient of rounding errors alone.
    assert _least(unit * np.array([1.0, -1.0, 1.0, 0.0, 1e-300]), np.array([1.0, 0.0, 0.0])) == pytest.approx(0.5)


def test_a_direction_without_a_length_is_none(start):
    state, chart, flat, _ = start
    quartic = made(state, chart, BETA, flat)
    assert quartic.move(np.full_like(flat, 1e-170)) is None
    np.testing.assert_array_equal(quartic.flat, flat)
