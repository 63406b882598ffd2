"""The relaxation of k-means of many thousand points, by the splitting of cgm_cli.certificates.splitting with one n x n
matrix, in single precision.

The two matrices of the splitting never overlap: X's entries E >= 0, and the multipliers N >= 0 over rho, of which a
step makes the positive and the negative part of one matrix M (cgm_cli.numerics.folded). The squared distances C are not
formed: with Y the points less their mean, P C P = -2 Y Y^T and 1^T C 1 = 2 n |Y|_F^2, so that

    <C - N, X>  >=  2 |Y|_F^2 - 1^T N 1 / n  +  (the k - 1 smallest eigenvalues of B = -2 Y Y^T - P N P)

(cgm_cli.certificates.dual), and a step needs the largest eigenvectors of P (E + N / rho) P + 2 / rho Y Y^T alone. What
is proven in the end is the bound of the N in M as they are, rho a power of two: for any weights w_i >= 0 and vectors
u_i, B + W >= t I (semidefinite) with W = sum w_i u_i u_i^T makes that sum of eigenvalues (k - 1) t - tr W at least (Ky
Fan), and one Cholesky factorisation, in double precision, proves it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from time import perf_counter

import numpy as np

from cgm_cli.certificates.clustering import Clustering
from cgm_cli.certificates.splitting import capped
from cgm_cli.methods.corrections.splitting import PENALTY, PRODUCTS, RELAXED, ROUGH, SPARE
from cgm_cli.numerics.bands import CACHED, by_slabs
from cgm_cli.numerics.clustering_dual import closed_form
from cgm_cli.numerics.deadline import Deadline, seconds_of
from cgm_cli.numerics.definite import dense_floor, dense_seconds
from cgm_cli.numerics.eigen import Eigenpairs, smallest_eigenpairs
from cgm_cli.numerics.folded import Folded, negative

BETWEEN = 5
"""Steps between two looks at the bound, each of which takes about as long as a step."""

GAIN = 1e-4
"""So many steps have to make the bound better by this part of the value."""

FINE, MORE = 1e-4, 8
"""How exact those are that the proof starts from, and looks at the bound: what they miss is lost (k - 1)-fold."""

LOST = 5e-5
"""The part of the value that the proof may lose for one factorisation to do."""

SOONER = 1.1
"""How many times as long as a proof takes has to be left when it begins, if what comes before it was broken off."""

_EPS = float(np.finfo(float).eps)


def memory(n: int, clusters: int) -> int:
    """Bytes that it takes, roughly: of M, of the matrix that is factorised and a panel of it, and of vectors."""
    return 13 * n * n + 200 * n * clusters


def seconds(n: int, clusters: int) -> float:
    """What five steps, a look at the bound, and a proof take, roughly."""
    return 6.0 * _step_seconds(n, clusters) + _proof_seconds(n)


def _step_seconds(n: int, clusters: int) -> float:
    return seconds_of(40.0 * clusters * n**2)


def _proof_seconds(n: int) -> float:
    return 1.5 * dense_seconds(n)


class ManyPoints:
    """The relaxation of a clustering's points into two clusters or more, from the clustering and its dual on."""

    def __init__(self, clustering: Clustering, rng: np.random.Generator):
        points, k = clustering.points, clustering.clusters
        n = points.shape[0]
        self.clusters, self._rng = k, rng
        self.points = points - points.mean(axis=0)
        squares = (self.points**2).sum(axis=1)
        self._variation = float(squares.sum())
        gram = float(np.linalg.norm(self.points.T @ self.points))
        size = math.sqrt(2.0 * n * float(squares @ squares) + 2.0 * self._variation**2 + 4.0 * gram**2)  # |C|_F
        self._rho = 2.0 ** round(math.log2(PENALTY * size / math.sqrt(k)))
        own = np.unique(clustering.labels, return_inverse=True)[1]
        member = (own[:, None] == np.arange(own.max() + 1)).astype(float)
        sizes = member.sum(axis=0)
        sums = np.outer(squares, sizes) + squares @ member - 2.0 * self.points @ (self.points.T @ member)
        spread = closed_form(sums, own) / math.sqrt(self._rho)

        def start(rows: slice, columns: slice, _: np.ndarray) -> np.ndarray:
            same = own[rows, None] == own[columns]
            pressure = spread[rows][:, own[columns]] * spread[columns][:, own[rows]].T
            return same / sizes[own[columns]] - pressure

        self._folded = Folded(n)
        self._folded.write(start)
        self._start = member / np.sqrt(sizes)
        self._count = min(n - 1, 3 * k)
        self.factor = np.zeros((n, 0))

    def step(self, deadline: Deadline) -> None:
        """One step of the splitting: X = 1 1^T / n + F F^T with F = `factor` (n, r), and both parts of M after it. None
        where the deadline comes before its end.
        """
        vectors, weights = self._nearest(deadline)
        if deadline.should_stop():  # an iteration that was broken off: its eigenvectors would spoil both
            return
        n, used = len(vectors), weights > 0.0
        self.factor = vectors[:, used] * np.sqrt(weights[used])
        self._count = min(n - 1, int(1.25 * np.count_nonzero(used)) + SPARE)
        columns = self.factor.astype(np.float32)
        relaxed, kept, mean = np.float32(RELAXED), np.float32(1.0 - RELAXED), np.float32(1.0 / n)

        def moved(rows: slice, others: slice, old: np.ndarray) -> np.ndarray:
            x = columns[rows] @ columns[others].T
            x += mean
            x *= relaxed
            entries = np.maximum(old, np.float32(0.0))
            x += old
            entries *= kept - np.float32(1.0)  # of E + S, E is in `old` already
            x += entries
            return x

        self._folded.write(moved)

    def _nearest(self, deadline: Deadline) -> tuple[np.ndarray, np.ndarray]:
        """Eigenvectors of the nearest X (n, r), but for 1, and its eigenvalues, of which the smallest are zero."""
        n = self._folded.matrix.shape[0]

        def multiply(block: np.ndarray) -> np.ndarray:
            """Of the opposite, in which 1, which is no eigenvector of X - 1 1^T / n, comes last."""
            block, mean = block - block.mean(axis=0), block.mean(axis=0)
            image = self._folded.product(block) + self.points @ ((2.0 / self._rho) * (self.points.T @ block))
            return image.mean(axis=0) - image + mean

        while True:
            found = self._eigenpairs(multiply, self._count, ROUGH, PRODUCTS, deadline)
            self._start = found.start
            weights = capped(-found.values[::-1], self.clusters - 1)[::-1]
            if weights[-1] == 0.0 or self._count == n - 1 or deadline.should_stop():
                return found.vectors - found.vectors.mean(axis=0), weights
            self._count = min(n - 1, 2 * self._count)

    def _eigenpairs(
        self, multiply: Callable[[np.ndarray], np.ndarray], count: int, tolerance: float, most: int, deadline: Deadline
    ) -> Eigenpairs:
        return smallest_eigenpairs(
            multiply,
            len(self.points),
            count,
            tolerance=tolerance,
            rng=self._rng,
            start=self._start,
            max_products=int(most * 1.5 * count),  # blocks are wider than what is asked for
            should_stop=deadline.should_stop,
        )

    def estimate(self, deadline: Deadline) -> float:
        """Half of what N proves, but for the errors of an iteration: of the value of every clustering."""
        return 0.5 * (self._linear() + float(self._smallest(deadline).values.sum()))

    def certified(self, lost: float, deadline: Deadline) -> float:
        """Half of what N proves; 0 where there is no time for it. lost: what may be lost of it to spare work."""
        proving = _proof_seconds(len(self.points))
        pairs = self._smallest(deadline.keeping(SOONER * proving))
        if not deadline.affords(proving):
            return 0.0
        k, n = self.clusters, len(self.points)
        at = float(pairs.values[-1])
        weights = np.maximum(at - pairs.values, 0.0)
        matrix, rounding = self._written(max(0.0, 2.0 * at))
        slack = 2.0 * lost / k
        t = dense_floor(matrix, at, slack, pairs.vectors, weights, slack, deadline, overwrite=True)
        if t is None:
            return 0.0
        trace = float(weights @ np.square(pairs.vectors).sum(axis=0)) * (1.0 + (n + k) * _EPS)
        least = (k - 1) * t - trace - 4.0 * _EPS * ((k - 1) * abs(t) + trace)
        return max(0.0, 0.5 * (self._linear() + least - rounding))

    def _linear(self) -> float:
        """2 |Y|_F^2 - 1^T N 1 / n."""
        return 2.0 * self._variation + self._rho * self._folded.total(negative) / len(self.points)

    def _smallest(self, deadline: Deadline) -> Eigenpairs:
        """The k - 1 smallest eigenpairs of B."""

        def multiply(block: np.ndarray) -> np.ndarray:
            """B / rho, and one for the eigenvector 1."""
            block, mean = block - block.mean(axis=0), block.mean(axis=0)
            image = self._folded.product(block, negative) - self.points @ ((2.0 / self._rho) * (self.points.T @ block))
            return image - image.mean(axis=0) + mean

        found = self._eigenpairs(multiply, self.clusters - 1, FINE, MORE, deadline)
        vectors = found.vectors - found.vectors.mean(axis=0)
        return Eigenpairs(
            self._rho * found.values, vectors, found.residuals, found.products, found.converged, found.start
        )

    def _written(self, lift: float) -> tuple[np.ndarray, float]:
        """B + lift 1 1^T / n (n, n), and what the errors of forming it, and of `_linear`, change the bound by at most:
        n eps of |N|_F and of |Y|_F^2, with room to spare.
        """
        points, n = self.points, len(self.points)
        matrix = self._folded.written(negative, self._rho)
        size = float(np.linalg.norm(matrix.reshape(-1)))
        rows = matrix.mean(axis=1)
        rest = rows - (rows.mean() + lift / n)

        def work(slab: slice) -> None:
            matrix[slab] -= rows[slab, None]
            matrix[slab] -= rest
            matrix[slab] -= 2.0 * points[slab] @ points.T

        by_slabs(work, matrix.shape, CACHED)
        rounding = 8.0 * self.clusters * max(n, points.shape[1]) * _EPS * (size + 2.0 * self._variation + lift)
        return matrix, rounding


