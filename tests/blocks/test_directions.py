"""Every form of a direction against its dense twin."""

import numpy as np
import pytest
import scipy.sparse as sp

from cgm_cli.blocks.atoms import BlocksAtom, DenseAtom, LowRankAtom, SparseAtom
from cgm_cli.blocks.directions import (
    DenseDirection,
    DiagonalDirection,
    EmbeddedDirection,
    LowerDirection,
    OuterSum,
    SingleDirection,
    SparseDirection,
    SumDirection,
)
from cgm_cli.blocks.factored_direction import FactoredDirection


def sparse(rng, m, n, symmetric=False):
    array = rng.standard_normal((m, n)) * (rng.random((m, n)) < 0.4)
    return SparseDirection(sp.csr_array(array + array.T if symmetric else array), symmetric)


def pieces(m, n):
    """Every form of an m x n direction."""
    rng = np.random.default_rng(10 * m + n)
    dense = rng.standard_normal((m, n))
    yield "dense", DenseDirection(dense)
    yield "dense-transposed", DenseDirection(np.ascontiguousarray(dense.T).T)
    yield "negative", DenseDirection(-np.abs(dense))
    yield "sparse", sparse(rng, m, n)
    yield "sparse-empty", SparseDirection(sp.csr_array((m, n)))
    yield "outer-sum", OuterSum(rng.standard_normal(m), rng.standard_normal(n))
    yield "sum", SumDirection((DenseDirection(dense), sparse(rng, m, n), OuterSum(np.ones(m), rng.standard_normal(n))))
    yield "sum-of-sums", SumDirection((SumDirection((DenseDirection(dense),)), SumDirection((sparse(rng, m, n),))))


def square_pieces(n):
    rng = np.random.default_rng(n)
    array = rng.standard_normal((n, n))
    yield from pieces(n, n)
    yield "diagonal", DiagonalDirection(rng.standard_normal(n))
    yield "symmetric", DenseDirection(array + array.T, symmetric=True)
    yield "symmetric-sparse", sparse(rng, n, n, symmetric=True)
    yield "low-rank", FactoredDirection(rng.standard_normal((n, 2)), np.array([0.5, -2.0]))
    yield "laplacian-like", SumDirection((sparse(rng, n, n, symmetric=True), DiagonalDirection(rng.standard_normal(n))))


SQUARE = [pytest.param(piece, id=f"{name}-{n}") for n in (1, 6) for name, piece in square_pieces(n)]
MATRICES = [pytest.param(piece, id=f"{name}-5x3") for name, piece in pieces(5, 3)] + SQUARE


def written_out(direction):
    """The entries, from the fields: independent of add_to."""
    if isinstance(direction, SumDirection):
        return sum(written_out(piece) for piece in direction.pieces)
    if isinstance(direction, DenseDirection):
        return np.array(direction.array)
    if isinstance(direction, SparseDirection):
        return direction.matrix.toarray()
    if isinstance(direction, DiagonalDirection):
        return np.diag(direction.diagonal)
    if isinstance(direction, FactoredDirection):
        pairs = zip(direction.columns.T, direction.weights, strict=True)
        return sum(weight * np.outer(column, column) for column, weight in pairs)
    return np.array([[a + b for b in direction.columns] for a in direction.rows])


def check_same(direction, array):
    """Everything that is asked of a direction, against an array."""
    rng = np.random.default_rng(0)
    m, n = array.shape
    assert direction.shape == (m, n)
    np.testing.assert_allclose(direction.dense(), array, atol=1e-13)
    out = rng.standard_normal((m, n))
    expected = out + array
    direction.add_to(out)
    np.testing.assert_allclose(out, expected, atol=1e-13)
    block = rng.standard_normal((n, 4))
    np.testing.assert_allclose(direction.matmat(block), array @ block, atol=1e-12)
    np.testing.assert_allclose(direction.matmat(block[:, 1:2]), array @ block[:, 1:2], atol=1e-12)
    np.testing.assert_allclose(direction.matmat(block[:, 0]), array @ block[:, 0], atol=1e-12)
    np.testing.assert_allclose(direction.matmat(np.asfortranarray(block)[:, :2]), array @ block[:, :2], atol=1e-12)
    assert direction.matmat(block[:, 0]).shape == (m,)
    assert np.abs(array).max() <= direction.peak() * (1 + 1e-14)
    left, right = rng.standard_normal((m, 2)), rng.standard_normal((n, 2))
    for atom in (
        LowRankAtom(left, np.array([1.0, -2.0]), right),
        SparseAtom.one_hot((m, n), m * n - 1, 3.0),
        SparseAtom.zero((m, n)),
        DenseAtom(rng.standard_normal((m, n))),
    ):
        assert direction.inner(atom) == pytest.approx(float(np.sum(array * atom.dense())), abs=1e-12)


