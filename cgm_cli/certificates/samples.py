"""A bound on the best clustering of many points, from random subsets of them, that holds with a stated probability.

g_i is what point i costs in the clustering that is given, V = sum g_i. A round draws the first point of S with the
probability g_i / V and the s - 1 others uniformly, without replacement. So S has the probability of a uniform subset
times n / s U(S) / V, with U(S) = sum of g_i over S (Midzuno, Sankhya 13, 1952), and for a bound L(S) >= 0 whose mean
over uniform subsets is at most (s / n) OPT (cgm_cli.certificates.subsets) the mean of the ratio r = L(S) / U(S) is

    E r  =  E_uniform[L] n / (s V)  <=  OPT / V

Whatever sizes are chosen on the way, M_t = prod over j <= t of r_j V / OPT is a nonnegative supermartingale, and passes
1 / delta at some t with a probability of delta at most (Ville, 1939). Hence, but for this probability,

    OPT  >=  V max over t of (delta r_1 r_2 ... r_t)^(1 / t)

No range and no variance has to be known, and the rounds may end whenever they please. What delta costs is
log(1 / delta) / t, relative; what the ratio costs is the gap of the clustering on subsets.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from time import perf_counter

import numpy as np

from cgm_cli.certificates.clustering import Clustering
from cgm_cli.certificates.subsets import subset_bound
from cgm_cli.numerics.deadline import NEVER, Deadline
from cgm_cli.numerics.threads import one_thread

LARGEST = 1600
"""Points in a subset at most; of twice as many a relaxation takes about eight times as long."""

TRIALS = 0.25
"""The part of the time that finding out about sizes may take."""


EACH = 3
"""Subsets of a trial for each thread: of 80 points, one ratio is off by a hundredth."""

LONG = 600.0
"""Seconds that are planned for where there is no limit."""


@dataclass
class Rounds:
    """The ratios of the rounds so far, and what they prove of OPT / V but for a probability of `failure`."""

    failure: float
    logarithms: list[float] = field(default_factory=list[float])
    best: float = -math.inf

    def add(self, ratio: float) -> None:
        self.logarithms.append(_log(ratio))
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
    """What a round of a kind takes, and the mean logarithm of its ratio."""

    way: Way
    seconds: float
    logarithm: float

    def outlook(self, seconds: float, failure: float) -> float:
        """The logarithm of what would be proven in that time."""
        rounds = max(1.0, seconds / self.seconds)
        return self.logarithm + math.log(failure) / rounds

    def until(self, wanted: float, failure: float) -> float:
        """Seconds until this logarithm is proven."""
        spare = self.logarithm - wanted
        return self.seconds * max(1.0, math.ceil(-math.log(failure) / spare)) if spare > 0.0 else math.inf


def ratio_of(clustering: Clustering, subset: np.ndarray, way: Way, deadline: Deadline = NEVER) -> float:
    """L(S) / U(S)."""
    corrected = 1.0 - subset.size / clustering.labels.size if way.is_corrected else 0.0
    points, labels = clustering.points[subset], clustering.labels[subset]
    bound = subset_bound(points, labels, clustering.clusters, corrected, deadline)
    return bound / float(clustering.costs[subset].sum())


def chosen(
    draws: Draws, failure: float, wanted: float | None, pool: Executor, workers: int, deadline: Deadline
) -> Way | None:
    """The way that promises most in the time, or to prove the logarithm `wanted` first; None if no trial has ended. The
    trials are no rounds: what they say of the ratios is used up by the choice.
    """
    budget = min(deadline.left(), LONG)
    trials: list[Trial] = []
    n, k = draws.clustering.labels.size, draws.clustering.clusters
    size, best = max(64, 8 * k), -math.inf
    began = perf_counter()
    ratio_of(draws.clustering, draws.draw(min(size, n - 1)), Way(size, True), deadline)  # what is imported and compiled
    while size <= min(max(LARGEST, 8 * k), n // 2):
        before, drawn = best, [draws.draw(size) for _ in range(EACH * workers)]
        for is_corrected in (True, False):
            if deadline.should_stop():
                break
            way, start = Way(size, is_corrected), perf_counter()
            logarithms = [
                *pool.map(lambda subset, way=way: _log(ratio_of(draws.clustering, subset, way, deadline)), drawn)
            ]
            trials.append(Trial(way, (perf_counter() - start) / len(drawn), math.fsum(logarithms) / len(drawn)))
            best = max(best, trials[-1].outlook(budget, failure))
        spent = perf_counter() - began
        if best <= before or deadline.should_stop() or 4.0 * spent > TRIALS * budget:
            break
        if wanted is not None and min(trial.until(wanted, failure) for trial in trials) <= spent:
            break
        size *= 2
    if not trials:
        return None
    left = max(1e-3, budget - (perf_counter() - began))
    if wanted is not None:
        first = min(trials, key=lambda trial: trial.until(wanted, failure))
        if first.until(wanted, failure) <= left:
            return first.way
    return max(trials, key=lambda trial: trial.outlook(left, failure)).way


def _log(ratio: float) -> float:
    return math.log(ratio) if ratio > 0.0 else -math.inf


def by_samples(
    clustering: Clustering,
    failure: float,
    wanted: float | None,
    seed: int,
    deadline: Deadline,
    workers: int = 1,
    tell: Callable[[int, float], None] = lambda rounds, ratio: None,
) -> tuple[Rounds, int]:
    """Rounds until OPT / V is proven to be `wanted`, or the deadline comes, and the size of their subsets. tell: called
    after every round with their number and what is proven. The clustering is one that was found before, by whatever.
    workers: threads.
    """
    draws = Draws.of(clustering, np.random.default_rng([seed, 2]))
    rounds = Rounds(failure)
    target = None if wanted is None else math.log(wanted)
    with one_thread(), ThreadPoolExecutor(workers) as pool:
        way = chosen(draws, failure, target, pool, workers, deadline)
        if way is None:
            return rounds, 0
        pending: deque[Future[float]] = deque()
        # In the order in which they were drawn: which of them counts does not depend on which one is ready first.
        while rounds.best < (math.inf if target is None else target):
            while len(pending) <= workers:
                pending.append(pool.submit(ratio_of, clustering, draws.draw(way.size), way, deadline))
            ratio = pending.popleft().result()
            if deadline.should_stop():
                break
            rounds.add(ratio)
            tell(len(rounds.logarithms), rounds.ratio)
        for future in pending:
            future.cancel()
    return rounds, way.size
