"""Semidefinite programs in complex matrices: closed forms, another solver, every kind of file, and what is refused."""

from __future__ import annotations

import warnings

import cvxpy as cp
import h5py
import numpy as np
import pytest
import scipy.io
import scipy.sparse as sp

from cgm_cli import load_run, solve
from cgm_cli.errors import CgmError, DataError, ProblemError
from cgm_cli.reports.arrays import chosen, write_array, write_solution
from cgm_cli.reports.pictures import pictures
from cgm_cli.templates.affine import Affine, Parts
from cgm_cli.templates.standard_sdp import StandardSDP
from cgm_cli.templates.trace_bounds import TraceLimit
from cgm_cli.verify.check import verify
from cgm_cli.verify.report import Verdict
from tests.templates.support import template
from tests.verify.support import altered, copied, row

TIGHT = {"gap": 1e-7, "infeasibility": 1e-7}
PAULI = {"real": [[1, 0], [0, -1]], "imaginary": [[0, -1], [1, 0]]}


def hermitian(rng, n):
    whole = rng.standard_normal((n, n)) + 1j * rng.standard_normal((n, n))
    return 0.5 * (whole + whole.conj().T)


def unit(n, i):
    return sp.coo_array(([1.0], ([i], [i])), shape=(n, n))


def solved(folder, cost, constraints=(), solver=None, stop=None, **fields):
    """The answer, whose run has passed a verification."""
    given = [{"matrix": matrix, **side} for matrix, side in constraints]
    problem = {"template": "standard-sdp", "cost": cost, "constraints": given, **fields}
    tree = {"name": "hermitian", "problem": problem, "solver": solver or {"method": "auto"}, "stop": stop or TIGHT}
    answer = solve(tree, out=folder)
    assert not [each for each in verify(folder).rows if each.verdict is Verdict.FAILS]
    return answer


def by_clarabel(cost, constraints, trace=None, maximise=False):
    """Optimal value and multipliers of the equations: with C + sum y_i A_i the slack of a minimisation."""
    x = cp.Variable(cost.shape, hermitian=True)
    held, equations = [x >> 0], []
    for matrix, side in constraints:
        matrix = matrix.toarray() if sp.issparse(matrix) else matrix
        value = cp.real(cp.trace(matrix @ x))
        if "equals" in side:
            equations.append(value == side["equals"])
        if "lower" in side:
            held.append(value >= side["lower"])
        if "upper" in side:
            held.append(value <= side["upper"])
    if trace is not None:
        held.append(cp.real(cp.trace(x)) == trace)
    objective = cp.real(cp.trace(cost @ x))
    problem = cp.Problem((cp.Maximize if maximise else cp.Minimize)(objective), held + equations)
    with warnings.catch_warnings(action="ignore"):  # some of the last digits it is not sure of
        problem.solve(solver="CLARABEL")
    return problem.value, np.array([float(each.dual_value) for each in equations])


@pytest.mark.parametrize("n", [1, 3, 8])
def test_the_smallest_eigenvalue_of_a_hermitian_matrix(tmp_path, n):
    cost = hermitian(np.random.default_rng(n), n)
    answer = solved(tmp_path / "run", cost, radius=1.0, trace="equal")
    least = np.linalg.eigvalsh(cost)[0]
    assert answer.objective == pytest.approx(least, rel=1e-7)
    assert answer.bound <= least + 1e-9
    assert np.trace(answer.x).real == pytest.approx(1.0)


@pytest.mark.parametrize("rank", [1, 3])
def test_phases_of_measured_sizes(tmp_path, rank):
    """PhaseCut: min <M, X>, diag X = 1 (Waldspurger, d'Aspremont and Mallat, Math. Program. 149, 2015). The trace comes
    from the constraints.
    """
    n, rng = 8, np.random.default_rng(rank)
    half = rng.standard_normal((n, rank)) + 1j * rng.standard_normal((n, rank))
    cost = half @ half.conj().T
    constraints = [(unit(n, i), {"equals": 1.0}) for i in range(n)]
    best, duals = by_clarabel(cost, constraints)
    answer = solved(tmp_path / "run", cost, constraints)
    assert answer.objective == pytest.approx(best, abs=1e-5 * np.linalg.norm(cost))
    assert answer.bound <= best + 1e-5
    assert answer.bound_rests_on is None
    np.testing.assert_allclose(answer.x.diagonal(), 1.0, atol=1e-5)
    np.testing.assert_allclose(answer.x, answer.x.conj().T, atol=1e-14)
    if best > 1e-3:  # else the optimum is reached by many points, and by many multipliers
        y = answer.duals["equalities"]  # up to what the fixed trace takes: the same for all
        np.testing.assert_allclose(y - y.mean(), duals - duals.mean(), atol=1e-3)
        slack, trace = (chosen(load_run(tmp_path / "run"), name)[1] for name in ("slack", "duals/trace"))
        np.testing.assert_allclose(slack, cost + np.diag(y + trace), atol=1e-12)
        assert np.linalg.eigvalsh(slack)[0] >= -1e-8 * np.linalg.norm(cost)


