"""Fused passes of bounds on the entries against the NumPy expressions they equal."""

import numpy as np
import pytest

from cgm_cli.numerics.box_passes import (
    NUMPY_BELOW,
    Ascent,
    LinearPart,
    SmoothedBox,
    box_direction,
    box_dual,
    box_mean,
    box_offset,
    centred_box_direction,
    half_box_direction,
)
from cgm_cli.numerics.kernels import RankOneStep, complete
from tests.numerics.test_kernels import ORDERS, SHAPES, both, halved, symmetric


# Few entries, for which NumPy itself is asked, and more.
@pytest.mark.parametrize("shape", [(1,), (7,), (33, 5), (NUMPY_BELOW,), (33, 50)])
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


@pytest.mark.parametrize("times", [1, NUMPY_BELOW])
@pytest.mark.parametrize("arrays", [False, True])
def test_box_dual_keeps_nan(arrays, times):
    z = np.tile([0.5, np.nan, -3.0, 9.0], times)
    lower, upper = (np.zeros(z.size), np.ones(z.size)) if arrays else (0.0, 1.0)
    y, distance, pairing, size = box_dual(z, lower, upper, 1.0)
    np.testing.assert_array_equal(np.isnan(y), [False, True, False, False] * times)
    assert np.isnan([distance, pairing, size]).all()


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("times", [1, NUMPY_BELOW])
def test_box_dual_of_infinities_says_nothing(times):
    z = np.tile([np.inf, -np.inf, 1e300], times)
    y = box_dual(z, 0.0, np.inf, 1e-100)[0]
    np.testing.assert_array_equal(y, np.tile([np.nan, -np.inf, 0.0], times))


@pytest.mark.parametrize("shape", [(3, 4), (20, 40)])
def test_box_dual_of_a_strided_array(shape):
    z = np.arange(float(np.prod(shape))).reshape(shape).T - 5
    np.testing.assert_array_equal(box_dual(z, 0.0, 1.0, 1.0)[0], z - np.clip(z, 0, 1))


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("limits", [(0.0, np.inf), (-0.5, 0.25)])
def test_box_direction_equals_numpy(shape, limits):
    rng = np.random.default_rng(2)
    base, z = rng.standard_normal(shape), rng.standard_normal(shape)
    rows, columns = rng.standard_normal(shape[0]), rng.standard_normal(shape[1])

    def call():
        out = np.empty(shape)
        return out, *box_direction(LinearPart(base, rows, columns), z, SmoothedBox.of(*limits, 0.1), out)

    out, *figures = both(call)
    p = np.clip(z, *limits)
    expected = base + rows[:, None] + columns + (z - p) / 0.1
    np.testing.assert_allclose(out, expected, rtol=1e-13, atol=1e-13)
    y, wanted = (z - p) / 0.1, [np.linalg.norm(z - p)]
    wanted += [(y * p).sum(), np.linalg.norm(p), np.linalg.norm(expected), (y * z).sum(), *2 * [np.linalg.norm(y)]]
    np.testing.assert_allclose(figures, wanted, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("n", ORDERS)
@pytest.mark.parametrize("dtype", [float, np.float32])
@pytest.mark.parametrize("still", [False, True])
def test_step_and_direction_of_one_half_equal_those_of_the_whole(n, dtype, still):
    rng = np.random.default_rng(n)
    base, z, rows = symmetric(rng, n), symmetric(rng, n), rng.standard_normal(n)
    keep, left, right = (1.0, np.zeros(n), np.zeros(n)) if still else (0.7, 0.51 * rows, rows)
    x = keep * z + np.outer(left, right)
    out = np.empty((n, n), dtype=dtype)
    box = SmoothedBox.of(-0.5, 0.25, 0.1)
    figures = box_direction(LinearPart(base, rows, rows), x, box, out)

    def call():
        half, moved = np.full((n, n), np.nan, dtype=dtype), halved(z)
        linear = LinearPart(halved(base), rows, rows)
        found, price = half_box_direction(RankOneStep(moved, keep, left, right), linear, box, half)
        return half, moved, *found, price

    half, moved, *found, price = both(call)
    slack = 4 * np.finfo(dtype).eps
    np.testing.assert_allclose(moved, halved(z if still else x), rtol=0.0 if still else 1e-13, atol=1e-14)
    np.testing.assert_allclose(half, halved(out), rtol=0.0, atol=slack * np.abs(out).max())
    assert found == pytest.approx(figures, rel=1e-12, abs=1e-12)
    assert price == pytest.approx(float(np.vdot(base, x)), abs=1e-13 * np.abs(base).sum() * np.abs(x).max())
    complete(half)
    np.testing.assert_allclose(half, out, rtol=0.0, atol=slack * np.abs(out).max())


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
    box = SmoothedBox.of(-0.5, 0.7, 0.1)
    (found,) = both(lambda: (box_mean(z, box, None, former, share),))
    np.testing.assert_allclose(found, expected, rtol=1e-13, atol=1e-14)
    x = z + 0.1 * mean
    centred = (1.0 - share) * mean + share * (x - np.clip(x, -0.5, 0.7)) / 0.1
    (moved,) = both(lambda: (box_mean(z, box, mean, former, share),))
    np.testing.assert_allclose(moved, centred, rtol=1e-12, atol=1e-13)
    if square:
        z[np.triu_indices(shape[0], 1)] = mean[np.triu_indices(shape[0], 1)] = np.nan
        (half,) = both(lambda: (box_mean(z, box, None, former, share, half=True),))
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
        linear, box = LinearPart(base, rows, columns), SmoothedBox.of(-0.5, 0.25, beta)
        figures = centred_box_direction(linear, z, moved, box, out, Ascent(share, former))
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
    figures = both(lambda: box_offset(z, centre, SmoothedBox.of(0.0, np.inf, 0.2)))
    shifted = z + 0.2 * centre
    move = (shifted - np.clip(shifted, 0.0, np.inf)) / 0.2 - centre
    np.testing.assert_allclose(figures, [(move**2).sum(), (move * centre).sum(), (centre**2).sum()], rtol=1e-11)


def test_a_centre_that_was_moved_before_gives_the_same_direction_to_the_last_bit():
    # A run that is taken up again may find the ascent done already.
    rng = np.random.default_rng(5)
    base, z, centre = (rng.standard_normal((37, 37)) for _ in range(3))
    rows, outs, figures = rng.standard_normal(37), [], []
    linear, box = LinearPart(base, rows, rows), SmoothedBox.of(0.0, np.inf, 0.1)
    for ascent in [Ascent(0.4, 0.3), None]:
        outs.append(np.empty((37, 37)))
        figures.append(centred_box_direction(linear, z, centre, box, outs[-1], ascent))
    assert outs[0].tobytes() == outs[1].tobytes()
    assert figures[0] == figures[1]
