"""The relaxation of many points, whose distances are not formed: what is proven, and how little memory that takes."""

import tracemalloc

import numpy as np
import pytest

from cgm_cli.certificates.clustering import Clustering
from cgm_cli.certificates.many import by_splitting
from cgm_cli.certificates.splitting import best_dual_value
from cgm_cli.numerics.deadline import NEVER, Deadline
from cgm_cli.numerics.threads import threads
from cgm_cli.templates.clustering import squared_distances
from tests.certificates.support import blobs, exact, on_the_line


@pytest.mark.parametrize("seed", range(4))
def test_it_is_below_the_best_clustering_from_whatever_it_begins(seed):
    points = blobs(9, 3, 2, 2.0, seed)[0]
    optimum, best = exact(points, 3)
    for labels in (best, np.arange(9) % 3, np.zeros(9, dtype=int)):
        assert by_splitting(Clustering(points, labels, 3), None, seed, NEVER)[0] <= optimum
    assert by_splitting(Clustering(points, best, 3), None, seed, NEVER)[0] >= 0.6 * optimum


def test_it_comes_as_near_as_the_splitting_of_the_distances_formed():
    values = np.random.default_rng(1).uniform(size=400)
    optimum = on_the_line(values, 4)
    labels = np.digitize(values, [0.25, 0.5, 0.75])
    clustering = Clustering(values[:, None], labels, 4)
    bound, denoised = by_splitting(clustering, None, 0, NEVER)
    again = 0.5 * best_dual_value(squared_distances(values[:, None]), labels, 4, 4e-4 * clustering.value)
    assert 0.999 * again <= bound <= optimum
    assert denoised.shape == (400, 1)


def test_memory_is_that_of_five_matrices_in_single_precision_and_one_more():
    n = 900
    points, labels = blobs(n, 2, 2, 4.0, 0)
    clustering = Clustering(points, labels, 2)
    by_splitting(clustering, None, 0, NEVER)  # what is imported
    tracemalloc.start()
    by_splitting(clustering, None, 0, NEVER)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 28 * n**2 + 8 * n**2  # LAPACK, which takes over at this size, has a copy


def test_no_number_depends_on_how_many_threads_there_are():
    points, labels = blobs(400, 3, 2, 1.0, 0)
    found = []
    for count in (1, 2):
        with threads(count):
            found.append(by_splitting(Clustering(points, labels, 3), None, 0, NEVER)[0])
    assert found[0] == found[1] > 0.0


def test_without_time_for_a_proof_nothing_is_claimed():
    points, labels = blobs(300, 3, 2, 1.0, 0)
    assert by_splitting(Clustering(points, labels, 3), None, 0, Deadline(lambda: -1.0))[0] == 0.0
