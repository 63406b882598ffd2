"""Operator norms: the truth on small matrices, never below it on large ones, at any magnitude."""

import numpy as np
import pytest
import scipy.sparse as sp

from cgm_cli.numerics.norms import GRAM_SIDE, norm_bound, operator_norm


@pytest.mark.parametrize("shape", [(1, 1), (1, 7), (7, 1), (5, 8), (300, 20)])
@pytest.mark.parametrize("magnitude", [1e-200, 1.0, 1e200])
def test_small_matrices_exactly(shape, magnitude):
    matrix = np.random.default_rng(0).standard_normal(shape)
    true = np.linalg.svd(matrix, compute_uv=False)[0]
    for form in (matrix, sp.csr_array(matrix)):
        norm = operator_norm(form * magnitude) / magnitude
        assert true * (1 - 1e-15) <= norm <= true * (1 + 1e-12)


@pytest.mark.parametrize("seed", range(3))
def test_large_matrices_from_above(seed):
    matrix = sp.random_array(
        (GRAM_SIDE + 90, GRAM_SIDE + 40), density=0.01, rng=np.random.default_rng(seed), format="csr"
    )
    true = np.linalg.svd(matrix.toarray(), compute_uv=False)[0]
    for form in (matrix, matrix.toarray()):
        assert true <= operator_norm(form) <= true * (1 + 1e-5)


def test_zero():
    assert operator_norm(np.zeros((3, 4))) == 0.0
    assert operator_norm(sp.csr_array((3, 4))) == 0.0


@pytest.mark.parametrize("shape", [(1, 1), (7, 1), (300, 20), (3, 20_000), (GRAM_SIDE + 20, GRAM_SIDE + 40)])
@pytest.mark.parametrize("magnitude", [1e-100, 1.0, 1e100])
def test_a_bound_is_never_below_the_truth(shape, magnitude):
    matrix = np.random.default_rng(0).standard_normal(shape)
    true = np.linalg.svd(matrix, compute_uv=False)[0]
    for form in (matrix, sp.csr_array(matrix)):
        given = form * magnitude
        assert true * (1 + 4e-16) <= norm_bound(given, operator_norm(given)) / magnitude


def test_a_bound_does_not_rest_on_the_start_of_an_iteration():
    """Of a matrix whose largest singular vector the estimate was never to find."""
    n = GRAM_SIDE + 50
    matrix = sp.eye_array(n, format="csr")
    assert norm_bound(2.0 * matrix, 1.0) >= 2.0
