"""Graphs in every format that is read: the same graph comes out, by the one rule for loops and repeated edges."""

from __future__ import annotations

import gzip
import sys

import numpy as np
import pytest

from cgm_cli.errors import DataError, MissingPart
from cgm_cli.readers.context import BuildContext
from cgm_cli.readers.graphs import read_graph
from cgm_cli.spec.fields import FileArray, GraphFile

# A path of three edges on four nodes; one edge given in both directions, and a loop.
TWICE = [[0, 2, 0, 0], [2, 0, 1, 0], [0, 1, 0, 1], [0, 0, 1, 0]]
SPELLINGS = {
    "g.txt": "4 5\n1 2\n2 1\n2 3\n3 4\n4 4\n",
    "g.col": "c a comment\np edge 4 5\nn 1 7\ne 1 2\ne 2 1\ne 2 3\ne 3 4\ne 4 4\n",
    "renamed.dat": "c a comment\np col 4 5\ne 1 2\ne 2 1\ne 2 3\ne 3 4\ne 4 4\n",
    "g.csv": "source,target\n5,6\n6,5\n6,7\n7,8\n8,8\n",
    "zero.csv": "0,1\n1,0\n1,2\n2,3\n3,3\n",
    "weights.csv": "0;1;1.5\n1;0;.5\n1;2;1\n2;3;1\n3;3;1\n",
    "order.csv": "3,2\n2,1\n0,1\n1,0\n3,3\n",
    "names.csv": 'from,to,weight\n"ann",bob,2\nbob,cat,1\ncat,dan,1\ndan,dan,5\n',
    "no_headings.csv": "ann,bob\nbob,ann\nbob,cat\ncat,dan\ndan,dan\n",
    "comments.tsv": "# tabs\nann\tbob\nbob\tann\nbob\tcat\ncat\tdan # the last\n",
    "g.edgelist": "1 2\n2 1\n2 3\n3 4\n4 4\n",
    "shuffled.csv": "weight;Target Id;note;Source Id\n2;1;x;0\n1;2;;1\n1;3;;2\n7;3;;3\n",
    "commas.csv": "from;to;weight\nann;bob;0,5\nbob;ann;1,5\nbob;cat;1,0\ncat;dan;1,0\ndan;dan;2,5\n",
    "friends.csv": "person,friend\nann,bob\nbob,ann\nbob,cat\ncat,dan\ndan,dan\n",
    "strength.csv": "strength,person,friend\n2,ann,bob\n1,bob,cat\n1,cat,dan\n",
    "blanks.txt": "# FromNodeId ToNodeId\n0 1\n1 0\n1 2\n2 3\n3 3\n",
    "words.txt": "% of people\nann bob\nbob ann\nbob cat\ncat dan\ndan dan\n",
    "floats.txt": "0.000e+00 1.000e+00 2.0\n1.000e+00 2.000e+00 1.0\n2.000e+00 3.000e+00 1.0\n",
    "matrix.csv": "9,2,0,0\n2,0,1,0\n0,1,0,1\n0,0,1,0\n",
    "headed.csv": "ann;bob;cat;dan\n0;2;0;0\n2;0;1;0\n0;1;0;1\n0;0;1;9\n",
    "frame.csv": ",ann,bob,cat,dan\nann,0,2,0,0\nbob,2,0,1,0\ncat,0,1,0,1\ndan,0,0,1,9\n",
    "matrix.txt": "0 2 0 0\n2 0 1 0\n0 1 0 1\n0 0 1 0\n",
    "twice.gml": "graph [\n" + "".join(f"node [ id {i} ]\n" for i in range(4)) + "edge [ source 0 target 1 ]\n"
    "edge [ source 1 target 0 ]\nedge [ source 1 target 2 ]\nedge [ source 2 target 3 value 1 ]\n]\n",
    "g.mtx": "%%MatrixMarket matrix coordinate real symmetric\n4 4 4\n2 1 2\n3 2 1\n4 3 1\n4 4 9\n",
    "mtx.txt": "%%MatrixMarket matrix coordinate integer general\n4 4 7\n1 2 2\n2 1 2\n"
    "3 2 1\n2 3 1\n4 3 1\n3 4 1\n4 4 9\n",
    "g.gml": "graph [\n" + "".join(f"node [ id {i} ]\n" for i in range(4)) + "edge [ source 0 target 1 weight 2.0 ]\n"
    "edge [ source 1 target 2 ]\nedge [ source 2 target 3 ]\nedge [ source 3 target 3 ]\n]\n",
    "g.graphml": '<?xml version="1.0" encoding="UTF-8"?>\n<graphml xmlns="http://graphml.graphdrawing.org/xmlns">'
    '<key id="w" for="edge" attr.name="weight" attr.type="double"/><graph edgedefault="undirected">'
    + "".join(f'<node id="n{i}"/>' for i in range(4))
    + '<edge source="n0" target="n1"><data key="w">2</data></edge><edge source="n1" target="n2"/>'
    '<edge source="n2" target="n3"/><edge source="n3" target="n3"/></graph></graphml>',
}


