"""A certified bound on the best clustering of some thousand points, and clusterings, from the relaxation of all."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from cgm_cli.certificates.clustering import RESTARTS, Clustering
from cgm_cli.certificates.dual import dual_value, multipliers_of
from cgm_cli.certificates.many import by_splitting
from cgm_cli.certificates.tight import by_triangles
from cgm_cli.methods.record import IterationRecord
from cgm_cli.methods.status import Status
from cgm_cli.methods.stopping import StopRules
from cgm_cli.numerics.compiled import available
from cgm_cli.numerics.deadline import Deadline
from cgm_cli.solving.direct import solve_problem
from cgm_cli.templates.clustering import kmeans, polished, squared_distances
from cgm_cli.templates.kmeans_sdp import relaxation

GAP = 1e-4
"""To which the relaxation is solved, and how near to the best a clustering is proven, where nobody says what is enough.
"""

ITERATIONS = 100_000

SPLIT, TIGHT = 500, 1000
"""Points up to which triangle inequalities join the relaxation: by splitting, a step of which takes a decomposition of
all of X, and by the general method. (300 digits in ten clusters are within 0.28 % after 7 s and 0.1 % after 24 s by
the former, on a busy machine, and after 9 s and never by the latter; 1000 within 2.7 % in a minute by either.)
"""


class _Teller:
    """Tells of half the bound, which is one on the value of every clustering."""

    def __init__(self, tell: Callable[[int, float], None]):
        self.tell = tell

    def on_record(self, record: IterationRecord) -> None:
        self.tell(record.k, 0.5 * record.bound)


def by_the_whole(
    clustering: Clustering,
    wanted: float | None,
    seed: int,
    deadline: Deadline,
    looks_further: bool,
    tell: Callable[[int, float], None] = lambda k, bound: None,
) -> tuple[float, np.ndarray]:
    """A certified lower bound on the value of every clustering, 0 without one, and the labels (n,) of the best
    clustering at hand: a better one may come out of X if it `looks_further`. wanted: the bound that is enough.
    """
    points, k = clustering.points, clustering.clusters
    wanted = clustering.value / (1.0 + GAP) if wanted is None else wanted
    if len(points) <= SPLIT and available():  # its sweeps over inequalities are compiled
        bound, x = by_triangles(clustering, wanted, deadline, tell)
    else:
        bound, x = _by_the_loop(clustering, wanted, seed, deadline, tell)
    if bound == 0.0:  # one eigenvalue decomposition, a second or two beyond the time
        distances = squared_distances(points)
        bound = max(0.0, 0.5 * dual_value(distances, multipliers_of(distances, clustering.labels), k))
    if not looks_further or x is None:
        return bound, clustering.labels
    return bound, _better(clustering, x @ points, seed, deadline)


def _by_the_loop(
    clustering: Clustering, wanted: float, seed: int, deadline: Deadline, tell: Callable[[int, float], None]
) -> tuple[float, np.ndarray | None]:
    """The bound, and X where there is one, by the general method."""
    points = clustering.points
    # The loop keeps some of its time for the certificate.
    time = max(0.5, deadline.left()) if np.isfinite(deadline.left()) else None
    result = solve_problem(
        relaxation(squared_distances(points), clustering.clusters, triangles=len(points) <= TIGHT),
        stop=StopRules(ITERATIONS, gap=GAP, infeasibility=GAP, time=time, bound=2.0 * wanted),
        seed=seed,
        observers=[_Teller(tell)],
        should_stop=lambda: Status.STOPPED if deadline.should_stop() else None,
    )
    bound = 0.5 * max(0.0, result.record.bound) if result.bound_is == "certified" else 0.0
    return bound, result.solution.get("x")


def by_one_matrix(
    clustering: Clustering,
    wanted: float | None,
    seed: int,
    deadline: Deadline,
    looks_further: bool,
    tell: Callable[[int, float], None] = lambda k, bound: None,
) -> tuple[float, np.ndarray]:
    """The same of many thousand points, with matrix in single precision, and another for the proof."""
    bound, denoised = by_splitting(clustering, wanted, seed, deadline, tell)
    return bound, _better(clustering, denoised, seed, deadline) if looks_further else clustering.labels


def _better(clustering: Clustering, denoised: np.ndarray, seed: int, deadline: Deadline) -> np.ndarray:
    """The labels of a clustering, or better ones of the means that X gives to each point."""
    points, k = clustering.points, clustering.clusters
    rounded = polished(points, kmeans(denoised, k, RESTARTS, seed, deadline), k, deadline)
    return rounded if Clustering(points, rounded, k).value < clustering.value else clustering.labels
