"""The mixing method: against brute force, dense solvers of the same problem, and known optima."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from cgm_cli.blocks.domains.psd import PSDTrace
from cgm_cli.blocks.losses.linear import Linear
from cgm_cli.blocks.maps.diagonal import Diagonal
from cgm_cli.blocks.penalties.equals import Equals
from cgm_cli.blocks.problem import CompositeProblem, Term
from cgm_cli.errors import ProblemError
from cgm_cli.methods.corrections.mixing import Mixing
from cgm_cli.methods.status import Status
from cgm_cli.numerics import sweeps
from cgm_cli.numerics.deadline import NEVER
from cgm_cli.numerics.sweeps import descend, row_forms
from cgm_cli.solving.direct import solve_problem
from cgm_cli.solving.presets import chosen
from cgm_cli.spec.model import SolverSpec

RNG = np.random.default_rng


def sparse_cost(n: int, seed: int, density: float = 0.1) -> sp.csr_array:
    upper = sp.random_array((n, n), density=density, rng=RNG(seed), data_sampler=RNG(seed).standard_normal)
    return sp.csr_array(upper + upper.T)


def diagonal_problem(cost: sp.csr_array, target: np.ndarray) -> CompositeProblem:
    n = target.size
    domain = PSDTrace(n, float(target.sum()), True)
    term = Term("diagonal", Diagonal((n, n)), Equals((n,), target))
    return CompositeProblem(domain, Linear(cost, (n, n)), (term,))


def test_one_pass_puts_every_row_to_the_best_of_its_sphere() -> None:
    n, columns = 12, 3
    cost = sparse_cost(n, 1, 0.5)
    cost.setdiag(0.0)
    cost.eliminate_zeros()
    lengths = RNG(2).random(n)
    factor = RNG(3).standard_normal((n, columns))
    factor *= (lengths / np.linalg.norm(factor, axis=1))[:, None]
    expected = factor.copy()
    for i in range(n):
        slope = cost[[i]] @ expected
        if slope.any():
            expected[i] = -lengths[i] * slope[0] / np.linalg.norm(slope)
    descend(cost, lengths, factor, 1, 0.0, lambda: None)
    np.testing.assert_allclose(factor, expected, atol=1e-13)


def test_row_forms_are_those_of_the_whole_product_however_few_rows_are_taken_at_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    cost, factor, looks = sparse_cost(50, 4), RNG(5).standard_normal((50, 3)), list[int]()
    monkeypatch.setattr(sweeps, "ROOM", 8 * 3 * 7)
    found = row_forms(factor, cost, lambda: looks.append(1))
    np.testing.assert_allclose(found, np.diag(factor @ factor.T @ cost.toarray()), atol=1e-12)
    assert len(looks) == 8  # stretches of seven rows


def test_a_new_column_weighs_as_much_as_the_expansion_of_the_slack_says() -> None:
    n = 30
    cost, diagonal, lengths = sparse_cost(n, 6, 0.4), RNG(7).standard_normal(n), 0.5 + RNG(8).random(n)
    cost.setdiag(0.0)
    cost.eliminate_zeros()
    factor = RNG(9).standard_normal((n, 4))
    factor *= (lengths / np.linalg.norm(factor, axis=1))[:, None]
    duals = RNG(10).standard_normal(n)
    slack = cost.toarray() + np.diag(diagonal + duals)
    values, vectors = np.linalg.eigh(slack)
    vector, turned = vectors[:, :1], np.diag(vectors[:, 0] ** 2 / lengths**2)
    bend = 0.25 * np.vdot(turned @ factor, slack @ turned @ factor) - values[0] * (vector.T @ turned @ vector)[0, 0]
    assert values[0] < 0.0 < bend
    state: Any = SimpleNamespace(point=SimpleNamespace(multipliers=[duals]))
    found = Mixing(cost, diagonal, lengths, 4, 8)._weighed(state, factor, vector, NEVER)
    np.testing.assert_allclose(found, np.sqrt(-0.5 * values[0] / bend) * vector, rtol=1e-10)


def test_passes_with_momentum_end_at_a_stationary_point_far_sooner_than_without() -> None:
    n = 400
    grid = sp.diags_array([np.ones(n - 1), np.ones(n - 20)], offsets=[1, 20])
    cost = sp.csr_array(grid + grid.T)
    start = RNG(0).standard_normal((n, 6))
    start /= np.linalg.norm(start, axis=1)[:, None]

    def missed(factor: np.ndarray) -> float:
        slopes = cost @ factor
        return float(np.linalg.norm(slopes - np.sum(slopes * factor, axis=1)[:, None] * factor))

    with_momentum, one_by_one = start.copy(), start.copy()
    descend(cost, np.ones(n), with_momentum, 300, 0.0, lambda: None)
    for _ in range(300):  # of one pass each: momentum never sets in
        descend(cost, np.ones(n), one_by_one, 1, 0.0, lambda: None)
    assert missed(with_momentum) < 0.05 * missed(one_by_one)


@pytest.mark.parametrize("columns", [None, 2, 60])
def test_it_solves_what_descent_on_the_sphere_solves(columns: int | None) -> None:
    """With any number of columns to begin with: two are too few."""
    n = 60
    problem = diagonal_problem(sparse_cost(n, 5), 0.5 + RNG(6).random(n))
    other = solve_problem(problem, {"method": "auto", "correction": "local-descent"}, {"gap": 1e-7})
    solver = {"method": "cgal", "correction": {"kind": "mixing", "columns": columns}}
    found = solve_problem(problem, solver, {"gap": 1e-7, "infeasibility": 1e-7})
    assert found.status is other.status is Status.CONVERGED
    assert found.record.bound_is == "certified"
    assert found.record.objective == pytest.approx(other.record.objective, rel=1e-6)
    assert found.record.bound <= other.record.objective + 1e-6 * abs(other.record.objective)


def test_points_are_feasible_from_the_first_turn() -> None:
    target = 1e-3 + RNG(8).random(23)
    seen: list[float] = []

    class Watching:
        def on_record(self, record) -> None:
            if record.k:
                seen.append(record.infeasibility)

    problem = diagonal_problem(sparse_cost(23, 9, 0.5), target)
    found = solve_problem(problem, {"method": "cgal", "correction": "mixing"}, {"gap": 1e-6}, observers=[Watching()])
    assert found.status is Status.CONVERGED
    assert max(seen) < 1e-14


def test_a_factor_of_too_few_columns_grows_and_one_of_too_many_loses_them() -> None:
    n = 80
    problem = diagonal_problem(sparse_cost(n, 3), np.ones(n))
    ranks = []
    for columns in (2, 80):
        solver = {"method": "cgal", "correction": {"kind": "mixing", "columns": columns}}
        found = solve_problem(problem, solver, {"gap": 1e-8, "infeasibility": 1e-8})
        assert found.status is Status.CONVERGED
        ranks.append(found.solution["left"].shape[1])
    assert ranks[0] > 2 and max(ranks) <= 12  # k (k + 1) / 2 <= 80, and one


@pytest.mark.parametrize("trace, fixed", [(59.0, True), (60.0, False)])
def test_it_refuses_a_trace_that_the_diagonal_does_not_have(trace: float, fixed: bool) -> None:
    n = 60
    term = Term("diagonal", Diagonal((n, n)), Equals((n,), np.ones(n)))
    problem = CompositeProblem(PSDTrace(n, trace, fixed), Linear(sparse_cost(n, 0), (n, n)), (term,))
    with pytest.raises(ProblemError, match="the trace that"):
        solve_problem(problem, {"method": "cgal", "correction": "mixing"})


@pytest.mark.parametrize("n, correction", [(699, "local-descent"), (700, "mixing")])
def test_auto_takes_it_for_graphs_of_some_size(n: int, correction: str) -> None:
    problem = diagonal_problem(sparse_cost(n, 0, 0.01), np.ones(n))
    assert chosen(SolverSpec(method="auto"), problem).policies["correction"].policy.name == correction


def test_a_ring_of_an_even_number_of_nodes_can_be_cut_as_a_whole() -> None:
    n = 1000
    ring = sp.diags_array([np.ones(n - 1), np.ones(1)], offsets=[1, n - 1])
    laplacian = 2.0 * sp.eye_array(n) - ring - ring.T
    found = solve_problem(diagonal_problem(sp.csr_array(-0.25 * laplacian), np.ones(n)))
    assert found.status is Status.CONVERGED
    assert found.record.objective == pytest.approx(-float(n), rel=2e-4)
    assert found.record.bound <= -float(n) * (1.0 - 1e-12)


def test_it_refuses_a_diagonal_with_a_zero() -> None:
    problem = diagonal_problem(sparse_cost(20, 0, 0.3), np.append(0.0, np.ones(19)))
    with pytest.raises(ProblemError, match="positive"):
        solve_problem(problem, {"method": "cgal", "correction": "mixing"})
