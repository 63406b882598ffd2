"""Programs with constraints on v^T X v: phase retrieval, against the signal and against Clarabel, and in all sizes."""

from __future__ import annotations

import cvxpy as cp
import numpy as np
import pytest

import cgm_cli
from cgm_cli.errors import CgmError, ProblemError
from cgm_cli.reports.csdp import solution_text
from cgm_cli.runs.load import load_run
from cgm_cli.templates import standard_sdp
from cgm_cli.templates.trace_bounds import limit_of_forms
from cgm_cli.verify.report import Verdict
from tests.templates.support import template
from tests.verify.support import verified

TIGHT = {"gap": 1e-6, "infeasibility": 1e-6}


def program(cost, vectors, **sides):
    forms = {"vectors": vectors} | sides
    return {"template": "standard-sdp", "cost": cost, "quadratic_forms": forms}


def by_clarabel(cost, vectors, lower, upper) -> float:
    x = cp.Variable(cost.shape, PSD=True)
    forms, low, high = cp.hstack([v @ x @ v for v in vectors]), np.isfinite(lower), np.isfinite(upper)
    rows = [forms[low] >= lower[low], forms[high] <= upper[high]]
    return float(cp.Problem(cp.Minimize(cp.trace(cost @ x)), rows).solve(solver=cp.CLARABEL))


@pytest.fixture(params=["written out", "kept"])
def size(request, monkeypatch):
    """Whether the v v^T are small enough to be made."""
    if request.param == "kept":
        monkeypatch.setattr(standard_sdp, "WRITTEN_OUT", 0)
        monkeypatch.setattr("cgm_cli.blocks.maps.quadratic_forms.WRITTEN_OUT", 0)
    return request.param


@pytest.mark.parametrize("is_complex", [False, True])
def test_a_signal_comes_back(is_complex, size, tmp_path):
    n, m, rng = 6, 40, np.random.default_rng(0)
    signal, vectors = rng.standard_normal(n), rng.standard_normal((m, n))
    if is_complex:
        if size == "kept":
            return
        signal, vectors = signal + 1j * rng.standard_normal(n), vectors + 1j * rng.standard_normal((m, n))
    values = np.abs(vectors.conj() @ signal) ** 2
    answer = cgm_cli.solve({"problem": program(np.eye(n), vectors, equals=values), "stop": TIGHT}, out=tmp_path / "run")
    assert answer.status.value == "converged" and answer.bound_is == "certified"
    assert answer.objective == pytest.approx(np.vdot(signal, signal).real, rel=1e-5)
    x = (
        answer.x
        if "x" in answer.solution
        else answer.solution["left"] * answer.solution["weights"] @ answer.solution["left"].T
    )
    np.testing.assert_allclose(x, np.outer(signal, signal.conj()), atol=1e-3 * np.vdot(signal, signal).real)


@pytest.mark.parametrize("seed", range(3))
def test_random_programs_against_another_solver(seed, size):
    """Equations and bounds of either side, beside a constraint on a matrix."""
    n, m, rng = 5, 9, np.random.default_rng(seed)
    vectors, half = rng.standard_normal((m, n)), rng.standard_normal((n, n))
    values = np.einsum("ij,jk,ik->i", vectors, half @ half.T, vectors)
    lower, upper = values - 0.1, values + 0.2
    lower[:3] = upper[:3] = values[:3]
    lower[5], upper[6] = -1e3, 1e3
    cost = rng.standard_normal((n, n))
    cost = cost + cost.T
    best = by_clarabel(cost, vectors, lower, upper)
    answer = cgm_cli.solve({"problem": program(cost, vectors, lower=lower, upper=upper), "stop": TIGHT})
    assert answer.objective == pytest.approx(best, rel=1e-3)
    assert answer.bound <= best + 1e-5 * abs(best)
    assert answer.bound == pytest.approx(best, rel=1e-3)


def test_such_a_run_is_verified_and_has_no_sol_file(size, tmp_path):
    rng = np.random.default_rng(1)
    vectors, signal = rng.standard_normal((20, 4)), rng.standard_normal(4)
    values = np.square(vectors @ signal)
    problem = program(np.eye(4).tolist(), vectors.tolist(), equals=values.tolist())
    report = verified({"problem": problem}, tmp_path / "run", short=[])
    assert all(row.verdict is not Verdict.FAILS for row in report.rows), report
    run = load_run(tmp_path / "run")
    if size == "kept":
        with pytest.raises(ProblemError, match="too large"):
            solution_text(run)
    else:
        y = np.array(solution_text(run).splitlines()[0].split(), dtype=float)
        slack = np.eye(4) + np.einsum("i,ij,ik->jk", y, vectors, vectors)
        assert y.size == 20 and np.linalg.eigvalsh(slack)[0] >= -1e-8


def test_nothing_but_the_vectors_is_kept():
    rng = np.random.default_rng(0)
    vectors = rng.standard_normal((300, 80))
    built = template("standard-sdp", **program(np.eye(80).tolist(), vectors.tolist(), equals=1.0))
    assert [term.name for term in built.problem.terms] == ["forms"]
    assert built.problem.terms[0].called(7) == "quadratic_forms[7]"
    assert not built.problem.domain.assumes_radius
    small = template("standard-sdp", **program(np.eye(80).tolist(), vectors[:5].tolist(), equals=1.0))
    assert [term.name for term in small.problem.terms] == ["equalities"]
    assert small.problem.terms[0].called(3) == "quadratic_forms[3]"


@pytest.mark.parametrize("seed", range(4))
def test_what_forms_say_of_the_trace(seed):
    n, rng = 4, np.random.default_rng(seed)
    vectors = rng.standard_normal((7, n))
    upper, lower = rng.uniform(0.5, 2.0, 7), np.full(7, -np.inf)
    lower[:2] = upper[:2]
    limit = limit_of_forms(vectors, lower, upper)
    x = cp.Variable((n, n), PSD=True)
    forms = cp.hstack([v @ x @ v for v in vectors])
    largest = cp.Problem(cp.Maximize(cp.trace(x)), [forms <= upper, forms[:2] == upper[:2]]).solve(solver=cp.CLARABEL)
    assert limit.expected is None
    assert limit.radius >= (0.0 if not np.isfinite(largest) else largest)
    open_above = limit_of_forms(vectors[: n - 1], lower[: n - 1], upper[: n - 1])
    assert open_above.expected is not None


@pytest.mark.parametrize(
    ("forms", "words"),
    [
        ({"vectors": [[1, 0, 0]], "equals": 1.0}, "1 x 3, but C is 2 x 2"),
        ({"vectors": [[1, 0], [0, 1]], "equals": [1.0, 2.0, 3.0]}, "there are 2 vectors, but this is a vector of 3"),
        ({"vectors": [[1, 0]], "equals": 1.0, "upper": 2.0}, "and not both"),
        ({"vectors": [[1, 0]]}, "need `equals`, or bounds"),
        ({"vectors": [[1, 0]], "lower": 3.0, "upper": 2.0}, "lower bound 3 of form 0 exceeds the upper bound 2"),
    ],
)
def test_what_is_refused(forms, words):
    problem = {"template": "standard-sdp", "cost": [[1, 0], [0, 1]], "quadratic_forms": forms}
    with pytest.raises(CgmError, match=words):
        cgm_cli.solve({"problem": problem})
