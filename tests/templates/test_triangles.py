"""Triangle inequalities: valid at every clustering, and what they add to the bound, against brute force."""

import itertools

import numpy as np
import pytest

from cgm_cli.errors import DataError, ProblemError
from cgm_cli.runs.execute import execute
from cgm_cli.runs.load import load_run
from cgm_cli.solving.direct import solve_problem
from cgm_cli.solving.solve import ROWS
from cgm_cli.templates.clustering import kmeans_value, squared_distances
from cgm_cli.templates.kmeans_sdp import relaxation
from cgm_cli.templates.max_cut import MaxCut, RandomGraph, random_graph
from cgm_cli.templates.partitioning import relaxation as partition_relaxation
from cgm_cli.templates.triangles import ClusteringTriangles, CutTriangles
from cgm_cli.verify.check import verify
from tests.partitions import partitions
from tests.runs.test_resume import check
from tests.templates.test_kmeans_sdp import instance, matrix_of
from tests.templates.test_max_cut import maximum_cut

POINTS = np.random.default_rng(0).standard_normal((30, 2))


def everywhere(n):
    return np.array(list(itertools.product(range(n), repeat=3)))


def test_every_place_is_valid_at_every_clustering():
    n = 5
    linear, penalty = ClusteringTriangles(squared_distances(POINTS[:n])).rows(everywhere(n))
    for labels in partitions(n, n):
        image = linear.forward(matrix_of(labels, n))
        np.testing.assert_allclose(image, penalty.project(image), atol=1e-12)


def test_rows_are_what_they_say():
    n = 5
    x = np.random.default_rng(1).standard_normal((n, n))
    x += x.T
    places = everywhere(n)
    linear, _ = ClusteringTriangles(squared_distances(POINTS[:n])).rows(places)
    expected = [x[i, i] - x[i, j] - (0.0 if k == i else x[i, k] - x[j, k]) for i, j, k in places]
    np.testing.assert_allclose(linear.forward(x), expected, atol=1e-12)


def test_what_is_violated_is_and_the_worst_comes_first():
    family = ClusteringTriangles(squared_distances(POINTS))
    factor = np.random.default_rng(2).standard_normal((30, 3))
    x = factor @ factor.T
    places = family.violated(x)
    missed = -family.rows(places)[0].forward(x)
    assert missed.min() > 0.0 and np.all(np.diff(missed) <= 1e-12)
    assert len(np.unique(places, axis=0)) == len(places)
    everything = -family.rows(everywhere(30))[0].forward(x)
    assert missed[0] == pytest.approx(everything.max())


@pytest.mark.parametrize("places", [[[0, 1, 30]], [[-1, 0, 0]], [[0, 1]], [[0.0, 1.0, 2.0]], []])
def test_other_places_are_refused(places):
    with pytest.raises(ProblemError, match="rows of 3 numbers from 0 to 29"):
        ClusteringTriangles(squared_distances(POINTS)).rows(np.array(places))


@pytest.mark.parametrize(("n", "k", "seed"), [(7, 2, 0), (8, 3, 1), (7, 3, 2), (8, 2, 5)])
def test_the_bound_lies_between_that_without_and_the_best_clustering(n, k, seed):
    points = np.random.default_rng(seed).standard_normal((n, 2))
    best = min(kmeans_value(points, labels, k) for labels in partitions(n, k))
    distances, stop = squared_distances(points), {"gap": 1e-5, "time": 60}
    plain, tight = (solve_problem(relaxation(distances, k, triangles=more), stop=stop) for more in (False, True))
    assert plain.bound_is == tight.bound_is == "certified"
    assert 0.5 * tight.record.bound <= best * (1.0 + 1e-12)
    assert tight.record.bound >= plain.record.bound * (1.0 - 2e-5)
    assert 0.5 * tight.record.bound >= best * (1.0 - 1e-3)


def test_what_the_relaxation_leaves_open_is_proven():
    points = np.random.default_rng(3).standard_normal((24, 2))
    plain, tight = (
        instance(points, 4, 50, method="auto", **more).solve() for more in ({}, {"inequalities": "triangle"})
    )
    assert plain.metrics["certified_percent"] > 1.0
    assert tight.metrics["certified_percent"] < 0.1 * plain.metrics["certified_percent"]
    assert tight.record.k <= 50 and ROWS in tight.solution


def test_a_run_in_rounds_is_resumed_and_verified(tmp_path):
    """Its rounds end after 10 and 20 turns."""
    problem = {"template": "kmeans-sdp", "clusters": 3, "points": POINTS.tolist(), "restarts": 1}
    source = {"problem": problem | {"inequalities": "triangle"}, "stop": {"gap": 1e-9}}
    check(source, [], tmp_path, ks=(10, 13))
    run = load_run(tmp_path / "whole")
    assert len(run.solution[ROWS]) == len(run.duals["triangles"]) > len(POINTS)
    assert np.any(run.duals["triangles"][len(POINTS) :])
    report = verify(tmp_path / "whole")
    assert not [row for row in report.rows if row.verdict.value == "fails"]