def test_which_of_two_states_it_is(tmp_path):
    """max sum_k p_k <rho_k, M_k> over measurements, M_1 + M_2 = I: (1 + |p_1 rho_1 - p_2 rho_2|_1) / 2 (Helstrom)."""
    d, rng, weights = 3, np.random.default_rng(2), (0.4, 0.6)
    states = []
    for _ in weights:
        half = rng.standard_normal((d, d)) + 1j * rng.standard_normal((d, d))
        states.append(half @ half.conj().T / np.linalg.norm(half) ** 2)
    cost = np.kron(np.diag([1, 0]), weights[0] * states[0]) + np.kron(np.diag([0, 1]), weights[1] * states[1])
    constraints = []
    for i in range(d):
        for j in range(i, d):
            for phase in (1.0, 1j)[: 1 + (i < j)]:
                each = np.zeros((d, d), complex)
                each[i, j], each[j, i] = phase, np.conj(phase)
                constraints.append((np.kron(np.eye(2), each), {"equals": float(i == j)}))
    answer = solved(tmp_path / "run", cost, constraints, sense="maximise")
    difference = np.linalg.eigvalsh(weights[0] * states[0] - weights[1] * states[1])
    best = 0.5 * (1.0 + np.abs(difference).sum())
    assert best == pytest.approx(by_clarabel(cost, constraints, maximise=True)[0], rel=1e-5)
    assert answer.objective == pytest.approx(best, rel=1e-6)
    assert best - 1e-9 <= answer.bound <= best + 1e-5
    measured = answer.x[:d, :d] + answer.x[d:, d:]
    np.testing.assert_allclose(measured, np.eye(d), atol=1e-6)


@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize("real", ["nothing", "cost", "constraints"])
def test_random_programs_against_another_solver(tmp_path, seed, real):
    """Real costs beside complex constraints, and the other way about, with equations and inequalities."""
    n, rng = 5, np.random.default_rng(seed)
    half = rng.standard_normal((n, n)) + 1j * rng.standard_normal((n, n))
    feasible = half @ half.conj().T / n
    cost = hermitian(rng, n) + 3.0 * np.eye(n)
    matrices = [hermitian(rng, n) for _ in range(4)]
    if real == "cost":
        cost = cost.real
    if real == "constraints":
        matrices = [matrix.real for matrix in matrices]
    values = [float(np.vdot(matrix, feasible).real) for matrix in matrices]
    sides = [{"equals": values[0]}, {"equals": values[1]}, {"upper": values[2] + 0.1}]
    sides.append({"lower": values[3] - 0.1, "upper": values[3] + 1.0})
    constraints = [*zip(matrices, sides, strict=True), (np.eye(n), {"upper": 2.0 * np.trace(feasible).real})]
    best, _ = by_clarabel(cost, constraints)
    answer = solved(tmp_path / "run", cost, constraints)
    assert answer.x.dtype == complex
    assert answer.objective == pytest.approx(best, rel=1e-5)
    assert answer.bound <= best + 1e-5 * abs(best)


