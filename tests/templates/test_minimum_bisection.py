"""Minimum bisection: the bound below all halves, and the halves, against all of them."""

from __future__ import annotations

import numpy as np
import pytest

from cgm_cli import solve
from cgm_cli.errors import CgmError
from cgm_cli.templates.max_cut import RandomGraph, random_graph
from tests.partitions import partitions


def bisected(folder, graph):
    problem = {"template": "minimum-bisection", "graph": graph}
    return solve({"problem": problem, "stop": {"gap": 1e-4}}, out=folder / "run")


@pytest.mark.parametrize(("nodes", "signed"), [(2, False), (3, False), (8, False), (9, False), (8, True), (9, True)])
def test_the_bound_is_below_all_halves_and_the_best_are_found(tmp_path, nodes, signed):
    edges = nodes * (nodes - 1) // 3 + 1
    adjacency = random_graph(RandomGraph(nodes=nodes, edges=edges, signed=signed), 2).toarray()
    answer = bisected(tmp_path, adjacency)
    halves = [labels for labels in partitions(nodes, 2) if np.ptp(np.bincount(labels, minlength=2)) <= 1]
    best = min(float(adjacency[labels == 0][:, labels == 1].sum()) for labels in halves)
    assert (answer.sense, answer.bound_is) == ("minimise", "certified")
    assert answer.bound <= best + 1e-9
    assert answer.metrics["cut"] == pytest.approx(best)
    assert answer.metrics["cut"] <= answer.metrics["hyperplane_cut"] + 1e-9
    assert answer.metrics["certified_difference"] == pytest.approx(best - answer.bound)
    side = answer.solution["partition"]
    assert abs(int(side.sum())) == nodes % 2 and set(side) == {-1, 1}


def test_two_cliques_joined_by_an_edge_are_told_apart(tmp_path):
    adjacency = np.kron(np.eye(2), np.ones((6, 6))) - np.eye(12)
    adjacency[0, 6] = adjacency[6, 0] = 1.0
    answer = bisected(tmp_path, adjacency)
    assert answer.metrics["cut"] == 1.0
    assert answer.bound == pytest.approx(1.0, abs=1e-3)


def test_a_graph_without_edges_is_refused(tmp_path):
    with pytest.raises(CgmError, match="no edges"):
        bisected(tmp_path, [[0.0, 0.0], [0.0, 0.0]])
