"""Fused passes against the NumPy expressions they equal."""

import numba
import numpy as np
import pytest

from cgm_cli.numerics import kernels
from cgm_cli.numerics.compiled import compiled
from cgm_cli.numerics.kernels import FEW, box_dual
from cgm_cli.numerics.threads import threads


# Few entries, for which NumPy itself is asked, and more.
@pytest.mark.parametrize("shape", [(1,), (7,), (33, 5), (FEW,), (33, 50)])
@pytest.mark.parametrize("arrays", [False, True])
def test_box_dual_equals_numpy(shape, arrays):
    rng = np.random.default_rng(1)
    z = 3 * rng.standard_normal(shape)
    lower, upper = (rng.uniform(-2, 0, shape), rng.uniform(0, 2, shape)) if arrays else (-0.5, np.inf)
    y, distance, pairing, size = box_dual(z, lower, upper, 0.1)
    p = np.clip(z, lower, upper)
    np.testing.assert_allclose(y, (z - p) / 0.1, rtol=1e-15)
    np.testing.assert_allclose(distance, np.linalg.norm(z - p), rtol=1e-14)
    np.testing.assert_allclose(pairing, ((z - p) / 0.1 * p).sum(), rtol=1e-13, atol=1e-15)
    np.testing.assert_allclose(size, np.linalg.norm(p), rtol=1e-14)


@pytest.mark.parametrize("times", [1, FEW])
@pytest.mark.parametrize("arrays", [False, True])
def test_box_dual_keeps_nan(arrays, times):
    z = np.tile([0.5, np.nan, -3.0, 9.0], times)
    lower, upper = (np.zeros(z.size), np.ones(z.size)) if arrays else (0.0, 1.0)
    y, distance, pairing, size = box_dual(z, lower, upper, 1.0)
    np.testing.assert_array_equal(np.isnan(y), [False, True, False, False] * times)
    assert np.isnan([distance, pairing, size]).all()


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("times", [1, FEW])
def test_box_dual_of_infinities_says_nothing(times):
    z = np.tile([np.inf, -np.inf, 1e300], times)
    y = box_dual(z, 0.0, np.inf, 1e-100)[0]
    np.testing.assert_array_equal(y, np.tile([np.nan, -np.inf, 0.0], times))


@pytest.mark.parametrize("shape", [(3, 4), (20, 40)])
def test_box_dual_of_a_strided_array(shape):
    z = np.arange(float(np.prod(shape))).reshape(shape).T - 5
    np.testing.assert_array_equal(box_dual(z, 0.0, 1.0, 1.0)[0], z - np.clip(z, 0, 1))


def test_kernels_work_where_no_cache_can_be_written(monkeypatch):
    def nowhere(function):
        raise RuntimeError("cannot cache function: no locator available")

    njit = numba.njit
    monkeypatch.setattr(numba, "njit", lambda cache=False, **options: nowhere if cache else njit(**options))
    assert compiled(fastmath=True)(lambda x: x + 1)(2) == 3


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


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("limits", [(0.0, np.inf), (-0.5, 0.25)])
def test_box_direction_equals_numpy(shape, limits):
    rng = np.random.default_rng(2)
    base, z = rng.standard_normal(shape), rng.standard_normal(shape)
    rows, columns = rng.standard_normal(shape[0]), rng.standard_normal(shape[1])

    def call():
        out = np.empty(shape)
        return out, *kernels.box_direction(base, rows, columns, z, *limits, 0.1, out)

    out, *figures = both(call)
    p = np.clip(z, *limits)
    expected = base + rows[:, None] + columns + (z - p) / 0.1
    np.testing.assert_allclose(out, expected, rtol=1e-13, atol=1e-13)
    wanted = [np.linalg.norm(z - p), ((z - p) / 0.1 * p).sum(), np.linalg.norm(p), np.linalg.norm(expected)]
    np.testing.assert_allclose(figures, wanted, rtol=1e-12, atol=1e-12)


ORDERS = [1, 2, 16, 33, 210]


def symmetric(rng, n):
    a = rng.standard_normal((n, n))
    return a + a.T


def halved(a):
    """A copy without the entries above the diagonal: whoever reads one is found out."""
    return np.where(np.tri(len(a), dtype=bool), a, np.nan)


@pytest.mark.parametrize("n", ORDERS)
@pytest.mark.parametrize("priced", [False, True])
def test_blending_one_half_equals_the_whole(n, priced):
    rng = np.random.default_rng(n)
    x, cost, left = symmetric(rng, n), symmetric(rng, n), rng.standard_normal((n, 1))

    def call():
        moved = halved(x)
        price = halved(cost) if priced else None
        return moved, kernels.blend_low_rank(moved, 0.3, left, np.array([1.7]), left, price, lower=True)

    moved, pairing = both(call)
    expected = 0.7 * x + 0.51 * left @ left.T
    np.testing.assert_allclose(moved, halved(expected), rtol=1e-12, atol=1e-14)
    scale = np.abs(cost).sum() * np.abs(expected).max()
    assert pairing == pytest.approx(float(np.vdot(cost, expected)) if priced else 0.0, abs=1e-14 * scale)


