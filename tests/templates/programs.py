"""Optima of small games and conic programs by other methods: linear programming, cutting planes, SQP, Clarabel."""

from __future__ import annotations

import itertools

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


def smallest_eigenvalue_of_a_mixture(matrices, tolerance=1e-7) -> float:
    """max over p in the simplex of lambda_min(sum p_i A_i), by cutting planes: from below, within the tolerance."""
    dense = np.array([m.toarray() if hasattr(m, "toarray") else m for m in matrices], dtype=float)
    count = len(dense)
    mixture, cuts, best = np.full(count, 1.0 / count), [], -np.inf
    for _ in range(1000):
        values, vectors = np.linalg.eigh(np.tensordot(mixture, dense, 1))
        best = max(best, float(values[0]))
        # <v v^T, sum p_i A_i> is above the smallest eigenvalue for every unit v: the lowest few are the tightest.
        cuts += [np.einsum("i,kij,j->k", v, dense, v) for v in vectors[:, :3].T]
        program = linprog(
            np.r_[np.zeros(count), -1.0],
            A_ub=np.column_stack([-np.array(cuts), np.ones(len(cuts))]),
            b_ub=np.zeros(len(cuts)),
            A_eq=np.r_[np.ones(count), 0.0][None, :],
            b_eq=[1.0],
            bounds=[(0, None)] * count + [(None, None)],
        )
        if -program.fun - best < tolerance:
            return best
        mixture = program.x[:count]
    raise AssertionError(f"the cutting planes stopped {-program.fun - best:.1e} short")


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


def semidefinite_optimum(cost, matrices, right, nonnegative=False) -> float:
    """min <C, X> subject to <A_i, X> = b_i, X positive semidefinite (and X >= 0), by Clarabel."""
    import cvxpy as cp

    x = cp.Variable(cost.shape, PSD=True)
    constraints = [cp.sum(cp.multiply(matrix, x)) == b for matrix, b in zip(matrices, right, strict=True)]
    constraints += [x >= 0.0] if nonnegative else []
    return float(cp.Problem(cp.Minimize(cp.sum(cp.multiply(cost, x))), constraints).solve(solver="CLARABEL"))


def theta_program(adjacency, weights=None):
    """C, the A_i and b_i of the Lovasz number: max <C, X>, X_ij = 0 on edges, tr X = 1; with weights C_ij is the root
    of w_i w_j.
    """
    n = adjacency.shape[0]
    roots = np.ones(n) if weights is None else np.sqrt(weights)
    matrices = [np.eye(n)]
    for i, j in np.argwhere(np.triu(adjacency.toarray(), 1)):
        matrices.append(np.zeros((n, n)))
        matrices[-1][i, j] = matrices[-1][j, i] = 1.0
    return np.outer(roots, roots), matrices, np.r_[1.0, np.zeros(len(matrices) - 1)]


def theta(adjacency, nonnegative=False, weights=None) -> float:
    cost, matrices, right = theta_program(adjacency, weights)
    return -semidefinite_optimum(-cost, matrices, right, nonnegative)


def partition_relaxation(weights, parts=None, equal=False) -> float:
    """max <W, X> / 2 of partitions into so many communities (any number: None), in Y = (k X - 1 1^T) / (k - 1), by
    Clarabel.
    """
    import cvxpy as cp

    n = len(weights)
    share, shift = (1.0, 0.0) if parts is None else ((parts - 1.0) / parts, 1.0 / parts)
    least = 0.0 if parts is None else -1.0 / (parts - 1.0)
    y = cp.Variable((n, n), PSD=True)
    constraints = [cp.diag(y) == 1.0, y >= least]
    constraints += [cp.sum(y, axis=1) == 0.0] if equal else []
    objective = 0.5 * (share * cp.sum(cp.multiply(weights, y)) + shift * weights.sum())
    return float(cp.Problem(cp.Maximize(objective), constraints).solve(solver="CLARABEL"))


