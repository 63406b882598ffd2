"""Graphs in every format that is read: the same graph comes out, by the one rule for loops and repeated edges."""

from __future__ import annotations

import gzip
import sys

import numpy as np
import pytest

from cgm_cli.errors import DataError
from cgm_cli.readers.context import BuildContext
from cgm_cli.readers.graphs import read_graph
from cgm_cli.spec.fields import FileArray

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
    graph = BuildContext((tmp_path,)).graph(FileArray(file=name))
    np.testing.assert_array_equal(graph.toarray(), TWICE)


def test_packed(tmp_path):
    (tmp_path / "g.col.gz").write_bytes(gzip.compress(SPELLINGS["g.col"].encode()))
    np.testing.assert_array_equal(read_graph(tmp_path / "g.col.gz").toarray(), TWICE)


def test_edges_whose_weights_cancel_are_none(tmp_path):
    (tmp_path / "g.csv").write_text("1,2,1\n2,1,-1\n2,3,1\n")
    assert read_graph(tmp_path / "g.csv").nnz == 2


@pytest.mark.parametrize("line", ["DQc", ">>graph6<<DQc"])
def test_graph6_of_its_description(tmp_path, line):
    """n = 5, edges 0-2, 0-4, 1-3, 3-4: the example of the format's own page."""
    (tmp_path / "g.g6").write_text(line + "\n")
    upper = np.argwhere(np.triu(read_graph(tmp_path / "g.g6").toarray()))
    assert upper.tolist() == [[0, 2], [0, 4], [1, 3], [3, 4]]


@pytest.mark.parametrize("nodes", [1, 2, 7, 62, 63, 64, 200])
def test_graph6_is_that_of_networkx(tmp_path, nodes):
    networkx = pytest.importorskip("networkx")
    graph = networkx.gnp_random_graph(nodes, 0.3, seed=nodes)
    (tmp_path / "g.g6").write_bytes(networkx.to_graph6_bytes(graph))
    read = read_graph(tmp_path / "g.g6").toarray()
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
        ("g.g6", "Dq\n", "5 nodes do not take 1 characters"),
        ("g.g6", "~", "do not take"),
        ("g.g6", "~~~~~~~~", "do not take"),
        ("g.g6", "?", "without nodes"),
        ("g.g6", "D q", "a character that graph6 does not have"),
        ("g.csv", "", "holds no edges"),
        ("g.csv", "source,target\n", "holds no edges"),
        ("g.csv", "1,2,3,4\n", "line 1: an edge is two nodes, .* has 4 cells"),
        ("g.csv", "a,b\nb\n", "line 2: has 1 cells, but line 1 has 2"),
        ("g.csv", "a,b\nb,\n", "line 2: the name of a node is missing"),
        ("g.csv", "1,2,3\n2,3,x\n", "line 2: 'x' is not a weight"),
        ("g.csv", "1,2,3\n2,3,nan\n", "line 2: the weight nan is not finite"),
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
    with pytest.raises(DataError, match="pip install networkx"):
        read_graph(tmp_path / "g.gml")
