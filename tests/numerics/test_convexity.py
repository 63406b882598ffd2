"""The smallest eigenvalue from below: never above the truth, near it, by every route."""

from functools import cache

import numpy as np
import pytest
import scipy.sparse as sp

from cgm_cli.numerics.convexity import EIGENVALUES, WRITTEN_OUT, eigenvalue_floor


@cache
def with_least(n, least):
    """A dense matrix of norm one with this smallest eigenvalue, but for rounding."""
    rng = np.random.default_rng(n)
    q = np.linalg.qr(rng.standard_normal((n, n)))[0]
    values = np.concatenate([[least, 1.0], rng.uniform(max(least, 0.0), 1.0, n - 2)])
    matrix = (q * values) @ q.T
    return 0.5 * (matrix + matrix.T)


def banded(n, least):
    """The path's Laplacian, of known eigenvalues, moved so that the smallest is `least`; no discs settle it."""
    off = np.full(n - 1, -1.0)
    first = 2.0 - 2.0 * np.cos(np.pi / (n + 1))
    return sp.diags_array([off, np.full(n, 2.0 - first + least), off], offsets=[-1, 0, 1]).tocsr()


@pytest.mark.parametrize("n", [2, 60, EIGENVALUES, EIGENVALUES + 100])
@pytest.mark.parametrize("least", [-1e-6, -1e-9, 0.0, 1e-3])
@pytest.mark.parametrize("unit", [1e-30, 1.0, 1e30])
def test_dense(n, least, unit):
    matrix = unit * with_least(n, least)
    true = np.linalg.eigvalsh(matrix)[0]
    floor = eigenvalue_floor(matrix)
    assert floor.proven
    assert floor.value <= true + n * 1e-16 * unit
    # What is not negative need only be found not to be.
    assert min(true, 0.0) - floor.value <= 2e-12 * n * unit


@pytest.mark.parametrize("least", [-1e-6, 0.0])
def test_a_narrow_band(least):
    n = WRITTEN_OUT + 500
    floor = eigenvalue_floor(banded(n, least))
    assert floor.proven
    assert least - 1e-9 <= floor.value <= least + 1e-15 * n


def test_discs_settle_what_is_diagonally_dominant():
    n, rng = 20_000, np.random.default_rng(0)
    graph = sp.random_array((n, n), density=1e-3, rng=rng, format="csr")
    weights = graph + graph.T
    loaded = sp.diags_array(np.asarray(weights.sum(axis=1)).reshape(-1) * (1 + 1e-9)) - weights
    floor = eigenvalue_floor(loaded.tocsr())
    assert floor.proven and floor.value >= 0.0


def test_a_large_sparse_matrix_without_a_band_is_only_estimated():
    n, rng = 6000, np.random.default_rng(0)
    factor = sp.random_array((n, n), density=1e-3, rng=rng, format="csr")
    matrix = (factor.T @ factor - 1e-3 * sp.eye_array(n)).tocsr()
    floor = eigenvalue_floor(matrix)
    assert not floor.proven
    assert floor.value < -1e-4