def linear_optimum(built) -> float:
    """Of a template `linear-program`."""
    bounds = np.column_stack([built.lower, built.upper])
    return float(linprog(built.cost, A_eq=built.matrix, b_eq=built.equals, bounds=bounds).fun)


def transport_optimum(built) -> float:
    """Of a template `transport`, row by row and column by column."""
    m, n = built.costs.shape
    sums = np.vstack([np.kron(np.eye(m), np.ones(n)), np.kron(np.ones(m), np.eye(n))])
    right = np.concatenate([built.supplies, built.demands])
    return float(linprog(built.costs.ravel(), A_eq=sums, b_eq=right).fun)


def largest_component(covariance, cardinality=None, penalty=None) -> float:
    """Of a template `sparse-pca`, over all of its variables, by Clarabel."""
    import cvxpy as cp

    x = cp.Variable(covariance.shape, PSD=True)
    variance, size = cp.sum(cp.multiply(covariance, x)), cp.sum(cp.abs(x))
    objective = variance if penalty is None else variance - penalty * size
    constraints = [cp.trace(x) == 1.0] if penalty is not None else [cp.trace(x) == 1.0, size <= cardinality]
    return float(cp.Problem(cp.Maximize(objective), constraints).solve(solver="CLARABEL"))


def correlation_optimum(built) -> float:
    """Of a template `nearest-correlation`, by Clarabel."""
    import cvxpy as cp

    x = cp.Variable(built.target.shape, PSD=True)
    constraints = [cp.diag(x) == 1.0]
    constraints += [x[i, j] == built.target[i, j] for i, j in ([] if built.fixed is None else built.fixed)]
    distance = cp.sum_squares(cp.multiply(built.weights, x - built.target))
    return float(cp.Problem(cp.Minimize(0.5 * distance), constraints).solve(solver="CLARABEL"))


def correlation_by_newton(target, tolerance=1e-7) -> float:
    """How far the nearest correlation matrix is from a symmetric one: Newton's method for the dual (Qi and Sun 2006),
    min_y 1/2 |(G + Diag y)_+|^2 - sum y, with conjugate gradients, and steps halved until they descend.
    """
    from scipy.sparse.linalg import LinearOperator, cg

    n = len(target)

    def at(y):
        values, vectors = np.linalg.eigh(target + np.diag(y))
        positive = np.maximum(values, 0.0)
        near = (vectors * positive) @ vectors.T
        return 0.5 * float(positive @ positive) - float(y.sum()), near, values, vectors

    y = 1.0 - target.diagonal()
    value, near, values, vectors = at(y)
    for _ in range(100):
        gradient = near.diagonal() - 1.0
        if np.linalg.norm(gradient) <= tolerance * np.sqrt(n):
            break
        positive = np.maximum(values, 0.0)
        gaps = values[:, None] - values
        even = (values[:, None] > 0.0).astype(float) * (values > 0.0)
        slopes = np.where(gaps == 0.0, even, (positive[:, None] - positive) / np.where(gaps == 0.0, 1.0, gaps))

        def times(h, vectors=vectors, slopes=slopes):
            inner = slopes * ((vectors.T * h) @ vectors)
            return np.einsum("ij,ij->i", vectors @ inner, vectors) + 1e-10 * h

        step = cg(LinearOperator((n, n), times, dtype=float), -gradient, rtol=1e-2, maxiter=100)[0]
        length = 1.0
        while (ahead := at(y + length * step))[0] > value + 1e-4 * length * float(gradient @ step) and length > 1e-6:
            length *= 0.5
        y, (value, near, values, vectors) = y + length * step, ahead
    scale = np.sqrt(near.diagonal())
    return float(np.linalg.norm(near / np.outer(scale, scale) - target))


