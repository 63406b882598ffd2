"""Programs in several blocks, real, complex and numbers, in arrays: against Clarabel, and against one matrix."""

from __future__ import annotations

import cvxpy as cp
import numpy as np
import pytest
import scipy.linalg
import scipy.sparse as sp

import cgm_cli
from cgm_cli.errors import CgmError
from cgm_cli.numerics.layout import Layout
from cgm_cli.reports.arrays import chosen
from cgm_cli.reports.conic import least_of_blocks
from cgm_cli.runs.load import load_run
from cgm_cli.templates import standard_sdp
from cgm_cli.verify.check import verify
from cgm_cli.verify.report import Verdict
from tests.verify.support import altered, copied, row

TIGHT = {"gap": 1e-7, "infeasibility": 1e-7}
KINDS = {"complex": ([3, 2], (True, True)), "mixed": ([2, -2, 3, 1], (False, False, True, False)), "real": ([3, 2], ())}


def random_matrix(rng, sizes, is_complex):
    """Hermitian, zero outside the blocks."""
    parts = list[np.ndarray]()
    for place, size in enumerate(sizes):
        if size < 0:
            parts.append(np.diag(rng.standard_normal(-size)))
            continue
        whole = rng.standard_normal((size, size))
        if any(is_complex[place : place + 1]) and size > 1:
            whole = whole + 1j * rng.standard_normal((size, size))
        parts.append(whole + whole.conj().T)
    return scipy.linalg.block_diag(*parts)


def random_program(seed, sizes, is_complex, count=4):
    """With an inner point and a definite dual slack."""
    rng = np.random.default_rng(seed)
    n = sum(map(abs, sizes))
    matrices = [random_matrix(rng, sizes, is_complex) for _ in range(count)]
    half = random_matrix(rng, sizes, is_complex)
    inside = half @ half.conj().T + 0.1 * np.eye(n)
    cost = np.eye(n) + sum(rng.standard_normal() * matrix for matrix in matrices)
    values = [float(np.vdot(matrix, inside).real) for matrix in matrices]
    sides = [{"equals": value} for value in values]
    sides[-1] = {"lower": values[-1] - 0.1, "upper": values[-1] + 0.2}
    return cost, list(zip(matrices, sides, strict=True))


def by_clarabel(cost, constraints, sizes) -> float:
    """X complex, the blocks apart: its real and imaginary parts, in the real form."""
    objective, values, rows, first = 0.0, [0.0] * len(constraints), [], 0
    for size in sizes:
        place = slice(first, first + abs(size))
        first += abs(size)
        n = abs(size)
        real, skew = cp.Variable((n, n), symmetric=True), cp.Variable((n, n))
        rows += [skew == -skew.T, cp.bmat([[real, -skew], [skew, real]]) >> 0]
        if size < 0:
            rows += [real == cp.diag(cp.diag(real)), skew == 0]

        def inner(matrix, real=real, skew=skew, place=place):
            part = matrix[place, place]
            return cp.sum(cp.multiply(np.real(part), real)) + cp.sum(cp.multiply(np.imag(part), skew))

        objective = objective + inner(cost)
        values = [value + inner(matrix) for value, (matrix, _) in zip(values, constraints, strict=True)]
    for value, (_, side) in zip(values, constraints, strict=True):
        if "equals" in side:
            rows.append(value == side["equals"])
        else:
            rows += [value >= side["lower"], value <= side["upper"]]
    return float(cp.Problem(cp.Minimize(objective), rows).solve(solver=cp.CLARABEL))


def as_problem(cost, constraints, sizes, **fields):
    rows = [{"matrix": matrix} | side for matrix, side in constraints]
    return {"template": "standard-sdp", "cost": cost, "constraints": rows, "blocks": sizes} | fields


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("seed", "sparse"), [(0, False), (1, True)])
def test_random_programs_against_another_solver(kind, seed, sparse, tmp_path):
    sizes, is_complex = KINDS[kind]
    cost, constraints = random_program(seed, sizes, is_complex)
    best = by_clarabel(cost, constraints, sizes)
    given = [(sp.csr_array(m), side) for m, side in constraints] if sparse else constraints
    problem = as_problem(sp.csr_array(cost) if sparse else cost, given, sizes)
    answer = cgm_cli.solve({"problem": problem, "stop": TIGHT}, out=tmp_path / "run")
    assert answer.status.value == "converged"
    assert answer.objective == pytest.approx(best, rel=1e-4, abs=1e-4)
    assert answer.bound <= best + 1e-4 * (1.0 + abs(best))
    assert answer.x.dtype == (complex if any(is_complex) else float)
    assert np.vdot(cost, answer.x).real == pytest.approx(answer.objective, rel=1e-9, abs=1e-9)
    assert np.linalg.eigvalsh(answer.x)[0] >= -1e-9 * np.linalg.norm(answer.x)
    for matrix, side in constraints:
        value = np.vdot(matrix, answer.x).real
        assert side.get("equals", side.get("lower")) - 1e-4 <= value <= side.get("equals", side.get("upper")) + 1e-4
    report = verify(tmp_path / "run")
    assert all(each.verdict is not Verdict.FAILS for each in report.rows), report
    run = load_run(tmp_path / "run")
    slack, trace = (chosen(run, name)[1] for name in ("slack", "duals/trace"))
    y = np.concatenate([answer.duals["equalities"], answer.duals["inequalities"]])
    total = cost + sum(weight * matrix for weight, (matrix, _) in zip(y, constraints, strict=True))
    np.testing.assert_allclose(slack, total + trace * np.eye(len(cost)), atol=1e-9 * np.abs(total).max())
    least = least_of_blocks(run, slack)
    assert len(least) == len(sizes) and min(least) == pytest.approx(np.linalg.eigvalsh(slack)[0], abs=1e-9)


