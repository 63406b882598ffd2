"""Sparse principal components against Clarabel, all subsets of variables, and the figures of the field."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from cgm_cli import solve
from cgm_cli.cli import main
from cgm_cli.errors import CgmError
from cgm_cli.templates.pitprops import pitprops
from cgm_cli.templates.sparse_components import needed
from tests.templates.programs import largest_component
from tests.templates.support import template


def test_the_correlations_of_pit_props():
    """Their eigenvalues are those that the literature has; the first component explains 32.4 % of the variance."""
    values = np.linalg.eigvalsh(pitprops())[::-1]
    assert values[:3] == pytest.approx([4.219, 2.378, 1.878], abs=1e-3)
    assert values.sum() == pytest.approx(13.0)


@pytest.mark.parametrize(("fields", "optimum"), [({"cardinality": 5}, 3.458099), ({"penalty": 0.1}, 3.346005)])
def test_the_figures_of_the_field(tmp_path, fields, optimum):
    problem = {"template": "sparse-pca", "covariance": "pitprops", **fields}
    answer = solve({"problem": problem, "stop": {"gap": 1e-7, "infeasibility": 1e-7}}, out=tmp_path / "run")
    assert answer.status.value == "converged" and answer.bound_is == "certified"
    assert answer.objective == pytest.approx(optimum, abs=1e-6)
    assert largest_component(pitprops(), **fields) == pytest.approx(optimum, abs=1e-6)
    with pytest.raises(SystemExit) as code:
        main(["verify", str(tmp_path / "run")])
    assert not code.value.code


def best_subset(covariance, size) -> float:
    subsets = itertools.combinations(range(len(covariance)), size)
    return max(float(np.linalg.eigvalsh(covariance[np.ix_(each, each)])[-1]) for each in subsets)


@pytest.mark.parametrize("size", [2, 5])
def test_the_variables_of_pit_props_are_the_best_of_all(tmp_path, size):
    problem = {"template": "sparse-pca", "covariance": "pitprops", "cardinality": size}
    answer = solve({"problem": problem}, out=tmp_path / "run")
    best = best_subset(pitprops(), size)
    assert answer.metrics["explained_variance"] == pytest.approx(best)
    assert best <= answer.bound
    assert np.count_nonzero(answer.solution["loadings"]) == size


def drawn(seed, n=9):
    factor = np.random.default_rng(seed).standard_normal((n, n)) * np.geomspace(1.0, 0.2, n)[:, None]
    return factor @ factor.T


@pytest.mark.parametrize("seed", range(3))
def test_bounds_of_random_covariances(tmp_path, seed):
    covariance = drawn(seed)
    for number, fields in enumerate([{"cardinality": 3}, {"penalty": 0.2 * covariance.max()}]):
        problem = {"template": "sparse-pca", "covariance": covariance, **fields}
        answer = solve({"problem": problem, "stop": {"gap": 1e-6}}, out=tmp_path / f"run{number}")
        best = largest_component(covariance, **fields)
        assert answer.bound >= best - 1e-6 * abs(best)
        assert answer.bound == pytest.approx(best, rel=1e-5)
    x = answer.solution["loadings"]
    value = x @ covariance @ x - fields["penalty"] * abs(x).sum() ** 2
    assert answer.metrics["penalised_variance"] == pytest.approx(value) and value <= answer.bound
    assert np.linalg.norm(x) == pytest.approx(1.0)


@pytest.mark.parametrize("penalty", [0.02, 0.1, 0.3, 0.6, 1.0, 3.0])
def test_no_variable_is_left_out_that_is_needed(penalty):
    covariance = np.zeros((9, 9))
    for part in (slice(0, 4), slice(4, 7), slice(7, 9)):
        covariance[part, part] = drawn(5, part.stop - part.start)
    covariance[0, 8] = covariance[8, 0] = 0.05
    kept = needed(covariance, penalty)
    inside = covariance[np.ix_(kept, kept)]
    assert largest_component(inside, penalty=penalty) == pytest.approx(
        largest_component(covariance, penalty=penalty), abs=1e-6
    )


def test_genes_are_found_again(tmp_path):
    """Far from the noise the variables of both factors are all that is left, and those of the first are chosen."""
    genes = {"genes": 400, "samples": 200, "factors": 2, "active": 8, "strength": 3.0}
    problem = {"template": "sparse-pca", "covariance": genes, "penalty": 1.5}
    answer = solve({"problem": problem}, out=tmp_path / "run")
    assert answer.x.shape == (16, 16)
    assert answer.solution["loadings"].shape == (400,)
    assert answer.metrics["nonzeros"] == 8
    assert answer.metrics["certified_ratio"] > 0.999


def test_components_are_found_by_deflation(tmp_path):
    """In the order of their variance, each from the folder of the run before, and orthogonal to what is deflated."""
    covariance, found = np.diag([1.0, 3.0, 2.0]), []
    for number in range(3):
        runs = [{"file": str(tmp_path / f"run{k}" / "run.h5"), "key": "solution/loadings"} for k in range(number)]
        problem = {"template": "sparse-pca", "covariance": covariance.tolist(), "cardinality": 1, "deflate": runs}
        answer = solve({"problem": problem}, out=tmp_path / f"run{number}")
        found.append(answer.metrics["explained_variance"])
    assert found == pytest.approx([3.0, 2.0, 1.0])


def test_points_are_samples():
    points = np.random.default_rng(1).standard_normal((20, 4)) * [1.0, 2.0, 3.0, 4.0]
    plain = template("sparse-pca", points=points.tolist(), cardinality=2)
    assert plain.covariance == pytest.approx(np.cov(points.T, bias=True))
    scaled = template("sparse-pca", points=points.tolist(), cardinality=2, standardise=True)
    assert scaled.covariance == pytest.approx(np.corrcoef(points.T))


def test_one_triangle_of_a_covariance_is_enough(tmp_path):
    (tmp_path / "t.csv").write_text("a,b\n2,\n0.5,1\n")
    read = template("sparse-pca", tmp_path, covariance={"file": "t.csv"}, cardinality=1)
    assert read.covariance.tolist() == [[2.0, 0.5], [0.5, 1.0]] and read.names == ["a", "b"]
    (tmp_path / "t.csv").write_text("2,\n,1\n")
    with pytest.raises(CgmError, match=r"entry \(0, 1\), counted from 0, is missing"):
        template("sparse-pca", tmp_path, covariance={"file": "t.csv"}, cardinality=1)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({}, "give a `cardinality` or a `penalty`"),
        ({"cardinality": 2, "penalty": 1.0}, "give a `cardinality` or a `penalty`"),
        ({"cardinality": 0.5}, "greater than or equal to 1"),
        ({"cardinality": 2, "covariance": [[1.0, 2.0], [0.5, 1.0]]}, "a symmetric matrix is needed"),
        ({"cardinality": 2, "points": [[1.0, 2.0]]}, "give a `covariance` or `points`"),
        ({"cardinality": 2, "deflate": [[1.0, 2.0]]}, "a component has 13 entries here, and this one 2"),
    ],
)
def test_what_does_not_fit(fields, message):
    with pytest.raises((CgmError, ValueError), match=message):
        template("sparse-pca", **{"covariance": "pitprops", **fields})
