"""Fused passes against the NumPy expressions they equal."""

import numba
import numpy as np
import pytest

from cgm_cli.numerics import kernels
from cgm_cli.numerics.kernels import box_dual


@pytest.mark.parametrize("shape", [(1,), (7,), (33, 5)])
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


@pytest.mark.parametrize("arrays", [False, True])
def test_box_dual_keeps_nan(arrays):
    z = np.array([0.5, np.nan, -3.0, 9.0])
    lower, upper = (np.zeros(4), np.ones(4)) if arrays else (0.0, 1.0)
    y, distance, pairing, size = box_dual(z, lower, upper, 1.0)
    np.testing.assert_array_equal(np.isnan(y), [False, True, False, False])
    assert np.isnan([distance, pairing, size]).all()


def test_box_dual_of_a_strided_array():
    z = np.arange(12.0).reshape(3, 4).T - 5
    np.testing.assert_array_equal(box_dual(z, 0.0, 1.0, 1.0)[0], z - np.clip(z, 0, 1))


def test_kernels_work_where_no_cache_can_be_written(monkeypatch):
    def nowhere(function):
        raise RuntimeError("cannot cache function: no locator available")

    njit = numba.njit
    monkeypatch.setattr(numba, "njit", lambda cache=False, **options: nowhere if cache else njit(**options))
    assert kernels._compiled(fastmath=True)(lambda x: x + 1)(2) == 3