def phase_lift(built) -> float:
    """Of a template `phase-retrieval`, by Clarabel, with the vectors of all intensities written out."""
    import cvxpy as cp

    masks, (n,) = built.map.masks, built.map.shape
    fourier = np.exp(-2j * np.pi * np.outer(range(n), range(n)) / n)
    vectors = np.vstack([fourier * mask for mask in masks])
    x = cp.Variable((n, n), hermitian=True)
    seen = cp.real(cp.diag(vectors @ x @ vectors.conj().T))
    met = cp.norm(seen - built.intensities) <= built.error if built.error else seen == built.intensities
    program = cp.Problem(cp.Minimize(cp.real(cp.trace(x))), [x >> 0, met])
    return float(program.solve(solver="CLARABEL"))


def energy(built) -> float:
    """|x|^2 of the true signal of a template `phase-retrieval`: the optimum, where X has rank one."""
    return float(np.vdot(built.target, built.target).real)


def least_nuclear_norm(built) -> float:
    """Of a template `blind-deconvolution`, by Clarabel, with all convolutions written out as sums of shifts."""
    import cvxpy as cp

    kernels, codes = built.map.left, built.map.right
    k, n = kernels.shape[1], codes.shape[1]
    x = cp.Variable((k, n))
    shifts = [np.array([np.roll(code, place) for place in range(len(code))]).T for code in codes.T]
    seen = sum(shifts[j] @ kernels @ x[:, j] for j in range(n))
    return float(cp.Problem(cp.Minimize(cp.normNuc(x)), [seen == built.y]).solve(solver="CLARABEL"))


def product_of_lengths(built) -> float:
    """|h| |m| of the true signals of a template `blind-deconvolution`: the optimum, where X has rank one."""
    h, m = built.truth
    return float(np.linalg.norm(h) * np.linalg.norm(m))


def kernel_margin(built) -> float:
    """Of a template `kernel-learning`: how far the hulls of the classes are apart, by Clarabel."""
    import cvxpy as cp

    signs, n = built.table.target, built.table.samples
    a, t = cp.Variable(n, nonneg=True), cp.Variable()
    factors = [np.linalg.cholesky(matrix + built.softness * np.eye(n)) for matrix in built.matrices]
    constraints = [cp.norm(factor.T @ cp.multiply(signs, a)) <= t for factor in factors]
    constraints += [cp.sum(a[signs > 0.0]) == 1.0, cp.sum(a[signs < 0.0]) == 1.0]
    return float(cp.Problem(cp.Minimize(t), constraints).solve(solver="CLARABEL"))


def crammer_singer(points, labels, regularisation) -> float:
    """Of a template `structured-svm` of points by themselves, by scikit-learn. It minimises |w|^2 / 2 + C sum, C times
    n t of what the template does. points (n, d) with their last entry 1.
    """
    from sklearn.svm import LinearSVC

    n = len(labels)
    machine = LinearSVC(
        C=1.0 / (regularisation * n), multi_class="crammer_singer", fit_intercept=False, tol=1e-10, max_iter=10**6
    ).fit(points, labels)
    scores = points @ machine.coef_.T
    own = scores[np.arange(n), labels]
    wrong = np.arange(scores.shape[1]) != labels[:, None]
    slacks = (scores + wrong).max(axis=1) - own
    return 0.5 * regularisation * float(np.square(machine.coef_).sum()) + float(slacks.mean())


