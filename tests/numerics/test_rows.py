"""Passes over the rows of factors: compiled and by NumPy, one thread and two, against the plain expressions."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from cgm_cli.numerics import rows
from cgm_cli.numerics.rows import Gradient, Line
from cgm_cli.numerics.threads import threads


def arrays(n, columns, seed=0):
    rng = np.random.default_rng(seed)
    matrix = sp.csr_array(sp.random_array((n, n), density=min(1.0, 6.0 / n), rng=rng))
    return matrix, rng, [rng.standard_normal((n, columns)) for _ in range(4)]


@pytest.mark.parametrize("few", [0, 10**9])
@pytest.mark.parametrize(("n", "columns"), [(1, 1), (16, 3), (17, 4), (1000, 20)])
def test_the_coefficients_of_a_line(n, columns, few, monkeypatch):
    monkeypatch.setattr(rows, "NUMPY_BELOW", few)
    matrix, _, (factor, step, product, out) = arrays(n, columns)
    across, along, mixed, squares = rows.line_coefficients(matrix, factor, step, product, out)
    expected = matrix.toarray() @ step
    np.testing.assert_allclose(out, expected, atol=1e-12)
    assert across == pytest.approx(np.sum(step * product), abs=1e-10)
    assert along == pytest.approx(np.sum(step * expected), abs=1e-10)
    np.testing.assert_allclose(mixed, np.sum(factor * step, axis=1), atol=1e-12)
    np.testing.assert_allclose(squares, np.sum(step * step, axis=1), atol=1e-12)


@pytest.mark.parametrize("few", [0, 10**9])
@pytest.mark.parametrize(("n", "columns"), [(1, 1), (16, 3), (17, 4), (1000, 20)])
def test_a_step(n, columns, few, monkeypatch):
    monkeypatch.setattr(rows, "NUMPY_BELOW", few)
    _, rng, (factor, step, product, along) = arrays(n, columns)
    former, diagonal, out = rng.standard_normal((n, columns)), rng.standard_normal(n), np.empty((n, columns))
    moved, carried = factor + 0.3 * step, product + 0.3 * along
    gradient = 1.7 * carried + diagonal[:, None] * moved
    found = rows.take_step(Line(0.3, step, along), Gradient(1.7, diagonal), factor, product, former, out)
    np.testing.assert_allclose(factor, moved, atol=1e-12)
    np.testing.assert_allclose(product, carried, atol=1e-12)
    np.testing.assert_allclose(out, gradient, atol=1e-12)
    inner = [np.sum(gradient * other) for other in (gradient, former, step)]
    np.testing.assert_allclose(found, inner, atol=1e-10 * n)


def test_two_threads_find_the_same_to_the_last_bit(monkeypatch):
    monkeypatch.setattr(rows, "ONE_THREAD_ENTRIES", 0)
    found = []
    for count in (1, 2):
        matrix, rng, (factor, step, product, along) = arrays(3000, 5)
        with threads(count):
            seen = rows.line_coefficients(matrix, factor, step, product, along)
            line, gradient = Line(0.1, step, along), Gradient(1.0, rng.random(3000))
            met = rows.take_step(line, gradient, factor, product, step.copy(), np.empty_like(step))
        found.append(b"".join(np.asarray(part).tobytes() for part in (*seen, *met, factor, product)))
    assert found[0] == found[1]
