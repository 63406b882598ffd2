"""Communities: bounds above every partition, the relaxation by another solver, known graphs, and names of nodes."""

from __future__ import annotations

import itertools

import networkx as nx
import numpy as np
import pytest

from cgm_cli import solve
from cgm_cli.errors import CgmError
from cgm_cli.templates.max_cut import RandomGraph, random_graph
from cgm_cli.verify.check import verify
from tests.partitions import partitions
from tests.templates.programs import partition_relaxation
from tests.templates.support import template


def detected(folder, graph, **fields):
    problem = {"template": "community-detection", "graph": graph, **fields}
    return solve({"problem": problem, "stop": {"gap": 1e-4}}, out=folder / "run")


def modularity(adjacency, labels, resolution=1.0):
    """By pairs of nodes, as it is defined."""
    degrees, twice = adjacency.sum(axis=1), adjacency.sum()
    same = labels[:, None] == labels
    return float(((adjacency - resolution * np.outer(degrees, degrees) / twice) * same).sum() / twice)


def within(adjacency, labels):
    return float(
        sum(adjacency[i, j] for i, j in itertools.combinations(range(labels.size), 2) if labels[i] == labels[j])
    )


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"communities": 2, "resolution": 1.7},
        {"communities": 3, "resolution": 0.6},
        {"criterion": "weight"},
        {"criterion": "weight", "communities": 3},
        {"criterion": "equal-sizes", "communities": 2},
        {"criterion": "equal-sizes", "communities": 3},
        {"criterion": "equal-sizes", "communities": 4},
    ],
)
def test_the_bound_is_above_every_partition_and_the_best_is_found(tmp_path, fields):
    """Of 7 nodes in 4 communities of equal sizes, three have two and one has one."""
    n = 7 if fields.get("communities") == 4 else 6
    signed = fields.get("criterion") == "weight"
    adjacency = random_graph(RandomGraph(nodes=n, edges=9, signed=signed), 4).toarray()
    answer = detected(tmp_path, adjacency, **fields)
    plain = "criterion" not in fields
    value = (lambda labels: modularity(adjacency, labels, fields.get("resolution", 1.0))) if plain else None
    value = value or (lambda labels: within(adjacency, labels))
    most = fields.get("communities", n)
    allowed = [
        labels
        for labels in partitions(n, most)
        if fields.get("criterion") != "equal-sizes" or np.ptp(np.bincount(labels, minlength=most)) <= 1
    ]
    best = max(map(value, allowed))
    assert (answer.sense, answer.bound_is, answer.status.value) == ("maximise", "certified", "converged")
    assert answer.bound >= best - 1e-9
    metric = "modularity" if plain else "weight_within"
    assert answer.metrics[metric] == pytest.approx(best)
    assert value(answer.solution["community"]) == pytest.approx(best)
    assert answer.metrics["communities"] == np.unique(answer.solution["community"]).size


@pytest.mark.parametrize(("parts", "equal"), [(None, False), (2, False), (3, False), (2, True), (4, True)])
def test_the_relaxation_against_another_solver(tmp_path, parts, equal):
    adjacency = random_graph(RandomGraph(nodes=8, edges=14), 1).toarray()
    fields = {"criterion": "equal-sizes"} if equal else {}
    answer = detected(tmp_path, adjacency, communities=parts, **fields)
    degrees, twice = adjacency.sum(axis=1), adjacency.sum()
    weights = adjacency if equal else 2.0 / twice * (adjacency - np.outer(degrees, degrees) / twice)
    best = partition_relaxation(weights, parts, equal)
    assert answer.objective == pytest.approx(best, rel=1e-3)
    assert answer.bound >= best - 1e-6


@pytest.mark.parametrize(
    ("name", "communities", "known"),
    [
        ("karate_club_graph", None, 0.41978961),
        ("karate_club_graph", 2, 0.37179487),
        ("les_miserables_graph", None, None),
        ("florentine_families_graph", None, None),
        ("davis_southern_women_graph", None, None),
    ],
)
def test_graphs_that_networkx_ships(tmp_path, name, communities, known):
    """No worse than its own methods, of the same modularity by its own formula."""
    graph = getattr(nx, name)()
    weight = None if name == "karate_club_graph" else "weight"
    answer = detected(tmp_path, nx.to_scipy_sparse_array(graph, weight=weight).toarray() * 1.0, communities=communities)
    groups = [{node for node, label in zip(graph, answer.solution["community"], strict=True) if label == each}
              for each in np.unique(answer.solution["community"])]  # fmt: skip
    found = answer.metrics["modularity"]
    assert found == pytest.approx(nx.community.modularity(graph, groups, weight=weight))
    assert answer.bound_is == "certified" and found <= answer.bound <= 1.07 * found
    if known is not None:
        assert found == pytest.approx(known, abs=1e-7)
    else:
        others = [nx.community.greedy_modularity_communities(graph, weight=weight)]
        others += [nx.community.louvain_communities(graph, weight=weight, seed=seed) for seed in range(5)]
        assert found >= max(nx.community.modularity(graph, each, weight=weight) for each in others) - 1e-9


