"""G-set files: what they mean, and the line that is wrong."""

from __future__ import annotations

import os
import tracemalloc
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cgm_cli.errors import DataError
from cgm_cli.readers.graphs import read_graph


def written(tmp_path, text, encoding="utf-8"):
    path = tmp_path / "graph.txt"
    path.write_bytes(text.encode(encoding))
    return path


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_reads(tmp_path, encoding, newline):
    text = newline.join(["3 3 ", " 1 2", "2 3 -1.5", "", "3 2 1e0", ""])
    graph = read_graph(written(tmp_path, text, encoding)).adjacency
    assert isinstance(graph, sp.csr_array)
    np.testing.assert_array_equal(graph.toarray(), [[0, 1, 0], [1, 0, -0.5], [0, -0.5, 0]])


def test_no_edges_and_cancelling_edges(tmp_path):
    assert read_graph(written(tmp_path, "4 0\n")).adjacency.nnz == 0
    assert read_graph(written(tmp_path, "2 2\n1 2 1\n2 1 -1\n")).adjacency.nnz == 0


@pytest.mark.parametrize(
    ("text", "match"),
    [
        ("", "is empty"),
        (" \n\n", "is empty"),
        ("3\n1 2\n", "line 1: expected `nodes edges`, got '3'"),
        ("3 1 1\n1 2\n", "line 1: expected `nodes edges`"),
        ("0 0\n", "without nodes"),
        ("3 2\n1 2\n", "line 1: the header promises 2 edges, the file has 1"),
        ("3 1\n1 2\n2 3\n", "line 1: the header promises 1 edge, the file has 2"),
        ("3 999999999999\n1 2\n", "promises 999999999999 edges, the file has 1"),
        ("99999999999999 1\n1 2\n", "would take"),
        ("3 1\n1 4\n", "line 2: node 4 does not exist: they are numbered 1 to 3"),
        ("3 1\n\n0 1\n", "line 3: node 0 does not exist"),
        ("3 1\n-1 1\n", "line 2: '-1' is not the number of a node"),
        ("3 1\n1.0 2\n", "line 2: '1.0' is not the number of a node"),
        ("3 1\n1_0 2\n", "line 2: '1_0' is not the number of a node"),
        ("3 1\n٣ 2\n", "is not the number of a node"),
        ("3 1\n1\n", "line 2: expected `i j` or `i j weight`, got 1 value"),
        ("3 1\n1 2 3 4\n", "line 2: expected `i j` or `i j weight`, got 4 values"),
        ("3 1\n1 2 x\n", "line 2: 'x' is not a weight"),
        ("3 1\n1 2 nan\n", "line 2: the weight nan is not finite"),
        ("3 1\n1 2 1e999\n", "line 2: the weight 1e999 is not finite"),
        ("3 2\n1 2 1e308\n1 2 1e308\n", "overflows"),
    ],
)
def test_refusals(tmp_path, text, match):
    with pytest.raises(DataError, match=match) as caught:
        read_graph(written(tmp_path, text), "graph.txt")
    assert caught.value.message.startswith("graph.txt: ")


def test_binary(tmp_path):
    path = tmp_path / "graph.txt"
    path.write_bytes(b"3 1\n1 2 \xff\xfe\x00")
    with pytest.raises(DataError, match="not a text file"):
        read_graph(path)


def test_missing(tmp_path):
    with pytest.raises(DataError, match="cannot be read"):
        read_graph(tmp_path / "none.txt")


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.text("0123456789 -.e\nx\t", max_size=60))
def test_any_text(tmp_path, text):
    try:
        graph = read_graph(written(tmp_path, text)).adjacency
    except DataError:
        return
    assert (graph != graph.T).nnz == 0
    assert not graph.diagonal().any()


@pytest.mark.parametrize(("name", "nodes", "edges"), [("G1", 800, 19176), ("G11", 800, 1600)])
def test_gset(name, nodes, edges):
    folders = [Path(folder) for folder in os.environ.get("CGM_DATA", "").split(os.pathsep) if folder]
    path = next((found for folder in folders if (found := folder / "maxcut" / f"{name}.txt").is_file()), None)
    if path is None:
        pytest.skip("CGM_DATA does not lead to the G-set files")
    graph = read_graph(path).adjacency
    assert graph.shape == (nodes, nodes)
    assert graph.nnz == 2 * edges


def test_empty_lines_take_next_to_nothing(tmp_path):
    path = written(tmp_path, "3 1\n1 2\n" + "\n" * 10**6)
    tracemalloc.start()
    try:
        assert read_graph(path).adjacency.nnz == 2
        assert tracemalloc.get_traced_memory()[1] < 30 * 10**6
    finally:
        tracemalloc.stop()


def test_white_space_alone_is_an_empty_file(tmp_path):
    with pytest.raises(DataError, match="is empty"):
        read_graph(written(tmp_path, " \n\t\n"))
