"""The estimator: what scikit-learn asks of one, and what it proves."""

import numpy as np
import pytest
from sklearn.cluster import KMeans
from sklearn.utils.estimator_checks import parametrize_with_checks

from cgm_cli.sklearn import CertifiedKMeans
from tests.certificates.support import blobs, exact


@parametrize_with_checks([CertifiedKMeans(3, within=0.5, time=0.2)])
def test_it_is_an_estimator(estimator, check):
    check(estimator)


def test_it_finds_the_optimum_and_bounds_it():
    points = blobs(10, 3, 2, 4.0, 0)[0]
    found = CertifiedKMeans(3, random_state=0).fit(points)
    optimum = exact(points, 3)[0]
    assert found.lower_bound_ <= optimum * (1 + 1e-9) and found.inertia_ == pytest.approx(optimum)
    assert found.lower_bound_ > 0.5 * optimum
    np.testing.assert_array_equal(found.predict(points), found.labels_)


def test_it_is_no_worse_than_kmeans():
    points = blobs(200, 5, 3, 2.0, 1)[0]
    found = CertifiedKMeans(5, within=0.1, time=5, random_state=0).fit(points)
    assert found.inertia_ <= KMeans(5, n_init=5, random_state=0).fit(points).inertia_ * (1 + 1e-9)
    assert found.certificate_.failure == 0.0 and found.lower_bound_ <= found.inertia_
