"""The optimum of each penalised template by a method that shares no code with the solver.

Smooth problems and those with a simple prox: accelerated proximal gradients (Beck and Teboulle, 2009), restarted
(O'Donoghue and Candes, 2015). Piecewise linear ones: linear programming, or over an l2-ball its dual. The elastic net:
scikit-learn. Denoising: ADMM. Each takes the built template and returns F*, evaluated at the point that was found.
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import brentq, linprog, minimize

# Projections, all by a search for the root of an equation for a threshold.


def shrink(sizes, radius):
    """Non-negative sizes less one amount, found by Brent's method, until they sum to the radius at most."""
    if sizes.sum() <= radius:
        return sizes
    excess = lambda amount: np.maximum(sizes - amount, 0).sum() - radius  # noqa: E731
    return np.maximum(sizes - brentq(excess, 0.0, float(sizes.max()), xtol=1e-300, rtol=1e-15), 0)


def onto_l1(w, radius):
    return np.sign(w) * shrink(np.abs(w), radius)


def onto_simplex(w, radius):
    # A shift changes nothing on the simplex; this one makes every entry positive and the sum too large.
    return shrink(w - w.min() + radius, radius)


def onto_nuclear(x, radius):
    left, values, right = np.linalg.svd(x, full_matrices=False)
    return (left * shrink(values, radius)) @ right


def accelerated(gradient, lipschitz, prox, start, steps=20000):
    """argmin of a smooth function plus one whose `prox` at step 1/lipschitz is given."""
    x = ahead = start
    t = 1.0
    for _ in range(steps):
        new = prox(ahead - gradient(ahead) / lipschitz)
        if np.vdot(ahead - new, new - x) > 0:
            t, ahead = 1.0, x
            continue
        if np.abs(new - x).max() <= 1e-15 * np.abs(new).max():
            break
        later = (1 + np.sqrt(1 + 4 * t * t)) / 2
        x, ahead, t = new, new + (t - 1) / later * (new - x), later
    return x


# Linear models


def mean_loss(table, kind, w):
    """Written out: the mean loss of the samples."""
    z, y = table.features @ w, table.target
    return {
        "least-squares": lambda: np.mean((z - y) ** 2) / 2,
        "logistic": lambda: np.mean(np.log1p(np.exp(-y * z))),
        "absolute": lambda: np.mean(np.abs(z - y)),
        "hinge": lambda: np.mean(np.maximum(0, 1 - y * z)),
    }[kind]()


def mean_gradient(table, kind):
    """(gradient, Lipschitz constant) of the smooth mean losses."""
    a, y, m = table.features, table.target, table.samples
    curvature = np.linalg.norm(a, 2) ** 2 / m
    if kind == "least-squares":
        return lambda w: a.T @ (a @ w - y) / m, curvature
    return lambda w: -a.T @ (y / (1 + np.exp(y * (a @ w)))) / m, curvature / 4


def sparse_regression(built):
    """Projections onto the l1-ball or the simplex."""
    table, domain = built.table, built.problem.domain
    gradient, lipschitz = mean_gradient(table, built.fit)
    onto = onto_simplex if type(domain).__name__ == "Simplex" else onto_l1
    w = accelerated(gradient, lipschitz, lambda w: onto(w, domain.radius), np.zeros(table.size))
    return mean_loss(table, built.fit, w)


def elastic_net(built, l1, ridge):
    """scikit-learn's coordinate descent; checks that the ball holds its solution."""
    from sklearn.linear_model import ElasticNet

    table, domain = built.table, built.problem.domain
    model = ElasticNet(alpha=l1 + ridge, l1_ratio=l1 / (l1 + ridge), fit_intercept=False, tol=1e-14, max_iter=10**6)
    w = model.fit(table.features, table.target).coef_
    assert domain.contains(w)
    return mean_loss(table, "least-squares", w) + l1 * np.abs(w).sum() + ridge / 2 * (w @ w)


def group_lasso(built, groups, penalty=None):
    """On copies of the features, one for each group: there the groups are apart and the prox is a formula.

    With a penalty: for groups without overlap, and checks that the ball holds the solution.
    """
    table, radius = built.table, built.problem.domain.radius
    entries, ends = np.concatenate(groups), np.cumsum([len(group) for group in groups])
    copies = np.eye(table.size)[entries]  # (copies, features)
    gradient, lipschitz = mean_gradient(table, built.fit)
    lipschitz *= np.linalg.norm(copies, 2) ** 2

    def prox(v):
        parts = np.split(v, ends[:-1])
        norms = np.array([np.linalg.norm(part) for part in parts])
        kept = shrink(norms, radius) if penalty is None else np.maximum(norms - penalty / lipschitz, 0)
        return np.concatenate([p * (k / n if n > 0 else 0) for p, k, n in zip(parts, kept, norms, strict=True)])

    v = accelerated(lambda v: copies @ gradient(copies.T @ v), lipschitz, prox, np.zeros(entries.size))
    w = copies.T @ v
    if penalty is None:
        return mean_loss(table, built.fit, w)
    assert len(set(entries)) == len(entries)
    assert np.linalg.norm(w) < radius
    return mean_loss(table, built.fit, w) + penalty * sum(np.linalg.norm(w[group]) for group in groups)