@pytest.mark.parametrize("n", ORDERS)
@pytest.mark.parametrize("dtype", [float, np.float32])
@pytest.mark.parametrize("still", [False, True])
def test_step_and_direction_of_one_half_equal_those_of_the_whole(n, dtype, still):
    rng = np.random.default_rng(n)
    base, z, rows = symmetric(rng, n), symmetric(rng, n), rng.standard_normal(n)
    keep, left, right = (1.0, np.zeros(n), np.zeros(n)) if still else (0.7, 0.51 * rows, rows)
    x = keep * z + np.outer(left, right)
    out = np.empty((n, n), dtype=dtype)
    figures = kernels.box_direction(base, rows, rows, x, -0.5, 0.25, 0.1, out)

    def call():
        half, moved = np.full((n, n), np.nan, dtype=dtype), halved(z)
        step = moved, keep, left, right
        return half, moved, *kernels.half_box_direction(*step, halved(base), rows, rows, -0.5, 0.25, 0.1, half)

    half, moved, *found, price = both(call)
    slack = 4 * np.finfo(dtype).eps
    np.testing.assert_allclose(moved, halved(z if still else x), rtol=0.0 if still else 1e-13, atol=1e-14)
    np.testing.assert_allclose(half, halved(out), rtol=0.0, atol=slack * np.abs(out).max())
    assert found == pytest.approx(figures, rel=1e-12, abs=1e-12)
    assert price == pytest.approx(float(np.vdot(base, x)), abs=1e-13 * np.abs(base).sum() * np.abs(x).max())
    kernels.complete(half)
    np.testing.assert_allclose(half, out, rtol=0.0, atol=slack * np.abs(out).max())


@pytest.mark.parametrize("n", ORDERS)
@pytest.mark.parametrize("dtype", [float, np.float32])
def test_complete_mirrors(n, dtype):
    a = symmetric(np.random.default_rng(n), n).astype(dtype)

    def call():
        half = halved(a).astype(dtype)
        kernels.complete(half)
        return (half,)

    np.testing.assert_array_equal(both(call)[0], a)


@pytest.mark.parametrize("shape", [*SHAPES, (15, 15), (203, 203)])
@pytest.mark.parametrize("share", [1.0, 0.3])
def test_box_mean_equals_numpy(shape, share):
    rng = np.random.default_rng(4)
    z, mean = rng.standard_normal(shape), rng.standard_normal(shape)
    square = shape[0] == shape[1]
    if square:
        z, mean = z + z.T, mean + mean.T
    expected = (1.0 - share) * mean + share * (z - np.clip(z, -0.5, 0.7)) / 0.1
    former = None if share == 1.0 else mean
    (found,) = both(lambda: (kernels.box_mean(z, -0.5, 0.7, 0.1, former, share),))
    np.testing.assert_allclose(found, expected, rtol=1e-13, atol=1e-14)
    if square:
        z[np.triu_indices(shape[0], 1)] = mean[np.triu_indices(shape[0], 1)] = np.nan
        (half,) = both(lambda: (kernels.box_mean(z, -0.5, 0.7, 0.1, former, share, half=True),))
        np.testing.assert_array_equal(half, found)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("share", [0.0, 0.4])
def test_centred_box_direction_equals_numpy(shape, share):
    rng = np.random.default_rng(3)
    base, z, centre = rng.standard_normal(shape), rng.standard_normal(shape), rng.standard_normal(shape)
    rows, columns = rng.standard_normal(shape[0]), rng.standard_normal(shape[1])
    beta, former = 0.1, 0.3

    def call():
        out, moved = np.empty(shape), centre.copy()
        figures = kernels.centred_box_direction(base, rows, columns, z, moved, -0.5, 0.25, beta, out, (share, former))
        return out, moved, *figures

    out, moved, *figures = both(call)

    def dual(c, b):
        return (z + b * c - np.clip(z + b * c, -0.5, 0.25)) / b

    c = centre + share * (dual(centre, former) - centre)
    np.testing.assert_allclose(moved, c, rtol=1e-12, atol=1e-13)
    y, p, q = dual(c, beta), np.clip(z, -0.5, 0.25), np.clip(z + beta * c, -0.5, 0.25)
    expected = base + rows[:, None] + columns + y
    np.testing.assert_allclose(out, expected, rtol=1e-12, atol=1e-12)
    wanted = [np.linalg.norm(z - p), (y * q).sum(), *map(np.linalg.norm, (p, expected)), (y * z).sum()]
    wanted += [np.linalg.norm(y), np.linalg.norm(y - c)]
    np.testing.assert_allclose(figures, wanted, rtol=1e-11, atol=1e-11)


@pytest.mark.parametrize("shape", SHAPES)
def test_box_offset_equals_numpy(shape):
    rng = np.random.default_rng(4)
    z, centre = rng.standard_normal(shape), rng.standard_normal(shape)
    figures = both(lambda: kernels.box_offset(z, centre, 0.0, np.inf, 0.2))
    shifted = z + 0.2 * centre
    move = (shifted - np.clip(shifted, 0.0, np.inf)) / 0.2 - centre
    np.testing.assert_allclose(figures, [(move**2).sum(), (move * centre).sum(), (centre**2).sum()], rtol=1e-11)


def test_a_centre_that_was_moved_before_gives_the_same_direction_to_the_last_bit():
    # A run that is taken up again may find the ascent done already.
    rng = np.random.default_rng(5)
    base, z, centre = (rng.standard_normal((37, 37)) for _ in range(3))
    rows, outs, figures = rng.standard_normal(37), [], []
    for ascent in [(0.4, 0.3), (0.0, 1.0)]:
        outs.append(np.empty((37, 37)))
        arguments = base, rows, rows, z, centre, 0.0, np.inf, 0.1, outs[-1]
        figures.append(kernels.centred_box_direction(*arguments, ascent))
    assert outs[0].tobytes() == outs[1].tobytes()
    assert figures[0] == figures[1]


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
