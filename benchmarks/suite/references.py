"""The optima that errors are measured against: `python -m benchmarks references [--only NAME ...]`.

Each is a pair of numbers that the optimum lies between, found by a method that shares no code with the solver and
proven by its own dual: references.json says how. Values that others published are taken as they are.

- max-cut: the mixing method (Wang, Chang and Kolter, "The mixing method", 2017) gives unit vectors v_i, hence a
  feasible X_ij = <v_i, v_j>. With C the cost and y_i = <v_i, (C V)_i>, every feasible X' has <C, X'> >= sum y +
  n min(0, lambda_min(C - diag y)).
- k-means: ADMM on the dual (Wen, Goldfarb and Yin, 2010). With Z >= 0 and any y, t, the bound is <y, 1> + t k plus the
  sum of the k smallest eigenvalues of D - sym(y 1^T) - t I - Z, as feasible matrices have eigenvalues in [0, 1].
- smooth problems: accelerated projected gradients; the Frank-Wolfe gap <grad f(x), x - s> bounds what is left.
"""

from __future__ import annotations

import json
import time
from dataclasses import dataclass
from pathlib import Path

import numba
import numpy as np
import scipy.linalg
import scipy.sparse as sp
import scipy.sparse.linalg
from scipy.spatial.distance import cdist

from benchmarks.suite.problems import Problem, problems
from cgm_cli.templates.base import Template
from cgm_cli.templates.build import build

FILE = Path(__file__).resolve().parents[1] / "references.json"


@dataclass(frozen=True)
class Reference:
    """The optimum lies between lower and upper; `how` they came about."""

    lower: float
    upper: float
    how: str

    @property
    def value(self) -> float:
        return 0.5 * (self.lower + self.upper)

    @property
    def uncertainty(self) -> float:
        """How far the optimum may be from `value`, relative to max(1, |value|)."""
        return 0.5 * (self.upper - self.lower) / max(1.0, abs(self.value))

    def error(self, value: float) -> float:
        """How far a number is from the optimum, relative to max(1, |value|)."""
        return abs(value - self.value) / max(1.0, abs(self.value))


def known() -> dict[str, Reference]:
    """What references.json holds, by the name of the problem."""
    if not FILE.exists():
        return {}
    return {name: Reference(**entry) for name, entry in json.loads(FILE.read_text(encoding="utf-8")).items()}


def store(name: str, reference: Reference) -> None:
    """Put one into references.json."""
    everything = {key: vars(entry) for key, entry in known().items()} | {name: vars(reference)}
    FILE.write_text(json.dumps(dict(sorted(everything.items())), indent=1) + "\n", encoding="utf-8")


def compute(problem: Problem) -> Reference:
    """Find the optimum of a problem: minutes for the large ones."""
    template = build(problem.spec({})).template
    return {"max-cut": max_cut, "kmeans": kmeans, "completion": completion, "logistic": logistic}[problem.family](
        template
    )


def max_cut(template: Template, sweeps: int = 5000) -> Reference:
    cost = sp.csr_array(template.laplacian * -0.25)
    n = cost.shape[0]
    rank = min(int(np.ceil(np.sqrt(2 * n))) + 1, 64)
    vectors = np.random.default_rng(0).standard_normal((n, rank))
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    former, done = np.inf, 0
    while done < sweeps:
        done += 10
        value = mix(cost.indptr, cost.indices, cost.data, vectors, 10)
        if former - value <= 1e-9 * abs(value):
            break
        former = value
    image = cost @ vectors
    y = np.einsum("ij,ij->i", vectors, image)
    slack = sp.csr_array(cost - sp.diags_array(y))
    # ARPACK's tolerance is relative to the eigenvalue, which is nearly 0 here: it is moved away from there.
    shift = float(abs(slack).sum(axis=1).max())
    moved = sp.csr_array(slack - shift * sp.eye_array(n))
    least, vector = scipy.sparse.linalg.eigsh(moved, k=1, which="SA", tol=1e-6, ncv=40, maxiter=10**4, v0=np.ones(n))
    least += shift
    residual = float(np.linalg.norm(slack @ vector - least * vector))
    bound = float(y.sum() + n * min(0.0, least[0] - residual))
    how = f"{done} sweeps of the mixing method, rank {rank}; bound by Lanczos, its residual taken off"
    return Reference(-float(y.sum()), -bound, how)


@numba.njit
def mix(indptr, indices, data, vectors, sweeps):
    """Block coordinate descent on <C, V V^T> over unit rows, in place; returns its value."""
    n, rank = vectors.shape
    pull = np.empty(rank)
    value = 0.0
    for _ in range(sweeps):
        value = 0.0
        for i in range(n):
            pull[:] = 0.0
            for at in range(indptr[i], indptr[i + 1]):
                j = indices[at]
                if j != i:
                    pull += data[at] * vectors[j]
                else:
                    value += data[at]
            size = np.sqrt((pull * pull).sum())
            if size > 0.0:
                vectors[i] = -pull / size
            value -= size
    return value