def overlapping_group_penalty(built, groups, penalty, sweeps=5000):
    """Least squares with penalty * sum |w_G| for groups that overlap: ADMM with a copy of w_G for every group."""
    table = built.table
    entries, ends = np.concatenate(groups), np.cumsum([len(group) for group in groups])
    copies, a = np.eye(table.size)[entries], table.features
    inverse = np.linalg.inv(a.T @ a / table.samples + copies.T @ copies)
    z = dual = np.zeros(entries.size)
    for _ in range(sweeps):
        w = inverse @ (a.T @ table.target / table.samples + copies.T @ (z - dual))
        parts = np.split(copies @ w + dual, ends[:-1])
        z = np.concatenate([p * max(0.0, 1 - penalty / max(np.linalg.norm(p), 1e-300)) for p in parts])
        dual = dual + copies @ w - z
    assert np.abs(copies @ w - z).max() < 1e-9
    assert np.linalg.norm(w) < built.problem.domain.radius
    return mean_loss(table, "least-squares", w) + penalty * sum(np.linalg.norm(w[group]) for group in groups)


def robust_fit(built):
    """min of the mean of |X w - y| or max(0, 1 - y X w), as sum_i c max(0, h_i) with h = rows w + constant."""
    table, domain = built.table, built.problem.domain
    if built.fit == "hinge":
        rows, constant = -table.target[:, None] * table.features, np.ones(table.samples)
    else:
        rows, constant = np.vstack([table.features, -table.features]), np.concatenate([-table.target, table.target])
    weights = np.full(constant.size, 1.0 / table.samples)
    if type(domain).__name__ == "L1Ball":
        return positive_parts_lp(rows, constant, weights, domain.radius)
    w = positive_parts_dual(rows, constant, weights, domain.radius)
    return mean_loss(table, built.fit, w)


def positive_parts_lp(rows, constant, weights, radius):
    """min sum_i c_i max(0, rows_i w + constant_i) over |w|_1 <= r; w = p - q."""
    m, n = rows.shape
    cost = np.concatenate([np.zeros(2 * n), weights])
    above = np.hstack([rows, -rows, -np.eye(m)])
    ball = np.concatenate([np.ones(2 * n), np.zeros(m)])
    found = linprog(cost, np.vstack([above, ball]), np.append(-constant, radius), bounds=(0, None))
    return found.fun


def positive_parts_dual(rows, constant, weights, radius):
    """The same over |w|_2 <= r by its dual: max <constant, a> - r |rows^T a| over 0 <= a <= c. Returns w."""

    def negative(a):
        pull = rows.T @ a
        size = np.linalg.norm(pull)
        return radius * size - constant @ a, radius * (rows @ pull) / size - constant

    options = {"maxiter": 10**5, "maxfun": 10**6, "ftol": 0.0, "gtol": 1e-13}
    found = minimize(negative, weights / 2, jac=True, bounds=[(0, c) for c in weights], options=options)
    pull = rows.T @ found.x
    w = -radius * pull / np.linalg.norm(pull)
    value = weights @ np.maximum(0, rows @ w + constant)
    assert value + found.fun <= 1e-6 * value, (value, -found.fun)
    return w


def max_affine(built):
    """Linear programming over the l1- and the linf-ball; SLSQP on the epigraph over the l2-ball."""
    a, b, domain = built.slopes, built.offsets, built.problem.domain
    (m, n), radius, kind = a.shape, built.problem.domain.radius, type(domain).__name__
    if kind == "L2Ball":
        found = minimize(
            lambda v: v[-1],
            np.append(np.zeros(n), b.max()),
            jac=lambda v: np.append(np.zeros(n), 1.0),
            constraints=[
                {"type": "ineq", "fun": lambda v: v[-1] - a @ v[:-1] - b, "jac": lambda v: np.c_[-a, np.ones(m)]},
                {"type": "ineq", "fun": lambda v: radius**2 - v[:-1] @ v[:-1], "jac": lambda v: np.r_[-2 * v[:-1], 0]},
            ],
            method="SLSQP",
            options={"ftol": 1e-15, "maxiter": 1000},
        )
        return (a @ found.x[:-1] + b).max()
    if kind == "LinfBall":
        radius = float(domain.upper.flat[0])
        return linprog(
            np.append(np.zeros(n), 1.0), np.c_[a, -np.ones(m)], -b, bounds=[(-radius, radius)] * n + [(None, None)]
        ).fun
    rows = np.c_[a, -a, -np.ones(m)]
    ball = np.append(np.ones(2 * n), 0.0)
    bounds = [(0, None)] * (2 * n) + [(None, None)]
    return linprog(np.append(np.zeros(2 * n), 1.0), np.vstack([rows, ball]), np.append(-b, radius), bounds=bounds).fun


