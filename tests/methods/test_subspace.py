"""Accelerated projected steps in factored form: against the same steps by full decompositions, and in runs."""

import numpy as np
import pytest

from cgm_cli.blocks.atoms import LowRankAtom
from cgm_cli.blocks.domains.nuclear import NuclearBall
from cgm_cli.blocks.losses.least_squares import LeastSquares
from cgm_cli.blocks.losses.logistic import Logistic
from cgm_cli.blocks.maps.sampling import Sampling
from cgm_cli.blocks.problem import CompositeProblem
from cgm_cli.methods.corrections.subspace import descend
from cgm_cli.methods.status import Status
from cgm_cli.numerics.deadline import NEVER, Deadline, OutOfTime
from cgm_cli.solving.direct import solve_problem


def completion(m, n, rank, share, seed=0, noise=0.1):
    """Noisy entries of a matrix of low rank, and the ball of its own nuclear norm."""
    rng = np.random.default_rng(seed)
    full = rng.standard_normal((m, rank)) @ rng.standard_normal((rank, n))
    places = np.flatnonzero(rng.random((m, n)) < share)
    target = (full + noise * rng.standard_normal((m, n))).reshape(-1)[places]
    domain = NuclearBall((m, n), float(np.linalg.svd(full, compute_uv=False).sum()))
    return domain, LeastSquares(Sampling(places, (m, n)), target)


def point(domain, rank, seed=1):
    rng = np.random.default_rng(seed)
    left, right = (np.linalg.qr(rng.standard_normal((side, rank)))[0] for side in domain.shape)
    return LowRankAtom(left, np.full(rank, domain.radius / rank), right)


@pytest.mark.parametrize("kind", ["squares", "logistic"])
def test_with_all_columns_they_are_the_steps_by_full_decompositions(kind):
    """The twin: FISTA with a restart, and the same rule for L, on the matrix written out."""
    domain, loss = completion(12, 9, 2, 0.6)
    if kind == "logistic":
        loss = Logistic(loss.map, np.sign(loss.target))
    start = point(domain, 3)
    block = np.random.default_rng(2).standard_normal((9, 6))
    found = descend(loss, domain, start, block, loss.lipschitz, 12, NEVER)

    def value(x):
        return loss.value(loss.map.forward(x))

    x = before = best = start.dense()
    curvature, momentum = loss.lipschitz, 1.0
    for _ in range(12):
        following = 0.5 * (1.0 + np.sqrt(1.0 + 4.0 * momentum**2))
        y = x + (momentum - 1.0) / following * (x - before)
        momentum, gradient = following, loss.map.adjoint(loss.gradient(loss.map.forward(y))).dense()
        while True:
            new = domain.project(y - gradient / curvature)
            needed = 2.0 * (value(new) - value(y) - np.vdot(gradient, new - y)) / np.square(new - y).sum()
            if needed <= curvature:
                break
            curvature = 1.5 * needed
        curvature = max(0.5 * curvature, 1.5 * needed)
        momentum = 1.0 if value(new) > value(x) else momentum
        before, x = x, new
        best = min(best, x, key=value)
    assert value(best) < 0.6 * value(start.dense())
    np.testing.assert_allclose(found.atom.dense(), best, atol=1e-8 * domain.radius)
    assert found.curvature == pytest.approx(curvature, rel=1e-6)


def test_columns_that_are_missing_come_by_themselves():
    domain, loss = completion(60, 50, 4, 0.5)
    block = np.random.default_rng(2).standard_normal((50, 20))
    found = descend(loss, domain, point(domain, 2), block, loss.lipschitz, 60, NEVER)
    exact = solve_problem(CompositeProblem(domain, loss), "auto", {"gap": 1e-6}).record.total
    reached = loss.value(loss.map.forward_atom(found.atom))
    assert exact <= reached * (1.0 + 1e-9) <= 1.01 * exact
    assert 4 <= found.atom.weights.size < 22 and found.spare.shape == (50, 22 - found.atom.weights.size)
    for side in (found.atom.left, found.atom.right):
        np.testing.assert_allclose(side.T @ side, np.eye(side.shape[1]), atol=1e-10)
    assert found.atom.weights.sum() <= domain.radius * (1.0 + 1e-12) and np.all(np.diff(found.atom.weights) <= 0.0)


def test_a_point_that_is_left_no_more_does_not_make_steps_endless():
    """At the optimum f shows no curvature along steps of no length, and L would halve for ever."""
    domain, loss = NuclearBall((6, 5), 1.0), LeastSquares(Sampling(np.arange(30), (6, 5)), np.zeros(30))
    start = LowRankAtom(np.eye(6)[:, :1], np.array([1.0]), np.eye(5)[:, :1])
    found = descend(loss, domain, start, np.eye(5)[:, 1:3], 1.0, 3000, NEVER)
    assert found.atom.weights.sum() <= 1e-12 and found.curvature >= 1e-7


def test_it_ends_when_the_deadline_has_come():
    domain, loss = completion(20, 20, 2, 0.5)
    with pytest.raises(OutOfTime):
        descend(loss, domain, point(domain, 2), np.eye(20)[:, :3], 1.0, 5, Deadline(lambda: -1.0))


def test_noisy_completions_converge_in_a_few_turns():
    """Where the noise fills the ball, the optimum has many light columns beside few heavy ones: descent on the factor
    alone takes dozens of turns.
    """
    domain, loss = completion(300, 240, 5, 0.2)
    method = {"method": "cgal", "iterations": 30, "correction": "local-descent", "oracle": {"tolerance": 1e-3}}
    run = solve_problem(CompositeProblem(domain, loss), method, {"gap": 1e-4})
    assert run.status is Status.CONVERGED and run.bound_is == "certified"
    assert run.record.k <= 12 and run.record.rank > 10
