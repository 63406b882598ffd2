"""Hermitian matrices as real ones: the identities that programs in them rest on."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from cgm_cli.numerics.hermitian import embedded, folded, folded_factor


def hermitian(rng, n):
    whole = rng.standard_normal((n, n)) + 1j * rng.standard_normal((n, n))
    return 0.5 * (whole + whole.conj().T)


@pytest.mark.parametrize("n", [1, 2, 5])
def test_inner_products_traces_and_eigenvalues(n):
    rng = np.random.default_rng(n)
    a, z = hermitian(rng, n), rng.standard_normal((2 * n, 2 * n))
    z = z + z.T
    form, x = embedded(a), folded(z)
    np.testing.assert_array_equal(form, form.T)
    np.testing.assert_array_equal(x, x.conj().T)
    assert np.vdot(form, z) == pytest.approx(np.vdot(a, x).real, rel=1e-13, abs=1e-13)
    assert np.trace(z) == pytest.approx(np.trace(x).real, rel=1e-13, abs=1e-13)
    np.testing.assert_allclose(np.linalg.eigvalsh(form), np.repeat(np.linalg.eigvalsh(a), 2), atol=1e-13)
    np.testing.assert_array_equal(folded(0.5 * embedded(a)), a)


def test_a_factor_stands_for_a_factor():
    """And semidefinite stays semidefinite, of no larger rank."""
    left = np.random.default_rng(0).standard_normal((8, 2))
    u = folded_factor(left)
    np.testing.assert_allclose(u @ u.conj().T, folded(left @ left.T), atol=1e-14)
    assert np.linalg.matrix_rank(folded(left @ left.T)) == 2


@pytest.mark.parametrize("form", [sp.csr_array, sp.csc_array, sp.coo_array])
def test_sparse_ones_stay_sparse(form):
    a = np.array([[1.0, 2j, 0], [-2j, 0, 0], [0, 0, 3.0]])
    found = embedded(form(a))
    assert (sp.issparse(found), found.nnz) == (True, 8)
    np.testing.assert_array_equal(found.toarray(), embedded(a))
