"""How far a clustering of points is from the best: by its structure, by the relaxation of all points, or of subsets."""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any

import numpy as np

from cgm_cli.certificates.certificate import Certificate
from cgm_cli.certificates.clustering import Clustering, found
from cgm_cli.certificates.many import memory, seconds
from cgm_cli.certificates.samples import by_samples
from cgm_cli.certificates.structure import by_structure
from cgm_cli.certificates.whole import by_one_matrix, by_the_whole
from cgm_cli.errors import DataError, ProblemError
from cgm_cli.numerics.deadline import Deadline
from cgm_cli.numerics.threads import one_thread, threads
from cgm_cli.readers.memory import available_memory, check_fits
from cgm_cli.text import counted

WHOLE = 2000
"""Points up to which they are taken all at once, whatever the time: some ten seconds."""

MANY = 20_000
"""Points up to which they are, where time and memory allow: some minutes, and 5 GB."""

FEW = 50
"""Points of a cluster, in the mean, from which on they are: else X has no low rank."""

SURE = 1.5
"""How many times as long as all points take, roughly, there has to be: what ends without a proof is lost."""

FINDING = 0.3
"""The part of the time in which a clustering is looked for."""

FIRST = 0.3
"""The part of the rest in which few points are taken by one matrix, where somebody says what is near enough."""

NEAR = 1e-3
"""The relative distance that is near enough of what costs next to nothing, where nobody says."""

LARGEST = 1e152
"""Of coordinates: what squares of distances add up to is in range."""

ROUNDING = 1e-12
"""What sums of costs may be off by, relative."""


def certify(
    points: Any,
    labels: Any = None,
    clusters: int | None = None,
    *,
    within: float | None = None,
    time: float | None = 60.0,
    failure: float = 1e-3,
    seed: int = 0,
    asked: Callable[[], bool] = lambda: False,
    tell: Callable[[str], None] = lambda line: None,
) -> Certificate:
    """How far a k-means clustering is from the best possible one, proven.

    points (n, d): numbers, finite. labels (n,): the clustering, any values; without them one is looked for. clusters:
    how many clusters the others may have, those of the labels if not given. within: a relative distance from the best
    that is enough, e.g. 0.02. time: seconds in all, None for no limit (beside `within`, where there are more than 2000
    points). failure: the probability with which the bound may be wrong where the points are too many to be taken all at
    once: up to 2000 it is certified, and up to 20,000 where time and memory allow. The same seed gives the same labels
    and draws; how many steps or rounds there are is a matter of time. asked: polled; True ends it. tell: called with a
    line about progress.

    Raises ProblemError, DataError and TypeError for arguments that are none.
    """
    began = perf_counter()
    points, names, clusters = _checked(points, labels, clusters)
    _check_options(within, time, failure, seed, points.shape[0])
    deadline = Deadline(lambda: math.inf if time is None else began + time - perf_counter(), asked)
    # A power of two: nothing is rounded but by the shift. Distances are squared, in units in which they can be.
    middle = points.mean(axis=0)
    points = points - middle
    unit = 2.0 ** math.frexp(float(np.abs(points).max(initial=0.0)))[1]
    points = points / unit
    if names is None:
        tell(f"looking for {counted(clusters, 'cluster')} of {counted(points.shape[0], 'point')}")
        clustering = Clustering(points, found(points, clusters, seed, deadline.part(FINDING)), clusters)
    else:
        clustering = Clustering(points, names, clusters)
    watch = _Watch(tell, began)
    proof = _proof(clustering, within, failure, seed, deadline, names is None, watch)
    labelled = proof.labels
    value = clustering.value if labelled is clustering.labels else Clustering(points, labelled, clusters).value
    return Certificate(
        value * unit**2,
        proof.bound * unit**2,
        failure if proof.how == "samples" else 0.0,
        perf_counter() - began,
        "clustering",
        proof.how,
        labelled,
        proof.rounds,
        proof.size,
        asked(),
        tuple((seconds, bound * unit**2) for seconds, bound in watch.history),
        proof.left_out,
    )


@dataclass(frozen=True)
class _Proof:
    """A bound, how it was found, for which labels (n,); of samples, how many rounds of which size; which points that by
    structure leaves open.
    """

    bound: float
    how: str
    labels: np.ndarray
    rounds: int = 0
    size: int = 0
    left_out: np.ndarray | None = None


@dataclass
class _Watch:
    """Tells of progress now and then, a second apart, and remembers all of it: seconds, and the bound on the value."""

    tell: Callable[[str], None]
    began: float
    history: list[tuple[float, float]] = field(default_factory=list[tuple[float, float]])
    last: float = -math.inf

    def note(self, bound: float) -> None:
        if bound > 0.0 and (not self.history or bound > self.history[-1][1]):
            self.history.append((perf_counter() - self.began, bound))

    def prove(self, bound: float) -> None:
        """Where bounds on the way were estimates: those beyond the one that is proven at the end count for nothing."""
        self.history = [each for each in self.history if each[1] < bound]
        self.note(bound)

    def teller(self, what: str, value: float, unit: float) -> Callable[[int, float], None]:
        """Of a number of steps, and of a bound in this unit."""
        self.last = perf_counter()

        def told(count: int, bound: float) -> None:
            self.note(unit * bound)
            if perf_counter() - self.last >= 1.0 and bound > 0.0:
                self.last = perf_counter()
                self.tell(f"{what} {count}: within {100.0 * max(0.0, value / (unit * bound) - 1.0):.3g} %")

        return told