# Matrices


def matrix_completion(built):
    """Projections onto the nuclear-norm ball; |A X - b|^2 / 2, or for signs b the mean of log(1 + exp(-b A X))."""
    seen, radius = built.seen, built.problem.domain.radius
    known, matrix = np.zeros(seen.shape, dtype=bool), np.zeros(seen.shape)
    known.flat[seen.indices], matrix.flat[seen.indices] = True, seen.values
    share, signs = known / known.sum(), type(built.problem.loss).__name__ == "Logistic"

    def gradient(x):
        return -share * matrix / (1 + np.exp(matrix * x)) if signs else known * (x - matrix)

    lipschitz = share.max() / 4 if signs else 1.0
    x = accelerated(gradient, lipschitz, lambda x: onto_nuclear(x, radius), np.zeros(matrix.shape))
    if signs:
        return (share * np.log1p(np.exp(-matrix * x))).sum()
    return 0.5 * ((x - matrix)[known] ** 2).sum()


def low_rank_denoising(built, tv, l1=0.0, isotropic=True, sweeps=1500, penalty=5.0):
    """ADMM: X has a copy in the ball and one for the l1-norm, and D X one for the total variation.

    Boyd et al., "Distributed optimization and statistical learning via ADMM", 2011, chapter 4. X itself comes from a
    linear system with I + penalty (2 I + D^T D), D the differences as an explicit matrix.
    """
    noisy, radius = built.noisy, built.problem.domain.radius
    m, n = noisy.shape

    def differences(x):
        x = x.reshape(m, n)
        down, right = np.diff(x, axis=0, append=x[-1:]), np.diff(x, axis=1, append=x[:, -1:])
        return np.concatenate([down.reshape(-1), right.reshape(-1)])

    def transposed(y):
        down, right = y.reshape(2, m, n)
        out = -np.diff(down, axis=0, prepend=0.0) - np.diff(right, axis=1, prepend=0.0)
        out[-1, :] += down[-1]
        out[:, -1] += right[:, -1]
        return out.reshape(-1)

    d = np.array([differences(row) for row in np.eye(m * n)]).T
    np.testing.assert_array_equal(d.T @ np.arange(2 * m * n), transposed(np.arange(2 * m * n)))
    inverse = np.linalg.inv(np.eye(m * n) * (1 + 2 * penalty) + penalty * d.T @ d)

    def soft(z, amount):
        return np.sign(z) * np.maximum(np.abs(z) - amount, 0)

    def shorter(z, amount):
        if not isotropic:
            return soft(z, amount)
        pairs = z.reshape(2, -1)
        sizes = np.linalg.norm(pairs, axis=0)
        return (pairs * np.maximum(1 - amount / np.maximum(sizes, 1e-300), 0)).reshape(-1)

    b = noisy.reshape(-1)
    ball, sparse, steps = np.zeros(m * n), np.zeros(m * n), np.zeros(2 * m * n)
    duals = [np.zeros_like(copy) for copy in (ball, sparse, steps)]
    for _ in range(sweeps):
        x = inverse @ (b + penalty * (ball - duals[0] + sparse - duals[1] + transposed(steps - duals[2])))
        ball = onto_nuclear((x + duals[0]).reshape(m, n), radius).reshape(-1)
        sparse = soft(x + duals[1], l1 / penalty)
        jumps = differences(x)
        steps = shorter(jumps + duals[2], tv / penalty)
        for dual, gap in zip(duals, (x - ball, x - sparse, jumps - steps), strict=True):
            dual += gap
    assert max(np.abs(x - ball).max(), np.abs(x - sparse).max(), np.abs(jumps - steps).max()) < 1e-5
    pairs = differences(ball).reshape(2, -1)
    variation = np.linalg.norm(pairs, axis=0).sum() if isotropic else np.abs(pairs).sum()
    return 0.5 * ((ball - b) ** 2).sum() + l1 * np.abs(ball).sum() + tv * variation
