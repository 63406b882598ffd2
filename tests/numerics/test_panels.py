"""Factorisations by panels are those of LAPACK, and can be left."""

import numpy as np
import pytest
import scipy.sparse as sp

from cgm_cli.numerics import panels
from cgm_cli.numerics.deadline import NEVER, Deadline, OutOfTime
from cgm_cli.numerics.definite import Band, dense_floor
from tests.numerics.test_definite import torus


@pytest.fixture
def narrow(monkeypatch):
    monkeypatch.setattr(panels, "PANEL", 7)
    monkeypatch.setattr(panels, "PANELS_FROM", 1)
    monkeypatch.setattr(panels, "PRODUCT", 0.0)


def definite(n):
    g = np.random.default_rng(n).standard_normal((n, n))
    return g @ g.T + np.eye(n)


class Clock:
    """A deadline that comes at the given look at it."""

    def __init__(self, looks):
        self.left = looks

    def __call__(self):
        self.left -= 1
        return self.left < 0


@pytest.mark.parametrize("n", [1, 6, 7, 8, 40])
def test_the_factor_is_that_of_lapack(narrow, n):
    matrix = definite(n)
    work = np.array(matrix, order="F")
    work[np.triu_indices(n, 1)] = np.nan
    assert panels.cholesky(work, lambda: False)
    np.testing.assert_allclose(np.tril(work), np.linalg.cholesky(matrix), atol=1e-12 * n)


def test_what_is_not_definite_breaks_down_in_any_panel(narrow):
    for place in range(0, 30, 4):
        matrix = definite(30)
        matrix[place, place] = -1.0
        with pytest.raises(np.linalg.LinAlgError):
            panels.cholesky(np.asfortranarray(matrix), lambda: False)


def test_it_is_left_between_panels(narrow):
    work = np.asfortranarray(definite(40))
    assert not panels.cholesky(work, Clock(3))
    # Three panels are done, and the fourth has not been begun.
    np.testing.assert_allclose(np.tril(work)[:, :21], np.linalg.cholesky(definite(40))[:, :21], atol=1e-12)
    assert work[25, 22] == definite(40)[25, 22]
    assert panels.gram(definite(40), Clock(3)) is None


def test_a_product_by_panels_is_symmetric_to_the_last_bit(narrow):
    matrix = np.random.default_rng(0).standard_normal((50, 40))
    found = panels.gram(matrix, lambda: False)
    np.testing.assert_array_equal(found, found.T)
    np.testing.assert_allclose(found, matrix.T @ matrix, atol=1e-13 * 50)


@pytest.mark.parametrize("shape", [(70, 40), (40, 300)])
def test_a_sparse_gram_matrix(shape, monkeypatch):
    monkeypatch.setattr(panels, "ROWS", 16)
    rng = np.random.default_rng(0)
    matrix = sp.csr_array(sp.random_array(shape, density=0.1, rng=rng, data_sampler=rng.standard_normal))
    found = panels.sparse_gram(matrix, lambda: False)
    np.testing.assert_array_equal(found, found.T)
    dense = matrix.toarray()
    np.testing.assert_allclose(found, dense.T @ dense, atol=1e-13)
    assert panels.sparse_gram(matrix, lambda: True) is None


def test_a_sparse_gram_matrix_pays_where_entries_are_few():
    rng = np.random.default_rng(0)
    few, many = (sp.csr_array(sp.random_array((60, 40), density=density, rng=rng)) for density in (0.02, 0.9))
    assert panels.sparse_gram_pays(few)
    assert not panels.sparse_gram_pays(many)


def test_a_proof_by_panels_is_the_same(narrow):
    matrix, values = torus(12, 9)
    dense = matrix.toarray()
    by_panels = dense_floor(dense, values[0])
    panels.PANELS_FROM = 10**9
    assert by_panels == dense_floor(dense, values[0])
    assert values[0] - 1e-9 <= by_panels <= values[0] + 1e-13


@pytest.mark.parametrize("weights", [None, np.array([0.5, 2.0, 0.1])])
@pytest.mark.parametrize("from_order", [1, 10**9])
def test_a_matrix_that_may_be_overwritten(from_order, weights, narrow, monkeypatch):
    """The guess is too high at first, so that the factorisation is tried again and again."""
    monkeypatch.setattr(panels, "PANELS_FROM", from_order)
    rng = np.random.default_rng(3)
    matrix = definite(40)
    vectors = rng.standard_normal((40, 3))
    whole = matrix if weights is None else matrix + (vectors * weights) @ vectors.T
    least = np.linalg.eigvalsh(whole)[0]
    given = matrix.copy()
    found = dense_floor(given, least + 1e-3, 1e-6, vectors, weights)
    np.testing.assert_array_equal(given, matrix)
    again = dense_floor(given, least + 1e-3, 1e-6, vectors, weights, overwrite=True)
    assert again == found
    assert least - 2e-3 <= found <= least + 1e-12


def test_products_are_added_symmetrically(narrow):
    matrix, vectors, weights = definite(30), np.random.default_rng(0).standard_normal((30, 4)), np.arange(4.0)
    expected = matrix + (vectors * weights) @ vectors.T
    panels.add_products(matrix, vectors, weights)
    np.testing.assert_array_equal(matrix, matrix.T)
    np.testing.assert_allclose(matrix, expected, rtol=1e-13, atol=1e-12)


def test_a_proof_that_does_not_fit_is_not_begun():
    matrix, values = torus(12, 9)
    for deadline in (Deadline(lambda: 0.0), Deadline(asked=lambda: True)):
        assert dense_floor(matrix.toarray(), values[0], deadline=deadline) is None
        assert Band(matrix).floor(values[0], deadline=deadline) is None
        assert deadline.missed


def test_deadlines():
    left = [10.0]
    whole = Deadline(lambda: left[0])
    early, late = whole.keeping(4.0), whole.part(0.75)
    assert (early.left(), late.left()) == (6.0, 7.5)
    assert whole.affords(10.0) and not early.affords(6.5)
    left[0] = 3.0
    assert early.should_stop() and not late.should_stop()
    # What misses a part of the time need not miss the whole.
    assert early.missed and not whole.missed
    assert early.checked(lambda x: x) is not None
    with pytest.raises(OutOfTime):
        early.checked(lambda x: x)(1)
    assert whole.checked(lambda x: x)(1) == 1
    assert not whole.affords(3.5) and whole.missed
    assert NEVER.part(0.1) is NEVER and NEVER.keeping(1e9) is NEVER
    assert NEVER.affords(1e300) and not NEVER.should_stop() and not NEVER.missed