def labelled_sequences(built) -> float:
    """Of a template `structured-svm`, by Clarabel: the best labelling of a sequence up to a point and its label is a
    number of the program, above what it is by those of the point before (Taskar, Guestrin and Koller 2003).
    """
    import cvxpy as cp

    train, classes = built.train, built.classes
    points = np.column_stack([train.points, np.ones(len(train.points))])
    weights, transitions = cp.Variable((classes, points.shape[1])), cp.Variable((classes, classes))
    slacks, best = cp.Variable(train.count), cp.Variable(built.costs.shape)
    scores = points @ weights.T + built.costs
    constraints = []
    for i, (start, length) in enumerate(zip(train.starts, train.lengths, strict=True)):
        own = train.labels[start : start + length]
        truth = cp.sum(cp.multiply(weights, np.eye(classes)[own].T @ points[start : start + length]))
        if length > 1:
            counts = np.zeros((classes, classes))
            np.add.at(counts, (own[:-1], own[1:]), 1.0)
            truth += cp.sum(cp.multiply(counts, transitions))
        constraints += [best[start] >= scores[start], slacks[i] >= best[start + length - 1] - truth]
        for t in range(start + 1, start + length):
            before = cp.reshape(best[t - 1], (classes, 1), order="C") @ np.ones((1, classes))
            here = np.ones((classes, 1)) @ cp.reshape(best[t] - scores[t], (1, classes), order="C")
            constraints.append(here >= before + transitions)
    squares = cp.sum_squares(weights) + (0.0 if train.are_single else cp.sum_squares(transitions))
    objective = 0.5 * built.regularisation * squares + cp.sum(slacks) / train.count
    return float(cp.Problem(cp.Minimize(objective), constraints).solve(solver="CLARABEL"))


def tasks_together(built) -> float:
    """Of a template `multi-task-regression`, task by task, by Clarabel."""
    import cvxpy as cp

    features, targets = built.train.features, built.train.targets
    w, known = cp.Variable((features.shape[1], targets.shape[1])), ~np.isnan(targets)
    errors = [cp.sum_squares(features[rows] @ w[:, task] - targets[rows, task]) for task, rows in enumerate(known.T)]
    objective = 0.5 * cp.sum(errors) / known.sum()
    inside = [cp.normNuc(w) <= built.problem.domain.radius]
    return float(cp.Problem(cp.Minimize(objective), inside).solve(solver="CLARABEL"))


def covariance_optimum(built) -> float:
    """Of a template `covariance-estimation`, with both matrices of a sum, by Clarabel."""
    import cvxpy as cp

    c, n = built.covariance, len(built.covariance)
    x = cp.Variable((n, n), PSD=True)
    constraints = [cp.trace(x) <= built.problem.domain.radius]
    if built.structure == "both":
        found, size = x, cp.sum(cp.abs(x))
    else:
        s = cp.Variable((n, n), symmetric=True)
        found, size = x + s, cp.sum(cp.abs(cp.multiply(1.0 - np.eye(n), s)))
        constraints.append(cp.diag(x) <= c.diagonal())
    objective = 0.5 * cp.sum_squares(found - c) + built.penalty * size
    return float(cp.Problem(cp.Minimize(objective), constraints).solve(solver="CLARABEL"))


def matching_relaxation(first, second) -> float:
    """min |A P - P B|^2 / 2 over doubly stochastic P, by Clarabel."""
    import cvxpy as cp

    p = cp.Variable(first.shape, nonneg=True)
    sums = [cp.sum(p, axis=0) == 1.0, cp.sum(p, axis=1) == 1.0]
    return float(cp.Problem(cp.Minimize(0.5 * cp.sum_squares(first @ p - p @ second)), sums).solve(solver="CLARABEL"))


def completion(places, target, shape, radius, largest) -> float:
    """min 1/2 |x_places - target|^2 over the nuclear-norm ball and |x_ij| <= largest, by Clarabel."""
    import cvxpy as cp

    x = cp.Variable(shape)
    missed = cp.vec(x, order="C")[places] - target
    inside = [cp.normNuc(x) <= radius, cp.abs(x) <= largest]
    return float(cp.Problem(cp.Minimize(0.5 * cp.sum_squares(missed)), inside).solve(solver="CLARABEL"))


def best_assignment(flow, distance) -> float:
    """The least sum_ij a_ij b_p(i)p(j) of all permutations p."""
    n = len(flow)
    places = np.array(list(itertools.permutations(range(n))))
    pairs = itertools.product(range(n), repeat=2)
    return float(sum(flow[i, j] * distance[places[:, i], places[:, j]] for i, j in pairs).min())
