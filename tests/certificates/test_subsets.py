"""Bounds of subsets: below every clustering of the subset, and in the mean below that of all points."""

import itertools

import cvxpy
import numpy as np
import pytest
from scipy.stats import hypergeom

from cgm_cli.certificates.dual import dual_value, multipliers_of
from cgm_cli.certificates.splitting import best_dual_value, capped, nearest
from cgm_cli.certificates.subsets import subset_bound
from cgm_cli.templates.clustering import squared_distances
from tests.certificates.support import blobs, exact, on_the_line, relaxed


@pytest.mark.parametrize("n", [5, 12, 40])
def test_the_factor_of_a_cluster_is_no_more_than_the_share_of_the_subset(n):
    """(m - 1) (1 + (1 - q) / m) / (n_C - 1) has a mean of at most q, for every size of cluster and subset."""
    worst = 0.0
    for size, cluster in itertools.product(range(1, n + 1), range(2, n + 1)):
        q, m = size / n, np.arange(1, min(size, cluster) + 1)
        chance = hypergeom(n, cluster, size).pmf(m)
        mean = (chance * (m - 1) * (1 + (1 - q) / m)).sum() / (cluster - 1)
        assert mean <= q * (1 + 1e-12)
        worst = max(worst, mean / q)
    assert worst > 1 - 1e-9  # of the whole set, where nothing is corrected


@pytest.mark.parametrize(("size", "k", "seed"), [(4, 2, 0), (5, 3, 1), (3, 2, 2)])
def test_the_mean_over_all_subsets_is_below_the_optimum(size, k, seed):
    points = blobs(8, k, 2, 1.0, seed)[0]
    optimum = exact(points, k)[0]
    subsets = [list(each) for each in itertools.combinations(range(8), size)]
    mean = np.mean([exact(points[each], k, 1 - size / 8)[0] for each in subsets])
    plain = np.mean([exact(points[each], k)[0] for each in subsets])
    assert plain < mean <= size / 8 * optimum


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("corrected", [0.0, 0.7])
def test_the_bound_of_a_subset_is_below_all_its_clusterings(seed, corrected):
    """Whatever clustering it begins with; from the best one it comes near."""
    k = 2 + seed % 2
    points = blobs(9, k, 1 + seed % 3, 3.0, seed)[0]
    value, best = exact(points, k, corrected)
    rng = np.random.default_rng(seed)
    for labels in (best, rng.integers(k, size=9), np.zeros(9, dtype=int)):
        assert subset_bound(points, labels, k, corrected) <= value
    assert subset_bound(points, best, k, corrected) >= 0.6 * value


@pytest.mark.parametrize("seed", range(3))
def test_any_multipliers_prove_no_more_than_the_value(seed):
    rng = np.random.default_rng(seed)
    points = rng.standard_normal((8, 2))
    value, best = exact(points, 3)
    cost = squared_distances(points)
    for scale in (0.0, 0.3, 3.0):
        free = scale * np.abs(rng.standard_normal((8, 8)))
        assert 0.5 * dual_value(cost, free + free.T, 3) <= value
    multipliers = multipliers_of(cost, best)
    assert (multipliers >= 0.0).all() and np.array_equal(multipliers, multipliers.T)
    assert 0.5 * dual_value(cost, multipliers, 3) <= value


def test_the_closed_form_proves_separated_clusters_to_be_optimal():
    points, labels = blobs(60, 3, 2, 300.0, 0)
    cost = squared_distances(points)
    value = sum(((points[labels == c] - points[labels == c].mean(axis=0)) ** 2).sum() for c in range(3))
    assert value * (1 - 1e-6) <= 0.5 * best_dual_value(cost, labels, 3, 0.0) <= value


def test_the_dual_comes_near_that_of_an_independent_solver():
    points, labels = blobs(24, 3, 2, 1.5, 4)
    cost, _ = relaxed(points, 3, 0.8, labels)
    x = cvxpy.Variable((24, 24), PSD=True)
    problem = cvxpy.Problem(
        cvxpy.Minimize(cvxpy.sum(cvxpy.multiply(cost, x))),
        [x @ np.ones(24) == 1, x >= 0, cvxpy.trace(x) == 3],
    )
    optimum = problem.solve(solver="CLARABEL")
    assert optimum * (1 - 5e-3) <= best_dual_value(cost, labels, 3, 1e-4 * optimum) <= optimum * (1 + 1e-7)


@pytest.mark.parametrize("total", [1, 2, 5])
def test_eigenvalues_are_cut_to_their_sum(total):
    values = np.sort(np.random.default_rng(total).standard_normal(6))
    found = capped(values, total)
    assert found.sum() == pytest.approx(total)
    assert (found >= 0).all() and (found <= 1).all()
    inside = (found > 1e-12) & (found < 1 - 1e-12)
    assert np.ptp((values - found)[inside]) < 1e-12 if inside.any() else True


def test_the_nearest_point_is_one_and_no_other_is_nearer():
    rng = np.random.default_rng(0)
    matrix = rng.standard_normal((12, 12))
    matrix = matrix + matrix.T
    x = nearest(matrix, 3)
    np.testing.assert_allclose(x @ np.ones(12), 1.0)
    values = np.linalg.eigvalsh(x)
    assert np.trace(x) == pytest.approx(3.0) and values[0] > -1e-12 and values[-1] < 1 + 1e-12
    for _ in range(20):
        other = nearest(rng.standard_normal((12, 12)) * 5, 3)
        other = nearest(other + other.T, 3)
        assert np.vdot(matrix - x, other - x) <= 1e-9


def test_values_on_the_line_are_those_of_all_clusterings():
    values = np.random.default_rng(2).standard_normal(8)
    assert on_the_line(values, 3) == pytest.approx(exact(values[:, None], 3)[0])
