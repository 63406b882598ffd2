"""Semidefinite programs that have no optimum: infeasible, unbounded, and those that are so in the limit alone, against
Clarabel and by the rays themselves.
"""

from __future__ import annotations

import json
import warnings

import cvxpy as cp
import numpy as np
import pytest

from cgm_cli.methods.status import Status
from cgm_cli.spec.load import dump, loads
from cgm_cli.templates.build import build

CORNER, BESIDE = [[1.0, 0.0], [0.0, 0.0]], [[0.0, 1.0], [1.0, 0.0]]
OTHER = [[0.0, 0.0], [0.0, 1.0]]


def program(cost, constraints, **fields):
    rows = [{"matrix": np.asarray(matrix).tolist(), "equals": float(right)} for matrix, right in constraints]
    return {"template": "standard-sdp", "cost": np.asarray(cost).tolist(), "constraints": rows, **fields}


def solved(problem):
    return build(loads(dump({"problem": problem}))).solve()


def clarabel(cost, constraints) -> str:
    n = len(cost)
    x = cp.Variable((n, n), PSD=True)
    rows = [cp.trace(np.asarray(matrix) @ x) == right for matrix, right in constraints]
    stated = cp.Problem(cp.Minimize(cp.trace(np.asarray(cost) @ x)), rows)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        stated.solve(solver=cp.CLARABEL)
    return stated.status.removesuffix("_inaccurate")


def symmetric(rng, n):
    whole = rng.standard_normal((n, n))
    return whole + whole.T


def infeasible(seed, n=6, m=5, rank=6):
    """A^*(y) = P >= 0 (semidefinite) and b y = -1: as infp1 and infp2 of SDPLIB in their dual form."""
    rng = np.random.default_rng(seed)
    matrices, y = [symmetric(rng, n) for _ in range(m)], rng.integers(1, 4, m).astype(float)
    left = rng.standard_normal((n, rank))
    matrices[0] = (
        left @ left.T - sum(weight * matrix for weight, matrix in zip(y[1:], matrices[1:], strict=True))
    ) / y[0]
    right = rng.standard_normal(m)
    right[0] = (-1.0 - y[1:] @ right[1:]) / y[0]
    return np.eye(n), list(zip(matrices, right, strict=True))


def unbounded(seed, n=6, m=5, rank=2):
    """A(D) = 0 and <C, D> = -1 for a D >= 0 (semidefinite), and A(I) = b."""
    rng = np.random.default_rng(seed)
    left = rng.standard_normal((n, rank))
    ray = left @ left.T / n

    def along(matrix, value):
        return matrix + (value - np.vdot(matrix, ray)) / np.vdot(ray, ray) * ray

    matrices = [along(symmetric(rng, n), 0.0) for _ in range(m)]
    return along(symmetric(rng, n), -1.0), [(matrix, np.trace(matrix)) for matrix in matrices]


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("rank", [2, 6])
def test_infeasible_programs(seed, rank):
    cost, constraints = infeasible(seed, rank=rank)
    instance = build(loads(dump({"problem": program(cost, constraints)})))
    found = instance.solve()
    assert clarabel(cost, constraints) == cp.INFEASIBLE
    assert found.status is Status.INFEASIBLE and found.bound_is == "certified"
    y = found.duals["equalities"]  # those of the bound
    total = sum(weight * matrix for weight, (matrix, _) in zip(y, constraints, strict=True))
    assert y @ [right for _, right in constraints] < 0.0
    if "whatever the trace of X is" in found.message:
        assert np.linalg.eigvalsh(total)[0] >= -1e-7 * np.linalg.norm(total)
    elif instance.problem.domain.assumes_radius:
        assert "for every X of a trace up to" in found.message
    assert "entries count from 0" not in found.message and "The bound holds for all X" not in found.message


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("rank", [1, 3])
def test_unbounded_programs(seed, rank):
    cost, constraints = unbounded(seed, rank=rank)
    found = solved(program(cost, constraints))
    assert clarabel(cost, constraints) == cp.UNBOUNDED
    assert found.status is Status.UNBOUNDED
    ray = found.solution["ray"]
    assert np.linalg.eigvalsh(ray)[0] >= -1e-12 and np.trace(ray) == pytest.approx(1.0, rel=1e-3)
    assert max(abs(np.vdot(matrix, ray)) for matrix, _ in constraints) < 1e-9
    assert np.vdot(cost, ray) < -1e-3


WEAK = {
    # X_11 = 0 and X_12 = 1.
    "infeasible": (np.eye(2), [(CORNER, 0.0), (BESIDE, 2.0)]),
    # min -2 X_12 with X_22 = 1: as low as one likes, and along no ray.
    "unbounded": (-np.array(BESIDE), [(OTHER, 1.0)]),
    # min X_11 with X_12 = 1: zero in the limit.
    "not attained": (CORNER, [(BESIDE, 2.0)]),
}


@pytest.mark.parametrize("what", WEAK)
def test_what_is_so_in_the_limit_alone_is_not_proven_and_not_called_solved(what):
    cost, constraints = WEAK[what]
    found = solved(program(cost, constraints))
    assert found.status is Status.STAGNATED
    assert "Not proven" in found.message and "X has grown to a trace of" in found.message
    if what == "not attained":  # any lower bound is below every value there is
        assert found.record.bound <= found.record.total


def test_a_program_and_a_dual_without_points():
    """X_22 = -1 is met by no X, and -X_11 falls along a ray: whichever is found, nothing is said of the other."""
    found = solved(program([[-1.0, 0.0], [0.0, 0.0]], [(OTHER, -1.0)]))
    assert found.status in (Status.INFEASIBLE, Status.UNBOUNDED)
    if found.status is Status.UNBOUNDED:
        assert "Not proven: that any X meets the constraints" in found.message


@pytest.mark.parametrize(
    ("cost", "matrix"),
    [
        # A block that goes on for ever beside one that stays: along the face of the former.
        (np.diag([-1.0, 0.0, 1.0]), [[0, 0, 0], [0, 1, 0.5], [0, 0.5, 2]]),
        # Along the ones, which a Laplacian does not see.
        (-np.ones((3, 3)), [[1, -1, 0], [-1, 2, -1], [0, -1, 1]]),
    ],
)
def test_rays_beside_what_stays_where_it_is(cost, matrix):
    found = solved(program(cost, [(matrix, 1.0)]))
    assert clarabel(cost, [(matrix, 1.0)]) == cp.UNBOUNDED
    assert found.status is Status.UNBOUNDED
    ray = found.solution["ray"]
    assert np.linalg.eigvalsh(ray)[0] >= -1e-12 and abs(np.vdot(matrix, ray)) < 1e-9 and np.vdot(cost, ray) < -0.1


@pytest.mark.parametrize("constraints", [[], [(OTHER, 1.0)]])
def test_rays_of_doubly_nonnegative_programs(constraints, tmp_path, monkeypatch, cgm):
    monkeypatch.chdir(tmp_path)
    problem = program([[-1.0, 0.0], [0.0, 0.0]], constraints, nonnegative=True)
    (tmp_path / "spec.yaml").write_text(dump({"problem": problem}))
    assert cgm("solve", "spec.yaml", "--out", "run")[0] == 4
    assert json.loads((tmp_path / "run" / "status.json").read_text())["status"] == "unbounded"
    code, told, _ = cgm("verify", "run")
    assert code == 0 and "ray: " in told
