"""Searches for permutations: gains of exchanges, what values can be, and how a search ends."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from cgm_cli.numerics.deadline import Deadline
from cgm_cli.templates.assignments import assignment_value, exchange_gains, spacing, tabu_search
from tests.templates.programs import best_assignment


def values(flow, distance):
    return [assignment_value(flow, distance, np.array(p)) for p in itertools.permutations(range(len(flow)))]


def grid(rows, columns):
    """A flow of 1 between neighbours on a grid, and the distances on it: best where it stands, the number of pairs."""
    places = np.indices((rows, columns)).reshape(2, -1)
    distance = np.abs(places[:, :, None] - places[:, None]).sum(axis=0).astype(float)
    return (distance == 1.0).astype(float), distance


@pytest.mark.parametrize("n", [1, 2, 3, 6])
def test_gains_of_exchanges(n):
    """Of matrices that are neither symmetric nor zero on the diagonal."""
    rng = np.random.default_rng(n)
    flow, distance = rng.standard_normal((2, n, n))
    places = rng.permutation(n)
    gains = exchange_gains(flow, distance[np.ix_(places, places)])
    for r, s in itertools.product(range(n), repeat=2):
        exchanged = places.copy()
        exchanged[[r, s]] = places[[s, r]]
        change = assignment_value(flow, distance, exchanged) - assignment_value(flow, distance, places)
        assert gains[r, s] == pytest.approx(change, abs=1e-12)


@pytest.mark.parametrize("symmetric", [True, False])
@pytest.mark.parametrize("seed", range(3))
def test_the_best_of_all_is_found(seed, symmetric):
    rng = np.random.default_rng(seed)
    flow, distance = rng.integers(-9, 9, (2, 6, 6)).astype(float)
    if symmetric:
        flow, distance = flow + flow.T, distance + distance.T
    places, value = tabu_search(flow, distance, np.arange(6), 500, rng)
    assert value == assignment_value(flow, distance, places) == best_assignment(flow, distance)


def test_a_search_leaves_what_no_exchange_betters():
    flow, distance = grid(3, 4)
    best = flow.sum()
    stuck = 0
    for seed in range(4):
        places = np.random.default_rng(seed).permutation(12)
        while (gains := exchange_gains(flow, distance[np.ix_(places, places)])).min() < 0.0:
            r, s = np.unravel_index(int(np.argmin(gains)), gains.shape)
            places[[r, s]] = places[[s, r]]
        stuck += assignment_value(flow, distance, places) > best
        assert tabu_search(flow, distance, places, 2000, np.random.default_rng(seed))[1] == best
    assert stuck > 0


def test_what_ends_a_search():
    flow, distance = grid(2, 4)
    start = np.array([0, 4, 1, 5, 2, 6, 3, 7])
    first = assignment_value(flow, distance, start)

    def searched(steps=200, seed=0, **options):
        return tabu_search(flow, distance, start, steps, np.random.default_rng(seed), **options)

    assert searched(steps=0)[1] == searched(enough=first)[1] == first
    assert searched(deadline=Deadline(lambda: 0.0))[1] == first
    assert searched(enough=first - 1.0)[1] < first
    np.testing.assert_array_equal(start, [0, 4, 1, 5, 2, 6, 3, 7])
    np.testing.assert_array_equal(searched()[0], searched()[0])


@pytest.mark.parametrize(
    ("change", "wanted"),
    [
        (lambda a, b: (a, b), 2.0),
        (lambda a, b: (3.0 * a, 10.0 * b), 60.0),
        (lambda a, b: (a + np.eye(5), b), 2.0),  # one diagonal of zeros is enough
        (lambda a, b: (a + np.eye(5), b + np.eye(5)), 1.0),
        (lambda a, b: (np.triu(a), b), 1.0),
        (lambda a, b: (-a, b), 2.0),
        (lambda a, b: (0.5 * a, b), 0.0),
        (lambda a, b: (0.0 * a, b), 0.0),
        (lambda a, b: (2.0**30 * a, 2.0**30 * b), 0.0),  # sums are not exact
        (lambda a, b: (0.0 * a, 1e300 * b), 0.0),
    ],
)
def test_what_values_are_multiples_of(change, wanted):
    upper = np.triu(np.random.default_rng(0).integers(0, 99, (2, 5, 5)).astype(float), 1)
    flow, distance = change(upper[0] + upper[0].T, upper[1] + upper[1].T)
    step = spacing(flow, distance)
    assert step == wanted
    assert not step or all(value % step == 0.0 for value in values(flow, distance))
