"""Clusterings of which something is known: pairs of points that are in one cluster, pairs that are not, and how large
clusters may be; as constraints on X = sum_C 1_C 1_C^T / |C|, and on labels.

Points that are sure to be in one cluster are one point (cgm_cli.templates.linked_points), a part of w points. X_ij = 0
where i and j are not in one cluster, and X_ii = 1 / |C| of the cluster C of i, which has no fewer points than its part.
Labels that meet all of this are found as by Lloyd's algorithm, with an integer program in place of the nearest mean
(Bradley, Bennett and Demiriz, "Constrained k-means clustering", 2000; Piccialli, Russo Russo and Sudoso, "An exact
algorithm for semi-supervised minimum sum-of-squares clustering", Computers & Operations Research 147, 2022).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy.sparse as sp

from cgm_cli.blocks.maps.diagonal import Diagonal
from cgm_cli.blocks.penalties.box import BoxSet
from cgm_cli.blocks.penalties.equals import Equals
from cgm_cli.blocks.problem import Term
from cgm_cli.errors import ProblemError
from cgm_cli.numerics.deadline import Deadline
from cgm_cli.templates.clustering import in_unit_box, kmeans_value
from cgm_cli.templates.triangles import symmetric_rows

ROUNDS = 50
"""The most of Lloyd's steps; they end where none makes the clustering better, after ten or so."""

SECONDS = 5.0
"""The most that one integer program may take, which nobody interrupts."""

WEIGHT = 10.0
"""Of pairs, which are few, beside X >= 0: as of triangle inequalities."""


