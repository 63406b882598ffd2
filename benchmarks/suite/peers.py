"""Other solvers on the same problems. Each is a function of the built template and the seconds it may take, which
yields its attempts; a new peer is one function and one entry of PEERS.

An attempt's objective and infeasibility are computed here from the X it returns: nothing that a peer prints is used,
but for LoRADS, which writes no X.
"""

from __future__ import annotations

import importlib
import itertools
import re
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import scipy.linalg
import scipy.optimize
import scipy.sparse as sp
import scipy.sparse.linalg

from benchmarks.suite import sdp
from benchmarks.suite.problems import NotHere
from cgm_cli.templates.base import Template
from cgm_cli.templates.clustering import squared_distances

PROGRAMS = {"CSDP": "csdp", "DSDP": "dsdp5"}
"""The peers that are programs, and how they are called."""

ACCURACIES = (1e-2, 1e-3, 1e-5)
"""What the first-order peers are asked for, in turn."""


@dataclass(frozen=True)
class Attempt:
    """One solve: how it was set, its seconds (less the making of its input), and what its X is worth."""

    setting: str
    seconds: float
    objective: float
    infeasibility: float


class NoResult(Exception):
    """The peer ran, and has nothing to show; the message says why."""


Peer = Callable[[Template, float], Iterator[Attempt]]