def test_verify_refuses_places_that_are_none(tmp_path):
    import h5py

    problem = {"template": "kmeans-sdp", "clusters": 2, "points": POINTS[:8].tolist(), "restarts": 1}
    execute({"problem": problem | {"inequalities": "triangle"}}, ["solver.iterations=3"], tmp_path / "run")
    with h5py.File(tmp_path / "run" / "run.h5", "r+") as file:
        file["solution"][ROWS][0] = 8
    with pytest.raises(DataError, match="from 0 to 7"):
        verify(tmp_path / "run")


def test_what_is_built_for_the_constraints_of_now_is_refused():
    with pytest.raises(ProblemError, match="takes no inequalities that join them"):
        solve_problem(
            relaxation(squared_distances(POINTS), 3, triangles=True),
            method={"method": "cgal", "correction": "primal-dual"},
        )


# Cuts.


def test_every_place_is_valid_at_every_cut():
    n = 6
    places = np.array([(*triple, apex) for triple in everywhere(n) for apex in (0, 1)])
    linear, penalty = CutTriangles(n).rows(places)
    for signs in map(np.array, itertools.product((-1.0, 1.0), repeat=n)):
        image = linear.forward(np.outer(signs, signs))
        np.testing.assert_array_equal(image, penalty.project(image))


def test_violated_triangles_of_a_cut_are_all_kinds_of_the_worst():
    n, rng = 12, np.random.default_rng(4)
    factor = rng.standard_normal((n, 3))
    factor /= np.linalg.norm(factor, axis=1)[:, None]
    family, x = CutTriangles(n), factor @ factor.T
    places = family.violated(x)
    missed = -1.0 - family.rows(places)[0].forward(x)
    assert missed.min() > 0.0 and np.all(np.diff(missed) <= 1e-12)
    assert len(np.unique(places, axis=0)) == len(places)
    for apex in (0, 1):
        every = np.array([(*triple, apex) for triple in itertools.permutations(range(n), 3)])
        worst = (-1.0 - family.rows(every)[0].forward(x)).max()
        assert missed[places[:, 3] == apex].max() == pytest.approx(worst)


@pytest.mark.parametrize("signed", [False, True])
def test_the_bound_on_cuts_lies_between_that_without_and_the_largest(signed):
    adjacency = random_graph(RandomGraph(nodes=9, edges=24, signed=signed), 2 * signed)
    best = maximum_cut(adjacency)
    stop = {"gap": 1e-4, "time": 60}
    plain, tight = (
        solve_problem(MaxCut(adjacency, triangles=more).problem, stop=stop).record.bound for more in (False, True)
    )
    assert best * (1.0 - 1e-12) <= tight <= plain * (1.0 + 2e-5)
    assert tight <= best * (1.0 + 1e-3)  # of graphs this small they leave little or nothing open


def test_a_cut_in_rounds_is_resumed_and_verified(tmp_path):
    problem = {"template": "max-cut", "graph": {"nodes": 30, "edges": 150}, "inequalities": "triangle"}
    check({"problem": problem, "stop": {"gap": 1e-9}}, [], tmp_path, ks=(10, 13))
    assert len(load_run(tmp_path / "whole").solution[ROWS]) > 1
    assert not [row for row in verify(tmp_path / "whole").rows if row.verdict.value == "fails"]


# Communities and halves.


@pytest.mark.parametrize("parts", [None, 2, 3])
def test_every_place_is_valid_at_every_partition(parts):
    n = 5
    family = partition_relaxation(np.ones((n, n)), parts, triangles=True).terms[-1].family
    places = everywhere(n)
    if parts == 2:
        places = np.array([(*triple, apex) for triple in places for apex in (0, 1)])
    linear, penalty = family.rows(places)
    for labels in partitions(n, parts or n):
        together = (labels[:, None] == labels).astype(float)
        image = linear.forward(together if parts is None else (parts * together - 1.0) / (parts - 1.0))
        np.testing.assert_allclose(image, penalty.project(image), atol=1e-12)


@pytest.mark.parametrize(("parts", "equal"), [(None, False), (2, False), (3, False), (2, True), (3, True)])
def test_the_bound_on_partitions_lies_between_that_without_and_the_best(parts, equal):
    n = 7 if parts else 6  # of which there are more
    weights = random_graph(RandomGraph(nodes=n, edges=15, signed=True), 6).toarray()
    allowed = [
        labels for labels in partitions(n, parts or n) if not equal or np.ptp(np.bincount(labels, minlength=parts)) <= 1
    ]
    best = max(0.5 * float(weights[labels[:, None] == labels].sum()) for labels in allowed)
    plain, tight = (
        solve_problem(partition_relaxation(weights, parts, equal, more), stop={"gap": 1e-4, "time": 60}).record.bound
        for more in (False, True)
    )
    assert best * (1.0 - 1e-9) <= tight <= min(plain, best) + 1e-4 * best  # they leave nothing open here