def _proof(
    clustering: Clustering,
    within: float | None,
    failure: float,
    seed: int,
    deadline: Deadline,
    looks_further: bool,
    watch: _Watch,
) -> _Proof:
    """The cheapest first, until one is enough: the best."""
    k, value = clustering.clusters, clustering.value
    share = within or NEAR
    if k == 1 or value == 0.0:  # the mean is the best there is, and nothing is better than nothing
        return _Proof(value * (1.0 - ROUNDING), "whole", clustering.labels)
    structure, left_out = by_structure(clustering, deadline)
    left_out = left_out if structure > 0.0 else None
    watch.note(structure)
    first = _Proof(structure, "structure", clustering.labels, left_out=left_out)
    if first.bound * (1.0 + share) >= value or deadline.should_stop():
        return first
    target = None if within is None else value / (1.0 + within)
    few = clustering.labels.size <= WHOLE

    def known(labels: np.ndarray) -> np.ndarray | None:
        """Of a better clustering the first bound holds as well, but not what it leaves open."""
        return left_out if labels is clustering.labels else None

    # One matrix comes near sooner, and the general method comes nearer.
    if (not few or within is not None) and _is_feasible(clustering, deadline):
        part, said = deadline.part(FIRST) if few else deadline, watch.teller("step", value, 1.0)
        with threads(_cores()), one_thread():
            bound, labels = by_one_matrix(clustering, target, seed, part, looks_further, said)
        watch.prove(bound)
        if bound > first.bound:
            first = _Proof(bound, "whole", labels, left_out=known(labels))
        if bound > 0.0 and (not few or first.bound * (1.0 + share) >= value):
            return first
    if few:
        said = watch.teller("step", value, 1.0)
        bound, labels = by_the_whole(
            Clustering(clustering.points, first.labels, k), target, seed, deadline, looks_further, said
        )
        watch.prove(bound)
        return _Proof(max(bound, first.bound), "whole", labels, left_out=known(labels))
    wanted, said = None if within is None else 1.0 / (1.0 + within), watch.teller("subset", value, value)
    rounds, size = by_samples(clustering, failure, wanted, seed, deadline, _cores(), said)
    bound = rounds.ratio * value * (1.0 - ROUNDING)
    second = _Proof(bound, "samples", clustering.labels, len(rounds.logarithms), size, left_out)
    return max(first, second, key=lambda proof: proof.bound)


def _is_feasible(clustering: Clustering, deadline: Deadline) -> bool:
    """Whether there is time, and memory, for all points at once."""
    n, k, available = clustering.labels.size, clustering.clusters, available_memory()
    if n > MANY or k * FEW > n or (available is not None and memory(n, k) > available):
        return False
    return deadline.affords(SURE * seconds(n, k))


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _checked(points: Any, labels: Any, clusters: int | None) -> tuple[np.ndarray, np.ndarray | None, int]:
    """Points as a matrix, labels from 0 or None, and the number of clusters."""
    if np.iscomplexobj(points):
        raise DataError("points: complex numbers are not taken: give real and imaginary parts as columns")
    try:
        found = np.asarray(points, dtype=float)
    except (TypeError, ValueError):
        raise DataError("points: expected a matrix of numbers, one point per row") from None
    if found.ndim == 1:
        found = found[:, None]
    if found.ndim != 2 or found.size == 0:
        raise DataError(f"points: expected a matrix with one point per row, not an array of shape {found.shape}")
    if not np.isfinite(found).all():
        raise DataError("points: an entry is not finite")
    largest = float(np.abs(found).max())
    if largest > LARGEST:
        raise DataError(f"points: an entry is {largest:.3g}, and its square out of range: choose other units")
    check_fits("the points", 3 * found.nbytes)
    names = None
    if labels is not None:
        given = np.asarray(labels).reshape(-1)
        if given.size != found.shape[0]:
            raise DataError(f"labels: {counted(given.size, 'label')} of {counted(found.shape[0], 'point')}")
        kinds, names = np.unique(given, return_inverse=True)
        clusters = kinds.size if clusters is None else clusters
        if kinds.size > clusters:
            raise ProblemError(
                f"labels: they name {counted(kinds.size, 'cluster')}, not the {clusters} that were asked for"
            )
    if clusters is None:
        raise ProblemError("clusters: say how many there may be, or give labels")
    if isinstance(clusters, bool) or not isinstance(clusters, int | np.integer):
        raise TypeError(f"clusters: expected a whole number, not a value of type {type(clusters).__name__}")
    if not 1 <= clusters <= found.shape[0]:
        raise ProblemError(f"clusters: expected from 1 to {found.shape[0]}, the number of points, got {clusters}")
    return found, names, int(clusters)


def _check_options(within: float | None, time: float | None, failure: float, seed: int, n: int) -> None:
    if within is not None and not 0.0 < within < math.inf:
        raise ProblemError(f"within: expected a positive share such as 0.02, got {within:g}")
    if time is not None and not time > 0.0:
        raise ProblemError(f"time: expected a positive number of seconds, got {time:g}")
    if time is None and within is None and n > WHOLE:
        raise ProblemError("time: without a limit, `within` has to say what is enough")
    if not 0.0 < failure < 1.0:
        raise ProblemError(f"failure: expected a probability above 0 and below 1, got {failure:g}")
    if seed < 0:
        raise ProblemError(f"seed: expected at least 0, got {seed}")