def kmeans(template: Template, iterations: int = 3000, accuracy: float = 2e-5, seconds: float = 500.0) -> Reference:
    began = time.monotonic()
    clusters, n = template.spec.clusters, template.points.shape[0]
    distances = cdist(template.points, template.points, "sqeuclidean")
    scale = np.linalg.norm(distances)
    cost = distances / scale
    gram = np.block([[0.5 * (n * np.eye(n) + 1.0), np.ones((n, 1))], [np.ones((1, n)), np.full((1, 1), float(n))]])
    factor = scipy.linalg.cho_factor(gram)
    right = np.append(np.ones(n), float(clusters))

    def forward(x):
        return np.append(x.sum(axis=1), np.trace(x))

    def adjoint(y):
        return 0.5 * (y[:n, None] + y[None, :n]) + y[n] * np.eye(n)

    x, s, z, mu = np.eye(n) * clusters / n, np.zeros((n, n)), np.zeros((n, n)), 1.0 / n
    best = (np.inf, 0.0, 0.0)
    for k in range(iterations):
        y = -scipy.linalg.cho_solve(factor, mu * (forward(x) - right) + forward(s + z - cost))
        rest = cost - adjoint(y)
        z = np.maximum(rest - s - mu * x, 0.0)
        v = rest - z - mu * x
        values, vectors = scipy.linalg.eigh(v, driver="evd")
        negative = values < 0.0
        minus = (vectors[:, negative] * -values[negative]) @ vectors[:, negative].T
        s = v + minus
        former, x = x, -0.6 * x + 1.6 * minus / mu
        primal = np.linalg.norm(forward(x) - right) / (1.0 + np.linalg.norm(right))
        primal = max(primal, np.linalg.norm(np.minimum(x, 0.0)) / (1.0 + np.linalg.norm(x)))
        dual = np.linalg.norm(x - former) * mu / (1.0 + np.linalg.norm(cost))
        if k % 20 == 19:
            mu *= 1.5 if dual < 0.5 * primal else (1 / 1.5 if primal < 0.5 * dual else 1.0)
            least = scipy.linalg.eigvalsh(rest - z, subset_by_index=[0, clusters - 1])
            bound = scale * float(right @ y + least.sum())
            objective = float(np.vdot(distances, x))
            best = min(best, (max(abs(objective - bound) / abs(bound), primal), bound, objective))
            if best[0] <= accuracy or time.monotonic() - began > seconds:
                break
    off, bound, objective = best
    how = f"{k + 1} iterations of ADMM, missing its constraints by at most {off:.0e}; bound by all eigenvalues"
    return Reference(min(bound, objective), max(bound, objective), how)


def completion(template: Template) -> Reference:
    radius, seen = template.problem.domain.radius, template.seen
    known, matrix = np.zeros(seen.shape, dtype=bool), np.zeros(seen.shape)
    known.flat[seen.indices], matrix.flat[seen.indices] = True, seen.values

    def onto(x):
        left, values, right = scipy.linalg.svd(x, full_matrices=False, check_finite=False)
        return (left * shrink(values, radius)) @ right

    def largest(gradient):
        last = min(gradient.shape) - 1
        small = gradient @ gradient.T if gradient.shape[0] == last + 1 else gradient.T @ gradient
        return radius * float(np.sqrt(scipy.linalg.eigvalsh(small, subset_by_index=[last, last])[0]))

    return descend(
        lambda x: 0.5 * float(((x - matrix)[known] ** 2).sum()),
        lambda x: known * (x - matrix),
        1.0,
        onto,
        largest,
        np.zeros(matrix.shape),
    )


def logistic(template: Template) -> Reference:
    table, radius = template.table, template.problem.domain.radius
    a, y, m = table.features, table.target, table.samples
    return descend(
        lambda w: float(np.logaddexp(0.0, -y * (a @ w)).mean()),
        lambda w: -a.T @ (y / (1.0 + np.exp(y * (a @ w)))) / m,
        float(np.linalg.norm(a, 2) ** 2 / m / 4),
        lambda w: np.sign(w) * shrink(np.abs(w), radius),
        lambda gradient: radius * float(np.abs(gradient).max()),
        np.zeros(table.size),
    )


def descend(value, gradient, lipschitz, onto, support, start, steps=3000, accuracy=1e-6) -> Reference:
    """Accelerated projected gradients, restarted, until the Frank-Wolfe gap is small; support(v): max <v, s> over X."""
    x = ahead = start
    t = 1.0
    best = Reference(-np.inf, np.inf, "")
    for k in range(1, steps + 1):
        new = onto(ahead - gradient(ahead) / lipschitz)
        if np.vdot(ahead - new, new - x) > 0:
            t, ahead = 1.0, x
            new = onto(x - gradient(x) / lipschitz)
        later = (1 + np.sqrt(1 + 4 * t * t)) / 2
        x, ahead, t = new, new + (t - 1) / later * (new - x), later
        if k % 10 == 0 or k == steps:
            slope, upper = gradient(x), value(x)
            lower = upper - float(np.vdot(slope, x)) - support(-slope)
            how = f"{k} accelerated projected gradients; bound by the Frank-Wolfe gap"
            best = Reference(max(best.lower, lower), min(best.upper, upper), how)
            if best.uncertainty * max(1.0, abs(best.value)) <= accuracy * abs(best.value):
                break
    return best


def shrink(sizes: np.ndarray, radius: float) -> np.ndarray:
    """Non-negative sizes less one amount until they sum to at most the radius (Duchi et al., 2008)."""
    if sizes.sum() <= radius:
        return sizes
    falling = np.sort(sizes)[::-1]
    amounts = (np.cumsum(falling) - radius) / np.arange(1, sizes.size + 1)
    return np.maximum(sizes - amounts[np.flatnonzero(falling > amounts)[-1]], 0.0)


def main(names: list[str], again: bool = False) -> None:
    """Compute what references.json lacks (or, `again`, everything named) and store it."""
    held = known()
    for problem in problems():
        if (names and problem.name not in names) or (problem.name in held and not (again and names)):
            continue
        reference = compute(problem)
        store(problem.name, reference)
        print(f"{problem.name}: {reference.value:.8g} +- {reference.uncertainty:.1e}, {reference.how}", flush=True)