@pytest.mark.parametrize("rank", [1, 2, 3])
def test_a_solution_of_low_rank_comes_back(tmp_path, rank):
    """S >= 0 of rank n - r beside X of rank r on its kernel, and C = S - sum y_i A_i: these are the solutions, the only
    ones, and y the only multipliers, for r^2 to r (2 n - r) random A_i.
    """
    n, rng = 7, np.random.default_rng(rank)
    basis = np.linalg.qr(rng.standard_normal((n, n)) + 1j * rng.standard_normal((n, n)))[0]
    inside, outside = basis[:, :rank], basis[:, rank:]
    wanted = (inside * rng.uniform(1.0, 2.0, rank)) @ inside.conj().T
    slack = (outside * rng.uniform(1.0, 2.0, n - rank)) @ outside.conj().T
    matrices, y = [hermitian(rng, n) for _ in range(10)], rng.standard_normal(10)
    cost = slack - np.tensordot(y, np.array(matrices), 1)
    cost = 0.5 * (cost + cost.conj().T)
    constraints = [(matrix, {"equals": float(np.vdot(matrix, wanted).real)}) for matrix in matrices]
    answer = solved(tmp_path / "run", cost, constraints, stop={"gap": 1e-9, "infeasibility": 1e-9})
    np.testing.assert_allclose(answer.x, wanted, atol=1e-4)
    assert np.linalg.matrix_rank(answer.x, tol=1e-3) == rank
    np.testing.assert_allclose(answer.duals["equalities"], y, atol=1e-4)
    np.testing.assert_allclose(chosen(load_run(tmp_path / "run"), "slack")[1], slack, atol=1e-3)


def test_real_data_in_complex_numbers_are_real_data(tmp_path):
    n, rng = 6, np.random.default_rng(0)
    cost = hermitian(rng, n).real
    constraints = [(unit(n, i), {"equals": 1.0}) for i in range(n)]
    plain = solved(tmp_path / "plain", cost, constraints)
    told = solved(tmp_path / "told", cost.astype(complex), [(m.astype(complex), side) for m, side in constraints])
    assert told.x.dtype == float
    assert told.objective == plain.objective
    # As complex ones all the same: there X may have an imaginary part, which gains nothing.
    rows = sp.csr_array(sp.vstack([sp.coo_array(sp.kron(sp.eye_array(2), m)).reshape((1, -1)) for m, _ in constraints]))
    problem = StandardSDP(
        Parts((2 * n,), np.kron(np.eye(2), cost), Affine(rows, np.ones(n), np.ones(n), np.arange(n))),
        TraceLimit(float(n), exact=True),
        is_complex=True,
    ).problem
    found = solve(problem, stop=TIGHT)
    assert found.objective == pytest.approx(plain.objective, rel=1e-6)
    assert (found.x.dtype, found.x.shape) == (complex, (n, n))


@pytest.mark.parametrize(
    "solver",
    [
        {"method": "hcgm", "iterate": "dense"},
        {"method": "hcgm", "iterate": "factored"},
        {"method": "hcgm", "iterate": "sketch"},
        {"method": "hcgm", "iterate": "samples"},
        {"method": "hcgm", "correction": "local-descent"},
        {"method": "auto", "correction": "primal-dual"},
    ],
    ids=lambda solver: str(list(solver.values())[1]),
)
def test_every_form_of_x_comes_out_complex(tmp_path, solver):
    n, rank = 12, 2
    rng = np.random.default_rng(7)
    phases = np.exp(1j * rng.uniform(0.0, 2.0 * np.pi, (n, 1)))
    cost = np.eye(n) - phases @ phases.conj().T / n
    constraints = [(unit(n, i), {"equals": 1.0}) for i in range(n)]
    solver = {**solver, "iterations": 60}
    answer = solved(tmp_path / "run", cost, constraints, solver, {"gap": 1e-3, "infeasibility": 1e-3})
    if solver.get("iterate") == "samples":
        samples = answer.solution["samples"]
        assert (samples.dtype, samples.shape[0], answer.x) == (complex, n, None)
        return
    assert (answer.x.dtype, answer.x.shape) == (complex, (n, n))
    assert np.linalg.eigvalsh(answer.x)[0] > -1e-10
    if solver.get("correction"):
        assert np.linalg.matrix_rank(answer.x, tol=1e-2 * n) == 1 < rank
        np.testing.assert_allclose(answer.x, phases @ phases.conj().T, atol=0.05)


def files(path, matrix):
    """The matrix in a file of the kind that the name of the file says, and what the spec says of it."""
    form = path.name
    if form == "dense.npy":
        np.save(path, matrix)
    elif form == "single.npy":
        np.save(path, matrix.astype(np.complex64))
    elif form == "dense.npz":
        np.savez(path, other=np.eye(2), m=matrix)
        return {"file": form, "key": "m"}
    elif form == "sparse.npz":
        sp.save_npz(path, sp.csc_array(matrix))
    elif form == "full.mat":
        scipy.io.savemat(path, {"m": matrix})
    elif form == "sparse.mat":
        scipy.io.savemat(path, {"m": sp.csc_matrix(matrix)})
    elif form == "new.mat":
        with h5py.File(path, "w", userblock_size=512) as file:
            records = np.empty(matrix.shape, [("real", float), ("imag", float)])
            records["real"], records["imag"] = matrix.T.real, matrix.T.imag
            file["m"] = records
    elif form == "a.h5":
        with h5py.File(path, "w") as file:
            file["m"] = matrix
    elif form == "array.mtx":
        scipy.io.mmwrite(path, matrix, symmetry="hermitian")
    else:
        scipy.io.mmwrite(path, sp.coo_array(matrix), symmetry="general" if "general" in form else "hermitian")
    return {"file": form}


