"""Proofs by samples: the draws, the product, and how often a proof is false where the optimum is known."""

import itertools
from functools import cache

import numpy as np
import pytest

from cgm_cli.certificates.clustering import Clustering
from cgm_cli.certificates.samples import Draws, Rounds, Way, by_samples, ratio_of
from cgm_cli.numerics.deadline import Deadline
from tests.certificates.support import blobs, exact, on_the_line

FAILURE = 0.05
CERTIFICATES = 2000


def test_a_subset_is_drawn_with_a_chance_in_proportion_to_its_cost():
    points = np.array([[0.0], [1.0], [3.0], [6.0], [10.0]])
    clustering = Clustering(points, np.array([0, 0, 0, 1, 1]), 2)
    draws = Draws.of(clustering, np.random.default_rng(0))
    subsets = list(itertools.combinations(range(5), 2))
    seen = dict.fromkeys(subsets, 0)
    for _ in range(20_000):
        seen[tuple(sorted(draws.draw(2).tolist()))] += 1
    costs = np.array([clustering.costs[list(each)].sum() for each in subsets])
    np.testing.assert_allclose(np.array([*seen.values()]) / 20_000, costs / costs.sum(), atol=0.012)


def test_the_product_is_what_the_formula_says_at_its_best_round():
    rounds, ratios = Rounds(0.01), [0.9, 0.95, 0.8, 0.99, 0.1]
    for ratio in ratios:
        rounds.add(ratio)
    assert rounds.ratio == pytest.approx(max((0.01 * np.prod(ratios[:t])) ** (1 / t) for t in range(1, 6)))
    rounds.add(0.0)
    assert rounds.ratio > 0.0
    assert Rounds(0.01).ratio == 0.0


@cache
def table(seed):
    """The sharpest ratios there can be, of all subsets of 5 of 9 points, their chances, and the optimum's share."""
    k, size = 2, 5
    points = blobs(9, k, 1 + seed % 2, 1.0 + seed % 3, seed)[0]
    optimum, best = exact(points, k)
    labels = best if seed % 2 else np.random.default_rng(seed).integers(k, size=9)
    clustering = Clustering(points, labels, k)
    subsets = [list(each) for each in itertools.combinations(range(9), size)]
    costs = np.array([clustering.costs[each].sum() for each in subsets])
    values = np.array([exact(points[each], k, 1 - size / 9)[0] for each in subsets])
    return values / costs, costs / costs.sum(), optimum / clustering.value


def false_share(log_failure, seeds=range(10), rounds=60):
    """The share of certificates that are false at some round: the worst of the instances."""
    worst = 0.0
    for seed in seeds:
        ratios, chances, share = table(seed)
        drawn = np.random.default_rng(100 + seed).choice(ratios.size, (CERTIFICATES, rounds), p=chances)
        products = np.cumsum(np.log(ratios[drawn] / share), axis=1)
        worst = max(worst, float((products.max(axis=1) > -log_failure).mean()))
    return worst


def test_no_more_proofs_are_false_than_is_said():
    """At each of ten instances, 2000 proofs that may end at whatever round suits them best. With a mean taken for a
    bound, without the allowance for failure, many would be false.
    """
    assert false_share(np.log(FAILURE)) <= FAILURE
    assert false_share(0.0) > 0.3


@pytest.mark.parametrize("seed", range(3))
def test_bounds_of_numbers_on_the_line_are_below_their_optimum(seed):
    """Exact by dynamic programming. With no clustering that is nearly optimal there is no proof that it is."""
    rng = np.random.default_rng(seed)
    values = np.concatenate([rng.normal(place, 1.0, 150) for place in (0.0, 9.0, 20.0)])
    labels = np.repeat([0, 1, 2], 150)
    clustering = Clustering(values[:, None], labels, 3)
    optimum = on_the_line(values, 3)
    draws = Draws.of(clustering, rng)
    rounds = Rounds(FAILURE)
    for _ in range(60):
        rounds.add(ratio_of(clustering, draws.draw(40), Way(40, True)))
    assert 0.85 * optimum <= rounds.ratio * clustering.value <= optimum
    poor = Clustering(values[:, None], np.minimum(labels, 1), 3)
    assert ratio_of(poor, draws.draw(40), Way(40, True)) < 0.5


def test_what_is_wanted_is_enough_and_the_draws_are_those_of_the_seed():
    points, labels = blobs(3000, 3, 2, 20.0, 0)
    clustering = Clustering(points, labels, 3)
    rounds, size = by_samples(clustering, 0.1, 0.85, 0, Deadline())
    assert rounds.ratio >= 0.85 and size >= 64
    again, _ = by_samples(clustering, 0.1, 0.85, 0, Deadline(), workers=3)
    assert again.ratio >= 0.85


def test_a_deadline_that_has_come_proves_nothing():
    points, labels = blobs(3000, 3, 2, 20.0, 0)
    rounds, size = by_samples(Clustering(points, labels, 3), 0.1, None, 0, Deadline(lambda: 0.0))
    assert rounds.ratio == 0.0 and size == 0
