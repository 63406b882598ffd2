"""A bound on the best clustering of many points, from random subsets of them, that holds with a stated probability.

g_i is what point i costs in the clustering that is given, V = sum g_i. A round draws the first point of S with the
probability g_i / V and the s - 1 others uniformly, without replacement. So S has the probability of a uniform subset
times n / s U(S) / V, with U(S) = sum of g_i over S (Midzuno, Sankhya 13, 1952), and for a bound L(S) >= 0 whose mean over
uniform subsets is at most (s / n) OPT (cgm_cli.certify.subsets) the mean of the ratio r = L(S) / U(S) is

    E r  =  E_uniform[L] n / (s V)  <=  OPT / V

Whatever sizes are chosen on the way, M_t = prod over j <= t of r_j V / OPT is a nonnegative supermartingale, and passes
1 / delta at some t with a probability of delta at most (Ville, 1939). Hence, but for this probability,

    OPT  >=  V max over t of (delta r_1 r_2 ... r_t)^(1 / t)

No range and no variance has to be known, and the rounds may end whenever they please. What delta costs is
log(1 / delta) / t, relative; what the ratio costs is the gap of the clustering on subsets.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from time import perf_counter

import numpy as np

from cgm_cli.certify.clustering import Clustering
from cgm_cli.certify.subsets import subset_bound
from cgm_cli.methods.status import Status
from cgm_cli.numerics.deadline import Deadline

GAP = 5e-3
"""To which relaxations of subsets are solved: half of it would take half as long again (400 points, 10 clusters)."""

LARGEST = 1600
"""Points in a subset at most; of twice as many a relaxation takes about eight times as long."""

TRIALS = 0.25
"""The part of the time that finding out about sizes may take."""


@dataclass
class Rounds:
    """The ratios of the rounds so far, and what they prove of OPT / V but for a probability of `failure`."""

    failure: float
    logarithms: list[float] = field(default_factory=list[float])
    best: float = -math.inf

    def add(self, ratio: float) -> None:
        self.logarithms.append(math.log(ratio) if ratio > 0.0 else -math.inf)
        self.best = max(self.best, (math.log(self.failure) + math.fsum(self.logarithms)) / len(self.logarithms))

    @property
    def ratio(self) -> float:
        """OPT / V is at least so much."""
        return math.exp(self.best)


@dataclass(frozen=True)
class Draws:
    """Draws subsets of a clustering's points: the first by its cost, the others uniformly."""

    clustering: Clustering
    rng: np.random.Generator
    sums: np.ndarray

    @classmethod
    def of(cls, clustering: Clustering, rng: np.random.Generator) -> Draws:
        return cls(clustering, rng, np.cumsum(clustering.costs))

    def draw(self, size: int) -> np.ndarray:
        """Indices of `size` points, each once."""
        n = self.sums.size
        first = int(np.searchsorted(self.sums, self.rng.random() * self.sums[-1], side="right"))
        first = min(first, n - 1)
        others = self.rng.choice(n - 1, size - 1, replace=False, shuffle=False)
        return np.append(others + (others >= first), first)


@dataclass(frozen=True)
class Way:
    """How a round is done: the size of its subset, and whether the bias of samples is corrected."""

    size: int
    is_corrected: bool


@dataclass(frozen=True)
class Trial:
    """What a round of a kind took, and its ratio."""

    way: Way
    seconds: float
    ratio: float

    def outlook(self, seconds: float, failure: float) -> float:
        """The logarithm of what would be proven in that time."""
        rounds = max(1.0, seconds / self.seconds)
        return (math.log(self.ratio) if self.ratio > 0.0 else -math.inf) + math.log(failure) / rounds

    def until(self, wanted: float, failure: float) -> float:
        """Seconds until this logarithm is proven."""
        spare = (math.log(self.ratio) if self.ratio > 0.0 else -math.inf) - wanted
        return self.seconds * max(1.0, math.ceil(-math.log(failure) / spare)) if spare > 0.0 else math.inf


def ratio_of(
    clustering: Clustering, subset: np.ndarray, way: Way, should_stop: Callable[[], Status | None] = lambda: None
) -> float:
    """L(S) / U(S)."""
    corrected = 1.0 - subset.size / clustering.labels.size if way.is_corrected else 0.0
    points, labels = clustering.points[subset], clustering.labels[subset]
    bound = subset_bound(points, labels, clustering.clusters, corrected, GAP, should_stop)
    return bound / float(clustering.costs[subset].sum())


def chosen(draws: Draws, failure: float, wanted: float | None, deadline: Deadline) -> Way | None:
    """The way that promises most in the time, or to prove the logarithm `wanted` first; None if no trial has ended. The
    trials are no rounds: what they say of the ratios is used up by the choice.
    """
    began, whole = perf_counter(), deadline.left()
    budget = min(whole, 600.0)
    trials: list[Trial] = []
    best = -math.inf
    n, size = draws.clustering.labels.size, max(64, 8 * draws.clustering.clusters)
    while size <= max(min(LARGEST, n // 2), 2 * draws.clustering.clusters) and size < n:
        subset, before = draws.draw(size), best
        for is_corrected in (True, False):
            if deadline.should_stop():
                break
            start = perf_counter()
            ratio = ratio_of(draws.clustering, subset, Way(size, is_corrected))
            trials.append(Trial(Way(size, is_corrected), perf_counter() - start, ratio))
            best = max(best, trials[-1].outlook(budget, failure))
        spent = perf_counter() - began
        if best <= before or deadline.should_stop() or 4.0 * spent > TRIALS * budget:
            break
        size *= 2
    if not trials:
        return None
    left = budget - (perf_counter() - began)
    if wanted is not None:
        first = min(trials, key=lambda trial: trial.until(wanted, failure))
        if first.until(wanted, failure) <= left:
            return first.way
    return max(trials, key=lambda trial: trial.outlook(max(left, 1e-3), failure)).way


def by_samples(
    clustering: Clustering,
    failure: float,
    wanted: float | None,
    seed: int,
    deadline: Deadline,
    should_stop: Callable[[], Status | None] = lambda: None,
    tell: Callable[[int, float], None] = lambda rounds, ratio: None,
) -> tuple[Rounds, int]:
    """Rounds until OPT / V is proven to be `wanted`, or the deadline comes, and the size of their subsets. tell: called
    after every round with their number and what is proven. The clustering is one that was found before, by whatever.
    """
    draws = Draws.of(clustering, np.random.default_rng([seed, 2]))
    rounds = Rounds(failure)
    target = None if wanted is None else math.log(wanted)
    way = chosen(draws, failure, target, deadline)
    if way is None:
        return rounds, 0
    while not deadline.should_stop() and (wanted is None or rounds.ratio < wanted):
        ratio = ratio_of(clustering, draws.draw(way.size), way, should_stop)
        if deadline.should_stop():  # it was cut short
            break
        rounds.add(ratio)
        tell(len(rounds.logarithms), rounds.ratio)
    return rounds, way.size
