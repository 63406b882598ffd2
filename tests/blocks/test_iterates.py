"""Every kind of iterate against a dense array that makes the same steps."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cgm_cli.blocks.atoms import BlocksAtom, DenseAtom, LowRankAtom, SparseAtom
from cgm_cli.blocks.directions import DenseDirection
from cgm_cli.blocks.domains.fantope import Fantope
from cgm_cli.blocks.domains.psd import PSDTrace
from cgm_cli.blocks.iterates import DenseIterate, FactoredIterate, SampledIterate
from cgm_cli.errors import ProblemError

N = 12


def low_rank(rng, shape, width, symmetric):
    left = np.linalg.qr(rng.standard_normal((shape[0], width)))[0]
    weights = rng.uniform(0.1, 1.0, width)
    if symmetric:
        return LowRankAtom.symmetric(left, weights)
    return LowRankAtom(left, rng.choice([-1.0, 1.0], width) * weights, rng.standard_normal((shape[1], width)))


def walk(iterate, atoms, x, etas=None):
    """The dense twin after the same steps."""
    for k, atom in enumerate(atoms, start=1):
        eta = 2.0 / (k + 1) if etas is None else etas[k - 1]
        iterate.blend(atom, eta)
        x = (1 - eta) * x + eta * atom.dense()
    return x


def test_dense_with_atoms_of_every_form():
    rng = np.random.default_rng(0)
    shape = (N, 5)
    atoms = [
        DenseAtom(rng.standard_normal(shape)),
        SparseAtom.zero(shape),
        SparseAtom.one_hot(shape, 17, -3.0),
        low_rank(rng, shape, 1, False),
        low_rank(rng, shape, 4, False),
    ] * 4
    start = DenseAtom(rng.standard_normal(shape))
    kept = start.array.copy()
    iterate = DenseIterate(start)
    x = walk(iterate, atoms, kept, rng.uniform(0, 1, 20))
    np.testing.assert_allclose(iterate.array, x, atol=1e-13)
    np.testing.assert_array_equal(start.array, kept)
    np.testing.assert_array_equal(iterate.atom().dense(), iterate.array)
    assert set(iterate.arrays()) == {"x"}


def test_dense_over_a_product():
    block = BlocksAtom((SparseAtom.one_hot((2,), 0, 1.0), low_rank(np.random.default_rng(1), (3, 3), 1, True)))
    iterate = DenseIterate(BlocksAtom((SparseAtom.zero((2,)), SparseAtom.zero((3, 3)))))
    x = walk(iterate, [block, block], np.zeros(11), [0.5, 0.5])
    np.testing.assert_allclose(iterate.array, x)


@settings(max_examples=40, deadline=None)
@given(st.booleans(), st.integers(1, 3), st.integers(0, 30), st.integers(0, 1000), st.booleans())
def test_factored_is_exact_while_the_rank_fits(symmetric, width, steps, seed, from_zero):
    rng = np.random.default_rng(seed)
    shape = (N, N) if symmetric else (N, 7)
    # Twice as many columns as any rank: compressed to half, no rank is lost.
    columns = 2 * min(shape)
    start = SparseAtom.zero(shape) if from_zero else low_rank(rng, shape, width, symmetric)
    iterate = FactoredIterate(start, columns, symmetric)
    atoms = [
        low_rank(rng, shape, width, symmetric) if rng.random() < 0.9 else SparseAtom.zero(shape) for _ in range(steps)
    ]
    x = walk(iterate, atoms, start.dense(), rng.uniform(0, 0.9, steps))
    np.testing.assert_allclose(iterate.atom().dense(), x, atol=1e-12)
    assert iterate.truncation <= 1e-12 * max(1, steps)
    assert iterate.atom().is_symmetric == symmetric
    assert iterate.arrays()["weights"].size <= columns


@pytest.mark.parametrize("symmetric", [True, False])
def test_factored_counts_what_it_drops(symmetric):
    rng = np.random.default_rng(2)
    shape = (40, 40) if symmetric else (40, 30)
    iterate = FactoredIterate(low_rank(rng, shape, 1, symmetric), 8, symmetric)
    x = iterate.atom().dense()
    for k in range(1, 60):
        atom = low_rank(rng, shape, 1, symmetric)
        eta = 2.0 / (k + 2)
        before = iterate.truncation
        iterate.blend(atom, eta)
        x = (1 - eta) * x + eta * atom.dense()
        assert iterate.truncation >= before
        # The dropped parts shrink with later steps, so their sum is at least what is missing now.
        assert np.linalg.norm(iterate.atom().dense() - x, "nuc") <= iterate.truncation + 1e-10
    assert iterate.truncation > 1e-3


@pytest.mark.parametrize("symmetric", [True, False])
def test_one_truncation_is_the_best_approximation_and_counted_exactly(symmetric):
    rng = np.random.default_rng(3)
    shape = (20, 20) if symmetric else (20, 15)
    iterate = FactoredIterate(low_rank(rng, shape, 4, symmetric), 8, symmetric)
    iterate.blend(low_rank(rng, shape, 4, symmetric), 0.5)
    x = iterate.atom().dense()
    values = np.linalg.svd(x, compute_uv=False)
    last = low_rank(rng, shape, 1, symmetric)
    iterate.blend(last, 0.0)
    assert iterate.truncation == pytest.approx(values[4:].sum(), rel=1e-10)
    np.testing.assert_allclose(np.linalg.svd(iterate.atom().dense(), compute_uv=False)[:4], values[:4], rtol=1e-10)


def test_a_full_step_forgets_all():
    rng = np.random.default_rng(4)
    atom = low_rank(rng, (N, N), 2, True)
    dense, factored = (
        DenseIterate(low_rank(rng, (N, N), 3, True)),
        FactoredIterate(low_rank(rng, (N, N), 3, True), 10, True),
    )
    for iterate in (dense, factored):
        iterate.blend(atom, 1.0)
        np.testing.assert_allclose(iterate.atom().dense(), atom.dense(), atol=1e-15)
    assert factored.arrays()["left"].shape == (N, 2)


def test_the_iterate_keeps_no_hold_of_the_atom():
    left = np.eye(3)[:, :1].copy()
    iterate = FactoredIterate(SparseAtom.zero((3, 3)), 4, True)
    iterate.blend(LowRankAtom.symmetric(left, np.ones(1)), 1.0)
    left[:] = 9.0
    np.testing.assert_array_equal(iterate.atom().dense(), np.diag([1.0, 0.0, 0.0]))


@pytest.mark.parametrize("atom", [DenseAtom(np.eye(3)), SparseAtom.one_hot((3, 3), 0, 1.0)])
def test_factors_refuse_atoms_that_have_none(atom):
    with pytest.raises(ProblemError, match="dense"):
        FactoredIterate(SparseAtom.zero((3, 3)), 4, True).blend(atom, 0.5)
    with pytest.raises(ProblemError, match="dense"):
        SampledIterate(SparseAtom.zero((3, 3)), 4, np.random.default_rng(0)).blend(atom, 0.5)
    one_sided = LowRankAtom(np.ones((3, 1)), np.ones(1), np.ones((3, 1)))
    with pytest.raises(ProblemError):
        FactoredIterate(SparseAtom.zero((3, 3)), 4, True).blend(one_sided, 0.5)


@pytest.mark.parametrize(
    "start", [PSDTrace(4, 4.0, True).start(), PSDTrace(4, 4.0, False).start(), Fantope(4, 2).start()]
)
def test_samples_have_the_covariance_of_the_iterate(start):
    rng = np.random.default_rng(5)
    count = 40_000
    iterate = SampledIterate(start, count, np.random.default_rng(6))
    atoms = [low_rank(rng, (4, 4), 1 + k % 3, True) for k in range(6)] + [SparseAtom.zero((4, 4))]
    x = walk(iterate, atoms, start.dense(), [0.3] * 7)
    samples = iterate.arrays()["samples"]
    assert samples.shape == (4, count)
    # The standard error of an entry is sqrt((x_ii x_jj + x_ij^2) / count); five of them for 16 entries and a mean.
    diagonal = np.diag(x)
    error = np.sqrt((np.outer(diagonal, diagonal) + x**2) / count)
    assert np.all(np.abs(samples @ samples.T / count - x) <= 5 * error + 1e-12)
    assert np.all(np.abs(samples.mean(axis=1)) <= 5 * np.sqrt(diagonal / count) + 1e-12)
    assert iterate.atom() is None


def test_samples_are_seeded():
    atoms = [low_rank(np.random.default_rng(7), (4, 4), 2, True) for _ in range(3)]

    def run(seed):
        iterate = SampledIterate(SparseAtom.zero((4, 4)), 5, np.random.default_rng(seed))
        walk(iterate, atoms, np.zeros((4, 4)))
        return iterate.arrays()["samples"]

    np.testing.assert_array_equal(run(1), run(1))
    assert not np.array_equal(run(1), run(2))


def test_halves_become_whole_when_asked_for():
    """Rank-one steps of a symmetric matrix go over one half; any other step, and every reader, finds it whole."""
    rng, n = np.random.default_rng(3), 190
    start = low_rank(rng, (n, n), 2, True)
    halved, whole = DenseIterate(start, halves=True), DenseIterate(start)
    cost = rng.standard_normal((n, n))
    cost = DenseDirection(cost + cost.T, symmetric=True)
    askew = DenseDirection(rng.standard_normal((n, n)))
    assert halved.halved and not whole.halved
    for k, width in enumerate([1, 1, 2, 1, 0, 1, 1], start=1):
        atom = low_rank(rng, (n, n), width, True) if width else SparseAtom.one_hot((n, n), 0, 2.0)
        eta = 2.0 / (k + 2)
        if not width:
            halved.blend(atom, eta), whole.blend(atom, eta)
            continue
        for price in (cost, askew) if k == 6 else (cost,):
            found, expected = halved.blend_priced(atom, eta, price), whole.blend_priced(atom, eta, price)
            assert found == pytest.approx(expected, rel=1e-11, abs=1e-11)
        lower = np.tril_indices(n)
        np.testing.assert_allclose(halved.lower[lower], whole.array[lower], atol=1e-14)
    np.testing.assert_allclose(halved.arrays()["x"], whole.array, atol=1e-14)
    np.testing.assert_array_equal(halved.array, halved.array.T)
    again = DenseIterate(start, halves=True)
    again.blend(low_rank(rng, (n, n), 1, True), 0.5)
    again.unpack(halved.pack())
    np.testing.assert_array_equal(again.atom().dense(), halved.array)
    assert not DenseIterate(low_rank(rng, (N, N), 1, True), halves=True).halved
