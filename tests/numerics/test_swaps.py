"""Swaps of centres: their prices by the definition, and what they find where moves of single points are at rest."""

import numpy as np
import pytest

from cgm_cli.numerics.deadline import Deadline
from cgm_cli.numerics.hartigan import improved, means_of
from cgm_cli.numerics.swaps import prices, swapped
from cgm_cli.templates.clustering import kmeans, kmeans_value, polished, searched
from tests.certificates.support import exact

pytestmark = pytest.mark.usefixtures("either")


def clouds(sizes, seed=0):
    """Points on the line, within 1 of 0, 100, 130, 160 ..., so many at each."""
    rng = np.random.default_rng(seed)
    centres = [0.0, *(100.0 + 30.0 * i for i in range(len(sizes) - 1))]
    return np.concatenate([c + rng.uniform(-1, 1, n) for c, n in zip(centres, sizes, strict=True)])[:, None]


def test_a_price_is_what_the_best_merger_adds():
    rng = np.random.default_rng(0)
    points, labels, k = rng.standard_normal((30, 3)), rng.integers(5, size=30), 5
    value = kmeans_value(points, labels, k)
    sizes = np.bincount(labels, minlength=k).astype(float)
    found = prices(means_of(points, labels, sizes), sizes)
    for a in range(k):
        merged = [kmeans_value(points, np.where(labels == a, b, labels), k) - value for b in range(k) if b != a]
        assert found[a] == pytest.approx(min(merged))


def test_a_cluster_that_is_empty_is_free():
    sizes = np.array([2.0, 0.0, 1.0])
    np.testing.assert_array_equal(prices(np.array([[1.0], [0.0], [2.0]]), sizes)[1], 0.0)


def test_two_centres_in_one_cloud_part():
    points = clouds([10, 10, 10])
    stuck = np.repeat([0, 1, 2], [5, 5, 20])
    stuck[:10] = points[:10, 0] > 0.0
    assert kmeans_value(points, improved(points, stuck, 3), 3) > 1000.0  # two of them at 0, where moves are at rest
    found = swapped(points, stuck, 3, 20, np.random.default_rng(0))
    np.testing.assert_array_equal(found[:10], found[0])
    np.testing.assert_array_equal(found[10:20], found[10])
    np.testing.assert_array_equal(found[20:], found[20])
    assert len(set(found)) == 3


@pytest.mark.parametrize("seed", range(6))
def test_the_outcome_is_the_best_of_few_points_and_never_worse(seed):
    rng = np.random.default_rng(seed)
    points, k = rng.standard_normal((9, 2)), 2 + seed % 3
    labels = rng.integers(k, size=9) if seed else np.zeros(9, dtype=int)
    found = swapped(points, labels, k, 30, np.random.default_rng(seed))
    assert kmeans_value(points, found, k) == pytest.approx(exact(points, k)[0])
    assert kmeans_value(points, swapped(points, labels, k, 1, rng), k) <= kmeans_value(points, labels, k) * (1 + 1e-12)


def test_points_that_agree_and_a_deadline_leave_all_as_it_is():
    labels = np.array([0, 1, 0, 1])
    rng = np.random.default_rng(0)
    assert swapped(np.ones((4, 2)), labels, 2, 5, rng) is labels
    assert swapped(clouds([2, 2]), labels, 2, 5, rng, Deadline(lambda: 0.0)) is labels


def test_they_find_more_than_k_means_from_many_starts(either):
    rng = np.random.default_rng(0)
    centres = 1.5 * rng.standard_normal((25, 5))
    points = centres[rng.integers(25, size=400)] + rng.standard_normal((400, 5))
    start = kmeans(points, 25, 5, 0)
    found = searched(points, start, 25, 0)
    part = 0.99 if either else 1.0  # without numba there are few of them
    assert kmeans_value(points, found, 25) < part * kmeans_value(points, polished(points, start, 25), 25)
    np.testing.assert_array_equal(found, searched(points, start, 25, 0))
