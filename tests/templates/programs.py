"""Optima of small games and conic programs by other methods: simplex, interior points, SQP, and ADMM."""

from __future__ import annotations

import numpy as np
from scipy.optimize import linprog, minimize


def game_value(payoff) -> float:
    """min over x, max over y of <y, A x>, by a linear program in (x, t)."""
    rows, columns = payoff.shape
    program = linprog(
        np.r_[np.zeros(columns), 1.0],
        A_ub=np.column_stack([payoff, -np.ones(rows)]),
        b_ub=np.zeros(rows),
        A_eq=np.r_[np.ones(columns), 0.0][None, :],
        b_eq=[1.0],
        bounds=[(0, None)] * columns + [(None, None)],
    )
    return float(program.fun)


def smallest_eigenvalue_of_a_mixture(matrices) -> float:
    """max over p in the simplex of lambda_min(sum p_i A_i), by sequential quadratic programming from several starts."""
    dense = np.array([m.toarray() if hasattr(m, "toarray") else m for m in matrices], dtype=float)
    count = len(dense)

    def negative(p):
        return -np.linalg.eigvalsh(np.tensordot(p, dense, 1))[0]

    constraint = [{"type": "eq", "fun": lambda p: p.sum() - 1.0}]
    starts = [np.full(count, 1.0 / count), *(0.5 * np.eye(count) + 0.5 / count)]
    options = {"ftol": 1e-12, "maxiter": 500}
    runs = [
        minimize(negative, p, bounds=[(0, 1)] * count, constraints=constraint, method="SLSQP", options=options)
        for p in starts
    ]
    return max(-run.fun for run in runs)


def margin_optimum(points, labels, radius) -> float:
    """The smallest multiclass hinge loss in a Frobenius ball, by SQP over (W, one slack per point)."""
    count, size = points.shape
    classes = int(labels.max()) + 1
    rows, sides = [], []
    for i, label in enumerate(labels):
        for c in range(classes):
            w = np.zeros((classes, size))
            w[c] -= points[i]
            w[label] += points[i]
            rows.append(np.r_[w.reshape(-1), np.eye(count)[i]])
            sides.append(float(c != label))
    rows, sides = np.array(rows), np.array(sides)
    free = classes * size
    cost = np.r_[np.zeros(free), np.full(count, 1.0 / count)]
    inside = {
        "type": "ineq",
        "fun": lambda v: radius**2 - v[:free] @ v[:free],
        "jac": lambda v: np.r_[-2.0 * v[:free], np.zeros(count)],
    }
    margins = {"type": "ineq", "fun": lambda v: rows @ v - sides, "jac": lambda v: rows}
    found = minimize(
        lambda v: cost @ v,
        np.r_[np.zeros(free), np.ones(count)],
        jac=lambda v: cost,
        constraints=[inside, margins],
        method="SLSQP",
        options={"ftol": 1e-12, "maxiter": 500},
    )
    assert found.success, found.message
    return float(found.fun)


def consensus(proxes, shape, steps=20000, rho=1.0, tolerance=1e-10) -> np.ndarray:
    """A minimiser of sum f_i, by consensus ADMM; each prox takes (z, rho) to argmin f_i(x) + rho/2 |x - z|^2."""
    z, duals = np.zeros(shape), [np.zeros(shape) for _ in proxes]
    for _ in range(steps):
        parts = [prox(z - u, rho) for prox, u in zip(proxes, duals, strict=True)]
        new = np.mean([x + u for x, u in zip(parts, duals, strict=True)], axis=0)
        duals = [u + x - new for x, u in zip(parts, duals, strict=True)]
        moved, z = np.linalg.norm(new - z), new
        if moved < tolerance and all(np.linalg.norm(x - z) < tolerance for x in parts):
            break
    return z


def to_psd(z, rho=1.0) -> np.ndarray:
    values, vectors = np.linalg.eigh(0.5 * (z + z.T))
    return (vectors * np.maximum(values, 0.0)) @ vectors.T


def semidefinite_optimum(cost, matrices, right, nonnegative=False) -> float:
    """min <C, X> subject to <A_i, X> = b_i, X positive semidefinite (and X >= 0), by ADMM."""
    rows = np.array([np.asarray(m, dtype=float).reshape(-1) for m in matrices])
    inverse = np.linalg.pinv(rows)

    def affine(z, rho):
        moved = (z - cost / rho).reshape(-1)
        return (moved - inverse @ (rows @ moved - right)).reshape(cost.shape)

    proxes = [affine, to_psd] + ([lambda z, rho: np.maximum(z, 0.0)] if nonnegative else [])
    return float(np.vdot(cost, consensus(proxes, cost.shape)))
