"""The residual of factors tells how indefinite a matrix may be; one that is indefinite is never let through."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from cgm_cli.verify import definite
from cgm_cli.verify.definite import indefiniteness


def laplacian(rows: int, columns: int) -> sp.csr_array:
    """Of a grid: eigenvalues from 0 to 8."""

    def path(n: int) -> sp.csr_array:
        return sp.diags_array(
            [np.full(n - 1, -1.0), np.r_[1.0, np.full(n - 2, 2.0), 1.0], np.full(n - 1, -1.0)], offsets=[-1, 0, 1]
        )

    return sp.csr_array(sp.kronsum(path(columns), path(rows)))


@pytest.mark.parametrize("largest", [0, 10_000])
@pytest.mark.parametrize("unit", [1e-100, 1.0, 1e100])
@pytest.mark.parametrize("shift", [1e-9, 1e-3, -1e-9, -1e-3, -1.0])
def test_a_shifted_laplacian(shift, unit, largest, monkeypatch):
    monkeypatch.setattr(definite, "DENSE", largest)
    matrix = laplacian(30, 20)
    matrix = sp.csr_array(unit * (matrix + shift * sp.eye_array(600)))
    found = indefiniteness(matrix)
    if shift > 0.0:
        assert 0.0 <= found <= 1e-10 * unit
    else:
        # Whatever the factorisation was, a proof of more than is true would be a fault.
        assert found is None or found >= -shift * unit


@pytest.mark.parametrize("largest", [0, 10_000])
def test_random_matrices(largest, monkeypatch):
    monkeypatch.setattr(definite, "DENSE", largest)
    rng = np.random.default_rng(0)
    proven = 0
    for _ in range(60):
        half = sp.random_array((40, 40), density=0.1, rng=rng)
        matrix = sp.csr_array(half + half.T + rng.uniform(0.0, 8.0) * sp.eye_array(40))
        least = np.linalg.eigvalsh(matrix.toarray())[0]
        found = indefiniteness(matrix)
        assert found is None or -found <= least
        proven += found is not None and found < 1e-10
    assert 10 < proven < 60
