"""Operator norms: the truth on small matrices, never below it on large ones, at any magnitude."""

import numpy as np
import pytest
import scipy.sparse as sp

from cgm_cli.numerics.norms import SMALL, operator_norm


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
    matrix = sp.random_array((SMALL + 90, SMALL + 40), density=0.01, rng=np.random.default_rng(seed), format="csr")
    true = np.linalg.svd(matrix.toarray(), compute_uv=False)[0]
    for form in (matrix, matrix.toarray()):
        assert true <= operator_norm(form) <= true * (1 + 1e-5)


def test_zero():
    assert operator_norm(np.zeros((3, 4))) == 0.0
    assert operator_norm(sp.csr_array((3, 4))) == 0.0
