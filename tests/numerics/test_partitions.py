"""Annealed partitions of small graphs against all of them, and what a deadline and a seed promise."""

import itertools

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from cgm_cli.numerics.deadline import Deadline
from cgm_cli.numerics.partitions import equally_regrouped, evened, regrouped, worth
from cgm_cli.templates.max_cut import RandomGraph, random_graph
from tests.partitions import partitions


def graph(n, edges, seed, signed=False):
    return random_graph(RandomGraph(nodes=n, edges=edges, signed=signed), seed)


def worth_by_pairs(adjacency, expected, labels):
    dense = adjacency.toarray() - np.outer(expected, expected)
    return sum(dense[i, j] for i, j in itertools.combinations(range(labels.size), 2) if labels[i] == labels[j])


@settings(deadline=None, max_examples=25)
@given(st.integers(2, 7), st.integers(0, 10**6), st.sampled_from([1e-60, 1.0, 1e60]), st.booleans())
def test_small_graphs_are_parted_as_well_as_they_can_be(n, seed, unit, any_number):
    """By modularity, and by weights of both signs, in whatever unit."""
    rng = np.random.default_rng(seed)
    most = n if any_number else 2
    adjacency = unit / 7.0 * graph(n, int(rng.integers(1, n * (n - 1) // 2 + 1)), seed, signed=seed % 2 == 0)
    degrees = np.asarray(abs(adjacency).sum(axis=1)).reshape(-1)
    expected = degrees / np.sqrt(degrees.sum()) if seed % 2 else np.zeros(n)
    start = rng.integers(0, most, n)
    by_pairs = worth_by_pairs(adjacency, expected, start)
    assert worth(adjacency, expected, start) == pytest.approx(by_pairs, rel=1e-9, abs=1e-12 * unit)
    found = regrouped(adjacency, expected, start, most, seed)
    assert found.min() >= 0 and found.max() < most
    best = max(worth_by_pairs(adjacency, expected, each) for each in partitions(n, most))
    assert worth(adjacency, expected, found) == pytest.approx(best, rel=1e-9, abs=1e-9 * unit)


@settings(deadline=None, max_examples=25)
@given(st.integers(4, 9), st.integers(2, 3), st.integers(0, 10**6))
def test_small_graphs_are_parted_equally_as_well_as_they_can_be(n, parts, seed):
    rng = np.random.default_rng(seed)
    adjacency = graph(n, int(rng.integers(1, n * (n - 1) // 2 + 1)), seed, signed=seed % 2 == 0)
    found = equally_regrouped(adjacency, rng.integers(0, parts, n), parts, seed)
    assert np.ptp(np.bincount(found, minlength=parts)) <= 1
    equal = [each for each in partitions(n, parts) if np.ptp(np.bincount(each, minlength=parts)) <= 1]
    nothing = np.zeros(n)
    best = max(worth_by_pairs(adjacency, nothing, each) for each in equal)
    assert worth(adjacency, nothing, found) == pytest.approx(best)


def test_sizes_are_evened_by_those_that_lose_least():
    """Of a path, cut after its first node, the nodes next to the cut move."""
    path = sp.csr_array(sp.diags_array([np.ones(5), np.ones(5)], offsets=[-1, 1]))
    labels = np.array([0, 1, 1, 1, 1, 1])
    np.testing.assert_array_equal(evened(path, labels, 2), [0, 0, 0, 1, 1, 1])


def test_the_halves_of_a_ladder_are_told_apart():
    """A closed ladder of 200 rungs: four edges are cut, or eight, where exchanges alone end at a hundred."""
    cycle = sp.csr_array(sp.diags_array([np.ones(199), np.ones(199), [1.0], [1.0]], offsets=[-1, 1, 199, -199]))
    ladder = sp.csr_array(sp.kron(sp.eye_array(2), cycle) + sp.kron([[0, 1], [1, 0]], sp.eye_array(200)))
    order = np.random.default_rng(0).permutation(400)
    shuffled = sp.csr_array(ladder[order][:, order])
    found = equally_regrouped(shuffled, np.arange(400) % 2, 2, 1)
    assert 0.5 * ladder.sum() - worth(shuffled, np.zeros(400), found) <= 8


def test_a_deadline_that_has_come_leaves_labels_as_they_are():
    adjacency = graph(300, 900, 0)
    labels = np.random.default_rng(0).permutation(np.arange(300) % 3)
    over = Deadline(lambda: 0.0)
    np.testing.assert_array_equal(regrouped(adjacency, np.ones(300), labels, 3, 0, over), labels)
    np.testing.assert_array_equal(equally_regrouped(adjacency, labels, 3, 0, over), labels)


def test_the_same_seed_gives_the_same_labels():
    adjacency, start = graph(300, 900, 0), np.arange(300) % 3
    expected = np.full(300, 0.1)
    one, other = (regrouped(adjacency, expected, start, 300, 3) for _ in range(2))
    np.testing.assert_array_equal(one, other)