FORMS = "dense.npy single.npy dense.npz sparse.npz full.mat sparse.mat new.mat a.h5 array.mtx coo.mtx general.mtx"


@pytest.mark.parametrize("form", FORMS.split())
def test_complex_matrices_of_every_kind_of_file(tmp_path, form):
    matrix = np.array([[1.0, 2.0 - 1.5j, 0.0], [2.0 + 1.5j, -1.0, 0.5j], [0.0, -0.5j, 0.0]])
    given = files(tmp_path / form, matrix)
    built = template("standard-sdp", tmp_path, cost=given, radius=1.0)
    cost = built.problem.loss.cost.dense()
    np.testing.assert_array_equal(cost, np.block([[matrix.real, -matrix.imag], [matrix.imag, matrix.real]]))
    with pytest.raises(DataError, match=r"holds complex numbers; real numbers are needed .*`template: standard-sdp`"):
        template("spectrahedron-game", tmp_path, matrices=[given])


def test_files_are_verified_too(tmp_path):
    rng = np.random.default_rng(3)
    matrices = {"dense.npy": hermitian(rng, 4), "sparse.npz": hermitian(rng, 4)}
    for name, matrix in matrices.items():
        files(tmp_path / name, matrix)
    text = """
    problem:
      template: standard-sdp
      cost: {file: dense.npy}
      constraints:
        - {matrix: {file: sparse.npz}, upper: 0.1}
        - {matrix: [[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]], equals: 1}
    solver: {method: auto}
    """
    (tmp_path / "spec.yaml").write_text(text)
    solve(tmp_path / "spec.yaml", out=tmp_path / "run")
    report = verify(tmp_path / "run")
    assert [row(report, f"sum of {name}").verdict for name in matrices] == [Verdict.HOLDS] * 2
    assert not [each for each in report.rows if each.verdict is Verdict.FAILS]


@pytest.mark.parametrize(
    ("given", "entries"),
    [
        (PAULI, [[1, -1j], [1j, -1]]),
        ({"imaginary": [[0, 2], [-2, 0]]}, [[0, 2j], [-2j, 0]]),
        ({"real": {"file": "r.npy"}, "imaginary": {"file": "i.npz"}}, [[0, 3j], [-3j, 1]]),
    ],
)
def test_matrices_by_their_parts(tmp_path, given, entries):
    np.save(tmp_path / "r.npy", np.diag([0.0, 1.0]))
    sp.save_npz(tmp_path / "i.npz", sp.csr_array(np.array([[0.0, 3.0], [-3.0, 0.0]])))
    built = template("standard-sdp", tmp_path, cost=given, radius=1.0)
    np.testing.assert_array_equal(built.problem.domain.slack_in_users_terms(built.cost), entries)


@pytest.mark.parametrize(
    ("fields", "message", "path"),
    [
        (
            {"cost": {"real": [[0, 1], [1, 0]], "imaginary": [[0, 1], [1, 0]]}},
            r"a Hermitian matrix is needed, but entries \(0, 1\) and \(1, 0\) .* are no conjugates, by 2",
            ("cost",),
        ),
        (
            {"cost": {"imaginary": [[0, 0], [0, 0.5]]}},
            r"entry \(1, 1\) of this one, counted from 0, has an imaginary part, 0.5",
            ("cost",),
        ),
        ({"cost": {"imaginary": [[0, 1, 0]]}}, "a Hermitian matrix is needed, and this one is 1 x 3", ("cost",)),
        ({"cost": {"real": [[0]], "imaginary": [[0, 1], [-1, 0]]}}, "real part is 1 x 1, but .* is 2 x 2", ("cost",)),
        (
            {"cost": [[1, 0], [0, 1]], "constraints": [{"matrix": {"imaginary": [[0, 1], [1, 0]]}, "equals": 1}]},
            "no conjugates",
            ("constraints", 0, "matrix"),
        ),
        ({"cost": PAULI, "nonnegative": True, "radius": 1.0}, "the entries of X are complex here", ("nonnegative",)),
        ({"cost": {"imaginary": {"file": "z.npy"}}}, "holds complex numbers; real .* needed", ("cost", "imaginary")),
    ],
)
def test_what_is_no_hermitian_program(tmp_path, fields, message, path):
    np.save(tmp_path / "z.npy", np.eye(2, dtype=complex))
    with pytest.raises((ProblemError, DataError), match=message) as caught:
        template("standard-sdp", tmp_path, **fields)
    assert caught.value.path == path


