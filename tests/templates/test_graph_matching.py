"""Graph matching: the relaxation against Clarabel, permutations against all of them, files, and what does not fit."""

from __future__ import annotations

import itertools

import networkx as nx
import numpy as np
import pytest

from cgm_cli import solve
from cgm_cli.cli import main
from cgm_cli.errors import CgmError
from cgm_cli.readers.entries import COLUMN_IDS, LABELS, unpacked
from tests.templates.programs import matching_relaxation
from tests.templates.support import template


def drawn(seed, n=6, whole=False):
    rng = np.random.default_rng(seed)
    a = np.triu(rng.standard_normal((n, n)) if not whole else rng.integers(0, 2, (n, n)), 1).astype(float)
    return a + a.T


def least_mismatch(a, b):
    permutations = map(list, itertools.permutations(range(len(a))))
    return min(0.5 * float(np.square(a - b[np.ix_(p, p)]).sum()) for p in permutations)


@pytest.mark.parametrize(("seed", "whole"), [(0, False), (1, True)])
def test_bounds_lie_below_every_permutation(seed, whole, tmp_path):
    first, second = drawn(seed, whole=whole), drawn(seed + 10, whole=whole)
    problem = {"template": "graph-matching", "first": first, "second": second}
    answer = solve({"problem": problem, "stop": {"gap": 1e-6}}, out=tmp_path / "run")
    relaxed, best = matching_relaxation(first, second), least_mismatch(first, second)
    assert answer.bound_is == "certified"
    assert answer.bound <= relaxed + 1e-7 and relaxed <= best + 1e-7
    if not whole:
        assert answer.objective == pytest.approx(relaxed, rel=1e-5)
    assert answer.bound <= answer.metrics["least_mismatch"] + 1e-9 <= best + 2e-9
    # Of six nodes the search finds the best.
    assert answer.metrics["mismatch"] == pytest.approx(best, abs=1e-9)
    places = answer.solution["permutation"].astype(int)
    shown = 0.5 * np.square(first - second[np.ix_(places, places)]).sum()
    assert answer.metrics["mismatch"] == pytest.approx(shown, abs=1e-9)
    with pytest.raises(SystemExit) as code:
        main(["verify", str(tmp_path / "run")])
    assert not code.value.code


def test_two_files_of_one_graph_are_matched_by_name(tmp_path):
    """An asymmetric tree, written down twice: every node is where its namesake is; and what is exported says so."""
    tree = nx.Graph([("a", "b"), ("b", "c"), ("c", "d"), ("d", "e"), ("e", "f"), ("c", "g")])
    for name, order in (("one", "abcdefg"), ("other", "gfedcba")):
        lines = [f"{u},{v}" for u, v in sorted(tree.edges, key=lambda edge: order.index(edge[0]))]
        (tmp_path / f"{name}.csv").write_text("\n".join(["from,to", *lines]), encoding="utf-8")
    problem = {
        "template": "graph-matching",
        "first": {"file": str(tmp_path / "one.csv")},
        "second": {"file": str(tmp_path / "other.csv")},
    }
    answer = solve({"problem": problem}, out=tmp_path / "run")
    assert answer.metrics["mismatch"] == answer.metrics["least_mismatch"] == 0.0 and answer.metrics["overlap"] == 1.0
    first, second = (unpacked(answer.solution[name]) for name in (LABELS, COLUMN_IDS))
    assert [second[int(place)] for place in answer.solution["matching"]] == first
    with pytest.raises(SystemExit) as code:
        main(["export", str(tmp_path / "run"), "--table", str(tmp_path / "matching.csv")])
    assert not code.value.code and len((tmp_path / "matching.csv").read_text().splitlines()) == 8


def test_a_copy_is_found_again_and_a_smaller_graph_fits_in():
    fields = {"first": {"nodes": 25, "edges": 80}, "second": {"rewired": 0.05}}
    built = template("graph-matching", **fields)
    places, changed = built.truth, 4  # of 80 edges
    assert 0.5 * np.square(built.first - built.second[np.ix_(places, places)]).sum() == 2 * changed
    answer = solve({"problem": {"template": "graph-matching", **fields}, "stop": {"gap": 1e-3}})
    assert answer.metrics["recovered"] == 1.0 and answer.metrics["mismatch"] == 2 * changed
    smaller = template("graph-matching", first=[[0, 1], [1, 0]], second=[[0, 1, 1], [1, 0, 1], [1, 1, 0]])
    assert smaller.first.shape == smaller.second.shape == (3, 3)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"first": [[0, 0], [0, 0]]}, "the graph has no edges"),
        ({"first": [[0, 1], [0, 0]]}, "symmetric"),
        ({"second": {"rewired": 2}}, "less than or equal to 1"),
    ],
)
def test_what_does_not_fit(fields, message):
    with pytest.raises((CgmError, ValueError), match=message):
        template("graph-matching", **{"first": [[0, 1], [1, 0]], "second": [[0, 1], [1, 0]], **fields})
