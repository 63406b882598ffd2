"""Constrained k-means and brute force: bounds below the best clustering that meets what is known; labels that do."""

import itertools

import numpy as np
import pytest

from cgm_cli.errors import ProblemError
from cgm_cli.runs.execute import execute
from cgm_cli.templates.clustering import kmeans_value
from cgm_cli.verify.check import verify
from tests.templates.test_kmeans_sdp import instance, matrix_of

KNOWN = [
    {"must_link": [[0, 1], [1, 5]]},
    {"cannot_link": [[0, 1], [2, 3], [0, 2]]},
    {"min_size": 3},
    {"max_size": 4},
    {"must_link": [[0, 3]], "cannot_link": [[3, 4], [0, 5]], "min_size": 2, "max_size": 5},
]


def meets(labels, k, must_link=(), cannot_link=(), min_size=1, max_size=10**9):
    sizes = np.bincount(labels, minlength=k)
    linked = all(labels[i] == labels[j] for i, j in must_link) and all(labels[i] != labels[j] for i, j in cannot_link)
    return linked and sizes.min() >= min_size and sizes.max() <= max_size


def clusterings(n, k, known):
    return [c for c in map(np.array, itertools.product(range(k), repeat=n)) if meets(c, k, **known)]


@pytest.mark.parametrize("known", KNOWN, ids=lambda known: "-".join(known))
@pytest.mark.parametrize(("n", "k", "inequalities"), [(8, 2, "none"), (7, 3, "triangle")])
def test_the_bound_is_that_of_the_constrained_problem(known, n, k, inequalities):
    if k * known.get("min_size", 1) > n:
        known = known | {"min_size": n // k}
    points = np.random.default_rng(n).standard_normal((n, 2))
    best = min(kmeans_value(points, labels, k) for labels in clusterings(n, k, known))
    result = instance(points, k, 20, method="auto", inequalities=inequalities, **known).solve()
    assert result.bound_is == "certified"
    assert 0.5 * result.record.bound <= best * (1.0 + 1e-9)
    assert 0.5 * result.record.bound >= 0.7 * best
    assert result.metrics["constraints_met"] == 1.0
    assert meets(result.solution["clusters"], k, **known)
    assert best * (1.0 - 1e-9) <= result.metrics["kmeans_value"] <= 1.2 * best


@pytest.mark.parametrize("known", KNOWN, ids=lambda known: "-".join(known))
def test_clusterings_meet_the_terms_and_others_do_not(known):
    n, k = 7, 2
    terms = instance(np.random.default_rng(1).standard_normal((n, 2)), k, **known).problem.terms[2:]
    for labels in map(np.array, itertools.product(range(k), repeat=n)):
        if np.unique(labels).size == k:
            images = [(term.penalty, term.map.forward(matrix_of(labels, k))) for term in terms]
            holds = all(np.allclose(penalty.project(z), z, atol=1e-12) for penalty, z in images)
            assert holds == meets(labels, k, **known)


def test_what_no_clustering_meets_is_told(tmp_path):
    """Three points of which no two are in one of two clusters: there is none, which no pair alone shows."""
    problem = {"template": "kmeans-sdp", "clusters": 2, "points": [[0.0], [1.0], [2.0], [3.0]], "restarts": 2}
    problem["cannot_link"] = [[0, 1], [1, 2], [0, 2]]
    run = execute({"problem": problem}, ["solver.iterations=50"], tmp_path / "run")
    assert run.result.metrics == {} or run.result.metrics["constraints_met"] == 0.0
    assert not [row for row in verify(tmp_path / "run").rows if row.verdict.value == "fails"]


def test_a_run_is_verified(tmp_path):
    points = np.random.default_rng(3).standard_normal((12, 2)).tolist()
    problem = {"template": "kmeans-sdp", "clusters": 3, "points": points, "restarts": 2, **KNOWN[-1]}
    execute({"problem": problem}, [], tmp_path / "run")
    rows = {row.quantity: row.verdict.value for row in verify(tmp_path / "run").rows}
    assert rows["constraints_met"] == "holds"
    assert "fails" not in rows.values()


@pytest.mark.parametrize(
    ("known", "words"),
    [
        ({"must_link": [[0, 1], [1, 2]], "cannot_link": [[0, 2]]}, "points 0 and 2 cannot be linked"),
        ({"must_link": [[0, 6]]}, "numbered from 0 to 5"),
        ({"cannot_link": [[0, 0.5]]}, "numbered from 0 to 5"),
        ({"cannot_link": [[1, 1]]}, "point 1 is paired with itself"),
        ({"cannot_link": [[1, 2, 3]]}, "two numbers a row"),
        ({"min_size": 4}, "2 clusters of 4 points are more than 6"),
        ({"max_size": 2}, "2 clusters of 2 points are fewer than 6"),
        ({"must_link": [[0, 1], [1, 2], [2, 3]], "max_size": 3}, "4 points are linked"),
        ({"must_link": [[0, 1], [1, 2], [2, 3], [3, 4], [4, 5]]}, "leaves 1 parts for 2 clusters"),
    ],
)
def test_what_cannot_be_is_refused(known, words):
    with pytest.raises(ProblemError, match=words):
        instance(np.arange(6.0)[:, None], 2, **known)
