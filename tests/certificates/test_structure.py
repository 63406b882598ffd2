"""The closed form for clusters that are told apart: its slack written out, and its bounds beside exact optima."""

import numpy as np
import pytest

from cgm_cli.certificates.clustering import Clustering
from cgm_cli.certificates.structure import _tau, _violates, by_structure
from cgm_cli.templates.clustering import squared_distances
from tests.certificates.support import blobs, exact, on_the_line


def test_the_slack_is_semidefinite_and_zero_on_the_clusters():
    """All of it by its definition, n x n: C + z I - (a 1^T + 1 a^T) / 2 - N."""
    points, labels = blobs(40, 3, 2, 12.0, 3)
    clustering = Clustering(points, labels, 3)
    tau = _tau(clustering)
    assert tau is not None and not _violates(clustering, tau).any()
    sizes = np.bincount(labels).astype(float)
    z = 2.0 * tau[0, 1] / (1.0 / sizes[0] + 1.0 / sizes[1])
    to_means = ((points[:, None] - clustering.means) ** 2).sum(axis=2)
    own = to_means[np.arange(40), labels]
    r = sizes * (to_means - own[:, None] - tau[labels])
    between = ((clustering.means[:, None] - clustering.means) ** 2).sum(axis=2)
    totals = np.outer(sizes, sizes) * (between - tau)
    n = np.zeros((40, 40))
    for i in range(40):
        for j in range(40):
            if labels[i] != labels[j]:
                n[i, j] = r[i, labels[j]] * r[j, labels[i]] / totals[labels[i], labels[j]]
    assert (n >= 0).all()
    row = 2.0 * own + z / sizes[labels]
    slack = squared_distances(points) + z * np.eye(40) - 0.5 * (row[:, None] + row) - n
    member = (labels[:, None] == np.arange(3)).astype(float)
    scale = np.abs(slack).max()
    np.testing.assert_allclose(slack @ member, 0.0, atol=1e-10 * 40 * scale)
    assert np.linalg.eigvalsh(slack)[0] >= -1e-10 * scale


@pytest.mark.parametrize("seed", range(6))
def test_what_is_proven_is_the_optimum_of_few_points(seed):
    points = blobs(9, 3, 2, 12.0, seed)[0]
    optimum, best = exact(points, 3)
    bound, _ = by_structure(Clustering(points, best, 3))
    assert bound <= optimum
    rng = np.random.default_rng(seed)
    assert by_structure(Clustering(points, rng.integers(3, size=9), 3))[0] <= optimum


@pytest.mark.parametrize("seed", range(12))
def test_points_between_the_clusters_are_left_out_and_the_bound_holds(seed):
    """Numbers on the line, whose optimum is exact; of any labels the bound is below it."""
    rng = np.random.default_rng(seed)
    values = np.concatenate([rng.normal(0.0, 1.0, 80), rng.normal(6.0 + seed, 1.0, 80), rng.uniform(0, 6, 3)])
    optimum = on_the_line(values, 2)
    cut = np.linspace(1.0, 5.0 + seed, 5)
    bounds = []
    for place in cut:
        bound, left_out = by_structure(Clustering(values[:, None], (values > place).astype(int), 2))
        assert bound <= optimum * (1 + 1e-12)
        bounds.append((bound, left_out.sum()))
    assert max(bounds)[0] >= 0.8 * optimum
    assert any(left_out > 0 and bound > 0.0 for bound, left_out in bounds)


def test_many_points_are_proven_in_any_position():
    points, labels = blobs(20_000, 4, 3, 30.0, 1)
    clustering = Clustering(points + 100.0, labels, 4)
    bound, left_out = by_structure(clustering)
    assert clustering.value * (1 - 1e-8) <= bound <= clustering.value and not left_out.any()


@pytest.mark.parametrize("labels", [[0, 0, 1, 1], [0, 0, 0, 0]])
def test_clusters_that_are_empty_or_on_one_another_prove_nothing(labels):
    points = np.array([[0.0], [1.0], [0.0], [1.0]])
    assert by_structure(Clustering(points, np.array(labels), 2))[0] == 0.0