@pytest.mark.parametrize("name", SPELLINGS)
def test_one_graph_in_every_spelling(tmp_path, name):
    (tmp_path / name).write_text(SPELLINGS[name], encoding="utf-8")
    graph = BuildContext((tmp_path,)).graph(FileArray(file=name)).adjacency
    np.testing.assert_array_equal(graph.toarray(), TWICE)


PEOPLE = ["ann", "bob", "cat", "dan"]


@pytest.mark.parametrize(
    ("name", "labels"),
    [
        ("g.txt", None),
        ("g.col", None),
        ("matrix.csv", None),
        ("g.csv", ["5", "6", "7", "8"]),
        ("zero.csv", ["0", "1", "2", "3"]),
        ("names.csv", PEOPLE),
        ("words.txt", PEOPLE),
        ("strength.csv", PEOPLE),
        ("headed.csv", PEOPLE),
        ("frame.csv", PEOPLE),
        ("g.graphml", ["n0", "n1", "n2", "n3"]),
    ],
)
def test_the_names_of_nodes(tmp_path, name, labels):
    (tmp_path / name).write_text(SPELLINGS[name], encoding="utf-8")
    assert read_graph(tmp_path / name).labels == labels


def test_labels_of_gml(tmp_path):
    nodes = "".join(f'node [ id {i + 5} label "{name}" ]\n' for i, name in enumerate(PEOPLE))
    (tmp_path / "g.gml").write_text(f"graph [\n{nodes}edge [ source 5 target 6 ]\n]\n")
    assert read_graph(tmp_path / "g.gml").labels == PEOPLE


@pytest.mark.parametrize(("columns", "weight"), [(["b", "c"], "a"), ([2, 3], 1), (None, "a"), (["b", "c"], None)])
def test_columns_of_a_list(tmp_path, columns, weight):
    (tmp_path / "g.csv").write_text("a,b,c\n2,ann,bob\n1,bob,cat\n1,cat,dan\n")
    graph = GraphFile(file="g.csv", columns=columns, weight=weight)
    found = BuildContext((tmp_path,)).graph(graph)
    expected = np.array(TWICE) if weight else np.minimum(TWICE, 1)
    np.testing.assert_array_equal(found.adjacency.toarray(), expected)
    assert found.labels == PEOPLE


@pytest.mark.parametrize(
    ("name", "fields", "message"),
    [
        ("names.csv", {"columns": ["fro", "to"]}, "no column `fro`; did you mean `from`"),
        ("names.csv", {"columns": ["from", "from"]}, "two of these are the same"),
        ("g.gml", {"columns": [1, 2]}, "are those of a list of edges, and this is a graph in GML"),
    ],
)
def test_columns_that_are_refused(tmp_path, name, fields, message):
    (tmp_path / name).write_text(SPELLINGS[name])
    with pytest.raises(DataError, match=message):
        BuildContext((tmp_path,)).graph(GraphFile(file=name, **fields))


