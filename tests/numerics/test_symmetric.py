"""Products that read one triangle, and the steps made of them, against dense arithmetic."""

import numpy as np
import pytest

from cgm_cli.numerics import symmetric
from cgm_cli.numerics.eigen import _extend, smallest_eigenpairs
from cgm_cli.numerics.symmetric import HalfProduct
from cgm_cli.numerics.threads import threads

pytestmark = pytest.mark.usefixtures("either")


def symmetric_matrix(n, kind=float):
    """A random one, exactly representable in `kind`, and its lower half with what must not be read above it."""
    a = np.random.default_rng(n).standard_normal((n, n)).astype(kind)
    a = np.tril(a) + np.tril(a, -1).T
    lower = a.copy()
    lower[np.triu_indices(n, 1)] = np.nan
    return a.astype(float), lower


# Less than four rows, four, a rest; one strip, two; shared among threads, with a rest.
@pytest.mark.parametrize("n", [1, 3, 4, 7, 250, 501, symmetric.ONE_THREAD_ORDER + 3])
@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_a_product_reads_one_triangle_and_hangs_on_no_number_of_threads(n, kind):
    a, lower = symmetric_matrix(n, kind)
    vector = np.random.default_rng(0).standard_normal(n).astype(kind)
    with threads(1):
        found = symmetric.product(lower, vector)
    with threads(3):
        again = symmetric.product(lower, vector)
    assert found.dtype == kind
    assert found.tobytes() == again.tobytes()
    scale = np.abs(a) @ np.abs(vector).astype(float)
    assert np.all(np.abs(found - a @ vector) <= 2 * n * np.finfo(kind).eps * scale)


@pytest.mark.parametrize(("kind", "twice", "slack"), [(np.float64, True, 1e-13), (np.float32, False, 1e-5)])
def test_several_steps_at_once_are_single_ones_in_turn(kind, twice, slack):
    n, steps = 60, 6
    a, lower = symmetric_matrix(n, kind)
    multiply = HalfProduct(lower, 0.5, lambda block: 0.5 * a @ block)
    found = []
    for several in (True, False):
        basis, projected = np.zeros((steps + 1, n)), np.zeros((steps + 1, steps + 1))
        basis[0, :] = 1.0 / np.sqrt(n)
        if several:
            found.append((basis, projected, *multiply.extend(basis, projected, 0, steps, 0.0, twice)))
        else:
            size = 0.0
            for new in range(steps):
                result = _extend(lambda v: 0.5 * a @ v, basis, projected, new, 0, size, twice)
                size = result[2]
            found.append((basis, projected, *result))
    for one, other in zip(*found, strict=True):
        np.testing.assert_allclose(one, other, atol=slack * n)
    basis, projected = found[0][:2]
    np.testing.assert_allclose(basis @ basis.T, np.eye(steps + 1), atol=slack * n)
    np.testing.assert_allclose(projected[:steps, :steps], (basis @ (0.5 * a) @ basis.T)[:steps, :steps], atol=slack * n)


def test_steps_end_where_the_space_is_invariant():
    n = 40
    values = np.repeat([-3.0, 1.0, 2.0, 5.0], 10)
    lower = np.diag(values)
    multiply = HalfProduct(lower, 1.0, lambda block: values[:, None] * block)
    basis, projected = np.zeros((33, n)), np.zeros((33, 33))
    basis[0] = np.random.default_rng(0).standard_normal(n)
    basis[0] /= np.linalg.norm(basis[0])
    new, coupling, size = multiply.extend(basis, projected, 0, 32, 0.0, True)
    assert new == 4  # as many as there are eigenvalues
    assert coupling <= 1e-12
    np.testing.assert_allclose(np.linalg.eigvalsh(projected[:4, :4]), [-3.0, 1.0, 2.0, 5.0], atol=1e-12)
    assert size <= 5.0 + 1e-12


@pytest.mark.parametrize("kind", [np.float32, np.float64])
@pytest.mark.parametrize("n", [70, 260])
def test_the_smallest_eigenvalue_by_half_products(n, kind):
    a, lower = symmetric_matrix(n, kind)
    half = HalfProduct(lower, 1.0, lambda block: a @ block)
    options = {"rng": np.random.default_rng(2), "tolerance": 1e-8}
    if kind == np.float32:
        found = smallest_eigenpairs(lambda block: a @ block, n, 1, single_precision=half, **options)
    else:
        found = smallest_eigenpairs(half, n, 1, **options)
    assert found.converged
    value, vector = found.values[0], found.vectors[:, 0]
    assert abs(value - np.linalg.eigvalsh(a)[0]) <= 1e-12 * n
    assert np.linalg.norm(a @ vector - value * vector) <= found.residuals[0] * (1 + 1e-6) + 1e-12


def test_eigenvalues_of_many_copies_by_half_products():
    values = np.repeat([-2.0, 1.0, 4.0], 50)
    half = HalfProduct(np.diag(values), 1.0, lambda block: values[:, None] * block)
    found = smallest_eigenpairs(half, 150, 1, tolerance=1e-10, rng=np.random.default_rng(0))
    assert found.converged
    assert found.values[0] == pytest.approx(-2.0, abs=1e-12)