@pytest.mark.parametrize("direction", MATRICES)
def test_equals_its_dense_form(direction):
    check_same(direction, written_out(direction))


@pytest.mark.parametrize("direction", MATRICES)
@pytest.mark.parametrize("factor", [1.0, -2.5, 0.0])
def test_scaled(direction, factor):
    check_same(direction.scaled(factor), factor * written_out(direction))


@pytest.mark.parametrize("direction", MATRICES)
def test_transposed(direction):
    check_same(direction.transposed(), written_out(direction).T)


@pytest.mark.parametrize("direction", SQUARE)
def test_symmetrised(direction):
    array = written_out(direction)
    check_same(direction.symmetrised(), 0.5 * (array + array.T))
    check_same(direction.symmetrised().transposed().scaled(3.0), 1.5 * (array + array.T))


@pytest.mark.parametrize("direction", MATRICES)
def test_the_peak_of_a_single_piece_is_attained(direction):
    array = written_out(direction)
    if isinstance(direction, OuterSum | SumDirection | FactoredDirection):
        return  # those only promise a bound
    assert direction.peak() == pytest.approx(np.abs(array).max())


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_a_bad_entry_shows_in_the_peak(value):
    bad = np.array([1.0, value, 2.0])
    square = np.ones((3, 3))
    square[1, 2] = value
    matrix = sp.csr_array(square)
    for direction in (
        DenseDirection(square),
        SparseDirection(matrix),
        DiagonalDirection(bad),
        OuterSum(bad, np.zeros(3)),
        OuterSum(np.zeros(3), bad),
    ):
        assert not np.isfinite(direction.peak())
        assert not np.isfinite(SumDirection((DiagonalDirection(np.ones(3)), direction)).peak())
        assert not np.isfinite(direction.symmetrised().peak())


def test_products_with_a_symmetric_array_read_one_triangle_only_if_promised():
    array = np.array([[1.0, 2.0], [5.0, 3.0]])
    np.testing.assert_array_equal(DenseDirection(array).matmat(np.eye(2)), array)


@pytest.mark.parametrize("start", [0, 2, 4])
def test_a_part_of_a_product(start):
    rng = np.random.default_rng(0)
    inner = OuterSum(rng.standard_normal(2), rng.standard_normal(3))
    direction = EmbeddedDirection(inner, start, 10)
    expected = np.zeros(10)
    expected[start : start + 6] = written_out(inner).reshape(-1)
    assert direction.shape == (10,)
    np.testing.assert_allclose(direction.dense(), expected)
    np.testing.assert_allclose(direction.scaled(-2.0).dense(), -2.0 * expected)
    out = np.ones(10)
    direction.add_to(out)
    np.testing.assert_allclose(out, 1.0 + expected)
    assert np.abs(expected).max() <= direction.peak()
    atom = BlocksAtom((DenseAtom(rng.standard_normal(4)), DenseAtom(rng.standard_normal((2, 3)))))
    assert direction.inner(atom) == pytest.approx(float(expected @ atom.dense()))
    total = SumDirection((direction, EmbeddedDirection(DenseDirection(np.ones(4)), 0, 10)))
    assert total.inner(atom) == pytest.approx(float((expected + np.r_[np.ones(4), np.zeros(6)]) @ atom.dense()))
    with pytest.raises(TypeError):
        direction.matmat(np.ones((10, 1)))
    with pytest.raises(TypeError):
        direction.transposed()


def test_vectors():
    v = np.array([3.0, -7.0])
    direction = DenseDirection(v)
    assert direction.peak() == 7.0
    assert direction.inner(SparseAtom.one_hot((2,), 1, 2.0)) == -14.0
    np.testing.assert_array_equal(SumDirection((direction, direction.scaled(2.0))).dense(), 3.0 * v)