@dataclass(frozen=True)
class SideInformation:
    """n points in k clusters, none empty. together, apart (m, 2): pairs of points. smallest, largest: sizes."""

    n: int
    k: int
    together: np.ndarray
    apart: np.ndarray
    smallest: int
    largest: int

    @cached_property
    def parts(self) -> np.ndarray:
        """(n,), from 0: points of one part are in one cluster, by the pairs and by what follows from them."""
        edges = (np.ones(len(self.together)), tuple(self.together.T))
        return sp.csgraph.connected_components(sp.coo_array(edges, shape=(self.n, self.n)), directed=False)[1]

    @cached_property
    def sizes(self) -> np.ndarray:
        """Of the parts."""
        return np.bincount(self.parts)

    def refuse(self) -> None:
        """Raise ProblemError where no clustering meets this, as far as that is seen at once."""
        same = self.parts[self.apart[:, 0]] == self.parts[self.apart[:, 1]]
        if same.any():
            i, j = self.apart[same][0]
            raise ProblemError(f"points {i} and {j} cannot be linked, but `must_link` links them", ("cannot_link",))
        if self.sizes.size < self.k:
            raise ProblemError(f"what is linked leaves {self.sizes.size} parts for {self.k} clusters", ("must_link",))
        if self.smallest * self.k > self.n:
            raise ProblemError(f"{self.k} clusters of {self.smallest} points are more than {self.n}", ("min_size",))
        if self.largest * self.k < self.n:
            raise ProblemError(f"{self.k} clusters of {self.largest} points are fewer than {self.n}", ("max_size",))
        if self.largest < self.sizes.max():
            raise ProblemError(f"{self.sizes.max()} points are linked, more than a cluster may have", ("max_size",))

    def terms(self) -> list[Term]:
        """As constraints on Y (m, m), of m parts: Y_ab = sqrt(w_a w_b) X_ij for i in a and j in b."""
        found, m = list[Term](), self.sizes.size
        if self.apart.size:
            a, b = np.unique(np.sort(self.parts[self.apart], axis=1), axis=0).T
            rows = symmetric_rows([(a, b, 1.0)], m)
            found.append(Term("cannot-link", rows, Equals(rows.out_shape, np.zeros(rows.out_shape)), WEIGHT))
        if self.smallest > 1 or self.largest < self.n:
            within = BoxSet((m,), self.sizes / self.largest, self.sizes / np.maximum(self.sizes, self.smallest))
            found.append(Term("sizes", Diagonal((m, m)), within, WEIGHT))
        return found

    def holds(self, labels: np.ndarray) -> bool:
        """Whether these (n,) meet it all."""
        sizes = np.bincount(labels, minlength=self.k)
        linked = (labels[self.together[:, 0]] == labels[self.together[:, 1]]).all()
        apart = (labels[self.apart[:, 0]] != labels[self.apart[:, 1]]).all()
        return bool(linked and apart and sizes.min() >= self.smallest and sizes.max() <= self.largest)

    def clustering(self, points: np.ndarray, labels: np.ndarray, deadline: Deadline) -> np.ndarray | None:
        """Labels (n,) that meet it all, from those of any clustering; None where none is found. points (n, d)."""
        points = in_unit_box(points)
        member = sp.csr_array((np.ones(self.n), (self.parts, np.arange(self.n))), shape=(self.sizes.size, self.n))
        sums = member @ points
        best, least = None, np.inf
        for _ in range(ROUNDS):
            places = np.unique(labels, return_inverse=True)[1]
            means = np.zeros((self.k, points.shape[1]))
            for cluster in range(self.k):  # an empty one begins at some point
                inside = places == cluster
                means[cluster] = points[inside].mean(axis=0) if inside.any() else points[cluster % self.n]
            costs = self.sizes[:, None] * (means**2).sum(axis=1) - 2.0 * sums @ means.T
            chosen = self._assigned(costs, deadline)
            if chosen is None:
                return best
            labels = chosen[self.parts]
            value = kmeans_value(points, labels, self.k)
            if not value < least * (1.0 - 1e-12):
                return best
            best, least = labels, value
            if deadline.should_stop():
                break
        return best

    def _assigned(self, costs: np.ndarray, deadline: Deadline) -> np.ndarray | None:
        """The cluster of each part at the least sum of costs (parts, k), by an integer program; None without one."""
        from scipy.optimize import Bounds, LinearConstraint, milp

        parts, k = costs.shape
        each = sp.kron(sp.eye_array(parts), np.ones((1, k)))
        size = sp.kron(self.sizes[None, :].astype(float), sp.eye_array(k))
        rules = [LinearConstraint(each, 1.0, 1.0), LinearConstraint(size, self.smallest, self.largest)]
        if self.apart.size:
            pairs = self.parts[self.apart]
            index = np.arange(len(pairs))
            ends = sp.coo_array(
                (np.ones(2 * index.size), (np.tile(index, 2), pairs.T.reshape(-1))), shape=(index.size, parts)
            )
            rules.append(LinearConstraint(sp.kron(ends, sp.eye_array(k)), -np.inf, 1.0))
        size_of_costs = np.abs(costs).max() or 1.0
        found = milp(
            costs.reshape(-1) / size_of_costs,
            constraints=rules,
            bounds=Bounds(0.0, 1.0),
            integrality=np.ones(costs.size, dtype=np.int64),
            options={"time_limit": max(0.5, min(SECONDS, deadline.left()))},
        )
        return None if found.x is None else found.x.reshape(parts, k).argmax(axis=1)


def pairs_of(given: np.ndarray | None, n: int) -> np.ndarray:
    """Pairs (m, 2) of different points of n, from what was read. Raises ProblemError."""
    if given is None or given.size == 0:
        return np.zeros((0, 2), dtype=np.int64)
    given = np.atleast_2d(given)
    if given.shape[1] != 2:
        raise ProblemError("pairs of points are expected, two numbers a row")
    whole = given.astype(np.int64)
    if np.any(whole != given) or whole.min() < 0 or whole.max() >= n:
        raise ProblemError(f"points are numbered from 0 to {n - 1}")
    if np.any(whole[:, 0] == whole[:, 1]):
        raise ProblemError(f"point {whole[whole[:, 0] == whole[:, 1]][0, 0]} is paired with itself")
    return np.unique(np.sort(whole, axis=1), axis=0)
