"""The largest singular triplet against LAPACK."""

import numpy as np
import pytest

from cgm_cli.blocks.directions import DenseDirection
from cgm_cli.blocks.domains.base import OracleRequest
from cgm_cli.blocks.domains.nuclear import NuclearBall
from cgm_cli.numerics.eigen import DENSE_BELOW
from cgm_cli.numerics.svd import largest_singular_triplet


def solve(g, tolerance=1e-9, seed=0, **options):
    return largest_singular_triplet(
        lambda block: g @ block,
        lambda block: g.T @ block,
        g.shape,
        tolerance=tolerance,
        rng=np.random.default_rng(seed),
        **options,
    )


def matrix(shape, values, rng):
    """A matrix of these singular values."""
    k = len(values)
    left = np.linalg.qr(rng.standard_normal((shape[0], k)))[0]
    right = np.linalg.qr(rng.standard_normal((shape[1], k)))[0]
    return (left * values) @ right.T


def check_honest(g, top):
    values = np.linalg.svd(g, compute_uv=False)
    slack = 1e-13 * max(g.shape) * max(values[0], 1e-300)
    assert np.linalg.norm(top.left) == pytest.approx(1.0, abs=1e-12)
    assert np.linalg.norm(top.right) == pytest.approx(1.0, abs=1e-12)
    assert top.left.shape == (g.shape[0],)
    assert top.right.shape == (g.shape[1],)
    assert np.linalg.norm(g @ top.right - top.value * top.left) <= top.residual + slack
    assert np.linalg.norm(g.T @ top.left - top.value * top.right) <= top.residual + slack
    assert top.value <= values[0] + slack
    assert np.abs(values - top.value).min() <= top.residual + slack


SHAPES = [(1, 1), (1, 7), (7, 1), (2, 90), (90, 2), (63, 200), (64, 64), (65, 65), (66, 65), (65, 120), (120, 66)]


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("tolerance", [0.0, 1e-2, 1e-9])
def test_every_shape(shape, tolerance):
    g = np.random.default_rng(shape[0]).standard_normal(shape)
    top = solve(g, tolerance)
    check_honest(g, top)
    truth = np.linalg.norm(g, 2)
    assert top.converged
    assert top.exact == (min(shape) <= DENSE_BELOW or tolerance == 0.0)
    if top.exact:
        assert abs(top.value - truth) <= top.residual
    else:
        assert top.residual <= tolerance * top.value * (1 + 1e-6) + 1e-12 * truth
        assert top.value == pytest.approx(truth, rel=max(tolerance, 1e-12))


@pytest.mark.parametrize("shape", [(1, 1), (1, 5), (70, 1), (80, 70), (70, 80)])
def test_zero_matrix(shape):
    top = solve(np.zeros(shape))
    assert top.value == 0.0
    assert np.linalg.norm(top.left) == pytest.approx(1.0)
    assert np.linalg.norm(top.right) == pytest.approx(1.0)
    atom = NuclearBall(shape, 2.0).lmo(DenseDirection(np.zeros(shape)), OracleRequest()).atom
    assert not atom.dense().any()


@pytest.mark.parametrize("shape", [(100, 80), (80, 100)])
@pytest.mark.parametrize("values", [[3.0], [2.0, 1.0], [1.0, 1.0, 1.0], [1.0] + [1 - 1e-9] * 5, [1.0, 1e-8]])
def test_low_rank_and_clustered_values(shape, values):
    g = matrix(shape, np.array(values), np.random.default_rng(len(values)))
    top = solve(g)
    check_honest(g, top)
    assert top.converged
    assert top.value == pytest.approx(values[0], rel=1e-8)


def test_orthogonal_matrix():
    q = np.linalg.qr(np.random.default_rng(0).standard_normal((90, 90)))[0]
    top = solve(q)
    check_honest(q, top)
    assert top.value == pytest.approx(1.0, abs=1e-12)


@pytest.mark.parametrize("shape", [(100, 80), (80, 100)])
def test_a_warm_start_orthogonal_to_the_answer_still_finds_it(shape):
    rng = np.random.default_rng(1)
    g = np.zeros(shape)
    g[:40, :40] = matrix((40, 40), np.linspace(1, 0.1, 40), rng)
    g[40:80, 40:80] = matrix((40, 40), np.linspace(3, 0.1, 40), rng)
    left, _, right = np.linalg.svd(g[:40, :40])
    start = np.zeros((80, 1))
    start[:40, 0] = right[0] if shape[1] == 80 else left[:, 0]
    top = solve(g, tolerance=1e-6, start=start)
    assert top.value == pytest.approx(3.0, rel=1e-6)


def test_out_of_products_gives_the_best_found_and_says_so():
    g = np.random.default_rng(2).standard_normal((300, 300))
    top = solve(g, tolerance=1e-12, max_products=20)
    check_honest(g, top)
    assert not top.converged
    assert top.products <= 21


def test_same_seed_same_answer_to_the_last_bit():
    g = np.random.default_rng(3).standard_normal((90, 110))
    first, second, other = (solve(g, 1e-3, seed) for seed in (4, 4, 5))
    assert first.left.tobytes() == second.left.tobytes()
    assert first.right.tobytes() == second.right.tobytes()
    assert first.right.tobytes() != other.right.tobytes()


@pytest.mark.parametrize("shape", [(1, 1), (1, 6), (6, 1), (30, 40), (65, 70), (90, 66)])
@pytest.mark.parametrize("magnitude", [1e-170, 1e-25, 1.0, 1e170])
def test_nuclear_oracle_at_any_magnitude(shape, magnitude):
    g = np.random.default_rng(shape[1]).standard_normal(shape)
    ball = NuclearBall(shape, 1.5)
    answer = ball.lmo(DenseDirection(magnitude * g), OracleRequest(tolerance=1e-9))
    expected = -1.5 * np.linalg.norm(g, 2)
    assert answer.value / magnitude == pytest.approx(expected, rel=1e-9)
    assert answer.lower <= answer.value
    assert ball.contains(answer.atom.dense())
    assert float(np.vdot(g, answer.atom.dense())) == pytest.approx(expected, rel=1e-9)
    certified = ball.certified_minimum(DenseDirection(magnitude * g)) / magnitude
    assert certified <= expected * (1 - 1e-15)
    assert certified == pytest.approx(expected, rel=1e-10)
