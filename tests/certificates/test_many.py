"""The relaxation of many points, by one matrix: what its multipliers prove, and how little memory that takes."""

import tracemalloc

import numpy as np
import pytest

from cgm_cli.certificates.clustering import Clustering
from cgm_cli.certificates.dual import dual_value, multipliers_of
from cgm_cli.certificates.many import LOST, ManyPoints, by_splitting, seconds
from cgm_cli.certificates.splitting import best_dual_value, nearest
from cgm_cli.numerics.deadline import NEVER, Deadline
from cgm_cli.numerics.folded import TILE, Folded, negative
from cgm_cli.numerics.threads import threads
from cgm_cli.templates.clustering import squared_distances
from tests.certificates.support import blobs, exact, on_the_line


def relaxation(n, k, seed=0, spread=1.5):
    points, labels = blobs(n, k, 2, spread, seed)
    return ManyPoints(Clustering(points, labels, k), np.random.default_rng(0)), points, labels


def parts(found):
    """E and N as they are, in double precision."""
    matrix = found._folded.matrix.astype(float)
    return np.maximum(matrix, 0.0), found._rho * np.maximum(-matrix, 0.0)


def test_two_matrices_lie_in_one():
    n = TILE + 40
    rng = np.random.default_rng(0)
    wanted = rng.standard_normal((n, n)).astype(np.float32)
    wanted = np.tril(wanted) + np.tril(wanted, -1).T
    folded = Folded(n)
    folded.write(lambda rows, columns, old: old + wanted[rows, columns])
    np.testing.assert_array_equal(folded.matrix, wanted)
    block = rng.standard_normal((n, 3))
    np.testing.assert_allclose(folded.product(block), np.abs(wanted) @ block, rtol=1e-4, atol=1e-3)
    np.testing.assert_allclose(folded.product(block[:, 0], negative), np.minimum(wanted, 0) @ block[:, 0], atol=1e-3)
    np.testing.assert_array_equal(folded.written(negative, -4.0), -4.0 * np.minimum(wanted.astype(float), 0))
    assert folded.total(negative) == pytest.approx(np.minimum(wanted, 0).sum(dtype=float))


def test_it_begins_with_the_clustering_and_its_dual():
    found, points, labels = relaxation(90, 3)
    entries, multipliers = parts(found)
    np.testing.assert_allclose(entries, (labels[:, None] == labels) / np.bincount(labels)[labels], rtol=1e-6)
    wanted = multipliers_of(squared_distances(points), labels)
    np.testing.assert_allclose(multipliers, wanted, rtol=1e-5, atol=1e-5 * wanted.max())


def test_a_step_is_that_of_the_splitting_with_the_distances_formed():
    found, points, _ = relaxation(300, 3)
    for _ in range(3):
        entries, multipliers = parts(found)
        x = nearest(entries + multipliers / found._rho - squared_distances(points) / found._rho, 3)
        found.step(NEVER)
        np.testing.assert_allclose(1 / 300 + found.factor @ found.factor.T, x, atol=2e-3 * x.max())
        moved = 1.6 * (1 / 300 + found.factor @ found.factor.T) - 0.6 * entries - multipliers / found._rho
        np.testing.assert_allclose(found._folded.matrix, moved, atol=1e-6)


@pytest.mark.parametrize("k", [2, 4])
def test_what_is_proven_is_what_the_multipliers_in_single_precision_prove(k):
    found, points, labels = relaxation(200, k)
    value = Clustering(points, labels, k).value
    for _ in range(6):
        found.step(NEVER)
    multipliers = parts(found)[1]
    assert np.array_equal(multipliers, multipliers.T)
    wanted = 0.5 * dual_value(squared_distances(points), multipliers, k)
    proven = found.certified(LOST * value, NEVER)
    assert wanted - 3 * LOST * value <= proven <= wanted * (1 + 1e-9)
    assert found.estimate(NEVER) == pytest.approx(wanted, rel=1e-3)


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


def test_memory_is_that_of_two_matrices_one_of_them_in_single_precision():
    n = 900
    points, labels = blobs(n, 2, 2, 4.0, 0)
    clustering = Clustering(points, labels, 2)
    by_splitting(clustering, None, 0, NEVER)  # what is imported
    tracemalloc.start()
    by_splitting(clustering, None, 0, NEVER)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 2.4 * 8 * n**2  # a copy of the distances, and any other n x n array, would be too much


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


def test_where_time_ends_the_steps_there_is_some_left_for_the_proof():
    points, labels = blobs(400, 3, 2, 1.0, 0)
    clustering = Clustering(points, labels, 3)
    asked = 0

    def left_of(looks: float) -> Deadline:
        """Every look at the clock takes a tenth of a millisecond."""

        def left() -> float:
            nonlocal asked
            asked += 1
            return 1e-4 * (looks - asked)

        return Deadline(left)

    whole = by_splitting(clustering, None, 0, left_of(1e6))[0]
    looks, asked = asked, 0
    assert 0.5 * whole < by_splitting(clustering, None, 0, left_of(looks / 2 + seconds(400, 3) / 1e-4))[0] < whole
    assert asked < looks
