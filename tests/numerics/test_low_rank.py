"""Matrices of low rank among others, against eigenvalues."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from cgm_cli.numerics.low_rank import MOST, among, eliminated


@pytest.mark.parametrize("rank", range(1, MOST + 3))
@pytest.mark.parametrize("seed", range(5))
def test_semidefinite_matrices_of_low_rank_come_back(rank, seed):
    n, rng = 20, np.random.default_rng(seed)
    left = rng.standard_normal((n, rank)) * 10.0 ** rng.integers(-3, 3)
    matrix = (left * rng.uniform(0.5, 2.0, rank)) @ left.T
    found = eliminated(matrix)
    assert (found is not None) == (rank <= MOST)
    if found is not None:
        vectors, weights = found
        assert vectors.shape == (n, rank)
        np.testing.assert_allclose((vectors * weights) @ vectors.T, matrix, atol=1e-12 * np.abs(matrix).max())


@pytest.mark.parametrize(
    ("matrix", "columns"),
    [
        (np.ones((5, 5)), 1),
        (-np.ones((5, 5)), 1),
        (np.diag([1.0, 0.0, -2.0]), 2),
        (np.array([[0.0, 1.0], [1.0, 0.0]]), None),  # no pivot on the diagonal
        (np.zeros((3, 3)), None),
        (np.eye(6), None),
        (np.ones((5, 5)) + 1e-9 * np.eye(5), None),
    ],
)
def test_small_ones(matrix, columns):
    found = eliminated(matrix)
    assert (None if found is None else found[1].size) == columns


def test_they_are_found_among_rows():
    n, rng = 9, np.random.default_rng(0)
    one, two = rng.standard_normal((n, 1)), rng.standard_normal((n, 2))
    full = rng.standard_normal((n, n))
    part = np.zeros((n, n))
    part[2:7, 2:7] = np.outer(one[2:7], one[2:7])
    matrices = [full + full.T, one @ one.T, np.eye(n), two @ two.T, part]
    rows = sp.csr_array(np.array([matrix.reshape(-1) for matrix in matrices]))
    places, found = among(rows, n, 2 * n)
    assert places.tolist() == [1, 3, 4] and found is not None
    cuts = [*found.starts, found.weights.size]
    for place, first, last in zip(places, cuts[:-1], cuts[1:], strict=True):
        vectors = found.vectors[:, first:last]
        np.testing.assert_allclose((vectors * found.weights[first:last]) @ vectors.T, matrices[place], atol=1e-12)
    assert among(rows[[0, 2]], n, n)[1] is None
