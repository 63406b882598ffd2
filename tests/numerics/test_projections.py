"""Projections: against a twin by bisection, their defining properties, and magnitudes that broke other code."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from cgm_cli.numerics.projections import (
    capped_shares,
    project_capped_simplex,
    project_l1_ball,
    project_l2_ball,
    project_simplex,
    project_simplex_rows,
    safe_norm,
)

PROJECTIONS = [project_simplex, project_capped_simplex, project_l1_ball, project_l2_ball]
vectors = hnp.arrays(float, st.integers(1, 8), elements=st.floats(-100, 100))
radii = st.floats(1e-3, 1e3)


def bisected(excess, low: float, high: float) -> float:
    """The zero of a decreasing function, by halving."""
    for _ in range(200):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if excess(middle) > 0 else (low, middle)
    return 0.5 * (low + high)


def simplex_twin(z, radius):
    theta = bisected(lambda t: np.maximum(z - t, 0).sum() - radius, z.min() - radius, z.max())
    return np.maximum(z - theta, 0)


def l1_twin(z, radius):
    if np.abs(z).sum() <= radius:
        return z
    theta = bisected(lambda t: np.maximum(np.abs(z) - t, 0).sum() - radius, 0.0, np.abs(z).max())
    return np.sign(z) * np.maximum(np.abs(z) - theta, 0)


def capped_twin(z, radius):
    theta = bisected(lambda t: np.maximum(z - t, 0).sum() - radius, 0.0, max(z.max(), 0.0) + radius)
    return np.maximum(z - theta, 0) if np.maximum(z, 0).sum() > radius else np.maximum(z, 0)


@pytest.mark.parametrize(
    ("project", "twin"),
    [(project_simplex, simplex_twin), (project_capped_simplex, capped_twin), (project_l1_ball, l1_twin)],
)
@given(z=vectors, radius=radii)
def test_agrees_with_bisection(project, twin, z, radius):
    scale = max(1.0, np.abs(z).max(), radius)
    np.testing.assert_allclose(project(z, radius), twin(z, radius), atol=1e-13 * scale, rtol=0)


@given(z=vectors, radius=radii)
def test_l2_is_the_nearest_point_on_the_ray(z, radius):
    shrunk = z * min(1.0, radius / max(np.sqrt((z**2).sum()), 1e-300))
    np.testing.assert_allclose(project_l2_ball(z, radius), shrunk, rtol=1e-14, atol=1e-160)


@pytest.mark.parametrize("project", PROJECTIONS)
@given(
    pair=st.integers(1, 8).flatmap(lambda n: st.tuples(*[hnp.arrays(float, n, elements=st.floats(-100, 100))] * 2)),
    radius=radii,
)
def test_idempotent_and_non_expansive(project, pair, radius):
    a, b = pair
    pa, pb = project(a, radius), project(b, radius)
    scale = max(1.0, np.abs(a).max(), np.abs(b).max(), radius)
    np.testing.assert_allclose(project(pa, radius), pa, atol=1e-14 * scale * a.size, rtol=0)
    assert np.linalg.norm(pa - pb) <= np.linalg.norm(a - b) + 1e-14 * scale * a.size


@pytest.mark.parametrize("project", PROJECTIONS[1:])
def test_an_interior_point_comes_back_unchanged(project):
    z = np.array([0.1, 0.0, 0.3, 0.2])
    out = project(z, 1.0)
    assert out is not z
    np.testing.assert_array_equal(out, z)


@pytest.mark.parametrize(
    "z",
    [
        np.array([1e17, 0.0, 1.0]),
        np.full(4, -1e20),
        np.array([1e8, 1e8 - 8, 3.0], dtype=np.float32),
        np.array([3, -2, 5]),
        np.array([1e308, -1e308]),
        np.array([1e-300, 2e-300, 0.0]),
        np.array([-1e200, 1e-200, 1e200]),
    ],
)
def test_simplex_at_any_magnitude(z):
    p = project_simplex(z, 1.0)
    assert p.dtype == np.float64
    assert p.min() >= 0.0
    assert p.sum() == pytest.approx(1.0, abs=1e-15)
    wide = np.argsort(z.astype(float), kind="stable")
    assert np.all(np.diff(p[wide]) >= 0), "a projection keeps the order of the entries"
    l1 = project_l1_ball(z, 1.0)
    assert np.abs(l1).sum() <= 1.0 + 1e-15
    assert np.all(np.isfinite(project_l2_ball(z, 1.0)))


def test_simplex_shares_a_common_large_offset():
    offsets = np.array([0.0, 0.25, -0.5])
    np.testing.assert_allclose(project_simplex(2.0**50 + offsets, 1.0), project_simplex(offsets, 1.0), atol=1e-15)


@pytest.mark.parametrize("project", PROJECTIONS)
def test_radius_zero_tiny_and_huge(project):
    z = np.array([3.0, -1.0, 2.0])
    np.testing.assert_array_equal(project(z, 0.0), np.zeros(3))
    tiny = project(z, 1e-300)
    assert np.abs(tiny).max() == pytest.approx(1e-300, rel=0.5)
    huge = project(z, 1e300)
    assert np.all(np.isfinite(huge))


@pytest.mark.parametrize("project", PROJECTIONS)
def test_nan_is_not_hidden(project):
    assert np.isnan(project(np.array([1.0, np.nan, 5.0]), 1.0)).any()


@pytest.mark.parametrize("project", PROJECTIONS)
def test_any_shape(project):
    z = np.random.default_rng(0).standard_normal((3, 4)) * 3
    np.testing.assert_array_equal(project(z, 1.0), project(z.reshape(-1), 1.0).reshape(3, 4))


@pytest.mark.parametrize("magnitude", [0.0, 1e-200, 1.0, 1e200])
def test_safe_norm(magnitude):
    assert safe_norm(magnitude * np.array([3.0, -4.0])) == pytest.approx(5.0 * magnitude, rel=1e-15)


@pytest.mark.parametrize("radius", [0.1, 1.0, 30.0])
@pytest.mark.parametrize("magnitude", [1e-200, 1.0, 1e8, 1e200])
def test_the_rows_of_a_matrix_are_projected_one_by_one(radius, magnitude):
    z = magnitude * np.random.default_rng(0).standard_normal((20, 7))
    z[0] = z[0, 0]
    z[1, :3] = z[1].max()
    expected = np.array([project_simplex(row, radius) for row in z])
    np.testing.assert_allclose(project_simplex_rows(z, radius), expected, rtol=1e-13, atol=1e-15 * radius)


# ---- shares of a total, none of which is more than one ----


@st.composite
def shares(draw):
    """Positive values of any size, some of them equal, and a total they can make."""
    values = draw(
        hnp.arrays(float, st.integers(1, 8), elements=st.sampled_from([1e-12, 1e-3, 0.5, 1.0, 1.0, 7.0, 1e9]))
    )
    values = values * draw(hnp.arrays(float, values.size, elements=st.sampled_from([1.0, 1.0, 0.3, 1.7])))
    total = draw(st.one_of(st.integers(1, values.size).map(float), st.floats(1e-3, values.size)))
    return values, total


@given(given_=shares())
def test_capped_shares_are_in_proportion_up_to_one(given_):
    values, total = given_
    before = values.copy()
    found = capped_shares(values, total)
    np.testing.assert_array_equal(values, before)
    assert found.shape == values.shape
    assert found.min() > 0.0
    assert found.max() <= 1.0
    assert found.sum() == pytest.approx(total, rel=1e-13)
    # What is less than one is t v with one t, at which the others are at least one.
    below = found < 1.0
    if below.any():
        scales = found[below] / values[below]
        np.testing.assert_allclose(scales, scales.max(), rtol=1e-12)
        assert np.all(scales.max() * values[~below] >= 1.0 - 1e-12)
    assert np.all(np.diff(found[np.argsort(values, kind="stable")]) >= 0)


@given(given_=shares())
def test_capped_shares_agree_with_bisection(given_):
    values, total = given_
    # In log t, since t may be of any size.
    t = np.exp(bisected(lambda s: total - np.minimum(1.0, np.exp(s) * values).sum(), -60.0, 60.0))
    found, reference = capped_shares(values, total), np.minimum(1.0, t * values)
    # The bisection sees its sum to a rounding error of the total, however little of it is left to shares below one.
    left = found[found < 1.0].sum()
    rounding = 4 * np.finfo(float).eps * total / left if left > 0.0 else 0.0
    np.testing.assert_allclose(found, reference, rtol=1e-11 + rounding)


@pytest.mark.parametrize(
    ("values", "total", "expected"),
    [
        ([1.0, 1.0, 1.0], 3.0, [1.0, 1.0, 1.0]),
        ([1.0, 1.0, 0.5, 0.5], 3.0, [1.0, 1.0, 0.5, 0.5]),
        ([1.0, 0.5, 1.0, 0.25, 0.25], 3.0, [1.0, 0.5, 1.0, 0.25, 0.25]),
        ([2.0, 2.0, 1.0, 1.0], 3.0, [1.0, 1.0, 0.5, 0.5]),
        ([4.0, 4.0, 4.0], 1.0, [1 / 3, 1 / 3, 1 / 3]),
        ([8.0, 1.0, 1.0], 1.5, [1.0, 0.25, 0.25]),
        ([0.1, 0.1], 2.0, [1.0, 1.0]),
        ([49.0, 3.0], 2.0, [1.0, 1.0]),
        ([5.0], 1.0, [1.0]),
        ([5.0], 0.3, [0.3]),
        ([1.0, 1.0, 1e-17], 2.0, [1.0, 1.0, 1e-17]),
    ],
)
def test_capped_shares_of_known_cases(values, total, expected):
    np.testing.assert_allclose(capped_shares(np.array(values), total), expected, rtol=1e-15)


@pytest.mark.parametrize("magnitude", [1e-200, 1e-20, 1e20, 1e200])
def test_capped_shares_are_of_no_unit(magnitude):
    values = np.array([3.0, 0.2, 1.0, 0.7, 0.2])
    np.testing.assert_allclose(capped_shares(magnitude * values, 2.5), capped_shares(values, 2.5), rtol=1e-14)
