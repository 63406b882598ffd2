"""Quadratics with eigenvalues that rounding has left below zero: no certified bound lies above the true minimum."""

from fractions import Fraction
from itertools import combinations, product

import numpy as np
import pytest
import scipy.sparse as sp

from cgm_cli.blocks.domains.box import Box
from cgm_cli.blocks.domains.norm_balls import L2Ball
from cgm_cli.blocks.domains.simplex import Simplex
from cgm_cli.blocks.iterates import DenseIterate
from cgm_cli.blocks.losses.quadratic import Quadratic
from cgm_cli.blocks.problem import CompositeProblem
from cgm_cli.errors import ProblemError
from cgm_cli.methods.loop import run
from cgm_cli.methods.method import Method
from cgm_cli.methods.oracles.fixed import FixedAccuracy
from cgm_cli.methods.smoothing.homotopy import Homotopy
from cgm_cli.methods.steps.line_search import LineSearch
from cgm_cli.methods.stopping import StopRules
from cgm_cli.spec.load import dump, loads
from cgm_cli.templates.build import build

TINY = 1e-100


def exactly(q, c, x):
    """<x, Q x> / 2 + <c, x> as a fraction: no digit is rounded."""
    q = [[Fraction(float(entry)) for entry in row] for row in q]
    c, x = [Fraction(float(entry)) for entry in c], [Fraction(entry) for entry in x]
    n = len(x)
    return sum(q[i][j] * x[i] * x[j] for i in range(n) for j in range(n)) / 2 + sum(c[i] * x[i] for i in range(n))


def corners_and_stationary_points(q, c, box):
    """Of a box: all vertices, and on each face the point where the derivative along it vanishes, moved into the box."""
    n = len(c)
    for sides in product((-1, 0, 1), repeat=n):
        free = [i for i in range(n) if sides[i] == 0]
        x = np.array([box.lower[i] if sides[i] < 0 else box.upper[i] for i in range(n)], dtype=float)
        if free:
            x[free] = 0.0
            x[free] = np.linalg.lstsq(q[np.ix_(free, free)], -(c + q @ x)[free], rcond=None)[0]
        yield [float(entry) for entry in np.clip(x, box.lower, box.upper)]


def on_the_ball(q, c, ball):
    """The inside solution, and those of (Q + s I) x = -c of length r; scaled by fractions until they are inside."""
    values, vectors = np.linalg.eigh(q)
    moved = vectors.T @ c
    candidates = [np.linalg.lstsq(q, -c, rcond=None)[0]]
    low, high = max(0.0, -values[0]), np.linalg.norm(c) / ball.radius + abs(values[0]) + values[-1]
    for _ in range(200):
        middle = 0.5 * (low + high)
        length = np.linalg.norm(moved / np.maximum(values + middle, TINY))
        low, high = (middle, high) if length > ball.radius else (low, middle)
    x = vectors @ (-moved / np.maximum(values + high, TINY))
    # What is missing in length lies along the first eigenvector, where the second derivative is smallest.
    rest = np.sqrt(max(0.0, ball.radius**2 - x @ x))
    candidates += [x, x + rest * vectors[:, 0], x - rest * vectors[:, 0]]
    for x in candidates:
        scale = min(1.0, ball.radius / max(np.linalg.norm(x), TINY)) * (1.0 - 1e-15)
        point = [Fraction(float(entry)) * Fraction(scale) for entry in x]
        if sum(entry**2 for entry in point) <= Fraction(ball.radius) ** 2:
            yield point


def on_the_faces(q, c, simplex):
    """Of a simplex: on each face the point where the derivative along it vanishes, made to sum to r as a fraction."""
    n = len(c)
    for size in range(1, n + 1):
        for support in combinations(range(n), size):
            s = list(support)
            system = np.block([[q[np.ix_(s, s)], np.ones((size, 1))], [np.ones((1, size)), np.zeros((1, 1))]])
            found = np.linalg.lstsq(system, np.append(-c[s], simplex.radius), rcond=None)[0][:size]
            x = [Fraction(0)] * n
            for i, entry in zip(s, np.maximum(found, 0.0), strict=True):
                x[i] = Fraction(float(entry))
            total = sum(x)
            if total > 0:
                yield [entry * Fraction(simplex.radius) / total for entry in x]


def least_value(q, c, domain):
    """The smallest exact value of f at points of X among which, but for rounding, the minimiser is."""
    points = {Box: corners_and_stationary_points, L2Ball: on_the_ball, Simplex: on_the_faces}[type(domain)]
    return min(exactly(q, c, x) for x in points(q, c, domain))


def drawn(rng):
    """A quadratic whose smallest eigenvalue is anything from -1e-6 to 1e-6 of the largest, on a domain of any size."""
    n, unit = int(rng.integers(1, 5)), 10.0 ** rng.uniform(-3, 3)
    turn = np.linalg.qr(rng.standard_normal((n, n)))[0]
    least = rng.choice([-1.0, 1.0]) * 10.0 ** rng.uniform(-17, -6) * rng.choice([0.0, 1.0], p=[0.1, 0.9])
    values = np.append(rng.uniform(0.0, 1.0, n)[1:], 1.0)
    values[0] = least if n > 1 else abs(least)
    q = unit * (turn * values) @ turn.T
    q = 0.5 * (q + q.T)
    if rng.random() < 0.3:
        q = q.astype(np.float32).astype(float)
    size = 10.0 ** rng.uniform(-3, 6)
    c = rng.standard_normal(n) * unit * size * rng.choice([0.0, 1e-9, 1e-3, 1.0])
    kind = rng.integers(3)
    if kind == 0:
        lower = -size * rng.uniform(0.0, 1.0, n)
        return q, c, Box(lower, lower + size * rng.uniform(0.0, 2.0, n))
    return q, c, L2Ball((n,), size) if kind == 1 else Simplex(n, size)