def test_a_matrix_with_entries_elsewhere_is_caught(tmp_path):
    sizes, is_complex = KINDS["mixed"]
    cost, constraints = random_program(0, sizes, is_complex)
    cgm_cli.solve({"problem": as_problem(cost, constraints, sizes), "stop": TIGHT}, out=tmp_path / "run")
    spoilt = copied(tmp_path / "run", tmp_path / "spoilt")

    def change(x):
        x[0, -1] = x[-1, 0] = 0.1
        return x

    altered(spoilt, "solution/x", change)
    failed = [each.note for each in verify(spoilt).rows if each.verdict is Verdict.FAILS]
    assert any("entries outside the blocks" in note for note in failed)


def test_rays_are_shown_and_verified_in_blocks(tmp_path):
    cost = scipy.linalg.block_diag([[1, 1j], [-1j, -1]], [[1, 0], [0, 1]])
    constraints = [(scipy.linalg.block_diag(np.zeros((2, 2)), [[1, 1j], [-1j, 2]]), {"equals": 1.0})]
    problem = as_problem(cost, constraints, [2, 2])
    answer = cgm_cli.solve({"problem": problem}, out=tmp_path / "run")
    assert answer.status.value == "unbounded"
    ray = answer.solution["ray"]
    assert ray.shape == (4, 4) and np.vdot(cost, ray).real < 0.0 and np.linalg.eigvalsh(ray)[0] >= -1e-9
    assert row(verify(tmp_path / "run"), "ray").verdict is Verdict.HOLDS


@pytest.mark.parametrize("kind", KINDS)
def test_both_forms_of_a_matrix(kind):
    """<H, X> is the same in both, and so is every eigenvalue, twice in complex blocks."""
    sizes, is_complex = KINDS[kind]
    rng = np.random.default_rng(0)
    h, x = random_matrix(rng, sizes, is_complex), random_matrix(rng, sizes, is_complex)
    layout = Layout.of(sizes, (h, x))
    assert layout.is_complex == (is_complex or (False,) * len(sizes))
    flat = layout.flat(h).toarray().reshape(-1)
    np.testing.assert_allclose(layout.whole(flat, scale=0.5), h, atol=1e-15)
    z = layout.flat(x).toarray().reshape(-1)
    assert flat @ z == pytest.approx(np.vdot(h, layout.whole(z)).real, rel=1e-12)


def test_large_blocks_are_one_matrix(monkeypatch):
    monkeypatch.setattr(standard_sdp, "is_for_factors", lambda parts: len(parts.sizes) > 1)
    for kind in ("real", "complex"):
        sizes, is_complex = KINDS[kind]
        cost, constraints = random_program(1, sizes, is_complex)
        best = by_clarabel(cost, constraints, sizes)
        answer = cgm_cli.solve({"problem": as_problem(cost, constraints, sizes), "stop": TIGHT})
        assert answer.objective == pytest.approx(best, rel=1e-4)


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"blocks": [1]}, "2 rows of C in all"),
        ({"blocks": [2, 0]}, "of other sizes than 0"),
        ({"blocks": [1, 1]}, r"the entry \(0, 1\), counted from 0, lies outside the `blocks`"),
        ({"blocks": [-2]}, r"the entry \(0, 1\)"),
        ({"blocks": [2], "quadratic_forms": {"vectors": [[1, 0]], "equals": 1.0}}, "not for a `program` or forms"),
    ],
)
def test_what_is_refused(fields, words):
    with pytest.raises(CgmError, match=words):
        cgm_cli.solve({"problem": {"template": "standard-sdp", "cost": [[1, 1], [1, 1]]} | fields})
