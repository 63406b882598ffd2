"""The relaxation of k-means of many thousand points, from a clustering and its multipliers on: the one of the template
`kmeans-sdp` whose distances are not formed, by the correction `splitting`.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from cgm_cli.certificates.clustering import Clustering
from cgm_cli.methods.record import IterationRecord
from cgm_cli.methods.status import Status
from cgm_cli.methods.stopping import StopRules
from cgm_cli.numerics.deadline import Deadline, seconds_of
from cgm_cli.numerics.definite import dense_seconds
from cgm_cli.solving.direct import solve_problem
from cgm_cli.templates.kmeans_sdp import relaxation_in_factors

SOLVER = {"method": "cgal", "correction": "splitting", "oracle": {"tolerance": 1e-3}}

TURNS = 1000
"""At the most; it ends where a turn does not make the bound better any more."""


class Teller:
    """Tells of half the bound, which is one on the value of every clustering."""

    def __init__(self, tell: Callable[[int, float], None]):
        self.tell = tell

    def on_record(self, record: IterationRecord) -> None:
        self.tell(record.k, 0.5 * record.bound)


def memory(n: int, clusters: int) -> int:
    """Bytes that it takes, roughly: five matrices in single precision, the one that is factorised, and vectors."""
    return 28 * n * n + 200 * n * clusters


def seconds(n: int, clusters: int) -> float:
    """What five steps and a proof take, roughly."""
    return seconds_of(70.0 * clusters * n**2) + 1.3 * dense_seconds(n)


def by_splitting(
    clustering: Clustering,
    wanted: float | None,
    seed: int,
    deadline: Deadline,
    tell: Callable[[int, float], None] = lambda step, bound: None,
) -> tuple[float, np.ndarray]:
    """A certified lower bound on the value of every clustering, 0 without one, and X Y (n, d): each point's mean by the
    X that was come to. wanted: the bound that is enough.
    """
    points, k = clustering.points, clustering.clusters
    result = solve_problem(
        relaxation_in_factors(points, clustering.labels, k),
        SOLVER,
        stop=StopRules(
            TURNS,
            time=max(0.0, deadline.left()) if np.isfinite(deadline.left()) else None,
            bound=None if wanted is None else 2.0 * wanted,
        ),
        seed=seed,
        observers=[Teller(tell)],
        should_stop=lambda: Status.STOPPED if deadline.should_stop() else None,
    )
    bound = 0.5 * max(0.0, result.record.bound) if result.bound_is == "certified" else 0.0
    x = result.solution
    return bound, (x["left"] * x["weights"]) @ (x["left"].T @ points)
