"""Systems with and without a border, against LAPACK's general solver."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from cgm_cli.methods.corrections.normal_equations import BorderedEquations, NormalEquations, SeminormalEquations


@pytest.mark.parametrize("singular", [False, True])
def test_a_border_is_solved_for_beside_any_diagonal(singular):
    """M of a range of 1e12, and one that is definite only where B^T y = 0."""
    rng = np.random.default_rng(1)
    root, border = rng.standard_normal((7, 7)), sp.csr_array(rng.standard_normal((7, 2)))
    matrix = root @ root.T
    matrix[-1, -1] += 1e12
    if singular:
        root[0] = 0.0
        matrix = root @ root.T
    right, target = rng.standard_normal(7), rng.standard_normal(2)
    y, z = BorderedEquations(matrix, border).solve(right, target)
    whole = np.block([[matrix, border.toarray()], [border.T.toarray(), np.zeros((2, 2))]])
    np.testing.assert_allclose(np.append(y, z), np.linalg.solve(whole, np.append(right, target)), rtol=1e-7, atol=1e-9)


def test_without_one_it_is_the_matrix_alone():
    matrix = np.diag([1.0, 1e-9, 1e9]) + 1e-10
    right = np.array([1.0, 2.0, 3.0])
    np.testing.assert_allclose(NormalEquations(matrix).solve(right), np.linalg.solve(matrix, right), rtol=1e-10)


def test_a_root_keeps_the_digits_that_its_square_loses():
    """Of B^T B with the condition 1e14, once its diagonal is one: y of rows that the others imply but for 1e-7."""
    rng = np.random.default_rng(0)
    root, y = rng.standard_normal((12, 5)), np.array([1.0, -2.0, 3.0, -1.0, 2.0])
    root[:, -1] = root[:, 0] + root[:, 1] + 1e-7 * root[:, -1]
    right = root.T @ (root @ y)
    plain = NormalEquations(root.T @ root)
    assert not plain.is_sound
    found = SeminormalEquations(root).solve(right)
    assert np.abs(root @ (found - y)).max() < 1e-8
    assert np.abs(found - y).max() < 0.1 * np.abs(plain.solve(right) - y).max()


def test_what_is_well_conditioned_is_solved_alike():
    rng = np.random.default_rng(1)
    root, right = rng.standard_normal((12, 5)) * np.array([1e6, 1.0, 1e-6, 1.0, 1.0]), rng.standard_normal(5)
    plain = NormalEquations(root.T @ root)
    assert plain.is_sound
    np.testing.assert_allclose(SeminormalEquations(root).solve(right), plain.solve(right), rtol=1e-9)
