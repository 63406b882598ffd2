"""Nystrom's approximation against a dense twin, and against what the theory says of it."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cgm_cli.numerics.nystrom import nystrom


def semidefinite(rng, values):
    vectors = np.linalg.qr(rng.standard_normal((values.size, values.size)))[0]
    return (vectors * values) @ vectors.T


def orthonormal(rng, n, columns):
    return np.linalg.qr(rng.standard_normal((n, columns)))[0]


def twin(x, basis):
    """(X W) (W^T X W)^+ (X W)^T, by a pseudo-inverse from eigenvalues."""
    values, vectors = np.linalg.eigh(basis.T @ x @ basis)
    inverse = np.where(values > 1e-12 * values.max(), 1.0 / np.where(values > 0.0, values, 1.0), 0.0)
    sketch = x @ basis
    return sketch @ (vectors * inverse) @ vectors.T @ sketch.T


def written_out(found):
    return (found.vectors * found.values) @ found.vectors.T


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 40), st.integers(1, 40), st.integers(0, 10**6), st.sampled_from([1e-60, 1.0, 1e50]))
def test_it_is_that_of_a_dense_pseudo_inverse(n, columns, seed, scale):
    rng = np.random.default_rng(seed)
    columns = min(n, columns)
    x = scale * semidefinite(rng, rng.uniform(0.1, 1.0, n))
    basis = orthonormal(rng, n, columns)
    found = nystrom(x @ basis, basis)
    np.testing.assert_allclose(written_out(found), twin(x, basis), atol=1e-12 * n * scale)
    np.testing.assert_allclose(found.vectors.T @ found.vectors, np.eye(columns), atol=1e-12)
    assert np.all(found.values >= 0.0) and np.all(np.diff(found.values) <= 0.0)
    actual = np.linalg.norm(x - written_out(found), "nuc")
    missing = found.missing(float(np.trace(x)))
    # What is missing is known from the trace, up to what is allowed for the shift and for rounding.
    assert actual <= missing + 1e-12 * n * scale
    assert missing <= actual + 4 * n * found.shift + 1e-12 * n * scale


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 40), st.data(), st.integers(0, 10**6))
def test_a_rank_that_fits_is_recovered(n, data, seed):
    rng = np.random.default_rng(seed)
    columns = data.draw(st.integers(1, n))
    rank = data.draw(st.integers(0, columns))
    x = semidefinite(rng, np.concatenate([rng.uniform(0.1, 1.0, rank), np.zeros(n - rank)]))
    basis = orthonormal(rng, n, columns)
    found = nystrom(x @ basis, basis)
    missing = np.linalg.norm(x - written_out(found), "nuc")
    # W may miss a direction of x almost, by a factor of about n when R is the rank; that magnifies the rounding.
    assert missing <= 1e-7
    if rank <= columns // 2:
        assert missing <= 1e-10


def test_zero():
    basis = orthonormal(np.random.default_rng(0), 6, 3)
    found = nystrom(np.zeros((6, 3)), basis)
    assert not found.values.any() and found.missing(0.0) == 0.0


@pytest.mark.parametrize("decay", [0.9, 0.7, 0.4])
@pytest.mark.parametrize("columns", [6, 12])
def test_the_expected_error(decay, columns):
    """E |X - X_hat|_* <= (1 + r / (R - r - 1)) |X - [X]_r|_* for every r < R - 1 (Tropp et al. 2017, Theorem 4.1)."""
    rng, n = np.random.default_rng(1), 40
    values = decay ** np.arange(n)
    x = semidefinite(rng, values)
    missing = []
    for _ in range(300):
        basis = orthonormal(rng, n, columns)
        missing.append(np.linalg.norm(x - written_out(nystrom(x @ basis, basis)), "nuc"))
    bounds = [(1.0 + r / (columns - r - 1)) * values[r:].sum() for r in range(columns - 1)]
    assert np.mean(missing) <= min(bounds)
    # And no approximation of that rank is any better than the best.
    assert min(missing) >= values[columns:].sum() * (1.0 - 1e-9)
