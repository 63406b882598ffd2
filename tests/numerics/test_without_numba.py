"""What takes the place of compiled code where there is no numba: the same results, and a sentence that says so."""

import numpy as np
import pytest
import scipy.sparse as sp

from cgm_cli import solve
from cgm_cli.numerics import annealing, compiled, partitions
from cgm_cli.numerics.annealing import annealed
from cgm_cli.numerics.box_passes import NUMPY_BELOW, box_dual, box_slope
from cgm_cli.numerics.pairs import Congruence, Places
from cgm_cli.numerics.partitions import equally_regrouped, regrouped, worth
from cgm_cli.numerics.samples import entries
from cgm_cli.numerics.sweeps import descend
from cgm_cli.templates.max_cut import RandomGraph, random_graph

RNG = np.random.default_rng


@pytest.fixture
def without(monkeypatch):
    """without(call, *arguments): what it returns where there is no numba."""

    def called(call, *arguments, **named):
        with monkeypatch.context() as patch:
            patch.setattr(compiled, "available", lambda: False)
            return call(*arguments, **named)

    return called


def same(found, wanted):
    for one, other in zip(found, wanted, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-10, atol=1e-12)


@pytest.mark.filterwarnings("error")
def test_passes_over_bounds(without):
    z, dz = RNG(0).standard_normal((2, 20, NUMPY_BELOW // 10))
    same(without(box_dual, z, -0.5, 0.25, 0.1), box_dual(z, -0.5, 0.25, 0.1))
    line = z, dz, 0.3, -0.5, 0.25, 0.1
    assert without(box_slope, *line) == pytest.approx(box_slope(*line))
    z[0, 0] = np.inf
    assert np.isnan(without(box_dual, z, 0.0, np.inf, 1.0)[1])


def test_entries_of_a_product(without):
    left, right = RNG(1).standard_normal((2, 400, 5))
    rows, columns = RNG(2).integers(400, size=(2, 30_000))
    arrays = left, np.arange(1.0, 6.0), right, rows, columns
    same([without(entries, *arrays)], [entries(*arrays)])


def test_sums_over_pairs_of_entries(without):
    n, rng = 7, RNG(3)
    r, c = np.tril_indices(n)
    matrix = sp.csr_array(sp.random_array((5, r.size), density=0.3, rng=rng))
    x, y = (m + m.T for m in rng.standard_normal((2, n, n)))
    paired = Congruence(matrix, Places(n, r, c))
    same([without(paired, x, y)], [paired(x, y)])


def test_passes_over_the_rows_of_a_factor(without):
    n, found = 30, []
    upper = sp.triu(sp.random_array((n, n), density=0.2, rng=RNG(4)), 1)
    matrix, lengths = sp.csr_array(upper + upper.T), RNG(5).random(n)
    for call in (descend, lambda *given: without(descend, *given)):
        factor = RNG(6).standard_normal((n, 4))
        factor *= (lengths / np.linalg.norm(factor, axis=1))[:, None]
        call(matrix, lengths, factor, 5, -np.inf, lambda: None)
        found.append(factor)
    same(found[:1], found[1:])


def test_cuts_and_partitions_of_a_small_graph(without, monkeypatch):
    for module in (annealing, partitions):
        monkeypatch.setattr(module, "MOST", 50)
    graph = random_graph(RandomGraph(nodes=12, edges=30), 0)
    ones, zeros, halves = np.ones(12), np.zeros(12), np.arange(12) % 2

    def cut(signs):
        return float(graph.sum() - signs @ (graph @ signs))

    assert cut(without(annealed, graph, ones, 0)) == cut(annealed(graph, ones, 0))
    degrees = graph @ ones / np.sqrt(graph.sum())
    assert worth(graph, degrees, without(regrouped, graph, degrees, halves, 4, 0)) == pytest.approx(
        worth(graph, degrees, regrouped(graph, degrees, halves, 4, 0))
    )
    parted = without(equally_regrouped, graph, halves, 2, 0)
    np.testing.assert_array_equal(np.bincount(parted), [6, 6])
    assert worth(graph, zeros, parted) == worth(graph, zeros, equally_regrouped(graph, halves, 2, 0))


@pytest.mark.parametrize("method", ["hcgm", "cgal"])
def test_a_clustering(without, tmp_path, method):
    """Where its bounds and its cost are one compiled pass over the matrix, they are NumPy's now."""
    spec = {
        "problem": {"template": "kmeans-sdp", "clusters": 3, "points": RNG(7).standard_normal((40, 2))},
        "solver": {"method": method, "iterations": 30},
    }
    fast, slow = solve(spec, out=tmp_path / "fast"), without(solve, spec, out=tmp_path / "slow")
    assert slow.objective == pytest.approx(fast.objective, rel=1e-6)
    assert slow.bound == pytest.approx(fast.bound, rel=1e-6)
    assert "cgm[fast]" in (tmp_path / "slow/log.txt").read_text()
    assert "cgm[fast]" not in (tmp_path / "fast/log.txt").read_text()


def test_it_is_said(cgm, tmp_path, without, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert cgm("init", "minimax-ball")[0] == 0
    for quiet, told in (((), True), (("-q",), False)):
        code, _, error = without(cgm, "solve", "minimax-ball.yaml", *quiet)
        assert code == 0
        assert ("pip install 'cgm[fast]'" in error) is told
