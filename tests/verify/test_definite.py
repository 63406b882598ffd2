"""The factor of a matrix tells how indefinite it may be; one that is indefinite is never let through."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.sparse.csgraph import reverse_cuthill_mckee

from cgm_cli.verify import definite
from cgm_cli.verify.definite import by_inverse_iteration, by_lanczos, factorised
from cgm_cli.verify.precision import Unchecked


def laplacian(rows: int, columns: int) -> sp.csr_array:
    """Of a grid: eigenvalues from 0 to 8."""

    def path(n: int) -> sp.csr_array:
        return sp.diags_array(
            [np.full(n - 1, -1.0), np.r_[1.0, np.full(n - 2, 2.0), 1.0], np.full(n - 1, -1.0)], offsets=[-1, 0, 1]
        )

    return sp.csr_array(sp.kronsum(path(columns), path(rows)))


def distance(matrix: sp.csr_array) -> float | None:
    factor = factorised(matrix)
    return None if factor is None else factor.distance


@pytest.fixture(params=["band", "full"])
def form(request, monkeypatch):
    if request.param == "full":
        monkeypatch.setattr(definite, "BAND", 0)


@pytest.mark.parametrize("unit", [1e-100, 1.0, 1e100])
@pytest.mark.parametrize("shift", [1e-9, 1e-3, -1e-9, -1e-3, -1.0])
def test_a_shifted_laplacian(shift, unit, form):
    matrix = laplacian(30, 20)
    matrix = sp.csr_array(unit * (matrix + shift * sp.eye_array(600)))
    found = distance(matrix)
    if shift > 0.0:
        assert 0.0 <= found <= 1e-10 * unit
    else:
        # Whatever the factorisation was, a proof of more than is true would be a fault.
        assert found is None or found >= -shift * unit


def test_random_matrices(form):
    rng = np.random.default_rng(0)
    proven = 0
    for _ in range(60):
        half = sp.random_array((40, 40), density=0.1, rng=rng)
        matrix = sp.csr_array(half + half.T + rng.uniform(0.0, 8.0) * sp.eye_array(40))
        least = np.linalg.eigvalsh(matrix.toarray())[0]
        found = distance(matrix)
        assert found is None or -found <= least
        proven += found is not None and found < 1e-10
    assert 10 < proven < 60


def test_the_distance_is_that_of_the_factor_written_out(form, monkeypatch):
    """Its twin: the largest row sum of |L| |L|^T, with the L of NumPy."""
    monkeypatch.setattr(definite, "STRIPE", 70)
    matrix = laplacian(30, 20) + 0.1 * sp.eye_array(600)
    factor = factorised(sp.csr_array(matrix))
    if definite.BAND:
        order = reverse_cuthill_mckee(sp.csr_matrix(matrix), symmetric_mode=True)
        matrix = sp.csr_array(matrix)[order][:, order]
        rows, columns = sp.coo_array(matrix).coords
        terms = int(np.abs(rows - columns).max()) + 4
    else:
        terms = 604
    lower = np.abs(np.linalg.cholesky(matrix.toarray()))
    largest = float((lower @ lower.T).sum(axis=1).max())
    assert factor.distance == pytest.approx(terms * np.finfo(float).eps * largest, rel=1e-9)
    x = np.random.default_rng(0).standard_normal(600)
    assert factor.solve((laplacian(30, 20) + 0.1 * sp.eye_array(600)) @ x) == pytest.approx(x)


def test_a_matrix_whose_band_is_too_wide_is_refused_before_it_is_factorised(monkeypatch):
    monkeypatch.setattr(definite, "DENSE", 10)
    monkeypatch.setattr(definite, "BAND", 10)
    with pytest.raises(Unchecked, match="its band is"):
        factorised(laplacian(10, 10))


def test_from_above(form):
    matrix = laplacian(30, 20)
    values = np.linalg.eigvalsh(matrix.toarray())
    factor = factorised(sp.csr_array(matrix + 1e-3 * sp.eye_array(600)))
    assert by_inverse_iteration(matrix, factor) == pytest.approx(0.0, abs=1e-12)
    opposite = sp.csr_array(-matrix)
    ritz = by_lanczos(opposite)
    assert ritz.value == pytest.approx(-values[-1], abs=1e-8)
    assert ritz.residual < 1e-6
    early = by_lanczos(opposite, below=-7.0)
    assert -values[-1] <= early.value < -7.0 and early.products == 50


def test_lanczos_ends_where_eigenvalues_lie_close(monkeypatch):
    """A path of 4000 nodes has the eigenvalues (pi j / n)^2 next to zero: no iteration tells them apart soon."""
    monkeypatch.setattr(definite, "PRODUCTS", 300)
    beside = np.full(3999, -1.0)
    path = sp.diags_array([beside, np.r_[1.0, np.full(3998, 2.0), 1.0], beside], offsets=[-1, 0, 1])
    ritz = by_lanczos(sp.csr_array(path))
    assert ritz.products == 300 and ritz.value > 0.0 and ritz.residual > 1e-6


def test_lanczos_of_a_matrix_with_few_eigenvalues():
    ritz = by_lanczos(sp.csr_array(sp.diags_array(np.repeat([2.0, -1.0], 30))))
    assert ritz.value == pytest.approx(-1.0, abs=1e-12) and ritz.products == 2
