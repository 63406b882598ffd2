"""Products of sparse matrices with blocks: compiled and by SciPy, one thread and two."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from cgm_cli.numerics import sparse_products
from cgm_cli.numerics.threads import threads


def pair(m, n, columns, indices=np.int32):
    rng = np.random.default_rng(m + n)
    matrix = sp.csr_array(sp.random_array((m, n), density=min(1.0, 7.0 / n), rng=rng))
    matrix.indices, matrix.indptr = matrix.indices.astype(indices), matrix.indptr.astype(indices)
    return matrix, rng.standard_normal((n, columns))


@pytest.mark.parametrize("few", [0, 10**9])
@pytest.mark.parametrize("indices", [np.int32, np.int64])
@pytest.mark.parametrize(("m", "n", "columns"), [(1, 1, 1), (17, 5, 3), (40, 40, 8), (300, 200, 5), (3, 9, 0)])
def test_a_product(m, n, columns, indices, few, monkeypatch):
    monkeypatch.setattr(sparse_products, "SCIPY_BELOW", few)
    matrix, block = pair(m, n, columns, indices)
    np.testing.assert_allclose(sparse_products.product(matrix, block), matrix.toarray() @ block, atol=1e-12)
    across = np.asfortranarray(block)
    np.testing.assert_allclose(sparse_products.product(matrix, across), matrix.toarray() @ block, atol=1e-12)
    np.testing.assert_allclose(sparse_products.product(matrix, np.ones(n)), matrix.toarray().sum(axis=1), atol=1e-12)


def test_rows_without_entries_are_zero(monkeypatch):
    monkeypatch.setattr(sparse_products, "SCIPY_BELOW", 0)
    found = sparse_products.product(sp.csr_array((20, 4)), np.ones((4, 3)))
    np.testing.assert_array_equal(found, np.zeros((20, 3)))


def test_two_threads_find_the_same_to_the_last_bit(monkeypatch):
    monkeypatch.setattr(sparse_products, "SCIPY_BELOW", 0)
    matrix, block = pair(4000, 4000, 12)
    found = []
    for count in (1, 2):
        with threads(count):
            found.append(sparse_products.product(matrix, block).tobytes())
    assert found[0] == found[1]