def graphml(*edges, key="strength", kind="double"):
    nodes = "".join(f'<node id="n{i}"/>' for i in range(3))
    weights = ("" if each is None else f'<data key="w">{each}</data>' for each in edges)
    lines = "".join(f'<edge source="n{i}" target="n{i + 1}">{weight}</edge>' for i, weight in enumerate(weights))
    return (
        f'<graphml xmlns="http://graphml.graphdrawing.org/xmlns"><key id="w" for="edge" attr.name="{key}" '
        f'attr.type="{kind}"/><graph edgedefault="undirected">{nodes}{lines}</graph></graphml>'
    )


def test_weights_of_other_names_are_told_and_taken_where_they_are_asked_for(tmp_path):
    path = tmp_path / "g.graphml"
    path.write_text(graphml(2, 3))
    (remark,) = read_graph(path, "g").remarks
    assert remark.startswith("g: every edge weighs 1; its edges have `strength`: `weight: strength` takes that")
    np.testing.assert_array_equal(read_graph(path, "g", weight="strength").adjacency.data, [2, 2, 3, 3])
    assert not read_graph(path, "g", weight="strength").remarks
    with pytest.raises(DataError, match=r"g: no `strenth` in 2 of 2 edges; did you mean `strength`"):
        read_graph(path, "g", weight="strenth")
    with pytest.raises(DataError, match="in a graph in GraphML: `weight` is one"):
        read_graph(path, "g", weight=1)
    path.write_text(graphml(2, None))
    with pytest.raises(DataError, match="g: no `strength` in 1 of 2 edges"):
        read_graph(path, "g", weight="strength")


@pytest.mark.parametrize(
    ("text", "remarks"),
    [
        (graphml(2, 3, key="weight"), ()),
        (graphml(2, None, key="weight"), ("g: 1 of 2 edges have no `weight`, and weigh 1.",)),
        (graphml("near", "far", kind="string"), ()),
        (graphml(None, None), ()),
    ],
)
def test_only_numbers_that_are_passed_over_are_told(tmp_path, text, remarks):
    (tmp_path / "g.graphml").write_text(text)
    assert read_graph(tmp_path / "g.graphml", "g").remarks == remarks


def test_what_was_taken_without_a_heading_that_says_so_is_told(tmp_path):
    (tmp_path / "g.csv").write_text("a,b,year\nann,bob,2019\nbob,cat,2020\n")
    assert read_graph(tmp_path / "g.csv", "g.csv").remarks == ("g.csv: edges from `a` to `b`, with weights `year`.",)


def test_a_damaged_header_is_no_edge(tmp_path):
    (tmp_path / "g.txt").write_text("4 9\n1 2\n2 3\n3 4\n")
    with pytest.raises(DataError, match="promises 9 edges, the file has 3"):
        read_graph(tmp_path / "g.txt")


def test_packed(tmp_path):
    (tmp_path / "g.col.gz").write_bytes(gzip.compress(SPELLINGS["g.col"].encode()))
    np.testing.assert_array_equal(read_graph(tmp_path / "g.col.gz").adjacency.toarray(), TWICE)


def test_edges_whose_weights_cancel_are_none(tmp_path):
    (tmp_path / "g.csv").write_text("1,2,1\n2,1,-1\n2,3,1\n")
    assert read_graph(tmp_path / "g.csv").adjacency.nnz == 2


@pytest.mark.parametrize("line", ["DQc", ">>graph6<<DQc"])
def test_graph6_of_its_description(tmp_path, line):
    """n = 5, edges 0-2, 0-4, 1-3, 3-4: the example of the format's own page."""
    (tmp_path / "g.g6").write_text(line + "\n")
    upper = np.argwhere(np.triu(read_graph(tmp_path / "g.g6").adjacency.toarray()))
    assert upper.tolist() == [[0, 2], [0, 4], [1, 3], [3, 4]]