def test_triangle_inequalities_prove_that_no_communities_are_better(tmp_path):
    adjacency = nx.to_numpy_array(nx.florentine_families_graph())
    answer = detected(tmp_path, adjacency, inequalities="triangle")
    assert answer.bound_is == "certified"
    assert 0.0 <= answer.bound - modularity(adjacency, answer.solution["community"]) < 1e-4
    assert not [row for row in verify(answer.run).rows if row.verdict.value == "fails"]


@pytest.mark.parametrize(
    ("graph", "fields"),
    [
        (
            {"nodes": 60, "communities": 2, "inside": 0.6, "outside": 0.1},
            {"criterion": "equal-sizes", "communities": 2},
        ),
        (
            {"nodes": 48, "communities": 3, "inside": 0.8, "outside": 0.1},
            {"criterion": "equal-sizes", "communities": 3},
        ),
        ({"nodes": 60, "noise": 2.0}, {"criterion": "weight", "communities": 2}),
    ],
)
def test_what_is_planted_is_found_and_proven_to_be_the_best(tmp_path, graph, fields):
    """Far from where that ends (Abbe, Bandeira and Hall 2016; Bandeira, Boumal and Voroninski 2016) it is tight."""
    answer = detected(tmp_path, graph, **fields)
    assert answer.metrics["recovered"] == answer.metrics["agreement"] == 1.0
    assert answer.metrics["certified_ratio"] == pytest.approx(1.0, abs=1e-3)


def test_labels_by_the_names_of_the_nodes(tmp_path):
    (tmp_path / "edges.csv").write_text("from,to\nann,bob\nbob,cem\ncem,ann\ncem,dora\ndora,ed\ned,flo\nflo,dora\n")
    (tmp_path / "truth.csv").write_text("who,side\ned,right\nann,left\nflo,right\nbob,left\ncem,left\ndora,right\n")
    fields = {"labels": {"file": str(tmp_path / "truth.csv"), "column": "side", "names": "who"}}
    answer = detected(tmp_path, {"file": str(tmp_path / "edges.csv")}, **fields)
    assert answer.metrics["communities"] == 2 and answer.metrics["recovered"] == 1.0
    (tmp_path / "truth.csv").write_text("who,side\ned,right\nann,left\nflo,right\nbob,left\ncem,left\ndiana,right\n")
    with pytest.raises(CgmError, match="the graph has no node `diana`"):
        template("community-detection", graph={"file": str(tmp_path / "edges.csv")}, **fields)


TRIANGLE = [[0, 1, 1], [1, 0, 1], [1, 1, 0]]


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"criterion": "equal-sizes"}, "communities of equal sizes: say how many"),
        ({"criterion": "weight", "resolution": 2.0}, "`resolution` is that of `criterion: modularity`"),
        ({"criterion": "weight"}, "no weight is negative"),
        ({"communities": 4}, "4 communities of 3 nodes"),
        ({"graph": [[0, -1], [-1, 0]]}, "one is negative: `criterion: weight`"),
        ({"graph": [[0, 0], [0, 0]]}, "no edges"),
        ({"labels": [0, 1]}, "there are 2 labels, but the graph has 3 nodes"),
        ({"graph": {"nodes": 3, "noise": 1.0}, "labels": [0, 1, 0]}, "leave `labels` out"),
        ({"graph": {"nodes": 3, "communities": 4, "inside": 0.5, "outside": 0.1}}, "4 communities of 3 nodes"),
    ],
)
def test_what_does_not_fit(tmp_path, fields, message):
    with pytest.raises(CgmError, match=message):
        detected(tmp_path, **{"graph": TRIANGLE, **fields})


def test_a_block_model_has_the_edges_that_it_says():
    built = template("community-detection", graph={"nodes": 900, "communities": 3, "inside": 0.2, "outside": 0.05})
    same = built.labels[:, None] == built.labels
    adjacency = built.adjacency.toarray()
    np.testing.assert_array_equal(adjacency, adjacency.T)
    assert not adjacency.diagonal().any()
    assert np.bincount(built.labels).tolist() == [300, 300, 300]
    assert adjacency[same].sum() / (same.sum() - 900) == pytest.approx(0.2, abs=0.01)
    assert adjacency[~same].mean() == pytest.approx(0.05, abs=0.005)


def test_where_one_community_is_best_there_is_no_ratio(tmp_path):
    """Its modularity is 0, which rounding may make a little more."""
    graph = (np.ones((7, 7)) - np.eye(7)).tolist()
    answer = solve({"problem": {"template": "community-detection", "graph": graph}}, out=tmp_path / "run")
    assert answer.metrics["modularity"] == pytest.approx(0.0, abs=1e-12)
    assert "certified_ratio" not in answer.metrics
