"""Sums over pairs of entries, against products that are written out."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from cgm_cli.numerics.pairs import Congruence, Places


def matrices_of(matrix, places):
    """A_i = sum_u a_iu E_u."""
    found = np.zeros((matrix.shape[0], places.n, places.n))
    for u, (r, c) in enumerate(zip(places.rows, places.columns, strict=True)):
        found[:, r, c] += matrix[:, u]
        found[:, c, r] += matrix[:, u]
    return found


@pytest.mark.parametrize(("n", "used", "on_diagonal"), [(1, 1, False), (6, 9, False), (6, 5, True), (40, 300, False)])
def test_both_ways_are_what_the_definition_says(n, used, on_diagonal):
    rng = np.random.default_rng(n)
    every = (np.arange(n), np.arange(n)) if on_diagonal else np.tril_indices(n)
    chosen = rng.permutation(every[0].size)[:used]
    places = Places(n, every[0][chosen], every[1][chosen])
    matrix = np.where(rng.random((12, chosen.size)) < 0.2, rng.standard_normal((12, chosen.size)), 0.0)
    matrix[3] = 0.0
    x, y = (m + np.swapaxes(m, 1, 2) for m in rng.standard_normal((2, 3, n, n)))
    full = matrices_of(matrix, places)
    first, second = (full @ each[:, None] for each in (x, y))
    wanted = np.einsum("kiac,kjca->kij", first, second, optimize=True)  # tr(A_i X A_j Y)
    size = np.abs(wanted).max() or 1.0
    between = places.between(x, y)
    np.testing.assert_allclose(matrix @ between @ matrix.T, wanted, atol=1e-12 * size)
    found = Congruence(sp.csr_array(matrix), places)(x[1], y[1])
    np.testing.assert_allclose(found, wanted[1], atol=1e-12 * size)
