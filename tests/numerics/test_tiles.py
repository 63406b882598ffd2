"""The gradient by tiles against the NumPy expression it equals."""

import numpy as np
import pytest

from cgm_cli.numerics.tiles import TILE, FactoredBox
from tests.numerics.test_kernels import both

pytestmark = pytest.mark.usefixtures("either")

# One entry, less than a tile, one less and one more than a tile, and several with a rest.
SIZES = [1, 5, TILE - 1, TILE + 1, 400]
LIMITS = [(0.0, np.inf), (-np.inf, 0.2), (-0.5, 0.25)]


def symmetric(rng, n):
    a = rng.standard_normal((n, n))
    return a + a.T


def expected(cost, centre, lower, upper, beta, factor):
    """(cost + y) R, |y|^2 and <cost, X>, with X and y written out."""
    x = factor @ factor.T
    shifted = x if centre is None else x + beta * centre
    y = (shifted - np.clip(shifted, lower, upper)) / beta
    return (cost + y) @ factor, (y**2).sum(), (cost * x).sum()


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("centred", [False, True])
@pytest.mark.parametrize("limits", LIMITS)
@pytest.mark.parametrize("columns", [1, 4, 11])
def test_equals_numpy(n, centred, limits, columns):
    rng = np.random.default_rng(n + columns)
    cost, centre = symmetric(rng, n), symmetric(rng, n) if centred else None
    tiles = FactoredBox(cost, centre, *limits, 0.1)
    # What is asked for first leaves nothing behind, and a factor may be of any layout.
    for factor in (rng.standard_normal((n, columns)), np.asfortranarray(rng.standard_normal((n, columns)))):
        before = factor.copy()
        product, squares, linear = both(lambda factor=factor: tiles(factor))
        wanted, wanted_squares, wanted_linear = expected(cost, centre, *limits, 0.1, factor)
        np.testing.assert_array_equal(factor, before)
        np.testing.assert_allclose(product, wanted, rtol=1e-12, atol=1e-12 * np.abs(wanted).max())
        assert squares == pytest.approx(wanted_squares, rel=1e-11, abs=1e-12)
        size = np.abs(cost * (factor @ factor.T)).sum()
        assert linear == pytest.approx(wanted_linear, abs=1e-14 * size)
        assert type(squares) is type(linear) is float


@pytest.mark.parametrize("n", [5, 400])
def test_one_triangle_is_read(n):
    rng = np.random.default_rng(0)
    cost, centre = symmetric(rng, n), symmetric(rng, n)
    factor = rng.standard_normal((n, 3))
    whole = FactoredBox(cost, centre, 0.0, 1.0, 0.5)(factor)
    # Beyond the diagonal tiles nothing above the diagonal matters.
    above = np.triu_indices(n, k=TILE)
    spoilt, spoilt_centre = cost.copy(), centre.copy()
    spoilt[above] = spoilt_centre[above] = np.nan
    for one, two in zip(whole, FactoredBox(spoilt, spoilt_centre, 0.0, 1.0, 0.5)(factor), strict=True):
        np.testing.assert_array_equal(one, two)


def test_cost_and_centre_are_copies():
    rng = np.random.default_rng(1)
    cost, centre = symmetric(rng, 40), symmetric(rng, 40)
    factor = rng.standard_normal((40, 3))
    tiles = FactoredBox(cost, centre, 0.0, 1.0, 0.5)
    before = tiles(factor)[0]
    cost[...] = centre[...] = 0.0
    np.testing.assert_array_equal(tiles(factor)[0], before)


def test_a_centre_of_none_is_zero():
    rng = np.random.default_rng(2)
    cost, factor = symmetric(rng, 200), rng.standard_normal((200, 3))
    found = [FactoredBox(cost, centre, 0.0, 1.0, 0.5)(factor) for centre in (None, np.zeros((200, 200)))]
    np.testing.assert_array_equal(found[0][0], found[1][0])
    assert found[0][1:] == found[1][1:]


def test_the_product_is_half_of_the_gradient():
    """Of <cost, X> + beta |y|^2 / 2, by central differences."""
    rng = np.random.default_rng(3)
    cost, centre, beta = symmetric(rng, 30), symmetric(rng, 30), 0.2
    factor = rng.standard_normal((30, 4))
    tiles = FactoredBox(cost, centre, -0.3, 0.4, beta)

    def value(r):
        _, squares, linear = tiles(r)
        return linear + 0.5 * beta * squares

    for _ in range(5):
        move = rng.standard_normal(factor.shape)
        numeric = (value(factor + 1e-6 * move) - value(factor - 1e-6 * move)) / 2e-6
        assert 2.0 * np.vdot(tiles(factor)[0], move) == pytest.approx(numeric, rel=1e-6)


def test_not_a_number_is_not_hidden():
    cost, factor = np.eye(300), np.ones((300, 2))
    factor[250, 1] = np.nan
    product, squares, linear = FactoredBox(cost, None, 0.0, 1.0, 0.5)(factor)
    assert np.isnan(product).any()
    assert np.isnan([squares, linear]).all()
