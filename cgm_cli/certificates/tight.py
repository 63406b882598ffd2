"""The relaxation of k-means with triangle inequalities, of some hundred points, by splitting (ADMM).

X has eigenvalues, of which cgm_cli.certificates.splitting takes care, and entries, which are to be at least zero and to
meet the inequalities at hand (cgm_cli.numerics.triangles). Of the latter two the nearest matrix takes a tenth of the
time of an eigendecomposition, so that thousands of inequalities cost little, and those that X violates join now and
then. What a step leaves are multipliers Z >= 0 of X >= 0 and w >= 0 of the triangles, and since <A, X> >= 0 for the X
of every clustering,

    <C, X>  >=  <C - N, X>,     N = Z + sum w A

(cgm_cli.certificates.dual has what that proves). Of the descent on factors of the general method the multipliers
converge later than the point: it took three times as long to come as near.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from cgm_cli.certificates.clustering import Clustering
from cgm_cli.certificates.dual import dual_value, multipliers_of
from cgm_cli.certificates.splitting import RELAXED, nearest_of_rank
from cgm_cli.numerics.deadline import Deadline
from cgm_cli.numerics.triangles import add_triangles, met
from cgm_cli.templates.clustering import squared_distances
from cgm_cli.templates.triangles import most_violated

PENALTY = 3.0
"""rho in units of |C|_F / |X|_F. (300 digits in ten clusters, what is open after 100 steps, by 1, 2 and 4: 0.14 %,
0.12 %, 0.15 %; 300 tumours in four, after 80, by 2 and 4: 1.4 %, 0.8 %.)
"""

SWEEPS = 5
"""Over the inequalities in a step, from where the last one has come to. (By 2 the same as by 5, but for a tenth.)"""

BETWEEN = 10
"""Steps between two looks at the bound and at what is violated."""

VIOLATED, LEAST = 1e-3, 1e-5
"""Part of the largest entry of X from which on an inequality is, at first, and a tenth of it where the bound comes no
further, down to the latter.
"""

SPARE = 10
"""Eigenvectors more than the last X had."""

GAIN, LOOKS = 1e-5, 5
"""It ends where so many looks have made the bound better by no more than this part of the value."""

_EPS = float(np.finfo(float).eps)


class TightRelaxation:
    """X: of the last step, within the bounds on eigenvalues. places (m, 3): of the inequalities at hand."""

    def __init__(self, clustering: Clustering):
        """A clustering of two clusters or more whose value is not zero."""
        self.clusters = clustering.clusters
        self.cost = squared_distances(clustering.points)
        n = len(self.cost)
        member = clustering.labels[:, None] == clustering.labels
        self.x = self._met = member / member.sum(axis=1)
        self.places, self._weights = np.empty((0, 3), dtype=np.int64), np.empty(0)
        self._rho = PENALTY * float(np.linalg.norm(self.cost)) / math.sqrt(self.clusters * n)
        self._floor = multipliers_of(self.cost, clustering.labels) / self._rho
        self._dual = -self._floor
        self._rank = 3 * self.clusters

    def step(self) -> None:
        self.x, self._rank = nearest_of_rank(
            self._met - self._dual - self.cost / self._rho, self.clusters, self._rank + SPARE
        )
        moved = RELAXED * self.x + (1.0 - RELAXED) * self._met + self._dual
        self._met, self._floor = met(moved, self.places, self._weights, SWEEPS)
        self._dual = moved - self._met

    def exchange(self, violated: float = VIOLATED) -> None:
        """Those that X violates most join, and those leave that no multiplier rests on."""
        rests = self._weights > 0.0
        kept = self.places[rests]
        held = set(map(tuple, kept.tolist()))
        new = [each for each in most_violated(self.x, violated).tolist() if tuple(each) not in held]
        self.places = np.vstack([kept, np.array(new, dtype=np.int64).reshape(-1, 3)])
        self._weights = np.append(self._weights[rests], np.zeros(len(new)))

    def multipliers(self) -> np.ndarray:
        """N (n, n)."""
        found = self._rho * self._floor
        add_triangles(found, self.places, self._rho * self._weights)
        return found

    def bound(self) -> float:
        """A proven lower bound on the value of every clustering, half of what N proves.

        An entry of N is a sum of m + 1 numbers at the most, and errs by less than m + 1 times eps times the sum of
        their sizes, which over all entries are 4 sum w and the Z; no entry of an X is larger than one.
        """
        sizes = self._rho * (4.0 * float(self._weights.sum()) + float(self._floor.sum()))
        lost = 2.0 * (len(self.places) + 2) * _EPS * sizes
        return 0.5 * (float(dual_value(self.cost, self.multipliers(), self.clusters)) - lost)


def by_triangles(
    clustering: Clustering,
    wanted: float,
    deadline: Deadline,
    tell: Callable[[int, float], None] = lambda step, bound: None,
) -> tuple[float, np.ndarray]:
    """A certified lower bound on the value of every clustering, 0 without one, and X (n, n). wanted: the bound that is
    enough.
    """
    relaxation, best, count = TightRelaxation(clustering), 0.0, 0
    looks, violated = [-math.inf] * LOOKS, VIOLATED
    while True:
        relaxation.step()
        count += 1
        ends = deadline.should_stop()
        if not ends and count % BETWEEN > 0:
            continue
        best = max(best, relaxation.bound())
        tell(count, best)
        if best < looks[-LOOKS] + GAIN * clustering.value:
            violated, looks = 0.1 * violated, [-math.inf] * LOOKS
        if ends or best >= wanted or violated < 0.5 * LEAST:
            return best, relaxation.x
        looks.append(best)
        relaxation.exchange(violated)
