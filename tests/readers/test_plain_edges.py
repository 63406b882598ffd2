"""Long lists of edges of numbers alone: what is read at once is what is read cell by cell."""

import numpy as np
import pytest

from cgm_cli.readers import edge_list
from cgm_cli.readers.plain_edges import FEWEST, read_plain


def lines_of(rng, mark, weighted, first):
    ends = rng.integers(first, 400, size=(FEWEST + 5, 2))
    weights = [f"{w:.3g}" for w in rng.standard_normal(len(ends))]
    return [mark.join([str(i), str(j), w][: 2 + weighted]) for (i, j), w in zip(ends, weights, strict=True)]


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("mark", [" ", "\t", ",", ", ", ";"])
def test_at_once_as_cell_by_cell(tmp_path, monkeypatch, mark, weighted, end):
    rng = np.random.default_rng(0)
    lines = ["# a comment", "", *lines_of(rng, mark, weighted, 3)]
    path = tmp_path / "graph.txt"
    path.write_bytes(end.join(lines).encode())
    read = edge_list.read_edges(path, "graph.txt")
    assert read_plain(path.read_text(), "graph.txt") is not None
    monkeypatch.setattr(edge_list, "read_plain", lambda text, name: None)
    slowly = edge_list.read_edges(path, "graph.txt")
    assert read.labels == slowly.labels
    assert read.remarks == slowly.remarks
    np.testing.assert_array_equal(read.adjacency.toarray(), slowly.adjacency.toarray())


@pytest.mark.parametrize("other", ["a b", "1", "1 2 3", "01 2", "1.5 2", "-1 2", "1 2 # why", "# between", "1 nan", ""])
def test_what_may_mean_something_else_is_left_to_others(other):
    lines = lines_of(np.random.default_rng(0), " ", False, 0)
    assert read_plain("\n".join(lines), "graph.txt") is not None
    assert read_plain("\n".join([*lines[:500], other, *lines[500:]]), "graph.txt") is None
    assert read_plain("\n".join(lines[: FEWEST // 2]), "graph.txt") is None
