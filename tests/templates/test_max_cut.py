"""Maximum cut: the bound above every cut, the rounding, and the graphs."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import cgm_cli
from cgm_cli.errors import CgmError, DataError
from cgm_cli.spec.load import dump, loads
from cgm_cli.templates.build import build
from cgm_cli.templates.max_cut import MaxCut, RandomGraph, random_graph
from tests.data import needs_data


def graph(n, edges, seed=0, signed=False):
    return random_graph(RandomGraph(nodes=n, edges=edges, signed=signed), seed)


def cut(adjacency, signs):
    """Weight of the edges between +1 and -1."""
    rows, columns = adjacency.nonzero()
    return sum(adjacency[i, j] for i, j in zip(rows, columns, strict=True) if i < j and signs[i] != signs[j])


def maximum_cut(adjacency):
    """By trying every partition."""
    n = adjacency.shape[0]
    dense = adjacency.toarray()
    signs = np.array([(1, *rest) for rest in itertools.product((1, -1), repeat=n - 1)], dtype=float)
    return float(0.25 * (dense.sum() - np.einsum("si,ij,sj->s", signs, dense, signs)).max())


def solve(problem, iterations=200, **solver):
    tree = {
        "name": "test",
        "problem": {"template": "max-cut", **problem},
        "solver": {"method": "hcgm", "iterations": iterations, **solver},
        "stop": {"gap": None},
    }
    records = []
    instance = build(loads(dump(tree)))
    observer = type("Keep", (), {"on_record": lambda self, record: records.append(record)})()
    return instance, instance.solve(observers=[observer]), records


@pytest.mark.parametrize(("n", "edges", "signed"), [(2, 1, False), (5, 10, False), (10, 20, True), (13, 30, False)])
@pytest.mark.parametrize("iterate", ["factored", "dense", "sketch", "samples"])
def test_the_bound_is_above_the_maximum_cut(n, edges, signed, iterate):
    nodes = {"graph": {"nodes": n, "edges": edges, "signed": signed}}
    instance, result, records = solve(nodes, iterate=iterate)
    best = maximum_cut(instance.template.adjacency)
    assert (result.sense, result.bound_is) == ("maximise", "certified")
    assert all(record.bound >= best - 1e-9 for record in records)
    assert np.all(np.diff([record.bound for record in records]) <= 0)
    assert result.metrics["hyperplane_cut"] <= result.metrics["cut"] + 1e-9
    assert result.metrics["cut"] <= best + 1e-9
    partition = result.solution["partition"]
    assert set(partition) <= {-1, 1}
    assert cut(instance.template.adjacency, partition) == pytest.approx(result.metrics["cut"])
    # Among so few partitions a hundred hyperplanes and single flips miss little.
    assert result.metrics["cut"] >= 0.878 * best
    if best > 0:
        assert result.metrics["certified_ratio"] == pytest.approx(result.metrics["cut"] / result.record.bound)


def test_a_largest_cut_of_nothing_has_no_ratio(tmp_path, cgm):
    (tmp_path / "g.csv").write_text("from,to,weight\na,b,-1\nb,c,-2\nc,a,-1\n")
    problem = {"template": "max-cut", "graph": {"file": str(tmp_path / "g.csv")}}
    answer = cgm_cli.solve({"problem": problem}, out=tmp_path / "run")
    assert answer.metrics["cut"] == 0.0 and answer.bound == pytest.approx(0.0, abs=1e-4)
    assert "certified_ratio" not in answer.metrics
    assert cgm("verify", tmp_path / "run")[0] == 0


def test_the_problem_is_that_of_goemans_and_williamson():
    adjacency = graph(9, 20, signed=True)
    problem = MaxCut(adjacency).problem
    for seed in range(5):
        signs = np.random.default_rng(seed).choice([-1.0, 1.0], 9)
        x = np.outer(signs, signs)
        assert problem.domain.contains(x)
        assert -problem.loss.value(problem.loss.map.forward(x)) == pytest.approx(cut(adjacency, signs))
        assert problem.terms[0].penalty.value(problem.terms[0].map.forward(x)) == 0.0


@settings(deadline=None, max_examples=60)
@given(st.integers(2, 40), st.data(), st.booleans())
def test_a_random_graph_is_simple_and_of_that_size(n, data, signed):
    most = n * (n - 1) // 2
    edges = data.draw(st.sampled_from([1, most, max(1, most // 2)]))
    adjacency = graph(n, edges, data.draw(st.integers(0, 1000)), signed)
    dense = adjacency.toarray()
    assert adjacency.nnz == 2 * edges == np.count_nonzero(dense)
    np.testing.assert_array_equal(dense, dense.T)
    assert not np.diag(dense).any()
    assert set(adjacency.data) <= ({-1.0, 1.0} if signed else {1.0})


def test_random_graphs_are_seeded():
    assert (graph(50, 200, 1) != graph(50, 200, 1)).nnz == 0
    assert (graph(50, 200, 1) != graph(50, 200, 2)).nnz > 0


def test_a_random_graph_too_large_to_list_its_pairs():
    adjacency = graph(10_000, 30_000, 3)
    assert adjacency.nnz == 60_000
    assert not adjacency.diagonal().any()
    assert (adjacency != adjacency.T).nnz == 0
    assert set(adjacency.data) == {1.0}
    # Every part of the matrix is reached.
    counts = np.diff(adjacency.indptr)
    assert counts[:1000].sum() == pytest.approx(6000, rel=0.1)
    assert counts[-1000:].sum() == pytest.approx(6000, rel=0.1)


def test_every_pair_is_as_likely():
    counts = sum(graph(5, 3, seed).toarray() for seed in range(2000))
    upper = counts[np.triu_indices(5, 1)]
    # Each of 10 pairs is drawn with probability 0.3: mean 600, standard deviation 20.5.
    assert np.all(np.abs(upper - 600) < 5 * 20.5)


def test_too_many_edges_are_refused():
    """Where the spec is read: a sweep tells of it before it starts."""
    text = "problem:\n  template: max-cut\n  graph: {nodes: 3, edges: 4}\nsolver: {iterations: 1}\n"
    with pytest.raises(CgmError, match=r":3:10: 4 edges do not fit between 3 nodes: at most 3"):
        loads(text)


GSET = "5 6\n1 2 1\n2 3 -1\n3 4 2\n4 5 1\n5 1 1\n1 3 0.5\n"


@pytest.mark.parametrize(
    "encode",
    [
        lambda text: text.encode(),
        lambda text: text.replace("\n", "\r\n").encode(),
        lambda text: text.encode("utf-8-sig"),
        lambda text: text.encode("utf-16"),
        lambda text: text.replace("\n", "\r\n").encode("utf-16"),
        lambda text: b"\xfe\xff" + text.replace("\n", "\r\n").encode("utf-16-be"),
        lambda text: text.replace(" ", "  \t").rstrip("\n").encode(),
    ],
    ids=["plain", "crlf", "utf-8-bom", "utf-16", "utf-16-crlf", "utf-16-be-crlf", "tabs-no-last-newline"],
)
def test_a_g_set_file_in_any_clothing_is_the_same_problem(tmp_path, encode):
    (tmp_path / "graph.txt").write_bytes(encode(GSET))
    instance, result, _ = solve({"graph": {"file": str(tmp_path / "graph.txt")}}, 30)
    expected = np.zeros((5, 5))
    for i, j, weight in [(0, 1, 1), (1, 2, -1), (2, 3, 2), (3, 4, 1), (4, 0, 1), (0, 2, 0.5)]:
        expected[i, j] = expected[j, i] = weight
    np.testing.assert_array_equal(instance.template.adjacency.toarray(), expected)
    assert result.record.bound >= maximum_cut(instance.template.adjacency)


def test_a_graph_without_edges_is_refused(tmp_path):
    (tmp_path / "graph.txt").write_text("3 0\n")
    with pytest.raises(DataError, match="no edges"):
        solve({"graph": {"file": str(tmp_path / "graph.txt")}})


@needs_data("maxcut/G1.txt")
def test_the_bound_of_g1_stays_above_its_optimum():
    problem = {"graph": {"file": "maxcut/G1.txt"}}
    _, result, records = solve(problem, 100, beta0=0.3, oracle={"mode": "fixed", "tolerance": 1e-3})
    assert len(records) == 101
    assert result.bound_is == "certified"
    assert result.record.bound >= 12083.1977
    assert result.record.bound < 12083.2 * 1.1
    assert result.metrics["cut"] <= 12083
    assert result.metrics["cut"] > 11000


@needs_data("maxcut/G11.txt")
def test_the_bound_of_g11_stays_above_its_optimum():
    _, result, _ = solve({"graph": {"file": "maxcut/G11.txt"}}, 30)
    assert result.bound_is == "certified"
    assert result.record.bound >= 629.1647
    assert result.metrics["cut"] <= 629
