"""Permutations of small sum_ij a_ij b_p(i)p(j), by exchanges of two places. A and B are (n, n), p integers (n,)."""

from __future__ import annotations

import numpy as np

from cgm_cli.numerics.deadline import NEVER, Deadline

TENURE = 0.9, 1.1
"""Times n: between how many exchanges an object does not go back to the place it has left (Taillard 1991)."""

EXACT = 2.0**53
"""Sums of whole numbers up to this are those that they should be."""


def assignment_value(flow: np.ndarray, distance: np.ndarray, places: np.ndarray) -> float:
    """sum_ij a_ij b_p(i)p(j)."""
    return float((flow * distance[np.ix_(places, places)]).sum())


def spacing(flow: np.ndarray, distance: np.ndarray) -> float:
    """A number that the value of every permutation is a multiple of, for whole data; 0 where none is known.

    Such are the product of what divides all of A and all of B; and twice that where both are symmetric and one has
    zeros on its diagonal, for every product is then added twice.
    """
    if max(np.abs(flow).sum(), 1.0) * max(np.abs(distance).max(), 1.0) >= EXACT:
        return 0.0
    if not all(np.array_equal(part, np.round(part)) for part in (flow, distance)):
        return 0.0
    divisors = [int(np.gcd.reduce(part.astype(np.int64), axis=None)) for part in (flow, distance)]
    symmetric = np.array_equal(flow, flow.T) and np.array_equal(distance, distance.T)
    twice = symmetric and not (flow.diagonal().any() and distance.diagonal().any())
    return float(divisors[0] * divisors[1] * (2 if twice else 1))


def exchange_gains(flow: np.ndarray, placed: np.ndarray) -> np.ndarray:
    """What the exchange of every two places changes the value by, (n, n). placed: c_ij = b_p(i)p(j).

    The exchange of r and s takes c_sk to c_rk and c_ks to c_kr, and back, for every other k, and does to both corners
    what it does to rows and columns at once:

        sum_k (a_rk - a_sk) (c_sk - c_rk) + (a_kr - a_ks) (c_ks - c_kr)  without k = r, s
        + (a_rr - a_ss) (c_ss - c_rr) + (a_rs - a_sr) (c_sr - c_rs).

    The sum over all k is one of products of matrices.
    """
    products = flow @ placed.T + flow.T @ placed
    own = products.diagonal()
    a, b = flow.diagonal(), placed.diagonal()
    # The parts of k = r, as [r, s]; those of k = s are their transpose.
    here = (a[:, None] - flow.T) * (placed.T - b[:, None]) + (a[:, None] - flow) * (placed - b[:, None])
    both = (a[:, None] - a) * (b - b[:, None]) + (flow - flow.T) * (placed.T - placed)
    return products + products.T - own[:, None] - own - here - here.T + both


def tabu_search(
    flow: np.ndarray,
    distance: np.ndarray,
    places: np.ndarray,
    steps: int,
    rng: np.random.Generator,
    enough: float = -np.inf,
    deadline: Deadline = NEVER,
) -> tuple[np.ndarray, float]:
    """The best permutation of a robust tabu search from `places`, and its value: Taillard, "Robust taboo search for the
    quadratic assignment problem", Parallel Computing 17, 1991.

    Every step makes the best exchange, be it for the worse, that does not take two objects to where either has been of
    late, unless it leads to a value below all others. It ends after so many steps, at a value that is `enough`, and at
    the deadline.
    """
    n = places.size
    current, value = places.copy(), assignment_value(flow, distance, places)
    best, least = current.copy(), value
    barred = np.zeros((n, n), dtype=int)  # the step up to which an object does not go to a place
    same = np.eye(n, dtype=bool)
    tenures = rng.integers(max(1, int(TENURE[0] * n)), int(TENURE[1] * n) + 1, size=(steps, 2), endpoint=True)
    for step, tenure in enumerate(tenures, start=1):
        if least <= enough or deadline.should_stop():
            break
        gains = exchange_gains(flow, distance[np.ix_(current, current)])
        moves = barred[:, current] >= step
        gains[(moves & moves.T & (value + gains >= least)) | same] = np.inf
        r, s = divmod(int(np.argmin(gains)), n)
        if gains[r, s] == np.inf:
            continue
        barred[[r, s], current[[r, s]]] = step + tenure
        current[[r, s]] = current[[s, r]]
        value += gains[r, s]
        if value < least:
            best, least = current.copy(), value
    return best, assignment_value(flow, distance, best)
