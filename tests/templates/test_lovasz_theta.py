"""The Lovasz number: graphs where it is known, another method, independent sets, and graphs without edges."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import scipy.sparse as sp

from cgm_cli.errors import CgmError, DataError
from cgm_cli.methods.status import Status
from cgm_cli.spec.load import dump, loads
from cgm_cli.templates.build import build
from cgm_cli.templates.lovasz_theta import complement, cycle, greedy_independent_set, petersen
from cgm_cli.templates.max_cut import RandomGraph, random_graph
from tests.data import needs_data
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


def test_weights_and_the_complement_against_another_method():
    """Also of a weight of zero, and beside the heaviest independent set, by trying all."""
    rng = np.random.default_rng(3)
    weights = np.append(rng.integers(1, 9, 8), 0).astype(float)
    adjacency = complement(random_graph(RandomGraph(nodes=9, edges=16), 4))
    problem = {"template": "lovasz-theta", "graph": {"nodes": 9, "edges": 16}, "complement": True}
    for nonnegative in (False, True):
        found = converged({**problem, "weights": weights.tolist(), "nonnegative": nonnegative})
        assert found.record.total == pytest.approx(theta(adjacency, nonnegative, weights), rel=1e-3)
        chosen = found.solution["independent_set"].astype(bool)
        assert found.metrics["independent_weight"] == weights[chosen].sum() <= found.record.bound + 1e-9
    # As if every node stood there as often as it weighs.
    assert converged({**problem, "weights": [3.0] * 9}).record.total == pytest.approx(
        3.0 * converged(problem).record.total, rel=1e-3
    )


def converged(problem):
    result = build(loads(dump({"problem": problem, "seed": 4}))).solve()
    assert result.status is Status.CONVERGED
    return result


def test_the_complement():
    assert complement(complement(petersen())).toarray().tolist() == petersen().toarray().tolist()
    whole = petersen().toarray() + complement(petersen()).toarray()
    assert whole.tolist() == (np.ones((10, 10)) - np.eye(10)).tolist()
    # A weight of zero is no edge, and a loop is none either.
    graph = sp.csr_array(np.array([[0.0, 2.0, 0.0], [2.0, 0.0, 0.0], [0.0, 0.0, 0.0]]))
    assert complement(graph).toarray().tolist() == [[0, 0, 1], [0, 0, 1], [1, 1, 0]]


@needs_data("theta/keller4.clq")
@pytest.mark.parametrize(
    ("file", "of_itself", "number"),
    [
        ("johnson8-2-4", True, 7.0),
        ("johnson8-2-4", False, 4.0),
        ("MANN_a9", True, 3.0),
        ("MANN_a9", False, 17.475032),
        ("hamming6-4", True, 12.0),
        ("hamming6-4", False, 16.0 / 3.0),
        ("keller4", False, 14.0122),
        ("c-fat200-1", False, 12.0),
    ],
)
def test_published_numbers(file, of_itself, number):
    graph = {"file": f"theta/{file}.clq"}
    result = converged({"template": "lovasz-theta", "graph": graph, "complement": not of_itself})
    assert result.bound_is == "certified" and result.record.bound >= number - 1e-5
    assert result.record.total == pytest.approx(number, rel=2e-4)
    assert result.record.bound == pytest.approx(number, rel=2e-4)


def test_the_weights_in_a_file(tmp_path):
    (tmp_path / "g.col").write_text("p edge 3 1\nn 3 2.5\nn 1 4\ne 1 2\n")
    graph = {"file": "g.col"}
    assert template("lovasz-theta", tmp_path, graph=graph).weights is None
    assert template("lovasz-theta", tmp_path, graph=graph, weights="file").weights.tolist() == [4.0, 1.0, 2.5]


@pytest.mark.parametrize(
    ("lines", "match"),
    [
        ("p edge 3 1\ne 1 2\n", "has no weights of nodes"),
        ("p edge 3 1\nn 4 1\ne 1 2\n", "line 2: node 4 does not exist"),
        ("p edge 3 1\nn 1\ne 1 2\n", "line 2: expected `n node weight`"),
        ("p edge 3 1\nn 1 x\ne 1 2\n", "line 2: 'x' is not a weight"),
        ("p edge 3 1\nn 1 1\nn 1 2\ne 1 2\n", "line 3: node 1 has a weight already"),
        ("p edge 3 1\nn 1 -1\ne 1 2\n", "the weight of node 1 is negative"),
    ],
)
def test_weights_in_a_file_that_are_refused(tmp_path, lines, match):
    (tmp_path / "g.col").write_text(lines)
    with pytest.raises(CgmError, match=match) as caught:
        template("lovasz-theta", tmp_path, graph={"file": "g.col"}, weights="file")
    assert caught.value.path == ("weights",)


@pytest.mark.parametrize(
    ("weights", "match"),
    [([1.0, 2.0], "a vector of 2, but the graph has 5 nodes"), ([0.0] * 5, "no node has a weight above 0")],
)
def test_weights_that_are_refused(weights, match):
    with pytest.raises(CgmError, match=match):
        template("lovasz-theta", graph={"cycle": 5}, weights=weights)


def test_weights_in_the_file_of_no_file():
    with pytest.raises(CgmError, match="those of a graph in a file"):
        spec({"template": "lovasz-theta", "graph": {"cycle": 5}, "weights": "file"})


def test_the_complement_of_a_complete_graph_has_no_edges():
    with pytest.raises(DataError, match="complement of the graph has no edges"):
        template("lovasz-theta", graph=[[0, 1], [1, 0]], complement=True)


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