def test_only_large_dense_directions_are_multiplied_in_single_precision():
    rng = np.random.default_rng(0)
    a, block = rng.standard_normal((200, 190)), rng.standard_normal((190, 3))
    peak = np.abs(a).max()
    product = DenseDirection(a).single_precision(peak, 3)(block)
    assert product.dtype == float
    exact = a @ block / peak
    assert 0.0 < np.abs(product - exact).max() <= 1e-4 * np.abs(exact).max()
    assert DenseDirection(a[:10]).single_precision(peak, 3) is None
    assert DenseDirection(a).single_precision(peak, 1) is None
    assert DiagonalDirection(np.ones(3)).single_precision(1.0, 3) is None


def half_of(a, dtype=float):
    return np.where(np.tri(len(a), dtype=bool), a, np.nan).astype(dtype)


@pytest.mark.parametrize("known", [True, False])
def test_one_half_stands_for_a_symmetric_matrix(known):
    rng = np.random.default_rng(1)
    a = rng.standard_normal((190, 190))
    a, block = a + a.T, rng.standard_normal((190, 3))

    def fresh():
        return LowerDirection(half_of(a), float(np.linalg.norm(a)) if known else None)

    np.testing.assert_allclose(fresh().matmat(block[:, 0]), a @ block[:, 0], atol=1e-11)
    np.testing.assert_allclose(fresh().matmat(block), a @ block, atol=1e-11)
    np.testing.assert_array_equal(fresh().dense(), a)
    np.testing.assert_array_equal(fresh().transposed().scaled(-2.0).dense(), -2.0 * a)
    np.testing.assert_array_equal(fresh().symmetrised().dense(), a)
    assert fresh().peak() >= np.abs(a).max()
    assert fresh().size() >= np.linalg.norm(a) * (1.0 - 1e-14)
    assert fresh().single_precision(2.0, 1) is None
    exact = a @ block / 2.0
    assert 0.0 < np.abs(fresh().single_precision(2.0, 3)(block) - exact).max() <= 1e-4 * np.abs(exact).max()


@pytest.mark.parametrize("lower", [True, False])
@pytest.mark.parametrize("scale", [1.0, 1e-17, 1e17])
def test_single_precision_is_for_rough_products_alone(lower, scale):
    rng = np.random.default_rng(1)
    a = rng.standard_normal((190, 190))
    a, block = scale * (a + a.T), rng.standard_normal((190, 3))
    formed = []

    def form():
        formed.append(1)
        return DenseDirection(a, symmetric=True)

    single = half_of(a, np.float32) if lower else a.astype(np.float32)
    direction = SingleDirection(single, lower, float(np.linalg.norm(a)), form)
    peak = direction.peak()
    exact = a @ block / peak
    found = direction.single_precision(peak, 1)(block[:, 0])
    assert found.dtype == float
    assert 0.0 < np.abs(found - exact[:, 0]).max() <= 1e-5 * np.abs(exact).max()
    assert not formed
    assert 0.0 < np.abs(direction.single_precision(peak, 3)(block) - exact).max() <= 1e-5 * np.abs(exact).max()
    assert bool(formed) == lower
    np.testing.assert_array_equal(direction.matmat(block), a @ block)
    np.testing.assert_array_equal(direction.dense(), a)
    np.testing.assert_array_equal(direction.transposed().scaled(-2.0).dense(), -2.0 * a)
    assert direction.shape == (190, 190)
    assert direction.size() == DenseDirection(a).size()
    out = np.ones((190, 190))
    direction.symmetrised().add_to(out)
    np.testing.assert_array_equal(out, 1.0 + a)
    assert len(formed) == 1


@pytest.mark.parametrize("unit", [1e-150, 1.0, 1e150])
def test_the_size_of_a_matrix_of_low_rank_in_any_units(unit):
    columns = np.random.default_rng(0).standard_normal((5, 2))
    direction = FactoredDirection(np.sqrt(unit) * columns, np.array([1.0, -0.5]))
    assert direction.size() / unit == pytest.approx(np.linalg.norm(columns * [1.0, -0.5] @ columns.T))
