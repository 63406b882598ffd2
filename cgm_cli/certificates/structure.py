"""Clusters that are told apart are proven to be the best there are, of any number of points, by a small eigenvalue.

The dual of a clustering (cgm_cli.certificates.dual) can be written down for the squared distances themselves. With the
means c_a, y_i = x_i - c_a, and tau_ab = z / 2 (1 / m_a + 1 / m_b) for a number z, its multipliers are, for i in a,

    r_ib  =  m_b (|x_i - c_b|^2 - |x_i - c_a|^2 - tau_ab),    N_ij = r_ib r_ja / (m_a m_b (|c_a - c_b|^2 - tau_ab))

Its slack is zero on every 1_a, and on their complement it is z I - Y M Y^T, where Y = diag(Y_a) has the rows y_i of a
in its block, and M (k d, k d) the blocks 2 I, and 2 I - 4 e e^T / (|e|^2 - tau_ab) with e = c_a - c_b off the diagonal.
So if N >= 0 and z is no less than the largest eigenvalue of G^(1/2) M G^(1/2), G = diag(Y_a^T Y_a), the slack is
semidefinite, X of the clustering is optimal for the relaxation, and the clustering is the best of all.

Where some r_ib are negative, as of points between two clusters, these points are left out: the best clustering of all
points costs no less than that of the others, which is proven to be the given one.
"""

from __future__ import annotations

import numpy as np

from cgm_cli.certificates.clustering import SLAB, Clustering
from cgm_cli.numerics.deadline import NEVER, Deadline

ORDER = 2000
"""The largest k d: the eigenvalues of such a matrix take a second."""

ROUNDS = 30
"""Times that points are left out. Those of ten clusters that touch are done after five."""

MARGIN = 1e-6
"""By how much, relative, the inequalities have to hold: sums of ten million numbers are off by 1e-9 at the most."""

ROUNDING = 1e-9
"""What the sum of the costs may be off by, relative."""

FEWEST = 0.5
"""The part of the points that has to stay: what is proven of fewer is worth nothing."""


def by_structure(clustering: Clustering, deadline: Deadline = NEVER) -> tuple[float, np.ndarray]:
    """A certified lower bound on the value of every clustering, 0 if there is none, and which points it leaves out
    (n,): their costs are what is open.
    """
    points, labels, k = clustering.points, clustering.labels, clustering.clusters
    n, d = points.shape
    kept = np.ones(n, dtype=bool)
    if k < 2 or k * d > ORDER:
        return 0.0, kept
    for _ in range(ROUNDS):
        if deadline.should_stop() or np.count_nonzero(kept) < FEWEST * n:
            break
        part = Clustering(points[kept], labels[kept], k)
        allowed = _tau(part)
        if allowed is None:
            break
        bad = _violates(part, allowed)
        if not bad.any():
            return part.value * (1.0 - ROUNDING), ~kept
        kept[np.flatnonzero(kept)[bad]] = False
    return 0.0, ~kept


def _tau(part: Clustering) -> np.ndarray | None:
    """tau (k, k) for a z at which the slack is semidefinite; None if there is none."""
    k, d = part.clusters, part.points.shape[1]
    sizes = np.bincount(part.labels, minlength=k).astype(float)
    if sizes.min() == 0.0:
        return None
    roots = [_root(part.points[part.labels == a] - part.means[a]) for a in range(k)]
    between = part.means[:, None] - part.means
    squares = (between**2).sum(axis=2)
    halves = 0.5 * (1.0 / sizes[:, None] + 1.0 / sizes)
    np.fill_diagonal(squares, np.inf)
    z = 0.0
    for _ in range(ROUNDS):
        tau = z * halves
        if (tau * (1.0 + MARGIN) >= squares).any():
            return None
        blocks = 2.0 * np.eye(d) - 4.0 * np.einsum("abi,abj->abij", between, between) / (squares - tau)[..., None, None]
        whole = np.block([[roots[a].T @ blocks[a, b] @ roots[b] for b in range(k)] for a in range(k)])
        largest = float(np.linalg.eigvalsh(whole)[-1])
        if largest <= z:
            return tau * (1.0 + MARGIN)
        z = largest * (1.0 + 10.0 * MARGIN)
    return None


def _root(rows: np.ndarray) -> np.ndarray:
    """R (d, d) with R R^T = rows^T rows."""
    values, vectors = np.linalg.eigh(rows.T @ rows)
    return vectors * np.sqrt(np.maximum(values, 0.0))


def _violates(part: Clustering, tau: np.ndarray) -> np.ndarray:
    """Which points (n,) are nearer to another mean than tau allows."""
    out = np.empty(part.labels.size, dtype=bool)
    norms = (part.means**2).sum(axis=1)
    slack = 1e-12 * float(norms.max())
    for start in range(0, out.size, SLAB):
        rows = slice(start, start + SLAB)
        own = part.labels[rows]
        distances = norms - 2.0 * part.points[rows] @ part.means.T
        excess = distances - distances[np.arange(own.size), own][:, None] - tau[own] - slack
        excess[np.arange(own.size), own] = 0.0
        out[rows] = (excess < 0.0).any(axis=1)
    return out
