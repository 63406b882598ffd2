"""Triangle inequalities by splitting: bounds below every clustering, nearer than those without, and their proof."""

import itertools

import numpy as np
import pytest

from cgm_cli.certificates.clustering import Clustering, found
from cgm_cli.certificates.splitting import best_dual_value
from cgm_cli.certificates.tight import TightRelaxation, by_triangles
from cgm_cli.numerics.deadline import NEVER, Deadline
from cgm_cli.templates.clustering import kmeans_value, squared_distances
from tests.templates.test_kmeans_sdp import matrix_of, partitions


def clustering_of(points, k):
    return Clustering(points, found(points, k, 0), k)


@pytest.mark.parametrize(("n", "k", "seed"), [(7, 2, 0), (8, 3, 1), (7, 3, 2), (8, 2, 5), (6, 5, 3)])
def test_the_bound_is_below_every_clustering_and_near_the_best(n, k, seed):
    points = np.random.default_rng(seed).standard_normal((n, 2))
    best = min(kmeans_value(points, labels, k) for labels in partitions(n, k))
    bound, x = by_triangles(clustering_of(points, k), np.inf, NEVER)
    assert best * (1.0 - 1e-3) <= bound <= best * (1.0 + 1e-12)
    assert np.linalg.eigvalsh(x)[0] >= -1e-9
    np.testing.assert_allclose(x.sum(axis=0), 1.0)


def test_whatever_the_multipliers_are_they_take_nothing_from_a_clustering():
    n, k = 7, 3
    points = np.random.default_rng(4).standard_normal((n, 2))
    relaxation = TightRelaxation(clustering_of(points, k))
    for _ in range(3):
        relaxation.step()
        relaxation.exchange()
    relaxation.step()
    assert len(relaxation.places)
    for labels in partitions(n, k):
        x = matrix_of(labels, k)
        assert np.vdot(relaxation.multipliers(), x) >= -1e-12
        assert relaxation.bound() <= kmeans_value(points, labels, k)


def test_what_the_relaxation_leaves_open_is_proven():
    clustering = clustering_of(np.random.default_rng(3).standard_normal((24, 2)), 4)
    plain = 0.5 * best_dual_value(squared_distances(clustering.points), clustering.labels, 4, 0.0)
    tight = by_triangles(clustering, np.inf, NEVER)[0]
    assert clustering.value - tight <= 0.1 * (clustering.value - plain)


def test_it_ends_where_enough_is_proven_and_where_the_time_has_come():
    clustering, told = clustering_of(np.random.default_rng(0).standard_normal((40, 2)), 3), list[float]()
    wanted = 0.9 * clustering.value
    bound, _ = by_triangles(clustering, wanted, NEVER, lambda step, bound: told.append(bound))
    assert bound >= wanted and all(each < wanted for each in told[:-1])
    asked = itertools.count()
    stopped, _ = by_triangles(clustering, np.inf, Deadline(asked=lambda: next(asked) > 1))
    assert 0.0 < stopped < clustering.value and next(asked) == 3
