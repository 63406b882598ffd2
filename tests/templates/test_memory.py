"""Whatever a spec has drawn at random is weighed before it is drawn."""

from __future__ import annotations

import subprocess
import sys
import time

import numpy as np
import pytest

from cgm_cli.errors import ProblemError
from cgm_cli.readers.context import BuildContext
from cgm_cli.spec.load import dump, loads
from cgm_cli.templates import max_cut
from cgm_cli.templates.build import build
from cgm_cli.templates.max_cut import RandomGraph, random_graph

HUGE = 10**12
SOME = {"kind": "l1", "map": {"kind": "sampling", "indices": [0, 4, 2]}}


@pytest.mark.parametrize(
    ("problem", "place"),
    [
        ({"template": "max-cut", "graph": {"nodes": HUGE, "edges": 3}}, "graph"),
        ({"template": "max-cut", "graph": {"nodes": 10**7, "edges": HUGE}}, "graph"),
        ({"template": "max-cut", "graph": {"nodes": 10, "edges": 20}, "hyperplanes": HUGE}, "hyperplanes"),
        ({"template": "lovasz-theta", "graph": {"nodes": HUGE, "edges": 3}}, "graph"),
        ({"template": "lovasz-theta", "graph": {"nodes": 10**5, "edges": 10**9}}, "graph"),
        ({"template": "lovasz-theta", "graph": {"cycle": HUGE}}, "graph"),
        ({"template": "spectrahedron-game", "matrices": {"size": HUGE, "count": 2}}, "matrices"),
        ({"template": "spectrahedron-game", "matrices": {"size": 10**6, "count": 10**6, "entries": 1}}, "matrices"),
        ({"template": "spectrahedron-game", "matrices": {"size": 9, "count": 2, "entries": HUGE}}, "matrices"),
        ({"template": "matrix-completion", "matrix": {"rows": HUGE, "columns": 2, "rank": 1}}, "matrix"),
        ({"template": "matrix-completion", "matrix": {"rows": 3, "columns": 2, "rank": HUGE}}, "matrix"),
        ({"template": "max-affine", "slopes": {"pieces": HUGE, "size": 1}}, "slopes"),
        ({"template": "matrix-game", "payoff": {"rows": HUGE, "columns": 1}}, "payoff"),
        ({"template": "minimax-ball", "size": HUGE}, None),
        ({"template": "phase-retrieval", "signal": {"size": HUGE}}, "signal"),
        ({"template": "phase-retrieval", "signal": [1, 2], "masks": {"count": HUGE}}, "masks"),
        ({"template": "blind-deconvolution", "signal": {"length": HUGE, "taps": 1, "message": 1}}, "signal"),
        ({"domain": {"kind": "nuclear-ball", "shape": [HUGE, 5]}, "penalties": [SOME]}, "domain"),
        ({"domain": {"kind": "psd", "size": HUGE}, "penalties": [SOME]}, "domain"),
        ({"domain": {"kind": "fantope", "size": HUGE, "rank": 2}, "penalties": [SOME]}, "domain"),
        ({"domain": {"kind": "l2-ball", "size": [HUGE, HUGE]}, "penalties": [SOME]}, "domain"),
        ({"template": "robust-pca", "image": "camera", "size": 10**6, "loss": "l1"}, None),
    ],
)
def test_what_does_not_fit_is_refused_before_it_is_drawn(problem, place):
    begun = time.monotonic()
    with pytest.raises(ProblemError, match=r"needs .* of memory, and .* are available") as caught:
        build(loads(dump({"problem": problem})))
    assert time.monotonic() - begun < 5.0
    assert caught.value.path[:2] == (("problem", place) if place else caught.value.path[:2])


def test_a_nearly_complete_graph_is_drawn_at_once(monkeypatch):
    """Of more pairs than are shuffled as a whole."""
    monkeypatch.setattr(max_cut, "FEW_PAIRS", 10**5)
    nodes = 450
    pairs = nodes * (nodes - 1) // 2
    assert pairs > max_cut.FEW_PAIRS
    graph = random_graph(RandomGraph(nodes=nodes, edges=pairs - 3), 0)
    assert graph.nnz == 2 * (pairs - 3)
    assert graph.data.min() == graph.data.max() == 1.0
    assert not graph.diagonal().any()


def test_a_graph_whose_pairs_have_no_number():
    with pytest.raises(ProblemError, match="cannot be numbered"):
        random_graph(RandomGraph(nodes=2**40, edges=1), 0)


def test_a_small_graph_fits(monkeypatch):
    monkeypatch.setattr("cgm_cli.readers.context.available_memory", lambda: 10**6)
    graph = RandomGraph(nodes=20, edges=30).draw(BuildContext(()))
    assert np.array_equal(graph.toarray(), random_graph(RandomGraph(nodes=20, edges=30), 0).toarray())


@pytest.mark.parametrize(("certify", "needed"), [("final", 4 * 8 * 3000**2), ("always", 4 * 8 * 3000**2), ("never", 0)])
def test_the_factorisation_that_proves_the_bound_is_weighed(certify, needed):
    problem = {"template": "spectrahedron-game", "matrices": {"size": 3000, "count": 2}}
    instance = build(loads(dump({"problem": problem, "bound": {"certify": certify}})))
    assert instance.context.reserved.get("matrix to factorise", 0) == needed


PEAK = '''
import pathlib, re, sys
class Hidden:
    """What scikit-learn loads where it is there, with pandas, and cgm does not: it may take more than all the rest."""
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "pyarrow":
            raise ModuleNotFoundError(name)
sys.meta_path.insert(0, Hidden())
from cgm_cli import solve
from cgm_cli.spec.load import dump, loads
from cgm_cli.templates.build import build
import numpy as np

np.save(sys.argv[2] + ".npy", np.random.default_rng(0).standard_normal((1600, 3)))
problem = {"template": "kmeans-sdp", "clusters": 4, "points": {"file": sys.argv[2] + ".npy"}, "restarts": 1}
spec = {"problem": problem, "solver": {"method": sys.argv[1], "iterations": 4}, "stop": {}}
print(sum(build(loads(dump(spec))).context.reserved.values()))
solve(spec, out=sys.argv[2])
# Not what getrusage tells, which begins with the process that this one was forked from.
print(1024 * int(re.search(r"VmHWM:\\s+(\\d+) kB", pathlib.Path("/proc/self/status").read_text()).group(1)))
'''


@pytest.mark.parametrize("method", ["auto", "hcgm"])
def test_no_more_is_used_than_is_said(method, tmp_path):
    command = [sys.executable, "-c", PEAK, method, str(tmp_path / "run")]
    said, used = map(int, subprocess.run(command, capture_output=True, text=True, check=True).stdout.split())
    assert used <= said
