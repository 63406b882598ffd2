"""Every form of an atom against its dense twin."""

import numpy as np
import pytest

from cgm_cli.blocks.atoms import BlocksAtom, DenseAtom, LowRankAtom, SparseAtom


def matrix_atoms():
    rng = np.random.default_rng(0)
    shape = (5, 4)
    left, right = rng.standard_normal((5, 3)), rng.standard_normal((4, 3))
    yield "dense", DenseAtom(rng.standard_normal(shape))
    yield "dense-fortran", DenseAtom(np.asfortranarray(rng.standard_normal(shape)))
    yield "dense-integers", DenseAtom(np.arange(20).reshape(shape))
    yield "zero", SparseAtom.zero(shape)
    yield "one-hot", SparseAtom.one_hot(shape, 7, -2.5)
    yield "sparse", SparseAtom(shape, np.array([0, 3, 19]), np.array([1.0, -2.0, 3.0]))
    yield "rank-one", LowRankAtom(left[:, :1], np.array([-2.0]), right[:, :1])
    yield "rank-three", LowRankAtom(left, np.array([1.0, -2.0, 0.5]), right)
    yield (
        "rank-three-fortran",
        LowRankAtom(np.asfortranarray(left), np.array([1.0, -2.0, 0.5]), np.asfortranarray(right)),
    )
    yield (
        "columns-of-a-buffer",
        LowRankAtom(rng.standard_normal((5, 6))[:, 1:3], np.ones(2), rng.standard_normal((4, 6))[:, ::3]),
    )


def vector_atoms():
    rng = np.random.default_rng(1)
    low_rank = LowRankAtom.symmetric(rng.standard_normal((2, 1)), np.array([3.0]))
    yield "vector", DenseAtom(rng.standard_normal(6))
    yield "one-hot-vector", SparseAtom.one_hot((6,), 5, 1.0)
    yield "blocks", BlocksAtom((SparseAtom.one_hot((2,), 1, 4.0), low_rank))
    yield "blocks-with-zero", BlocksAtom((low_rank, SparseAtom.zero((2,))))
    yield "nested-blocks", BlocksAtom((BlocksAtom((DenseAtom(np.ones(1)), low_rank)), DenseAtom(np.array([7.0]))))


ATOMS = [pytest.param(atom, id=name) for name, atom in [*matrix_atoms(), *vector_atoms()]]


@pytest.mark.parametrize("atom", ATOMS)
@pytest.mark.parametrize("eta", [0.0, 0.3, 1.0])
def test_blend_into_equals_the_dense_average(atom, eta):
    x = np.random.default_rng(2).standard_normal(atom.shape)
    expected = (1 - eta) * x + eta * atom.dense()
    atom.blend_into(x, eta)
    np.testing.assert_allclose(x, expected, atol=1e-14)


@pytest.mark.parametrize("atom", ATOMS)
def test_inner_equals_the_dense_inner_product(atom):
    array = np.random.default_rng(3).standard_normal(atom.shape)
    assert atom.inner(array) == pytest.approx(float(np.sum(array * atom.dense())), abs=1e-13)


@pytest.mark.parametrize("atom", [pytest.param(atom, id=name) for name, atom in matrix_atoms()])
def test_compressed_equals_the_dense_products(atom):
    rng = np.random.default_rng(4)
    left, right = rng.standard_normal((5, 2)), rng.standard_normal((4, 3))
    np.testing.assert_allclose(atom.compressed(left, right), left.T @ atom.dense() @ right, atol=1e-13)


@pytest.mark.parametrize("atom", ATOMS)
def test_dense_is_a_new_float_array_of_the_shape(atom):
    first = atom.dense()
    assert first.shape == atom.shape
    assert first.dtype == np.float64
    kept = first.copy()
    first += 1.0
    np.testing.assert_array_equal(atom.dense(), kept)


def test_a_long_low_rank_atom_blends_as_a_dense_one():
    rng = np.random.default_rng(4)
    left, right, weights = rng.standard_normal((70, 90)), rng.standard_normal((33, 90)), rng.standard_normal(90)
    x = rng.standard_normal((70, 33))
    expected = 0.75 * x + 0.25 * (left @ np.diag(weights) @ right.T)
    LowRankAtom(left, weights, right).blend_into(x, 0.25)
    np.testing.assert_allclose(x, expected, atol=1e-12)


def test_only_an_atom_made_symmetric_calls_itself_so():
    vectors = np.eye(3)[:, :1]
    assert LowRankAtom.symmetric(vectors, np.ones(1)).is_symmetric
    assert not LowRankAtom(vectors, np.ones(1), vectors.copy()).is_symmetric


@pytest.mark.parametrize("rank", [0, 1, 3, 6])
def test_singular_values_are_those_of_the_matrix(rank):
    rng = np.random.default_rng(rank)
    left, right = rng.standard_normal((9, rank)), rng.standard_normal((7, rank))
    for atom in (LowRankAtom(left, rng.standard_normal(rank), right), LowRankAtom.symmetric(left, np.ones(rank))):
        expected, found = np.linalg.svd(atom.dense(), compute_uv=False), atom.singular_values()
        np.testing.assert_allclose(found, expected[: found.size], atol=1e-12)
        np.testing.assert_allclose(expected[found.size :], 0.0, atol=1e-12)


def test_some_entries_of_a_matrix():
    rng = np.random.default_rng(0)
    low_rank = LowRankAtom(rng.standard_normal((4, 2)), np.array([2.0, -1.0]), rng.standard_normal((3, 2)))
    rows, columns = np.array([3, 0, 3]), np.array([2, 1, 0])
    for atom in (low_rank, DenseAtom(low_rank.dense()), SparseAtom.one_hot((4, 3), 11, 5.0)):
        np.testing.assert_allclose(atom.at(rows, columns), atom.dense()[rows, columns])
