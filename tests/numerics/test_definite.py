"""Bounds on the smallest eigenvalue against eigenvalues that are known: they are below and close, and a shift that is
too large is refused.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import scipy.linalg
import scipy.sparse as sp

from cgm_cli.blocks.directions import DenseDirection, DiagonalDirection, SparseDirection, SumDirection
from cgm_cli.blocks.domains.certificates import CertificateLimits
from cgm_cli.blocks.domains.fantope import Fantope
from cgm_cli.blocks.domains.nuclear import NuclearBall
from cgm_cli.blocks.domains.product import Product
from cgm_cli.blocks.domains.psd import PSDTrace
from cgm_cli.numerics import definite
from cgm_cli.numerics.definite import Band, dense_floor

RNG = np.random.default_rng
N = 120
NO_EIGENVALUES = CertificateLimits(eigenvalues=1, several_eigenvalues=1)

SPECTRA = {
    "spread": np.linspace(-3.0, 5.0, N),
    "clustered": np.concatenate([-1.0 + 1e-10 * np.arange(20), np.linspace(0.0, 1.0, N - 20)]),
    "degenerate": np.repeat([-2.0, 0.0, 7.0], N // 3),
    "singular": np.repeat([0.0, 1.0], N // 2),
    "a number": np.full(N, 2.5),
    "one far away": np.concatenate([[-1e8], np.linspace(0.0, 1.0, N - 1)]),
    "one far above": np.concatenate([np.linspace(0.0, 1.0, N - 1), [1e8]]),
}


def with_spectrum(values: np.ndarray, seed: int) -> np.ndarray:
    q = scipy.linalg.qr(RNG(seed).standard_normal((values.size, values.size)))[0]
    a = (q * values) @ q.T
    return 0.5 * (a + a.T)


def torus(rows: int, columns: int) -> tuple[sp.csr_array, np.ndarray]:
    """The adjacency matrix of a torus and its eigenvalues, 2 cos(2 pi i / rows) + 2 cos(2 pi j / columns)."""

    def circle(n: int) -> sp.csr_array:
        ahead = sp.csr_array((np.ones(n), (np.arange(n), (np.arange(n) + 1) % n)), shape=(n, n))
        return sp.csr_array(ahead + ahead.T)

    angles = [2.0 * np.cos(2.0 * np.pi * np.arange(n) / n) for n in (rows, columns)]
    return sp.csr_array(sp.kronsum(circle(columns), circle(rows))), np.sort(np.add.outer(*angles).reshape(-1))


@pytest.mark.parametrize("unit", [1e-100, 1.0, 1e100])
@pytest.mark.parametrize("name", SPECTRA)
@pytest.mark.parametrize("seed", range(3))
def test_every_floor_is_below_and_close(name, unit, seed):
    values = SPECTRA[name]
    a, size = unit * with_spectrum(values, seed), unit * np.abs(values).max()
    rounding = 4e-15 * size  # of the product that made the matrix
    least = unit * values.min()
    for guess in (least, least + 1e-9 * size):
        for found in (dense_floor(a, guess), Band(sp.csr_array(a)).floor(guess)):
            assert least - 1e-6 * size <= found <= least + rounding


@pytest.mark.parametrize("name", SPECTRA)
@pytest.mark.parametrize("count", [1, 2, 30])
@pytest.mark.parametrize("unit", [1e-100, 1.0, 1e100])
def test_a_lifted_matrix(name, count, unit):
    """theta_k is the smallest eigenvalue once the k - 1 below it are lifted there."""
    a = with_spectrum(SPECTRA[name], 0)
    values, vectors = scipy.linalg.eigh(a)
    level, size = values[count - 1], np.abs(values).max()
    lifted = unit * (level - values[:count])
    found = dense_floor(unit * a, unit * level, 0.0, vectors[:, :count], lifted) / unit
    assert level - 1e-6 * size <= found <= level + 4e-15 * size


@pytest.mark.parametrize("name", SPECTRA)
@pytest.mark.parametrize("excess", [3e-12, 1e-9, 1e-3])
def test_a_shift_that_is_too_large_is_refused(name, excess, monkeypatch):
    """With one attempt, at a shift above the smallest eigenvalue by more than rounding, there is no proof."""
    monkeypatch.setattr(definite, "ATTEMPTS", 1)
    a = with_spectrum(SPECTRA[name], 1)
    least = np.linalg.eigvalsh(a)[0]
    size = np.abs(a).max()
    allowance = definite._loss(np.diag(a) - least, N)
    guess = least + allowance + excess * size
    assert dense_floor(a, guess) is None
    assert Band(sp.csr_array(a)).floor(guess) is None


def test_a_hopeless_guess_proves_nothing():
    a = np.diag(np.linspace(-1.0, 1.0, 30))
    assert dense_floor(a, 1e9) is None
    assert Band(sp.csr_array(a)).floor(1e9) is None


@pytest.mark.parametrize("error", [0.0, 1e-8, 1e-3, 0.3])
def test_the_smallest_eigenvalue_of_a_sparse_matrix(error):
    """A guess that is far off is made better by the factor that it leads to."""
    matrix, values = torus(40, 31)
    assert Band(matrix).width < 100
    found = Band(matrix).floor(values[0] + error, error)
    assert values[0] - (1e-10 if error == 0.0 else 1e-8) <= found <= values[0] + 1e-14
    assert values[0] - 1e-8 <= dense_floor(matrix.toarray(), values[0] + error, error) <= values[0] + 1e-14
    assert Band(matrix).size == 8 * matrix.shape[0] * (Band(matrix).width + 1)


def test_entries_stored_twice_are_added_up():
    matrix = sp.csr_array(np.diag([1.0, -2.0, 3.0]))
    twice = sp.csr_array(
        (np.repeat(0.5 * matrix.data, 2), np.repeat(matrix.indices, 2), 2 * matrix.indptr), shape=(3, 3)
    )
    assert Band(twice).floor(-2.0) == pytest.approx(-2.0, abs=1e-13)


DOMAINS = {
    "spectrahedron": (PSDTrace(N, 3.0, True), lambda values: 3.0 * values[0]),
    "trace ball": (PSDTrace(N, 3.0, False), lambda values: min(0.0, 3.0 * values[0])),
    "fantope": (Fantope(N, 4), lambda values: values[:4].sum()),
    "wide fantope": (Fantope(N, 50), lambda values: values[:50].sum()),
}


@pytest.mark.parametrize("unit", [1e-100, 1.0, 1e100])
@pytest.mark.parametrize("spectrum", SPECTRA)
@pytest.mark.parametrize("name", DOMAINS)
def test_no_minimum_is_above_the_truth(name, spectrum, unit):
    """Both what is proven without eigenvalues, which sizes like this do not need, and what is probable."""
    domain, minimum = DOMAINS[name]
    domain = domain.within(NO_EIGENVALUES)
    values = SPECTRA[spectrum]
    a = with_spectrum(values, 3)
    truth, size = minimum(values), 3.0 * domain.count * np.abs(values).max()
    direction = DenseDirection(unit * a, symmetric=True)
    proven = domain.certified_minimum(direction)
    probable = domain.probable_minimum(direction, 1e-9, RNG(0))
    assert truth - 1e-6 * size <= proven / unit <= truth + 4e-15 * size
    assert truth - 1e-4 * size <= probable / unit <= truth + 4e-15 * size


def test_a_sparse_direction_is_never_written_out(monkeypatch):
    monkeypatch.setattr(SumDirection, "dense", lambda self: pytest.fail("written out"))
    matrix, values = torus(40, 31)
    direction = SumDirection((SparseDirection(matrix, symmetric=True), DiagonalDirection(np.full(1240, 0.5))))
    found = PSDTrace(1240, 2.0, True).within(NO_EIGENVALUES).certified_minimum(direction)
    assert found == pytest.approx(2.0 * (values[0] + 0.5), abs=1e-8)
    assert found <= 2.0 * (values[0] + 0.5) + 1e-14


@pytest.mark.parametrize("shape", [(90, 70), (70, 90)])
@pytest.mark.parametrize("unit", [1e-100, 1.0, 1e100])
def test_the_nuclear_ball(shape, unit):
    for values in (np.linspace(0.0, 1.0, 70), np.ones(70), np.concatenate([np.zeros(69), [5.0]])):
        left, right = (scipy.linalg.qr(RNG(4).standard_normal((side, 70)), mode="economic")[0] for side in shape)
        ball, truth = NuclearBall(shape, 2.0).within(NO_EIGENVALUES), -2.0 * values.max()
        direction = DenseDirection(unit * (left * values) @ right.T)
        for found in (ball.certified_minimum(direction), ball.probable_minimum(direction, 1e-9, RNG(0))):
            assert truth * (1.0 + 1e-4) <= found / unit <= truth * (1.0 - 1e-14)


def test_zero_directions():
    for domain in (NuclearBall((7, 5), 1.0), PSDTrace(6, 2.0, True), Fantope(6, 2)):
        domain = domain.within(NO_EIGENVALUES)
        zero = DenseDirection(np.zeros(domain.shape), symmetric=domain.symmetric)
        assert domain.certified_minimum(zero) == 0.0
        assert domain.probable_minimum(zero, 1e-9, RNG(0)) == 0.0


def test_out_of_reach_of_a_proof():
    limits = replace(NO_EIGENVALUES, dense=1, written_out=1, gram=1)
    a = with_spectrum(SPECTRA["spread"], 0)
    blocks = (PSDTrace(N, 1.0, True).within(limits), NuclearBall((N, N), 1.0).within(limits))
    for block in blocks:
        assert block.certified_minimum(DenseDirection(a, symmetric=True)) is None
    both = DenseDirection(np.concatenate([a.reshape(-1), a.reshape(-1)]))
    product = Product(blocks)
    assert product.certified_minimum(both) is None
    # A degree of 500 loses (4 + 25 / 20) log(2 sqrt(N) / d)^2 / (2 * 500^2), which is 3e-4.
    assert -8.0 - 5e-4 <= product.probable_minimum(both, 1e-9, RNG(0)) <= -8.0 + 1e-13


@pytest.mark.parametrize("slack", [0.0, 1e-3])
def test_a_loss_that_does_not_matter_saves_a_factorisation(slack, monkeypatch):
    made = []
    known = scipy.linalg.cholesky_banded
    monkeypatch.setattr(definite.scipy.linalg, "cholesky_banded", lambda *a, **k: made.append(1) or known(*a, **k))
    matrix, values = torus(40, 31)
    found = Band(matrix).floor(values[0] + 1e-4, 2e-4, slack)
    assert len(made) == (1 if slack else 2)
    assert values[0] - (2e-4 if slack else 1e-8) <= found <= values[0] + 1e-14


def test_a_band_that_is_too_wide_is_not_factorised():
    matrix, _ = torus(40, 31)
    direction = SparseDirection(matrix, symmetric=True)
    limits = replace(NO_EIGENVALUES, written_out=1)
    for width, out_of_reach in ((10, True), (Band(matrix).width + 1, False)):
        domain = PSDTrace(1240, 2.0, True).within(replace(limits, band_bytes=8 * 1240 * width))
        assert (domain.certified_minimum(direction) is None) == out_of_reach
