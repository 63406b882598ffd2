"""Fused passes over matrices against the NumPy expressions they equal."""

import numba
import numpy as np
import pytest

from cgm_cli.numerics import kernels
from cgm_cli.numerics.compiled import compiled
from cgm_cli.numerics.threads import threads

pytestmark = pytest.mark.usefixtures("either")


def test_kernels_work_where_no_cache_can_be_written(monkeypatch):
    def nowhere(function):
        raise RuntimeError("cannot cache function: no locator available")

    njit = numba.njit
    monkeypatch.setattr(numba, "njit", lambda cache=False, **options: nowhere if cache else njit(**options))
    assert compiled(lambda x: x + 1)(2) == 3


# Passes over matrices: one band, less than one, several with a rest, and enough entries for two threads to share.
SHAPES = [(1, 1), (1, 5), (16, 3), (17, 16), (33, 50), (203, 211)]


def both(call):
    """What `call(arrays)` does and returns with one thread and with two: the same to the last bit."""
    with threads(1):
        first = call()
    with threads(2):
        second = call()
    # Compiled code asks whether arrays begin within 16 numbers of each other, as only tiny ones can, and if so adds up
    # in another order.
    tiny = np.size(first[0]) < 16 or np.shape(first[0])[-1] < 16
    for one, two in zip(first, second, strict=True):
        if tiny:
            np.testing.assert_allclose(one, two, rtol=1e-14, atol=1e-15)
        else:
            assert np.asarray(one).tobytes() == np.asarray(two).tobytes()
    return first


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("rank", [0, 1, 2, 5, 7, 10])
@pytest.mark.parametrize("priced", [False, True])
def test_blend_low_rank_equals_numpy(shape, rank, priced):
    rng = np.random.default_rng(rank)
    x, cost = rng.standard_normal(shape), rng.standard_normal(shape) if priced else None
    left, weights, right = (
        rng.standard_normal((shape[0], rank)),
        rng.random(rank),
        rng.standard_normal((shape[1], rank)),
    )

    def call():
        moved = x.copy()
        return moved, kernels.blend_low_rank(moved, 0.3, left, weights, right, cost)

    moved, pairing = both(call)
    expected = 0.7 * x + 0.3 * (left * weights) @ right.T
    np.testing.assert_allclose(moved, expected, rtol=1e-12, atol=1e-14)
    scale = np.abs(moved).sum()
    assert pairing == pytest.approx(float(np.vdot(cost, moved)) if priced else 0.0, rel=1e-13, abs=1e-14 * scale)


ORDERS = [1, 2, 16, 33, 210]


def symmetric(rng, n):
    a = rng.standard_normal((n, n))
    return a + a.T


def halved(a):
    """A copy without the entries above the diagonal: whoever reads one is found out."""
    return np.where(np.tri(len(a), dtype=bool), a, np.nan)


@pytest.mark.parametrize("n", ORDERS)
@pytest.mark.parametrize("rank", [1, 3])
@pytest.mark.parametrize("priced", [False, True])
def test_blending_one_half_equals_the_whole(n, rank, priced):
    rng = np.random.default_rng(n)
    x, cost, left, weights = symmetric(rng, n), symmetric(rng, n), rng.standard_normal((n, rank)), rng.random(rank)

    def call():
        moved = halved(x)
        price = halved(cost) if priced else None
        return moved, kernels.blend_low_rank(moved, 0.3, left, weights, left, price, lower=True)

    moved, pairing = both(call)
    expected = 0.7 * x + 0.3 * (left * weights) @ left.T
    np.testing.assert_allclose(np.tril(moved), np.tril(expected), rtol=1e-12, atol=1e-13)
    scale = np.abs(cost).sum() * np.abs(expected).max()
    assert pairing == pytest.approx(float(np.vdot(cost, expected)) if priced else 0.0, abs=1e-14 * scale)


@pytest.mark.parametrize("n", ORDERS)
@pytest.mark.parametrize("dtype", [float, np.float32])
def test_complete_mirrors(n, dtype):
    a = symmetric(np.random.default_rng(n), n).astype(dtype)

    def call():
        half = halved(a).astype(dtype)
        kernels.complete(half)
        return (half,)

    np.testing.assert_array_equal(both(call)[0], a)


@pytest.mark.parametrize("shape", [(1, 1), (255, 40), (256, 40), (513, 200)])
@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_product_equals_numpy_for_any_number_of_threads(shape, kind):
    rng = np.random.default_rng(6)
    matrix, block = rng.standard_normal(shape).astype(kind), rng.standard_normal((shape[1], 5)).astype(kind)
    for arranged in (block, np.asfortranarray(block)):
        (out,) = both(lambda arranged=arranged: (kernels.product(matrix, arranged),))
        assert out.dtype == kind
        scale = np.abs(matrix) @ np.abs(block)
        assert np.all(np.abs(out - matrix.astype(float) @ block) <= 4 * np.finfo(kind).eps * shape[1] * scale)


@pytest.mark.parametrize("shape", SHAPES)
def test_single_rounds_each_entry_once(shape):
    matrix = np.random.default_rng(7).standard_normal(shape)
    (out,) = both(lambda: (kernels.single(matrix, 0.25),))
    np.testing.assert_array_equal(out, (0.25 * matrix).astype(np.float32))
