"""Annealing of cuts against all cuts, and what is merged of two."""

import itertools

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from cgm_cli.numerics.annealing import annealed, merged
from cgm_cli.numerics.deadline import Deadline
from cgm_cli.templates.max_cut import RandomGraph, random_graph


def graph(n, edges, seed, signed=True):
    return random_graph(RandomGraph(nodes=n, edges=edges, signed=signed), seed)


def cut(adjacency, signs):
    return 0.25 * float(adjacency.sum() - signs @ (adjacency @ signs))


def largest(adjacency):
    n = adjacency.shape[0]
    return max(cut(adjacency, np.array([1.0, *rest])) for rest in itertools.product([1.0, -1.0], repeat=n - 1))


@settings(deadline=None, max_examples=30)
@given(st.integers(2, 10), st.integers(0, 10**6), st.sampled_from([1e-60, 1e-13, 1.0, 1e9, 1e60, 1e250]))
def test_small_graphs_are_cut_as_well_as_they_can_be(n, seed, unit):
    """In whatever unit. Of sevenths, whose sums are never exact: what is no growth but for rounding is left alone."""
    rng = np.random.default_rng(seed)
    adjacency = graph(n, int(rng.integers(1, n * (n - 1) // 2 + 1)), seed) / 7.0
    if rng.random() < 0.3:
        adjacency = sp.csr_array(adjacency + sp.diags_array(rng.standard_normal(n)))  # a self loop is never cut
    signs = rng.choice([-1.0, 1.0], n)
    kept = signs.copy()
    found = annealed(unit * adjacency, signs, seed)
    np.testing.assert_array_equal(signs, kept)
    assert set(found) <= {-1.0, 1.0}
    assert cut(adjacency, found) == pytest.approx(largest(adjacency), rel=1e-12, abs=1e-12)


@settings(deadline=None, max_examples=60)
@given(st.integers(2, 60), st.integers(0, 10**6))
def test_of_two_cuts_the_better_is_taken_of_each_component(n, seed):
    rng = np.random.default_rng(seed)
    adjacency = graph(n, min(n, n * (n - 1) // 2), seed)
    one, other = rng.choice([-1.0, 1.0], (2, n))
    both = merged(adjacency, one, other)
    assert cut(adjacency, both) >= max(cut(adjacency, one), cut(adjacency, other))
    np.testing.assert_array_equal(np.abs(both), 1.0)


def test_parts_of_two_optima_are_put_together():
    """Two graphs side by side: one cut is the best of one of them, the other cut of the other."""
    parts = [graph(9, 20, seed) for seed in (1, 2)]
    whole = sp.csr_array(sp.block_diag(parts))
    best = [annealed(part, np.ones(9), 0) for part in parts]
    one = np.concatenate([best[0], np.ones(9)])
    other = np.concatenate([np.ones(9), best[1]])
    assert cut(whole, merged(whole, one, other)) == sum(cut(*pair) for pair in zip(parts, best, strict=True))


def test_a_torus_of_random_signs_has_the_energy_of_its_ground_state():
    """-1.4015 a node on large lattices (de Simone and others, J. Stat. Phys. 80, 1995); climbing alone ends at -1.2."""
    side = 60
    places = np.arange(side**2).reshape(side, side)
    rows = np.concatenate([places.reshape(-1)] * 2)
    columns = np.concatenate([np.roll(places, -1, axis).reshape(-1) for axis in (0, 1)])
    weights = np.random.default_rng(0).choice([-1.0, 1.0], rows.size)
    half = sp.coo_array((weights, (rows, columns)), shape=(side**2, side**2))
    adjacency = sp.csr_array(half + half.T)
    signs = annealed(adjacency, np.ones(side**2), 0)
    assert 0.5 * signs @ (adjacency @ signs) / side**2 == pytest.approx(-1.4015, abs=0.015)


def test_a_deadline_that_has_come_leaves_the_cut_as_it_is():
    adjacency = graph(300, 900, 0)
    signs = np.random.default_rng(0).choice([-1.0, 1.0], 300)
    np.testing.assert_array_equal(annealed(adjacency, signs, 0, Deadline(lambda: 0.0)), signs)


def test_the_same_seed_gives_the_same_cut():
    adjacency = graph(300, 900, 0)
    np.testing.assert_array_equal(annealed(adjacency, np.ones(300), 3), annealed(adjacency, np.ones(300), 3))
