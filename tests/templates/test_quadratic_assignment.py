"""Quadratic assignment: certified bounds below the best permutation, permutations, files of QAPLIB."""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import pytest

from cgm_cli.blocks.atoms import DenseAtom
from cgm_cli.blocks.iterates import DenseIterate
from cgm_cli.errors import DataError, ProblemError
from cgm_cli.numerics.deadline import NEVER, Deadline
from cgm_cli.readers.assignment import read_assignment
from cgm_cli.spec.load import dump, load, loads
from cgm_cli.templates.assignments import assignment_value
from cgm_cli.templates.build import build
from cgm_cli.templates.quadratic_assignment import _basis as build_basis
from tests.templates.programs import best_assignment
from tests.templates.support import template


def random_pair(n, rng, symmetric=True):
    """Symmetric ones have zero diagonals, as those of QAPLIB do."""
    flow, distance = rng.integers(0, 9, (2, n, n)).astype(float)
    upper = np.triu(flow, 1), np.triu(distance, 1)
    return (upper[0] + upper[0].T, upper[1] + upper[1].T) if symmetric else (flow, distance)


def rounded(flow, distance, bound, deadline=NEVER, **fields):
    """The rounding of the mean of all permutations, beside a bound."""
    built = template("quadratic-assignment", flow=flow.tolist(), distance=distance.tolist(), **fields)
    middle = np.zeros(built.problem.domain.shape)
    middle[0, 0] = built.problem.domain.radius  # V e_1 is the mean, but for a factor
    return built.round(DenseIterate(DenseAtom(middle)), bound, np.random.default_rng(0), deadline)


def test_the_bound_is_rounded_up_where_the_data_are_whole():
    flow, distance = random_pair(5, np.random.default_rng(0))
    figures = rounded(flow, distance, 100.5).metrics
    assert figures["bound_of_permutations"] == 102.0
    assert figures["certified_gap"] == (figures["assignment"] - 102.0) / figures["assignment"]
    assert rounded(flow, distance, 100.0 + 1e-9).metrics["bound_of_permutations"] == 100.0  # no more than rounding
    assert rounded(10.0 * flow, distance, 1001.0).metrics["bound_of_permutations"] == 1020.0
    assert rounded(0.5 * flow, distance, 50.25).metrics["bound_of_permutations"] == 50.25
    assert "bound_of_permutations" not in rounded(flow, distance, None).metrics


def test_after_the_deadline_there_is_a_permutation():
    flow, distance = random_pair(6, np.random.default_rng(1))
    late = rounded(flow, distance, 0.0, Deadline(lambda: 0.0))
    assert sorted(late.arrays["permutation"]) == list(range(6))
    assert late.metrics["assignment"] == assignment_value(flow, distance, late.arrays["permutation"])


def test_the_search_ends_where_the_bound_is_met():
    flow, distance = random_pair(6, np.random.default_rng(1))
    least = best_assignment(flow, distance)
    found = rounded(flow, distance, least - 0.5, starts=10**9)
    assert found.metrics["assignment"] == found.metrics["bound_of_permutations"] == least
    assert found.metrics["certified_gap"] == 0.0


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("symmetric", [True, False])
def test_the_bound_is_below_the_best_permutation_which_is_found(seed, symmetric):
    flow, distance = random_pair(5, np.random.default_rng(seed), symmetric)
    given = {"template": "quadratic-assignment", "flow": flow.tolist(), "distance": distance.tolist()}
    result = build(loads(dump({"problem": given}))).solve()
    wanted = best_assignment(flow, distance)
    assert (result.status.value, result.bound_is) == ("converged", "certified")
    assert result.record.bound <= wanted + 1e-9
    assert result.metrics["assignment"] == wanted
    assert wanted >= result.metrics["bound_of_permutations"] >= result.record.bound - 1e-6
    assert result.metrics["bound_of_permutations"] % (2.0 if symmetric else 1.0) == 0.0
    places = result.solution["permutation"]
    assert sorted(places) == list(range(5))
    assert float((flow * distance[np.ix_(places, places)]).sum()) == wanted


@pytest.mark.parametrize("seed", range(2))
def test_a_run_ends_once_a_permutation_meets_the_rounded_bound(seed):
    flow, distance = random_pair(6, np.random.default_rng(seed))
    for unit in (1.0, 0.1):  # of tenths no spacing is known
        problem = {"template": "quadratic-assignment", "flow": (unit * flow).tolist(), "distance": distance.tolist()}
        stop = {"gap": 1e-9, "infeasibility": 1e-9}
        result = build(loads(dump({"problem": problem, "stop": stop, "solver": {"iterations": 30}}))).solve()
        answered = unit == 1.0
        assert ("proven to be the best" in result.message) is answered
        assert result.metrics["assignment"] == pytest.approx(unit * best_assignment(flow, distance))
        if answered:
            assert (result.status.value, result.bound_is) == ("converged", "certified")
            assert result.record.gap > 1e-9 and result.record.k < 30
            assert result.metrics["assignment"] - 2.0 < result.record.bound <= result.metrics["assignment"] + 1e-6
            assert result.metrics["certified_gap"] == 0.0