@pytest.mark.parametrize(
    ("problem", "message"),
    [
        ({"template": "max-cut", "graph": PAULI}, "complex|mapping"),
        ({"template": "spectrahedron-game", "matrices": [PAULI]}, "complex ones are taken by the `cost`"),
        ({"template": "spectrahedron-game", "matrices": [np.eye(2) * 1j]}, "complex ones are taken by the `cost`"),
        ({"template": "spectrahedron-game", "matrices": [np.eye(20) * 1j]}, "matrices.0: holds complex numbers"),
        ({"template": "standard-sdp", "cost": {"real": [[1]]}}, "imaginary"),
        ({"template": "standard-sdp", "cost": {"imaginary": [["i"]]}}, "expected a number"),
        ({"template": "standard-sdp", "cost": [[1, 1j], [-1j, 1]]}, "not a value of type complex"),
    ],
)
def test_complex_numbers_elsewhere_are_refused(tmp_path, problem, message):
    with pytest.raises((CgmError, TypeError), match=message):
        solve({"name": "t", "problem": problem}, out=tmp_path / "run")


def test_rounding_makes_no_matrix_less_hermitian():
    cost = np.array([[1.0, 0.1 + 0.3j], [0.1 - 0.3j, 2.0]])
    parts = {"real": cost.real.tolist(), "imaginary": (cost.imag + np.diag([1e-16, 0.0])).tolist()}
    built = template("standard-sdp", cost=parts, radius=1.0)
    np.testing.assert_array_equal(built.problem.domain.slack_in_users_terms(built.cost), cost)


def test_a_ray_is_complex(tmp_path):
    answer = solved(
        tmp_path / "run", np.array([[1, 2j], [-2j, 0.5]]), [(np.array([[0.0, 1.0], [1.0, 0.0]]), {"equals": 1.0})]
    )
    assert answer.status.value == "unbounded"
    ray = answer.solution["ray"]
    assert ray.dtype == complex
    assert np.linalg.eigvalsh(ray)[0] > -1e-9
    assert np.vdot([[1, 2j], [-2j, 0.5]], ray).real < 0.0
    assert abs(2.0 * ray[0, 1].real) < 1e-9


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("hermitian") / "run"
    answer = solved(folder, hermitian(np.random.default_rng(1), 4), [(np.eye(4), {"equals": 1.0})])
    assert "x" in answer.solution
    return folder


@pytest.mark.parametrize(
    ("change", "row_of"),
    [
        (lambda x: x.real, "objective"),
        (lambda x: x + 1e-3j * np.ones((4, 4)), "domain"),
        (lambda x: x + 1e-3 * np.eye(4), "domain"),
        (lambda x: x.conj(), "objective"),
        (lambda x: x[:3, :3], "solution"),
        (lambda x: x * np.nan, "solution"),
    ],
)
def test_what_is_verified_is_the_complex_matrix(run, tmp_path, change, row_of):
    copy = copied(run, tmp_path / "copy")
    altered(copy, "solution/x", change)
    assert row(verify(copy), row_of).verdict is Verdict.FAILS


def test_exports(run, tmp_path):
    found = load_run(run)
    x = chosen(found, None)[1]
    for name in ("x.npy", "x.mat", "x.csv"):
        write_array(tmp_path / name, "x", x)
    np.testing.assert_array_equal(np.load(tmp_path / "x.npy"), x)
    np.testing.assert_array_equal(scipy.io.loadmat(tmp_path / "x.mat")["x"], x)
    np.testing.assert_array_equal(np.loadtxt(tmp_path / "x.csv", delimiter=",", dtype=complex), x)
    with pytest.raises(ProblemError, match="an image shows real numbers, and `x` is complex"):
        write_array(tmp_path / "x.png", "x", x)
    with pytest.raises(ProblemError, match="holds real matrices, and those of this program are complex"):
        write_solution(tmp_path / "x.sol", found)
    assert "absolute values of a complex 4 x 4 matrix" in pictures(found)[0].alt
