"""What others would do with the problems of `benchmarks.rivals`: SCS on any of them, SketchyCGAL on maximum cut, and on
clustering the alternating directions that SDPNAL+ begins with.

None of it shares code with the solver, and no bound of it is certified.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.linalg
import scipy.sparse as sp
import scipy.sparse.linalg
from scipy.spatial.distance import cdist

from benchmarks.bodies import body
from benchmarks.cones import program
from benchmarks.suite import references
from cgm_cli.spec.model import Spec
from cgm_cli.templates.base import Template


@dataclass(frozen=True)
class Look:
    """What is known of a run after so many oracle calls (0 where it asks no oracle) and seconds. error: the larger of
    gap and infeasibility, both relative and as the run itself knows them; nan where it ended short of what was asked.
    bound: nan where there is none.
    """

    calls: int
    seconds: float
    error: float
    objective: float
    bound: float = math.nan
    infeasibility: float = math.nan


Peer = Callable[[Spec, Template, tuple[float, ...], float], Iterator[Look]]
"""Of a problem, the accuracies that are asked for in turn, and seconds."""


def scs(spec: Spec, template: Template, targets: tuple[float, ...], seconds: float) -> Iterator[Look]:
    """Splitting conic solver (O'Donoghue et al., 2016), begun anew for every accuracy, absolute and relative."""
    written = (_clusters(template), 1.0) if _is_clustering(spec) else body(spec, template)
    if written is None:
        return
    block, sign = written
    made = program(block)
    for target in targets:
        answer = made.scs(target, seconds)
        yield Look(0, answer.seconds, target if answer.is_solved else math.nan, sign * answer.optimum)
        if not answer.is_solved:
            return


def alternating(spec: Spec, template: Template, targets: tuple[float, ...], seconds: float) -> Iterator[Look]:
    """Alternating directions on the dual (Wen, Goldfarb and Yin, 2010), begun anew for every accuracy."""
    if not _is_clustering(spec):
        return
    for target in targets:
        began = time.perf_counter()
        found = references.kmeans(template, 10**6, target, seconds)
        taken = time.perf_counter() - began
        met = taken < seconds
        yield Look(0, taken, target if met else math.nan, float(found.upper), float(found.lower))
        if not met:
            return


def sketchy(spec: Spec, template: Template, targets: tuple[float, ...], seconds: float) -> Iterator[Look]:
    """SketchyCGAL (Yurtsever, Tropp, Fercoq, Udell and Cevher, "Scalable semidefinite programming", SIAM J. Math. Data
    Sci. 3, 2021, Algorithm 6.1) on maximum cut, with a sketch of ten columns.
    """
    if spec.problem.model_dump().get("template") != "max-cut":
        return
    for look in sketchy_cut(sp.csr_array(template.laplacian * -0.25), seconds):  # pyright: ignore
        yield Look(look.calls, look.seconds, look.error, -look.objective, -look.bound, look.infeasibility)
        if look.error <= targets[-1]:
            return


def sketchy_cut(cost: sp.csr_array, seconds: float, columns: int = 10) -> Iterator[Look]:
    """min <C, X>, diag X = 1, X semidefinite of trace n, by its own scaling: X / n, C / |C|, constraints of norm 1.

    A look takes the eigenvalue of Lanczos for the least one: its bound is an estimate.
    """
    n, rng, began = cost.shape[0], np.random.default_rng(0), time.perf_counter()
    size = float(scipy.sparse.linalg.norm(cost))
    scaled, b = sp.csr_array(cost / size), np.full(n, 1.0 / n)
    sketch, draws = np.zeros((n, columns)), rng.standard_normal((n, columns))
    z, y, value = np.zeros(n), np.zeros(n), 0.0
    for t in range(1, 10**7):
        beta, eta = math.sqrt(t + 1.0), 2.0 / (t + 1.0)
        dual = y + beta * (z - b)
        steps = max(8, math.ceil(t**0.25 * math.log(n)))
        lowest, v = least(sp.csr_array(scaled + sp.diags_array(dual)), steps, rng)
        if t > 1:
            bound = n * size * (lowest - float(b @ dual))
            objective, missed = n * size * value, float(np.linalg.norm(z - b) / np.linalg.norm(b))
            gap = abs(objective - bound) / max(abs(objective), abs(bound))
            yield Look(t, time.perf_counter() - began, max(gap, missed), objective, bound, missed)
        z, value = (1.0 - eta) * z + eta * v**2, (1.0 - eta) * value + eta * float(v @ (scaled @ v))
        # Of X, which stopping has no use for: what it takes is a part of the method.
        sketch = (1.0 - eta) * sketch + eta * np.outer(v, v @ draws)
        off = z - b
        # gamma |z - b|^2 <= beta eta^2, and gamma <= beta0 = 1
        y = y + min(1.0, beta * eta**2 / max(float(off @ off), 1e-300)) * off
        if time.perf_counter() - began > seconds:
            return


def least(matrix: sp.csr_array, steps: int, rng: np.random.Generator) -> tuple[float, np.ndarray]:
    """The least Ritz value of so many steps of Lanczos from a random vector, reorthogonalised, and its vector."""
    n = matrix.shape[0]
    basis, diagonal, beside = np.empty((min(steps, n), n)), list[float](), list[float]()
    v = rng.standard_normal(n)
    v /= np.linalg.norm(v)
    for j in range(len(basis)):
        basis[j] = v
        w = matrix @ v
        diagonal.append(float(v @ w))
        w -= basis[: j + 1].T @ (basis[: j + 1] @ w)
        w -= basis[: j + 1].T @ (basis[: j + 1] @ w)
        length = float(np.linalg.norm(w))
        if length < 1e-12 or j + 1 == len(basis):
            break
        beside.append(length)
        v = w / length
    count = len(diagonal)
    values, vectors = scipy.linalg.eigh_tridiagonal(diagonal, beside[: count - 1])
    ritz = basis[:count].T @ vectors[:, 0]
    return float(values[0]), ritz / np.linalg.norm(ritz)


def _is_clustering(spec: Spec) -> bool:
    return spec.problem.model_dump().get("template") == "kmeans-sdp"


def _clusters(template: Any) -> dict[str, Any]:
    """The relaxation of clustering in blocks."""
    points, k = template.points, template.spec.clusters
    return {
        "domain": {"kind": "psd", "size": len(points), "radius": float(k), "trace": "equal"},
        "objective": {"kind": "linear", "cost": cdist(points, points, "sqeuclidean")},
        "constraints": [{"kind": "equals", "value": 1.0, "map": {"kind": "row-sums"}}, {"kind": "nonnegative"}],
    }


PEERS: dict[str, Peer] = {
    "SCS": scs,
    "SketchyCGAL (2021)": sketchy,
    "ADMM, as SDPNAL+ begins": alternating,
}