def _module(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError:
        raise NotHere(f"{name} is not installed: pip install '.[peers]'") from None


def _lmi(program: sdp.Program, root_two: float) -> tuple[sp.csc_array, np.ndarray, np.ndarray, int]:
    """A, b, c of the dual, min <c, v> with b - A v in the cones: v = (y, Z), Z >= 0 first, then C - A* y - Z, as the
    upper triangle column by column with its off-diagonal entries times root_two. The dual variable of that cone is X.
    """
    n = program.size
    length = n * (n + 1) // 2
    number = np.arange(length)
    column = np.floor((np.sqrt(8.0 * number + 1.0) - 1.0) / 2.0).astype(int)
    off = number != column * (column + 3) // 2
    factor = np.where(off, root_two, 1.0)
    i, j, values = program.upper_cost()
    cost = np.zeros(length)
    cost[sdp.place(i, j)] = values
    semidefinite = sp.csr_array(program.constraints * factor).T
    pairs = int(off.sum()) if program.nonnegative else 0
    c = np.concatenate([-program.sides, np.zeros(pairs)])
    if not pairs:
        return sp.csc_array(semidefinite), cost * factor, c, 0
    # <E_ij + E_ji, X> / 2 = X_ij: Z enters both halves by a half.
    where = sp.csc_array((np.full(pairs, 0.5) * root_two, (np.flatnonzero(off), np.arange(pairs))), (length, pairs))
    matrix = sp.block_array([[None, -sp.eye_array(pairs)], [semidefinite, where]], format="csc")
    return sp.csc_array(matrix), np.concatenate([np.zeros(pairs), cost * factor]), c, pairs


def _matrix(vector: np.ndarray, n: int) -> np.ndarray:
    """X from its scaled upper triangle, column by column."""
    column, row = np.tril_indices(n)
    x = np.zeros((n, n))
    x[row, column] = x[column, row] = np.where(row == column, vector, vector / np.sqrt(2.0))
    return x


def scs(template: Template, limit: float) -> Iterator[Attempt]:
    """Splitting conic solver (O'Donoghue et al., 2016): ADMM, at three accuracies."""
    solver, program = _module("scs"), sdp.program(template)
    n = program.size
    matrix, b, c, pairs = _lmi(program, np.sqrt(2.0))
    # Its triangle is the lower one, column by column.
    row, column = np.triu_indices(n)
    order = np.concatenate([np.arange(pairs), pairs + sdp.place(row, column)])
    data = {"A": sp.csc_matrix(matrix[order]), "b": b[order], "c": c}
    left = limit
    for accuracy in ACCURACIES:
        began = time.perf_counter()
        options = {"eps_abs": accuracy, "eps_rel": accuracy, "time_limit_secs": left, "max_iters": 10**7}
        found = solver.SCS(data, {"l": pairs, "s": [n]}, verbose=False, **options).solve()
        seconds = time.perf_counter() - began
        triangle = np.empty(n * (n + 1) // 2)
        triangle[order[pairs:] - pairs] = found["y"][pairs:]
        yield Attempt(f"eps {accuracy:g}", limit - left + seconds, *program.values(_matrix(triangle, n)))
        left -= seconds
        if left <= 0.0:
            return


def clarabel(template: Template, limit: float) -> Iterator[Attempt]:
    """Clarabel (Goulart and Chen, 2024): interior points, with chordal decomposition."""
    solver, program = _module("clarabel"), sdp.program(template)
    n = program.size
    matrix, b, c, pairs = _lmi(program, np.sqrt(2.0))
    settings = solver.DefaultSettings()
    settings.verbose, settings.time_limit = False, limit
    cones = [solver.NonnegativeConeT(pairs)] if pairs else []
    cones.append(solver.PSDTriangleConeT(n))
    zero = sp.csc_matrix((c.size, c.size))
    began = time.perf_counter()
    found = solver.DefaultSolver(zero, c, sp.csc_matrix(matrix), b, cones, settings).solve()
    seconds = time.perf_counter() - began
    yield Attempt(str(found.status), seconds, *program.values(_matrix(np.asarray(found.z)[pairs:], n)))


def linked_blas(command: str) -> str:
    """The folder of the BLAS that a program is linked to, which says whose it is: blas for the reference, many times
    slower than openblas-pthread. Empty where there is no such program, or nothing that tells.
    """
    program, linker = shutil.which(command), shutil.which("ldd")
    if program is None or linker is None:
        return ""
    lines = subprocess.run([linker, program], capture_output=True, text=True).stdout.splitlines()
    found = [line.split("=>")[1].split()[0] for line in lines if "libblas" in line and "=> /" in line]
    return Path(found[0]).resolve().parent.name if found else ""


def _binary(command: str, package: str, arguments: Callable[[Path, Path], list[str]]) -> Peer:
    def peer(template: Template, limit: float) -> Iterator[Attempt]:
        where = shutil.which(command)
        if where is None:
            raise NotHere(f"{command} is not installed: apt-get install {package}")
        program, setting = sdp.program(template), f"BLAS of {linked_blas(command) or 'its own'}"
        with tempfile.TemporaryDirectory() as folder:
            problem, solution = Path(folder) / "problem.dat-s", Path(folder) / "solution"
            sdp.write_sdpa(program, problem)
            began = time.perf_counter()
            # In the folder: both write, or look for, files where they stand.
            try:
                subprocess.run([where, *arguments(problem, solution)], cwd=folder, capture_output=True, timeout=limit)
            except subprocess.TimeoutExpired:
                raise NoResult(f"stopped after {limit:g} s; {setting}") from None
            seconds = time.perf_counter() - began
            if not solution.exists():
                raise NoResult("gave no solution")
            x = sdp.read_solution(solution, program.size)
        yield Attempt(setting, seconds, *program.values(x))

    peer.__doc__ = f"The program {command}, on an SDPA file: the seconds hold the reading of that file."
    return peer


csdp = _binary(PROGRAMS["CSDP"], "coinor-csdp", lambda problem, solution: [str(problem), str(solution)])
dsdp = _binary(PROGRAMS["DSDP"], "dsdp", lambda problem, solution: [str(problem), "-save", str(solution)])


LORADS = {"loose": "--phase1Tol 1e-2 --phase2Tol 1e-4", "default": ""}
"""How it is called, in turn."""


@dataclass(frozen=True)
class Printed:
    """What LoRADS prints of a solve: seconds without reading its file, those of its own check of the dual among them;
    the objective, minimised, and |A X - b| / (1 + |b|_1).
    """

    seconds: float
    checking: float
    objective: float
    violation: float


def printed_by_lorads(where: str, problem: Path, options: str, limit: float) -> Printed:
    """Solve a problem in SDPA's format. Raises NoResult."""
    command = [where, str(problem), *options.split()]
    try:
        text = subprocess.run(command, cwd=problem.parent, capture_output=True, text=True, timeout=limit).stdout
    except subprocess.TimeoutExpired:
        raise NoResult(f"stopped after {limit:g} s") from None
    return read_lorads(text)


def read_lorads(text: str) -> Printed:
    """What it has printed. Raises NoResult."""
    names = ("all_time", "\nall_dual_infea", r"Primal Objective:\s*", r"Constraint Violation\(1\)\s*")
    found = [re.findall(rf"{name}: (\S+)", text) for name in names]
    if not all(found):
        raise NoResult("gave no solution")
    return Printed(*(float(each[-1]) for each in found))


def find_lorads() -> str:
    """The program. Raises NotHere."""
    where = shutil.which("lorads")
    if where is None:
        raise NotHere("lorads is not on the PATH: it is built from its source, github.com/COPT-Public/LoRADS")
    return where


def lorads(template: Template, limit: float) -> Iterator[Attempt]:
    """LoRADS (Han et al., 2024): L-BFGS and ADMM on factors, on an SDPA file; what it prints is taken for true."""
    where, program = find_lorads(), sdp.program(template)
    with tempfile.TemporaryDirectory() as folder:
        problem = Path(folder) / "problem.dat-s"
        sdp.write_sdpa(program, problem)
        for setting, options in LORADS.items():
            found = printed_by_lorads(where, problem, options, limit)
            missed = found.violation * (1.0 + np.abs(program.sides).sum()) / max(1.0, np.linalg.norm(program.sides))
            yield Attempt(f"{setting}, as it prints it", found.seconds, program.sign * found.objective, float(missed))


def clustering(template: Template, limit: float) -> Iterator[Attempt]:
    """scikit-learn's k-means, best of 100 starts: the matrix of its clustering is feasible, so 2 * value bounds the
    optimum of the relaxation from above, and half a bound of the relaxation bounds its value from below.
    """
    estimator = _module("sklearn.cluster").KMeans(template.spec.clusters, n_init=100, random_state=0)
    k, began = template.spec.clusters, time.perf_counter()
    labels = estimator.fit(template.points).labels_
    seconds = time.perf_counter() - began
    member = np.eye(k)[labels]
    x = (member / np.maximum(member.sum(axis=0), 1.0)) @ member.T
    yield Attempt("100 starts", seconds, *sdp.program(template).values(x))


def authors(template: Template, limit: float) -> Iterator[Attempt]:
    """What the script of the paper's authors does, in NumPy and at their settings: nothing is scaled, X starts at zero,
    beta0 = 1, X >= 0 is weighted a thousand times more than row and column sums, and ARPACK finds k u u^T.
    """
    distances, k = squared_distances(template.points), template.spec.clusters
    program, x, seconds = sdp.program(template), np.zeros(distances.shape), 0.0
    for turn in itertools.count(1):
        began = time.perf_counter()
        eta, beta = 2.0 / (turn + 1), 1.0 / np.sqrt(turn + 1)
        off = x.sum(axis=1) - 1.0
        direction = distances + (off[:, None] + off + 1000.0 * np.minimum(x, 0.0)) / beta
        vector = scipy.sparse.linalg.eigsh(direction, 1, which="SA")[1]
        x = (1.0 - eta) * x + eta * k * (vector @ vector.T)
        seconds += time.perf_counter() - began
        if turn % 10 == 0 or seconds > limit:
            yield Attempt(f"{turn} iterations", seconds, *program.values(x))
        if seconds > limit:
            return


def factored_cut(template: Template, limit: float) -> Iterator[Attempt]:
    """L-BFGS of SciPy on X = V V^T, its rows brought to length 1 (Burer and Monteiro, 2003): a point, no bound."""
    cost = sp.csr_array(template.laplacian * -0.25)
    n = cost.shape[0]
    rank = min(int(np.ceil(np.sqrt(2 * n))) + 1, 40)

    def unit(flat):
        v = flat.reshape(n, rank)
        lengths = np.linalg.norm(v, axis=1, keepdims=True)
        return v / lengths, lengths

    def objective(flat):
        v, lengths = unit(flat)
        image = cost @ v
        slope = 2.0 * (image - (image * v).sum(axis=1, keepdims=True) * v) / lengths
        return float(np.vdot(v, image)), slope.reshape(-1)

    start = np.random.default_rng(0).standard_normal(n * rank)
    for setting, flat, seconds in _minimised(objective, start, limit):
        v = unit(flat)[0]
        yield Attempt(setting, seconds, -float(np.vdot(v, cost @ v)), sdp.relative((v * v).sum(axis=1), np.ones(n)))


def factored_completion(template: Template, limit: float) -> Iterator[Attempt]:
    """L-BFGS of SciPy on X = r U W^T / ((|U|^2 + |W|^2) / 2), whose nuclear norm is at most r."""
    seen, radius = template.seen, template.problem.domain.radius
    target, (m, n) = seen.values, seen.shape
    rows, columns = np.divmod(seen.indices, n)
    rank = min(m, n, 30)

    def split(flat):
        return flat[: m * rank].reshape(m, rank), flat[m * rank :].reshape(n, rank)

    def point(flat):
        u, w = split(flat)
        scale = 2.0 * radius / float(np.vdot(flat, flat))
        return u, w, scale

    def misfit(flat):
        u, w, scale = point(flat)
        return scale * np.einsum("ij,ij->i", u[rows], w[columns]) - target

    def objective(flat):
        u, w, scale = point(flat)
        off = misfit(flat)
        sparse = sp.csr_array((off, (rows, columns)), shape=(m, n))
        slope = scale * np.concatenate([(sparse @ w).reshape(-1), (sparse.T @ u).reshape(-1)])
        slope -= 2.0 * float(np.vdot(off, off + target)) / float(np.vdot(flat, flat)) * flat
        return 0.5 * float(np.vdot(off, off)), slope

    start = np.random.default_rng(0).standard_normal((m + n) * rank)
    for setting, flat, seconds in _minimised(objective, start, limit):
        u, w, scale = point(flat)
        x = scale * (u @ w.T)
        norm = float(scipy.linalg.svdvals(x).sum())
        value = 0.5 * float(np.square(x.flat[seen.indices] - target).sum())
        yield Attempt(setting, seconds, value, max(0.0, norm / radius - 1.0))


def split_logistic(template: Template, limit: float) -> Iterator[Attempt]:
    """SLSQP of SciPy on w = p - q with p, q >= 0 and sum p + sum q <= r."""
    table, radius = template.table, template.problem.domain.radius
    a, y, m, n = table.features, table.target, table.samples, table.size

    def objective(v):
        margin = y * (a @ (v[:n] - v[n:]))
        slope = -a.T @ (y / (1.0 + np.exp(margin))) / m
        return float(np.logaddexp(0.0, -margin).mean()), np.concatenate([slope, -slope])

    ball = {"type": "ineq", "fun": lambda v: radius - v.sum(), "jac": lambda v: -np.ones(2 * n)}
    options = {"method": "SLSQP", "bounds": [(0.0, None)] * (2 * n), "constraints": [ball]}
    for setting, v, seconds in _minimised(objective, np.zeros(2 * n), limit, ftol=1e-9, **options):
        w = v[:n] - v[n:]
        value = float(np.logaddexp(0.0, -y * (a @ w)).mean())
        yield Attempt(setting, seconds, value, max(0.0, float(np.abs(w).sum()) / radius - 1.0))


def _minimised(objective, start, limit, ftol=1e-12, **options) -> Iterator[tuple[str, np.ndarray, float]]:
    """scipy.optimize.minimize: how it ended, the last point, the seconds. At the limit the point so far."""
    began = time.perf_counter()

    def watch(x):
        if time.perf_counter() - began > limit:
            raise StopIteration

    options = {"method": "L-BFGS-B"} | options
    settings = {"maxiter": 10**5, "ftol": ftol} | ({"maxfun": 10**6} if options["method"] == "L-BFGS-B" else {})
    found = scipy.optimize.minimize(objective, start, jac=True, callback=watch, options=settings, **options)
    seconds = time.perf_counter() - began
    yield (f"stopped after {limit:g} s" if seconds > limit else "default"), found.x, seconds


PEERS: dict[str, dict[str, Peer]] = {
    "kmeans": {
        "authors' script": authors, "SCS": scs, "Clarabel": clarabel, "CSDP": csdp, "DSDP": dsdp,
        "scikit-learn k-means": clustering,
    },
    "max-cut": {
        "SCS": scs, "Clarabel": clarabel, "CSDP": csdp, "DSDP": dsdp, "LoRADS": lorads, "SciPy L-BFGS-B": factored_cut,
    },
    "completion": {"SciPy L-BFGS-B": factored_completion},
    "logistic": {"SciPy SLSQP": split_logistic},
}  # fmt: skip
"""By the family of problems."""