def test_a_bound_that_no_permutation_meets_ends_a_run_by_its_tolerances():
    places = np.array([divmod(place, 3) for place in range(9)], dtype=float)
    distance = np.abs(places[:, None] - places).sum(axis=2)
    flow = np.triu(np.random.default_rng(1).integers(0, 6, (9, 9)), 1)
    problem = {"template": "quadratic-assignment", "flow": (flow + flow.T).tolist(), "distance": distance.tolist()}
    result = build(loads(dump({"problem": problem}))).solve()
    assert result.status.value == "converged" and "proven" not in result.message
    assert result.record.gap <= 1e-4 and result.record.infeasibility <= 1e-4
    assert result.metrics["assignment"] > result.metrics["bound_of_permutations"] == 306.0


def test_every_permutation_is_a_point_of_the_relaxation():
    rng = np.random.default_rng(0)
    flow, distance = random_pair(4, rng, symmetric=False)
    built = template("quadratic-assignment", flow=flow.tolist(), distance=distance.tolist())
    problem, term = built.problem, built.problem.terms[0]
    for places in itertools.permutations(range(4)):
        x = np.zeros((4, 4))
        x[np.arange(4), places] = 1.0
        whole = np.concatenate([[1.0], x.T.reshape(-1)])
        inner = built.basis.T @ np.outer(whole, whole) @ built.basis
        np.testing.assert_allclose(term.map.forward(inner), np.outer(whole, whole), atol=1e-12)
        assert term.penalty.value(term.map.forward(inner)) == 0.0
        assert problem.domain.contains(inner)
        value = problem.loss.value(problem.loss.map.forward(inner))
        assert value == pytest.approx(assignment_value(flow, distance, np.array(places)))


@pytest.mark.parametrize("n", [3, 4, 7, 12])
def test_the_basis_is_orthonormal_and_spans_what_permutations_do(n):
    basis = build_basis(n)
    assert basis.shape == (n * n + 1, (n - 1) ** 2 + 1)
    np.testing.assert_allclose((basis.T @ basis).toarray(), np.eye(basis.shape[1]), atol=1e-14)
    places = np.random.default_rng(n).permutation(n)
    whole = np.append(1.0, np.eye(n)[places].T.reshape(-1))
    np.testing.assert_allclose(basis @ (basis.T @ whole), whole, atol=1e-14)


def test_files(tmp_path):
    (tmp_path / "a.dat").write_text("3\n\n0 1 2\n1 0\n3 2 3 0\n0 4 5 4 0\n6 5 6 0\n")
    flow, distance = read_assignment(tmp_path / "a.dat")
    assert flow.tolist() == [[0, 1, 2], [1, 0, 3], [2, 3, 0]]
    assert distance.tolist() == [[0, 4, 5], [4, 0, 6], [5, 6, 0]]
    for text, words in [
        ("", "does not begin"),
        ("3\n1 2", "have 18 numbers, and there are 2"),
        ("1\n1 x", "'x' is not a number"),
        ("1\n1 inf", "not finite"),
    ]:
        (tmp_path / "b.dat").write_text(text)
        with pytest.raises(DataError, match=words):
            read_assignment(tmp_path / "b.dat", "b.dat")


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"flow": [[0, 1], [1, 0]], "distance": [[0, 1], [1, 0]]}, "order 3"),
        ({"flow": [[0, 1, 1]] * 3, "distance": [[0, 1, 1, 1]] * 4}, "B is 4 x 4, but A is 3 x 3"),
    ],
)
def test_what_is_refused(fields, words):
    with pytest.raises(ProblemError, match=words):
        template("quadratic-assignment", **fields)


def test_the_shipped_spec_is_solved_to_its_best_permutation():
    instance = build(load(Path(__file__).resolve().parents[2] / "configs" / "quadratic-assignment.yaml"))
    metrics = instance.solve().metrics
    best = best_assignment(instance.template.flow, instance.template.distance)
    assert metrics["assignment"] == metrics["bound_of_permutations"] == best
    assert metrics["certified_gap"] == 0.0


@pytest.mark.parametrize("text", ["0\n", "1\n3\n4\n", "2\n0 3\n3 0\n0 4\n4 0\n"])
def test_files_of_fewer_than_three_objects_are_refused(tmp_path, text):
    (tmp_path / "few.dat").write_text(text)
    with pytest.raises(ProblemError, match="order 3 or more"):
        template("quadratic-assignment", tmp_path, data={"file": "few.dat"})