@pytest.mark.parametrize("nodes", [1, 2, 7, 62, 63, 64, 200])
def test_graph6_is_that_of_networkx(tmp_path, nodes):
    networkx = pytest.importorskip("networkx")
    graph = networkx.gnp_random_graph(nodes, 0.3, seed=nodes)
    (tmp_path / "g.g6").write_bytes(networkx.to_graph6_bytes(graph))
    read = read_graph(tmp_path / "g.g6").adjacency.toarray()
    np.testing.assert_array_equal(read, networkx.to_numpy_array(graph))


@pytest.mark.parametrize(
    ("name", "text", "match"),
    [
        ("g.col", "e 1 2\n", "line 1: an edge before the line `p edge nodes edges`"),
        ("g.col", "c only\n", "has no line `p edge nodes edges`"),
        ("g.col", "p edge 3 1\ne 1 4\n", "line 2: node 4 does not exist"),
        ("g.col", "p edge 3 1\ne 1\n", "line 2: expected `e i j`, got 2 words"),
        ("g.col", "p edge 3 1\nq 1 2\n", "line 2: expected `e i j`, got 'q 1 2'"),
        ("g.col", "p edge 3 1\np edge 3 1\n", "line 2: a second `p` line"),
        ("g.col", "p edge 0 0\n", "without nodes"),
        ("g.col", "p edge 3\n", "line 1: expected `p edge nodes edges`"),
        ("g.col", "p edge 3 5\ne 1 2\ne 2 3\n", "promises 5 edges, the file has 2"),
        ("g.col", "p edge 999999999999999 0\n", "would take"),
        ("g.g6", "", "is empty"),
        ("g.g6", "DqK\nDqK\n", "holds 2 graphs"),
        ("g.g6", "Dq\n", "5 nodes, and 1 character, which is not what they take"),
        ("g.g6", "~", "not what they take"),
        ("g.g6", "~~~~~~~~", "not what they take"),
        ("g.g6", "?", "without nodes"),
        ("g.g6", "D q", "a character that graph6 does not have"),
        ("g.csv", "", "is empty"),
        ("g.csv", "source,target\n", "has headings, and no rows"),
        ("g.csv", "1,2,3,4\n", "line 1 has 4 cells, and an edge is two nodes"),
        ("g.csv", "a,b\nb\n", "line 2 has 1 cell, but line 1 has 2"),
        ("g.csv", "a,b\nb,\n", "line 2, column 2: the name of a node is missing"),
        ("g.csv", "1,2,3\n2,3,x\n", "line 2, column 3: 'x' is not a number"),
        ("g.csv", "1,2,3\n2,3,nan\n", "line 2, column 3: the weight is missing"),
        ("g.csv", "1,2,3\n2,3,inf\n", "line 2, column 3: the weight inf is not finite"),
        ("g.csv", "0.5,ann,bob\n1.5,bob,cat\n", "1.5 is no node, but a number .`columns"),
        ("g.csv", "0,1\n1,0\n", "may be the matrix of a graph, or a list of its edges"),
        ("g.txt", "0 1 0 1\n1 0 1 0\n0 1 0 1\n0 0 1 0\n", "it must be square and symmetric"),
        ("g.gml", "graph [\n node [ id 1 ]\n", "not readable as GML"),
        ("g.graphml", "<graphml><graph>", "not readable as GraphML"),
        ("g.gml", "graph [\n]\n", "without nodes"),
        (
            "g.mtx.txt",
            "%%MatrixMarket matrix coordinate real general\n2 2 1\n1 2 1\n",
            "it must be square and symmetric",
        ),
    ],
)
def test_refusals(tmp_path, name, text, match):
    (tmp_path / name).write_text(text)
    with pytest.raises(DataError, match=match) as caught:
        read_graph(tmp_path / name, name)
    assert caught.value.message.startswith(f"{name}: ")


def test_without_networkx_its_name_is_told(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "networkx", None)
    (tmp_path / "g.gml").write_text(SPELLINGS["g.gml"])
    with pytest.raises(MissingPart, match=r"g.gml: GML needs networkx, .* pip install 'cgm\[graphs\]'"):
        read_graph(tmp_path / "g.gml")
