"""Proofs of semidefiniteness against matrices that are made semidefinite, and ones that are not by a single bit."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest

from cgm_cli.numerics.semidefinite import is_semidefinite

J = np.ones((3, 3))


def along_diagonal(*parts: np.ndarray) -> np.ndarray:
    n = sum(map(len, parts))
    out, at = np.zeros((n, n)), 0
    for part in parts:
        out[at : at + len(part), at : at + len(part)] = part
        at += len(part)
    return out


def laplacian(n: int, seed: int) -> np.ndarray:
    """Of a graph on a path and more, with weights that are fractions of two."""
    rng = np.random.default_rng(seed)
    weights = np.triu(rng.integers(0, 9, (n, n)) * (rng.random((n, n)) < 0.05), 1) / 8.0 + np.diag(np.ones(n - 1), 1)
    weights = weights + weights.T
    return np.diag(weights.sum(axis=1)) - weights


def factored(n: int, rank: int, seed: int) -> np.ndarray:
    left = np.random.default_rng(seed).integers(-9, 10, (n, rank)).astype(float)
    return left @ left.T


@pytest.mark.parametrize(
    "matrix",
    [
        np.zeros((2, 2)),
        np.diag([0.0, 1e-300, 5.0]),
        J,
        along_diagonal(J, np.zeros((1, 1)), 0.1 * np.eye(2), J),
        laplacian(200, 1),
        factored(12, 3, 2),
        factored(30, 29, 3),
        np.eye(40) + factored(40, 2, 4),
    ],
)
def test_what_is_semidefinite_is_so_and_no_longer_with_a_little_less_on_its_diagonal(matrix):
    order = np.random.default_rng(1).permutation(len(matrix))
    matrix = matrix[np.ix_(order, order)]
    assert is_semidefinite(matrix)
    if np.linalg.eigvalsh(matrix)[0] < 1e-9:  # singular: less of anything that a null vector has is too little
        null = np.argmax(np.abs(np.linalg.eigh(matrix)[1][:, 0]))
        less = matrix.copy()
        less[null, null] = np.nextafter(less[null, null], -1.0)
        assert not is_semidefinite(less)


@pytest.mark.parametrize(
    "matrix", [-J, np.array([[0.0, 1.0], [1.0, 5.0]]), np.array([[1.0, 2.0], [0.0, 1.0]]), J - 1e-12 * np.eye(3)]
)
def test_what_is_not_is_not(matrix):
    assert not is_semidefinite(matrix)


@pytest.mark.parametrize("seed", range(40))
def test_rounded_squares_against_their_minors(seed):
    """A symmetric matrix is semidefinite where no principal minor is negative: in fractions, of what doubles are."""
    left = np.random.default_rng(seed).integers(-9, 10, (3, 1 + seed % 2)) / 10.0
    matrix = np.array([[sum(a * b for a, b in zip(one, other, strict=True)) for other in left] for one in left])
    exact = [[Fraction(float(entry)) for entry in row] for row in matrix]
    chosen = (places for size in (1, 2, 3) for places in combinations(range(3), size))
    assert is_semidefinite(matrix) == all(determinant([[exact[i][j] for j in p] for i in p]) >= 0 for p in chosen)


def determinant(rows: list[list[Fraction]]) -> Fraction:
    """By the first row."""
    if not rows:
        return Fraction(1)
    minors = ([row[:j] + row[j + 1 :] for row in rows[1:]] for j in range(len(rows)))
    return sum((-1) ** j * rows[0][j] * determinant(minor) for j, minor in enumerate(minors))
