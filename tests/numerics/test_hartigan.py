"""Moves of one point: their change of the cost by its definition, and what they end at."""

import itertools

import numpy as np
import pytest

from cgm_cli.numerics.deadline import Deadline
from cgm_cli.numerics.hartigan import improved
from cgm_cli.templates.clustering import kmeans_value, polished

pytestmark = pytest.mark.usefixtures("either")


def moves_of_one(labels, clusters):
    """Every clustering that is one move away."""
    for i, b in itertools.product(range(labels.size), range(clusters)):
        moved = labels.copy()
        moved[i] = b
        yield moved


@pytest.mark.parametrize("seed", range(8))
def test_no_move_of_one_point_makes_the_outcome_better(seed):
    rng = np.random.default_rng(seed)
    points, k = rng.standard_normal((25, 1 + seed % 3)), 2 + seed % 4
    labels = rng.integers(k, size=25) if seed % 2 else np.zeros(25, dtype=int)
    found = improved(points, labels, k)
    value = kmeans_value(points, found, k)
    assert value < kmeans_value(points, labels, k)
    assert all(kmeans_value(points, moved, k) >= value * (1 - 1e-9) for moved in moves_of_one(found, k))
    # Hence none of Lloyd's either.
    means = np.array([points[found == c].mean(axis=0) for c in range(k)])
    distances = ((points[:, None] - means) ** 2).sum(axis=2)
    np.testing.assert_array_equal(distances.argmin(axis=1), found)


def test_moves_leave_where_lloyd_is_at_rest():
    """0 | 2, 4.1 costs 2.205, and 0, 2 | 4.1 costs 2."""
    points = np.array([[0.0], [2.0], [4.1]])
    rest = np.array([0, 1, 1])
    means = np.array([0.0, 3.05])
    np.testing.assert_array_equal(np.abs(points - means).argmin(axis=1), rest)
    assert kmeans_value(points, improved(points, rest, 2), 2) == pytest.approx(2.0)


@pytest.mark.parametrize("scale", [1e-170, 1.0, 1e120])
def test_what_is_polished_is_never_worse_in_any_units(scale):
    rng = np.random.default_rng(3)
    points, labels = rng.standard_normal((40, 3)) + 1e3, rng.integers(4, size=40)
    found = polished(scale * points, labels, 4)
    np.testing.assert_array_equal(found, polished(points, labels, 4))
    assert kmeans_value(points, found, 4) < kmeans_value(points, labels, 4)


def test_points_that_are_all_the_same_and_a_deadline_that_has_come():
    labels = np.array([0, 0, 1, 1])
    np.testing.assert_array_equal(polished(np.ones((4, 2)), labels, 3), labels)
    points = np.array([[0.0], [1.0], [0.1], [1.1]])
    np.testing.assert_array_equal(improved(points, labels, 2, Deadline(lambda: 0.0)), labels)
