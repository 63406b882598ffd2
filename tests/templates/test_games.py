"""Games: values against linear programs, eigenvalue optimisation and closed forms; strategies; what is refused."""

from __future__ import annotations

import numpy as np
import pytest

from cgm_cli.errors import CgmError, ProblemError
from tests.templates.programs import game_value, smallest_eigenvalue_of_a_mixture
from tests.templates.support import solve, spec, template


@pytest.mark.parametrize(
    ("payoff", "value"),
    [
        ([[0, -1, 1], [1, 0, -1], [-1, 1, 0]], 0.0),  # rock, paper, scissors
        ([[3.0, -1.0], [-2.0, 4.0]], 1.0),  # (3 * 4 - 2) / 10
        ([[2.0, 5.0]], 2.0),
        ([[2.0], [5.0]], 5.0),
    ],
)
def test_games_whose_value_is_known(payoff, value):
    assert game_value(np.array(payoff, dtype=float)) == pytest.approx(value, abs=1e-9)
    result = solve({"template": "matrix-game", "payoff": payoff}, iterations=2000, scaling="auto")
    assert result.bound_is == "certified"
    assert result.record.bound <= value + 1e-12
    assert result.record.bound == pytest.approx(value, abs=5e-3)
    assert result.record.total == pytest.approx(value, abs=0.03)
    assert result.record.total >= value - 1e-12
    assert result.metrics["exploitability"] == pytest.approx(result.record.total - result.record.bound)


def test_a_random_game_against_a_linear_program():
    problem = {"template": "matrix-game", "payoff": {"rows": 20, "columns": 30}}
    payoff = template("matrix-game", payoff={"rows": 20, "columns": 30}, seed=2).payoff
    result = solve(problem, seed=2, iterations=5000, scaling="auto", beta0=0.2)
    value = game_value(payoff)
    assert result.record.bound <= value + 1e-12 <= result.record.total + 2e-12
    assert result.record.total - value < 0.01
    assert value - result.record.bound < 0.01
    strategy = result.duals["payoff"]
    assert strategy.min() >= 0.0
    assert strategy.sum() == pytest.approx(1.0)
    assert (payoff.T @ strategy).min() == pytest.approx(result.record.bound, abs=1e-9)


PAULI = [[[1, 0], [0, -1]], [[0, 1], [1, 0]]]


def test_two_reflections():
    """lambda_min(p Z + (1 - p) X) = -sqrt(p^2 + (1 - p)^2), largest at p = 1/2."""
    result = solve({"template": "spectrahedron-game", "matrices": PAULI}, iterations=500)
    assert result.record.bound <= -np.sqrt(0.5) + 1e-12
    assert result.record.total == pytest.approx(-np.sqrt(0.5), abs=1e-4)
    assert result.record.bound == pytest.approx(-np.sqrt(0.5), abs=1e-4)
    assert result.duals["payoff"] == pytest.approx([0.5, 0.5], abs=1e-3)


def test_diagonal_matrices_are_a_matrix_game():
    payoff = np.random.default_rng(0).standard_normal((6, 4))
    result = solve(
        {"template": "spectrahedron-game", "matrices": [np.diag(row).tolist() for row in payoff]}, iterations=3000
    )
    value = game_value(payoff)
    assert result.record.bound <= value + 1e-12
    assert value - result.record.bound < 0.02
    assert result.record.total - value < 0.02


def test_random_matrices_against_another_solver():
    sizes = {"size": 12, "count": 3, "entries": 30}
    result = solve({"template": "spectrahedron-game", "matrices": sizes}, iterations=2000)
    value = smallest_eigenvalue_of_a_mixture(template("spectrahedron-game", matrices=sizes).matrices)
    assert result.bound_is == "certified"
    # The cutting planes end within 1e-7 below the value.
    assert result.record.total >= value - 1e-9
    assert result.record.bound <= value + 1e-7
    assert result.record.total - value < 0.05
    assert value - result.record.bound < 5e-3


@pytest.mark.parametrize(
    ("problem", "words", "path"),
    [
        ({"template": "matrix-game", "payoff": [1.0, 2.0]}, "must be a matrix", ("payoff",)),
        ({"template": "spectrahedron-game", "matrices": []}, "at least one", ("matrices",)),
        ({"template": "spectrahedron-game", "matrices": [[[1, 2], [0, 1]]]}, "symmetric", ("matrices", 0)),
        ({"template": "spectrahedron-game", "matrices": [[[1, 2]]]}, "symmetric", ("matrices", 0)),
        ({"template": "spectrahedron-game", "matrices": [[[1.0]], *PAULI]}, "the first is 1 x 1", ("matrices", 1)),
    ],
)
def test_what_is_no_game(problem, words, path):
    name = problem.pop("template")
    with pytest.raises(ProblemError, match=words) as caught:
        template(name, **problem)
    assert caught.value.path == path


@pytest.mark.parametrize("payoff", [{"rows": 0, "columns": 2}, {"rows": 2}, "file.csv"])
def test_payoffs_that_are_refused(payoff):
    with pytest.raises(CgmError):
        spec({"template": "matrix-game", "payoff": payoff})
