"""The Lovasz number: graphs where it is known, another method, independent sets, and graphs without edges."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from cgm_cli.errors import CgmError, DataError
from cgm_cli.templates.lovasz_theta import cycle, greedy_independent_set, petersen
from cgm_cli.templates.max_cut import RandomGraph, random_graph
from tests.templates.programs import theta
from tests.templates.support import solve, spec, template


def independence_number(adjacency):
    """By trying every set of nodes."""
    dense = adjacency.toarray()
    n = len(dense)
    sets = (s for size in range(n, 0, -1) for s in itertools.combinations(range(n), size))
    return next(len(s) for s in sets if not dense[np.ix_(s, s)].any())


def odd_cycle(n):
    """Lovasz 1979, corollary 5."""
    return n * np.cos(np.pi / n) / (1.0 + np.cos(np.pi / n))


@pytest.mark.parametrize("nonnegative", [False, True])
@pytest.mark.parametrize(
    ("graph", "number", "iterations"),
    [
        ({"cycle": 5}, np.sqrt(5.0), 250),
        ({"cycle": 7}, odd_cycle(7), 1000),
        ("petersen", 4.0, 1000),
        ({"cycle": 6}, 3.0, 500),
    ],
)
def test_known_numbers(graph, number, iterations, nonnegative):
    result = solve(
        {"template": "lovasz-theta", "graph": graph, "nonnegative": nonnegative}, iterations=iterations, scaling="auto"
    )
    assert (result.sense, result.bound_is) == ("maximise", "certified")
    assert result.record.bound >= number - 1e-9
    assert result.record.bound - number < 0.02
    assert abs(result.record.total - number) < 0.4
    assert result.record.infeasibility < 0.3
    assert result.metrics["independent_set"] <= number


@pytest.mark.parametrize(("seed", "nonnegative"), [(0, False), (1, True)])
def test_random_graphs_against_another_method(seed, nonnegative):
    adjacency = random_graph(RandomGraph(nodes=9, edges=16), seed)
    number = theta(adjacency, nonnegative)
    problem = {"template": "lovasz-theta", "graph": {"nodes": 9, "edges": 16}, "nonnegative": nonnegative}
    result = solve(problem, seed=seed, iterations=500, scaling="auto")
    assert result.record.bound >= number - 1e-5
    assert result.record.bound - number < 0.05
    assert result.record.bound >= independence_number(adjacency)
    chosen = result.solution["independent_set"].astype(bool)
    assert chosen.sum() == result.metrics["independent_set"] <= independence_number(adjacency)
    assert not adjacency.toarray()[np.ix_(chosen, chosen)].any()


def test_the_graphs():
    assert petersen().sum(axis=1).tolist() == [3.0] * 10
    assert independence_number(petersen()) == 4
    assert cycle(5).sum(axis=1).tolist() == [2.0] * 5
    assert (petersen() != petersen().T).nnz == 0


def test_greedy_takes_nodes_in_the_given_order():
    assert greedy_independent_set(cycle(6), np.array([3, 0, 1, 2, 4, 5])).nonzero()[0].tolist() == [0, 3]


def test_a_graph_file_and_one_without_edges(tmp_path):
    (tmp_path / "g.txt").write_text("3 1\n1 2 -4\n")
    built = template("lovasz-theta", tmp_path, graph={"file": "g.txt"})
    assert built.problem.terms[0].map.out_shape == (1,)
    (tmp_path / "empty.txt").write_text("3 0\n")
    with pytest.raises(DataError, match="no edges") as caught:
        template("lovasz-theta", tmp_path, graph={"file": "empty.txt"})
    assert caught.value.path == ("graph",)


@pytest.mark.parametrize("graph", [{"cycle": 2}, "peterson", {"nodes": 3}])
def test_graphs_that_are_refused(graph):
    with pytest.raises(CgmError):
        spec({"template": "lovasz-theta", "graph": graph})