METHOD = Method("hcgm", Homotopy(1.0), LineSearch(), FixedAccuracy(1e-9))


@pytest.mark.parametrize("block", range(2))
def test_no_certified_bound_lies_above_the_minimum(block):
    """500 random quadratics; the minimum, and the comparison, in exact arithmetic."""
    rng, certified, allowed = np.random.default_rng(block), 0, 0
    for _ in range(250):
        q, c, domain = drawn(rng)
        problem = CompositeProblem(domain, Quadratic(q, c, (len(c),)))
        outcome = run(problem, METHOD, StopRules(15), DenseIterate(problem.first))
        if outcome.bound is not None and outcome.bound.certified:
            certified += 1
            allowed += problem.tangent_excess > 0.0
            assert Fraction(outcome.bound.value) <= least_value(q, c, domain), (q.tolist(), c.tolist(), vars(domain))
    assert certified == 250 and allowed > 50


def test_the_minimum_is_found_where_it_is_known():
    """The twin above: at a vertex, inside, and on the sphere."""
    q, c = np.diag([1.0, -9e-11]), np.zeros(2)
    assert least_value(q, c, Box(np.array([0.0, -1e6]), np.array([1.0, 1e6]))) == pytest.approx(-45.0)
    assert least_value(np.eye(2), np.array([-1.0, 0.0]), L2Ball((2,), 2.0)) == pytest.approx(-0.5)
    assert least_value(-1e-3 * np.eye(2), c, L2Ball((2,), 2.0)) == pytest.approx(-2e-3)
    assert least_value(np.eye(2), c, Simplex(2, 1.0)) == pytest.approx(0.25)


# ---- as specs ----


def solved(objective, domain, stop, iterations=200):
    spec = {
        "problem": {"domain": domain, "objective": {"kind": "quadratic", **objective}},
        "solver": {"method": "hcgm", "step": "line-search", "iterations": iterations},
        "stop": stop,
    }
    return build(loads(dump(spec))).solve()


SADDLE = {"matrix": [[1.0, 0.0], [0.0, -9e-11]]}
WIDE = {"kind": "box", "lower": [0.0, -1e6], "upper": [1.0, 1e6]}


def test_a_gap_that_the_negative_part_hides_is_refused():
    with pytest.raises(ProblemError, match=r"eigenvalue of -9e-11 .* takes 180 off every bound. Add 9e-11") as caught:
        solved(SADDLE, WIDE, {"gap": 1e-6})
    assert caught.value.path == ("problem", "objective", "matrix")


def test_without_a_gap_to_reach_the_bound_allows_for_it():
    result = solved(SADDLE, WIDE, {"gap": None})
    assert result.bound_is == "certified" and result.record.bound <= -45.0
    lifted = solved({"matrix": [[1.0, 0.0], [0.0, 0.0]]}, WIDE, {"gap": 1e-6})
    assert lifted.record.bound == pytest.approx(0.0, abs=1e-6)


def test_the_gram_matrix_of_single_precision_features():
    """Sparse and of order 1100, with a smallest eigenvalue of about -2e-6, over +-1000: the minimum is far below 0."""
    n, few = 1100, 300
    features = np.random.default_rng(0).standard_normal((30, few)).astype(np.float32)
    block = (features.T @ features).astype(float)
    block = 0.5 * (block + block.T)
    matrix = sp.block_diag([block, sp.eye_array(n - few)], format="csr")
    values, vectors = np.linalg.eigh(block)
    assert values[0] < -1e-7
    box = Box(np.full(n, -1e3), np.full(n, 1e3))
    corner = 1e3 * np.append(np.sign(vectors[:, 0]), np.zeros(n - few))
    worst = min(0.5 * corner @ (matrix @ corner), 0.5 * 1e6 * values[0])
    assert worst < 0.0
    problem = CompositeProblem(box, Quadratic(matrix, np.zeros(n), (n,)))
    outcome = run(problem, METHOD, StopRules(3), DenseIterate(problem.first))
    assert outcome.bound.certified and outcome.bound.value <= worst
    with pytest.raises(ProblemError, match="not convex, or too nearly so"):
        run(problem, METHOD, StopRules(3, gap=1e-4), DenseIterate(problem.first))


def test_over_a_small_domain_the_same_matrix_converges():
    """What the bound loses there is far less than the gap."""
    result = solved({**SADDLE, "linear": [-0.5, 0.0]}, {"kind": "simplex", "size": 2}, {"gap": 1e-6}, 2000)
    assert result.status.value == "converged"
    assert result.record.bound <= -0.125 + 1e-12


def test_beside_constraints_it_is_refused_once_all_else_is_met():
    spec = {
        "problem": {
            "domain": WIDE,
            "objective": {"kind": "quadratic", **SADDLE},
            "constraints": [{"kind": "equals", "value": 0.0, "map": {"kind": "matrix", "matrix": [[1, 0]]}}],
        },
        "stop": {"gap": 1e-6},
    }
    with pytest.raises(ProblemError, match="takes 180 off"):
        build(loads(dump(spec))).solve()


def test_where_convexity_is_not_proven_nothing_is_certified():
    problem = CompositeProblem(Simplex(3), Quadratic(np.eye(3), np.zeros(3), (3,)))
    problem.loss.convexity_proven = False
    outcome = run(problem, METHOD, StopRules(20), DenseIterate(problem.first))
    assert outcome.bound.kind == "estimated"