def by_splitting(
    clustering: Clustering,
    wanted: float | None,
    seed: int,
    deadline: Deadline,
    tell: Callable[[int, float], None] = lambda step, bound: None,
) -> tuple[float, np.ndarray]:
    """A certified lower bound on the value of every clustering, 0 without one, and X Y (n, d): each point's mean, less
    that of all, by the X that was come to. wanted: the bound that is enough.
    """
    relaxation = ManyPoints(clustering, np.random.default_rng([seed, 4]))
    value, best, proven, count = clustering.value, 0.0, 0.0, 0
    wanted = math.inf if wanted is None else wanted
    n, k = len(clustering.labels), clustering.clusters
    looking = _step_seconds(n, k)  # at the eigenvalues that a proof starts from: for that there has to be time as well
    while True:
        steps, began = deadline.keeping(SOONER * _proof_seconds(n) + looking), perf_counter()
        relaxation.step(steps)
        looking = max(looking, perf_counter() - began)
        count += 1
        is_last = steps.should_stop()
        if count % BETWEEN > 0 and not is_last:
            continue
        if not is_last:
            bound = relaxation.estimate(steps)
            tell(count, bound)
            is_last = bound < best + GAIN * value or steps.should_stop()
            best = bound
        if is_last or best >= wanted + LOST * value:
            proven = max(proven, relaxation.certified(LOST * value, deadline))
        if is_last or proven >= wanted:
            return proven, relaxation.factor @ (relaxation.factor.T @ relaxation.points)
