"""k-means as an estimator of scikit-learn's that says how far from the best its clusters are.

from cgm_cli.sklearn import CertifiedKMeans
"""

from __future__ import annotations

import numbers
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.metrics import pairwise_distances_argmin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from cgm_cli.certificates.clustering import Clustering
from cgm_cli.certificates.points import certify

__all__ = ["CertifiedKMeans"]


class CertifiedKMeans(ClusterMixin, BaseEstimator):
    """k-means with a proof of how good it is.

    n_clusters: how many clusters. within: a relative distance from the best that is enough, e.g. 0.02; None: as near as
    the time allows. time: seconds for a fit, None for no limit (beside `within`, of more than 2000 points). failure:
    the probability with which the proof may be wrong where the points are too many to be taken all at once in the time,
    as more than 20,000 are; of others it is certified.
    random_state: as in scikit-learn.

    Once it is fitted: labels_ (n,), cluster_centers_ (n_clusters, d), inertia_, the sum of squared distances to the
    centres, lower_bound_, which no clustering is below, and certificate_, what `cgm_cli.certify` returns, with
    `within_percent`, `failure` and `sentence`. There is no `transform`, and there are no weights of samples.
    """

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        within: float | None = None,
        time: float | None = 60.0,
        failure: float = 1e-3,
        random_state: Any = None,
    ):
        self.n_clusters = n_clusters
        self.within = within
        self.time = time
        self.failure = failure
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None) -> CertifiedKMeans:
        """Find clusters of X (n, d), and bound those of everybody else. y is ignored. Raises ValueError for X that is
        no matrix of finite numbers, or has fewer points than clusters.
        """
        X = validate_data(self, X, dtype=[np.float64, np.float32])
        if not isinstance(self.n_clusters, numbers.Integral) or not 1 <= self.n_clusters <= X.shape[0]:
            raise ValueError(f"n_samples={X.shape[0]} should be >= n_clusters={self.n_clusters}, a whole number >= 1")
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        points = X.astype(np.float64)
        found = certify(
            points,
            clusters=int(self.n_clusters),
            within=self.within,
            time=self.time,
            failure=self.failure,
            seed=seed,
        )
        self.certificate_ = found
        self.labels_ = found.labels.astype(np.int32)
        self.cluster_centers_ = Clustering(points, found.labels, int(self.n_clusters)).means.astype(X.dtype)
        self.inertia_ = found.value
        self.lower_bound_ = found.bound
        return self

    def predict(self, X: Any) -> np.ndarray:
        """The nearest centre of each point of X (m, d), from 0 (m,)."""
        check_is_fitted(self)
        X = validate_data(self, X, reset=False, dtype=[np.float64, np.float32])
        return pairwise_distances_argmin(X, self.cluster_centers_).astype(np.int32)
