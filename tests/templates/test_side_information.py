"""Constrained k-means and brute force: bounds below the best clustering that meets what is known; labels that do."""

import itertools

import cvxpy as cp
import numpy as np
import pytest

from cgm_cli.blocks.atoms import DenseAtom
from cgm_cli.blocks.iterates import DenseIterate
from cgm_cli.errors import ProblemError
from cgm_cli.runs.execute import execute
from cgm_cli.spec.load import dump, loads
from cgm_cli.templates.build import build
from cgm_cli.templates.clustering import kmeans_value, squared_distances
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
    """Their matrices in terms of groups of linked points; where rows of these differ, there is none."""
    n, k = 7, 2
    template = instance(np.random.default_rng(1).standard_normal((n, 2)), k, **known).template
    parts = template.known.parts
    q = np.eye(parts.max() + 1)[parts] / np.sqrt(np.bincount(parts))
    for labels in map(np.array, itertools.product(range(k), repeat=n)):
        if np.unique(labels).size == k:
            x = matrix_of(labels, k)
            y = q.T @ x @ q
            images = [(term.penalty, term.map.forward(y)) for term in template.problem.terms]
            holds = all(np.allclose(penalty.project(z), z, atol=1e-12) for penalty, z in images)
            assert (holds and np.allclose(q @ y @ q.T, x)) == meets(labels, k, **known)
            assert template.known.holds(labels) == meets(labels, k, **known)


def by_equations(points, k, must_link=(), cannot_link=(), min_size=1, max_size=None, triangles=False):
    """The relaxation with X_ij = X_ii = X_jj for linked points, which are not contracted, by Clarabel."""
    n = len(points)
    x = cp.Variable((n, n), PSD=True)
    rules = [x @ np.ones(n) == 1, x >= 0, cp.trace(x) == k]
    rules += [each == x[i, j] for i, j in must_link for each in (x[i, i], x[j, j])]
    rules += [x[i, j] == 0 for i, j in cannot_link]
    rules += [cp.diag(x) >= 1 / (max_size or n), cp.diag(x) <= 1 / min_size]
    if triangles:
        rules += [x[i, j] + x[i, h] <= x[i, i] + x[j, h] for i, j, h in itertools.permutations(range(n), 3)]
        rules += [x[i, j] <= x[i, i] for i, j in itertools.permutations(range(n), 2)]
    return cp.Problem(cp.Minimize(cp.sum(cp.multiply(squared_distances(points), x))), rules).solve(solver="CLARABEL")


@pytest.mark.parametrize(
    ("k", "known", "domain"),
    [
        (2, {"must_link": [[0, 1], [1, 5]]}, "fantope-face"),
        (3, {"must_link": [[0, 1], [1, 5], [2, 3]], "cannot_link": [[5, 2], [4, 6]]}, "fantope-face"),
        (3, {"must_link": [[0, 1], [1, 5], [2, 3]], "cannot_link": [[5, 2], [4, 6]]}, "fantope"),
        (2, {"must_link": [[0, 3], [6, 7]], "cannot_link": [[3, 4], [0, 5]], "min_size": 3, "max_size": 5}, "trace"),
        (1, {"must_link": [[0, 3]]}, "fantope-face"),
        (6, {"must_link": [[0, 3], [3, 5]], "max_size": 3}, "fantope-face"),
    ],
)
def test_linked_points_are_one_point_of_the_relaxation_with_equations(k, known, domain):
    points = np.random.default_rng(3).standard_normal((8, 2))
    best = by_equations(points, k, **known)
    result = solved(points, k, domain=domain, **known)
    assert result.status.value == "converged" and result.bound_is == "certified"
    assert best * (1.0 - 3e-4) <= result.record.bound <= best * (1.0 + 1e-6)
    assert result.record.total == pytest.approx(best, rel=1e-3)


def solved(points, k, **more):
    problem = {"template": "kmeans-sdp", "clusters": k, "points": points.tolist(), "restarts": 2, **more}
    return build(loads(dump({"name": "test", "problem": problem}))).solve()


def test_triangles_of_linked_points():
    """They are violated, here, by the relaxation without them."""
    points, known = np.random.default_rng(4).standard_normal((8, 2)), {"must_link": [[0, 1], [1, 5]]}
    loose, best = by_equations(points, 2, **known), by_equations(points, 2, **known, triangles=True)
    assert loose < best * (1.0 - 1e-3)
    result = solved(points, 2, inequalities="triangle", **known)
    assert result.bound_is == "certified" and result.record.bound <= best * (1.0 + 1e-6)
    assert result.record.bound >= loose + 0.9 * (best - loose)


def test_answers_on_the_way_meet_what_is_known():
    """No other clustering is one, though it may be better than all that are, and than the bound."""
    points = np.repeat([[0.0], [10.0]], 4, axis=0) + np.arange(8.0)[:, None] / 10.0
    template = instance(points, 2, cannot_link=[[0, 1]]).template
    sorted_apart = DenseIterate(DenseAtom(matrix_of(np.repeat([0, 1], 4), 2)))
    assert np.isnan(template.quick_value(sorted_apart, np.random.default_rng(0)))


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
