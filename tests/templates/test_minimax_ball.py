"""The minimax problem: the known solution, where each method ends, and points that are no start."""

from __future__ import annotations

import numpy as np
import pytest

from cgm_cli.blocks.domains.base import OracleRequest
from cgm_cli.blocks.iterates import DenseIterate
from cgm_cli.errors import CgmError, ProblemError
from cgm_cli.methods.scaling import automatic_beta0
from cgm_cli.spec.load import load
from cgm_cli.templates.build import build
from tests.templates.support import PAPER_SPECS, solve, spec, template


@pytest.mark.parametrize(("size", "radius"), [(1, 1.0), (2, 1.0), (5, 3.0), (40, 0.25)])
def test_the_solution_is_optimal(size, radius):
    """y = 1/n is a subgradient of the maximum at x*, and the ball's minimum of <y, .> is the value there: zero gap."""
    problem = template("minimax-ball", size=size, radius=radius)
    solution, value = problem.solution, problem.solution.max()
    direction = problem.problem.terms[0].map.adjoint(np.full(size, 1.0 / size))
    answer = problem.problem.domain.lmo(direction, OracleRequest(0.0, None, np.random.default_rng(0)))
    assert problem.problem.domain.contains(solution)
    assert value == pytest.approx(-radius / np.sqrt(size))
    assert answer.value == pytest.approx(value)


def test_distance_is_zero_at_the_solution_and_two_at_its_opposite():
    problem = template("minimax-ball", size=3, start=[1 / np.sqrt(3)] * 3)
    iterate = DenseIterate(problem.problem.first)
    assert problem.metrics(iterate)["distance"] == pytest.approx(2.0)
    iterate.array[:] = problem.solution
    assert problem.metrics(iterate)["distance"] == 0.0


def test_the_default_start_is_the_first_unit_vector_times_the_radius():
    assert template("minimax-ball", size=3, radius=2.0).problem.first.dense().tolist() == [2.0, 0.0, 0.0]


def test_a_start_on_the_sphere_or_inside_is_kept():
    assert template("minimax-ball", start=[0.6, -0.8]).problem.first.dense().tolist() == [0.6, -0.8]
    assert template("minimax-ball", start=0.5).problem.first.dense().tolist() == [0.5, 0.5]


@pytest.mark.parametrize(
    ("start", "message"),
    [
        ([1.0, 0.1], "outside the ball"),
        ([0.1, 0.1, 0.1], "vector of 3, but the domain"),
        ([[0.1, 0.2], [0.3, 0.4]], "2 x 2"),
    ],
)
def test_a_start_that_is_none(start, message):
    with pytest.raises(ProblemError, match=message) as raised:
        template("minimax-ball", start=start)
    assert raised.value.path == ("start",)


@pytest.mark.parametrize("fields", [{"size": 0}, {"radius": 0.0}, {"radius": -1.0}, {"start": ["a"]}, {"sise": 2}])
def test_fields_that_are_refused(fields):
    with pytest.raises(CgmError):
        spec({"template": "minimax-ball", **fields})


def test_automatic_smoothing_is_the_one_of_the_paper():
    """2 D_X |A| / L_g (section 5.3): the diameter is 2, the map the identity, the maximum 1-Lipschitz."""
    assert automatic_beta0(template("minimax-ball").problem, is_scaled=False) == pytest.approx(4.0)


@pytest.mark.parametrize("beta0", ["auto", 0.5, 1.0])
@pytest.mark.parametrize(("size", "radius"), [(2, 1.0), (5, 3.0)])
def test_smoothing_reaches_the_solution(beta0, size, radius):
    result = solve(
        {"template": "minimax-ball", "size": size, "radius": radius}, method="hcgm", beta0=beta0, iterations=300
    )
    assert result.metrics["distance"] < 1e-3 * radius
    assert result.record.bound <= -radius / np.sqrt(size) + 1e-12
    assert result.record.gap < 1e-3


def test_the_paper_spec_with_smoothing_ends_at_the_solution():
    result = build(load(PAPER_SPECS / "minimax-ball-hcgm.yaml")).solve()
    assert result.solution["x"] == pytest.approx([-1 / np.sqrt(2)] * 2, abs=1e-6)


def test_the_paper_spec_of_the_classical_method_ends_at_minus_one_half():
    result = build(load(PAPER_SPECS / "minimax-ball-cgm.yaml")).solve()
    assert result.solution["x"] == pytest.approx([-0.5, -0.5], abs=1e-3)
    assert result.metrics["distance"] == pytest.approx(1.0 - np.sqrt(0.5), abs=1e-3)
