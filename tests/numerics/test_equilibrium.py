"""Units in which a matrix is of one size everywhere."""

import numpy as np
import pytest
import scipy.sparse as sp

from cgm_cli.numerics.equilibrium import equilibrated


@pytest.mark.parametrize(
    "parts", [[np.array], [sp.csr_array], [sp.csc_array, np.array]], ids=["dense", "sparse", "both"]
)
@pytest.mark.parametrize("seed", range(3))
def test_largest_entries_become_one(seed, parts):
    rng = np.random.default_rng(seed)
    rows, columns = 10.0 ** rng.uniform(-6, 6, (2, 12))
    matrix = rows[:, None] * sp.random_array((12, 12), density=0.5, rng=rng).toarray() * columns
    pieces = np.array_split(matrix, len(parts))
    r, t = equilibrated([kind(piece) for kind, piece in zip(parts, pieces, strict=True)], np.arange(12))
    scaled = np.abs(r[:, None] * matrix * t)
    for peaks, own in ((scaled.max(axis=1), matrix.any(axis=1)), (scaled.max(axis=0), matrix.any(axis=0))):
        np.testing.assert_allclose(peaks[own], 1.0, rtol=1e-3)
    assert (r[~matrix.any(axis=1)] == 1.0).all() and (t[~matrix.any(axis=0)] == 1.0).all()


def test_columns_that_share_a_unit():
    matrix = np.array([[1.0, 100.0, 1e-4], [0.0, 3.0, 1e-4]])
    t = equilibrated([matrix], np.array([0, 0, 1]))[1]
    assert t[0] == t[1] < t[2]
