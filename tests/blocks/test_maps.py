"""One harness for every registered map, and for the inner product that specs do not name."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError
from scipy.signal import convolve

from cgm_cli.blocks.atoms import BlocksAtom, DenseAtom, LowRankAtom, SparseAtom
from cgm_cli.blocks.describe import describe
from cgm_cli.blocks.directions import (
    DenseDirection,
    DiagonalDirection,
    EmbeddedDirection,
    OuterSum,
    SparseDirection,
    SumDirection,
)
from cgm_cli.blocks.domains.product import Product
from cgm_cli.blocks.maps import column_sums, quadratic_forms, row_sums
from cgm_cli.blocks.maps.base import rows_of
from cgm_cli.blocks.maps.bilinear_convolution import BilinearConvolution
from cgm_cli.blocks.maps.block import Block
from cgm_cli.blocks.maps.convolution import Convolution
from cgm_cli.blocks.maps.differences import Differences
from cgm_cli.blocks.maps.diffraction import CodedDiffraction
from cgm_cli.blocks.maps.identity import Identity
from cgm_cli.blocks.maps.inner_product import InnerProduct
from cgm_cli.blocks.maps.kronecker import Kronecker
from cgm_cli.blocks.maps.matrices import Matrices
from cgm_cli.blocks.maps.matrix import MatrixMap
from cgm_cli.blocks.maps.quadratic_forms import QuadraticForms
from cgm_cli.blocks.maps.sampling import Sampling
from cgm_cli.blocks.maps.stack import Stack
from cgm_cli.errors import ProblemError
from tests.blocks.support import InlineContext, build_all, domain, examples, few, product_domain, spec

seeds = given(seed=st.integers(0, 2**32 - 1))


def inner_products():
    """Inner products with dense and sparse arrays, symmetric and not."""
    rng = np.random.default_rng(5)
    square = rng.standard_normal((5, 5))
    sparse = sp.random_array((5, 5), density=0.4, rng=rng, format="csr")
    costs = {
        "vector": rng.standard_normal(6),
        "matrix": rng.standard_normal((4, 3)),
        "symmetric": square + square.T,
        "sparse": sp.random_array((4, 3), density=0.4, rng=rng, format="coo"),
        "sparse-symmetric": sparse + sparse.T,
        "sparse-empty": sp.csr_array((3, 4)),
        "zero": np.zeros((3, 3)),
        "low-rank": LowRankAtom.symmetric(rng.standard_normal((6, 2)), np.array([1.5, -0.5])),
        "rank-one": LowRankAtom.symmetric(np.ones((4, 1)), np.array([-0.25])),
    }
    return [pytest.param([InnerProduct(c, c.shape)], id=f"inner-product-{name}") for name, c in costs.items()]


def sparse_matrix_maps():
    matrix = sp.random_array((7, 12), density=0.3, rng=np.random.default_rng(2), format="csr")
    return [pytest.param([MatrixMap(matrix, (12,)), MatrixMap(matrix, (4, 3))], id="matrix-sparse")]


def registered():
    return [pytest.param(build_all("map", p.values[0]), id=p.id) for p in examples("map")]


def implicit_ones():
    """By FFT: intensities of signals with one axis and with two, behind masks; convolutions of two signals."""
    rng = np.random.default_rng(3)
    shapes = [(3, 4), (2, 2, 3), (2, 1)]
    maps = [CodedDiffraction(rng.standard_normal(s) + 1j * rng.standard_normal(s)) for s in shapes]
    products = [BilinearConvolution(rng.standard_normal((n, 2)), rng.standard_normal((n, 3))) for n in (1, 4, 5)]
    return [pytest.param(maps, id="diffraction"), pytest.param(products, id="bilinear-convolution")]


every_map = pytest.mark.parametrize("maps", registered() + sparse_matrix_maps() + inner_products() + implicit_ones())


def atoms(shape, rng):
    """An atom of every class that has this shape."""
    size = int(np.prod(shape))
    yield DenseAtom(rng.standard_normal(shape))
    yield SparseAtom.zero(shape)
    yield SparseAtom.one_hot(shape, int(rng.integers(size)), -1.5)
    some = rng.permutation(size)[: (size + 1) // 2]
    yield SparseAtom(shape, some, rng.standard_normal(some.size))
    if len(shape) == 2:
        for rank in (1, 3):
            left, right = rng.standard_normal((shape[0], rank)), rng.standard_normal((shape[1], rank))
            yield LowRankAtom(left, rng.standard_normal(rank), right)
            if shape[0] == shape[1]:
                yield LowRankAtom.symmetric(left, rng.standard_normal(rank))
    product = product_domain()
    if shape == product.shape:
        yield BlocksAtom(tuple(next(atoms(block.shape, rng)) for block in product.blocks))
        yield BlocksAtom(tuple(list(atoms(block.shape, rng))[-1] for block in product.blocks))


def magnitude(atom) -> float:
    """What rounding is relative to: the size of the atom, or of the product of the magnitudes of its factors."""
    if isinstance(atom, LowRankAtom):
        return float(np.linalg.norm(abs(atom.left * atom.weights) @ abs(atom.right).T))
    if isinstance(atom, BlocksAtom):
        return float(np.linalg.norm([magnitude(block) for block in atom.blocks]))
    return float(np.linalg.norm(atom.dense()))


@every_map
@few
@seeds
def test_adjoint(maps, seed):
    """<A x, y> = <x, A^T y>, with the direction both written out and paired."""
    rng = np.random.default_rng(seed)
    for a in maps:
        x, y = rng.standard_normal(a.in_shape), rng.standard_normal(a.out_shape)
        direction = a.adjoint(y)
        assert direction.shape == a.in_shape
        image = a.forward(x)
        assert image.shape == a.out_shape
        scale = 1e-14 * max(1.0, a.norm) * np.linalg.norm(x) * np.linalg.norm(y) * x.size
        assert np.vdot(image, y) == pytest.approx(np.vdot(x, direction.dense()), abs=scale)
        for atom in atoms(a.in_shape, rng):
            pairing = np.vdot(a.forward(atom.dense()), y)
            wide = 1e-14 * max(1.0, a.norm) * magnitude(atom) * np.linalg.norm(y) * x.size
            assert direction.inner(atom) == pytest.approx(pairing, abs=wide)


@every_map
@few
@seeds
def test_forward_atom_is_forward_of_the_dense_atom(maps, seed):
    rng = np.random.default_rng(seed)
    for a in maps:
        for atom in atoms(a.in_shape, rng):
            direct, image = a.forward(atom.dense()), a.forward_atom(atom)
            assert isinstance(image, np.ndarray)
            assert image.shape == a.out_shape
            scale = 1e-14 * max(1.0, a.norm) * magnitude(atom) * atom.dense().size
            np.testing.assert_allclose(image, direct, rtol=0, atol=scale)


@every_map
@few
@seeds
def test_linear(maps, seed):
    rng = np.random.default_rng(seed)
    for a in maps:
        x, y = rng.standard_normal(a.in_shape), rng.standard_normal(a.in_shape)
        together = a.forward(2.0 * x - 3.0 * y)
        apart = 2.0 * a.forward(x) - 3.0 * a.forward(y)
        np.testing.assert_allclose(together, apart, atol=1e-13 * max(1.0, a.norm) * x.size)


@every_map
def test_norm(maps):
    """The largest singular value of the map, written out column by column, is at most `norm`; equal but for stacks."""
    for a in maps:
        basis = np.eye(int(np.prod(a.in_shape)))
        columns = [a.forward(e.reshape(a.in_shape)).reshape(-1) for e in basis]
        true = np.linalg.norm(np.stack(columns, axis=1), 2)
        assert a.norm >= true * (1 - 1e-14)
        if not isinstance(a, Stack):
            assert a.norm == pytest.approx(true, rel=1e-12)


@every_map
def test_rows(maps):
    """Where there is a matrix of the map, its products are those of the map."""
    rng = np.random.default_rng(3)
    for a in maps:
        x, rows = rng.standard_normal(a.in_shape), rows_of(a)
        if rows is not None:
            np.testing.assert_allclose(rows @ x.reshape(-1), a.forward(x).reshape(-1), atol=1e-13)


@every_map
def test_forward_returns_an_array_of_its_own(maps):
    for a in maps:
        x = np.ones(a.in_shape)
        image = a.forward(x)
        assert isinstance(image, np.ndarray)
        image += 1.0
        np.testing.assert_array_equal(x, np.ones(a.in_shape))


@every_map
def test_describe(maps):
    for a in maps:
        assert describe(a)["out_shape"] == list(a.out_shape)


# ---- the form of the adjoint, which decides what an oracle costs ----


def mapped(example, shape, **context):
    return spec("map", example).build(InlineContext(**context), shape)


def test_the_forms_of_adjoints():
    y = np.array([1.0, 2.0, 3.0])
    assert isinstance(mapped({"kind": "row-sums"}, (3, 4)).adjoint(y), OuterSum)
    assert isinstance(mapped({"kind": "diagonal"}, (3, 3)).adjoint(y), DiagonalDirection)
    assert isinstance(mapped({"kind": "sampling", "indices": [0, 5, 2]}, (3, 4)).adjoint(y), SparseDirection)
    assert isinstance(mapped({"kind": "sampling", "indices": [0, 5, 2]}, (6,)).adjoint(y), DenseDirection)
    assert isinstance(mapped({"kind": "sampling", "indices": [0, 5, 2]}, (2, 2, 2)).adjoint(y), DenseDirection)
    assert isinstance(mapped({"kind": "identity"}, (3,)).adjoint(y), DenseDirection)
    stack = mapped({"kind": "stack", "maps": [{"kind": "diagonal"}, {"kind": "row-sums"}]}, (3, 3))
    assert isinstance(stack.adjoint(np.arange(6.0)), SumDirection)
    block = mapped({"kind": "block", "index": 0}, (9,), domain=product_domain())
    assert isinstance(block.adjoint(y), EmbeddedDirection)


def test_the_cost_of_a_linear_objective_knows_its_symmetry_and_its_peak():
    dense = np.array([[2.0, -3.0], [-3.0, 1.0]])
    for cost in (dense, sp.csr_array(dense)):
        direction = InnerProduct(cost, (2, 2)).adjoint(np.array(1.0))
        assert direction.symmetric
        assert direction.peak() == 3.0
    askew = dense + np.array([[0.0, 1e-9], [0.0, 0.0]])
    for cost in (askew, sp.csr_array(askew)):
        assert not InnerProduct(cost, (2, 2)).adjoint(np.array(1.0)).symmetric
    a = InnerProduct(dense, (2, 2))
    assert a.adjoint(np.array(1.0)).array is a.direction.array, "the usual factor 1 copies nothing"
    assert a.adjoint(np.array(-2.0)).peak() == 6.0


def test_sparse_cost_with_repeated_entries():
    cost = sp.coo_array((np.array([1.0, 2.0, 5.0]), ([0, 0, 1], [1, 1, 0])), shape=(2, 2))
    a = InnerProduct(cost, (2, 2))
    assert a.forward(np.array([[0.0, 1.0], [10.0, 0.0]])) == 53.0
    assert a.norm == pytest.approx(np.sqrt(34.0))


def test_sampling_keeps_the_order_of_its_indices():
    a = Sampling(np.array([7, 0, 5]), (2, 4))
    np.testing.assert_array_equal(a.forward(np.arange(8.0).reshape(2, 4)), [7.0, 0.0, 5.0])
    np.testing.assert_array_equal(
        a.adjoint(np.array([1.0, 2.0, 3.0])).dense(), [[2.0, 0.0, 0.0, 0.0], [0.0, 3.0, 0.0, 1.0]]
    )


def test_a_mask_and_its_indices_are_the_same_map():
    mask = mapped({"kind": "sampling", "mask": [[0, 1], [1, 1]]}, (2, 2))
    np.testing.assert_array_equal(mask.indices, [1, 2, 3])


def test_identity_copies():
    x = np.zeros(3)
    assert Identity((3,)).forward(x) is not x


def test_blocks_within_blocks():
    inner = domain(kind="product", blocks=[{"kind": "simplex", "size": 2}, {"kind": "l1-ball", "size": [2, 3]}])
    outer = Product((domain(kind="l2-ball", size=1), inner))
    example = {"kind": "block", "index": 1, "map": {"kind": "block", "index": 1, "map": {"kind": "row-sums"}}}
    context = InlineContext(domain=outer)
    a = spec("map", example).build(context, outer.shape)
    assert isinstance(a, Block)
    assert context.domain is outer
    np.testing.assert_array_equal(a.forward(np.arange(9.0)), [12.0, 21.0])
    np.testing.assert_array_equal(a.adjoint(np.array([1.0, 2.0])).dense(), [0, 0, 0, 1, 1, 1, 2, 2, 2])
    start = outer.start()
    np.testing.assert_array_equal(a.forward_atom(start), a.forward(start.dense()))


def test_differences_of_a_vector_and_of_an_image():
    a = Differences((4,))
    np.testing.assert_array_equal(a.forward(np.array([1.0, 4.0, 2.0, 2.0])), [[3.0, -2.0, 0.0, 0.0]])
    image = Differences((2, 3)).forward(np.array([[1.0, 2.0, 4.0], [0.0, 0.0, 9.0]]))
    np.testing.assert_array_equal(image[0], [[-1.0, -2.0, 5.0], [0.0, 0.0, 0.0]])
    np.testing.assert_array_equal(image[1], [[1.0, 2.0, 0.0], [0.0, 9.0, 0.0]])
    assert Differences((300, 200)).norm == pytest.approx(np.sqrt(8.0), rel=1e-4)
    assert Differences((300, 200)).norm < np.sqrt(8.0)


@pytest.mark.parametrize("held", [0, 10_000])
def test_the_norm_of_many_quadratic_forms(held, monkeypatch):
    """By powers: a bound, and near the largest singular value; of forms that do not touch each other as well."""
    monkeypatch.setattr(quadratic_forms, "FACTORISED", 0)
    monkeypatch.setattr(quadratic_forms, "HELD", held)
    rng = np.random.default_rng(0)
    for vectors in (rng.standard_normal((40, 6)), np.diag([3.0, 1.0, 2.0]), 1e-90 * rng.standard_normal((3, 2))):
        linear = QuadraticForms(vectors, (vectors.shape[1],) * 2)
        true = float(np.linalg.norm(np.array([np.outer(v, v).reshape(-1) for v in vectors]), 2))
        assert true * (1.0 - 1e-14) <= linear.norm_bound <= true * (1.0 + 1e-4)
    monkeypatch.setattr(quadratic_forms, "WRITTEN_OUT", 11)
    assert linear.rows() is None


def test_sums_of_what_is_too_large_have_no_rows(monkeypatch):
    for module, kind in ((row_sums, "row-sums"), (column_sums, "column-sums")):
        assert mapped({"kind": kind}, (3, 4)).rows() is not None
        monkeypatch.setattr(module, "WRITTEN_OUT", 11)
        assert mapped({"kind": kind}, (3, 4)).rows() is None


@pytest.mark.parametrize("mode", ["same", "valid"])
@pytest.mark.parametrize(
    ("kernel", "point"), [((3,), (7,)), ((4,), (9,)), ((1,), (1,)), ((5,), (5,)), ((3, 2), (6, 5)), ((4, 4), (4, 6))]
)
def test_convolution_is_that_of_scipy(kernel, point, mode):
    rng = np.random.default_rng(0)
    h, x = rng.standard_normal(kernel), rng.standard_normal(point)
    image = Convolution(h, point, mode == "valid").forward(x)
    np.testing.assert_allclose(image, convolve(x, h, mode=mode, method="direct"), atol=1e-14)


@pytest.mark.parametrize("sparse", [False, True])
def test_kronecker_is_the_kronecker_product(sparse):
    rng = np.random.default_rng(0)
    a, b = rng.standard_normal((2, 4)), rng.standard_normal((5, 3))
    linear = Kronecker(*((sp.csr_array(a), sp.csr_array(b)) if sparse else (a, b)), (4, 3))
    x, y = rng.standard_normal((4, 3)), rng.standard_normal((2, 5))
    np.testing.assert_allclose(linear.forward(x).reshape(-1), np.kron(a, b) @ x.reshape(-1), atol=1e-14)
    np.testing.assert_allclose(linear.adjoint(y).dense().reshape(-1), np.kron(a, b).T @ y.reshape(-1), atol=1e-14)


@pytest.mark.parametrize(
    ("example", "shape", "words"),
    [
        ({"kind": "matrix", "matrix": [[1.0, 2.0]]}, (3,), "the matrix is 1 x 2, but the domain has 3 variables"),
        ({"kind": "matrix", "matrix": [1.0, 2.0]}, (2,), "needs a matrix, but what was given is a vector of 2"),
        ({"kind": "sampling", "indices": [0, 6]}, (2, 3), "from 0 to 6, but the domain has 6 variables"),
        ({"kind": "sampling", "indices": [-1]}, (2, 3), "from -1 to -1"),
        ({"kind": "sampling", "indices": [1, 0, 1]}, (2, 3), "index 1 is sampled twice"),
        ({"kind": "sampling", "indices": [0.5]}, (2, 3), "not a whole number"),
        ({"kind": "sampling", "indices": []}, (2, 3), "at least one index"),
        ({"kind": "sampling", "mask": [[1, 0]]}, (2, 2), "the mask is 1 x 2, but the domain is 2 x 2"),
        ({"kind": "sampling", "mask": [2, 0]}, (2,), "0 and 1 only"),
        ({"kind": "row-sums"}, (3,), "a point of the domain is a vector of 3"),
        ({"kind": "column-sums"}, (3,), "a point of the domain is a vector of 3"),
        ({"kind": "kronecker", "left": [[1]], "right": [[1]]}, (3,), "a point of the domain is a vector of 3"),
        ({"kind": "kronecker", "left": [[1]], "right": [[1]]}, (2, 1), "left matrix is 1 x 1, but points have 2 rows"),
        ({"kind": "kronecker", "left": [[1]], "right": [1]}, (1, 1), "right matrix is a vector of 1"),
        ({"kind": "convolution", "kernel": [1, 2, 3]}, (2,), "larger than a point, a vector of 2"),
        ({"kind": "convolution", "kernel": [1, 2]}, (3, 3), "a point of the domain is 3 x 3: both are vectors, or"),
        ({"kind": "diagonal"}, (2, 3), "a point of the domain is 2 x 3"),
        ({"kind": "block", "index": 0}, (3,), "needs a product domain"),
        ({"kind": "block-difference", "first": 0, "second": 1}, (3,), "needs a product domain"),
        (
            {"kind": "matrices", "matrices": [[[1, 2]]]},
            (2, 2),
            "the matrix is 1 x 2, but a point of the domain is 2 x 2",
        ),
        ({"kind": "matrices", "matrices": [[1, 2]]}, (2,), "a point of the domain is a vector of 2"),
        ({"kind": "quadratic-forms", "vectors": [[1, 2]]}, (2, 3), "a point of the domain is 2 x 3"),
        ({"kind": "quadratic-forms", "vectors": [[1, 2]]}, (3, 3), "vectors is 1 x 2, but points have 3 rows"),
    ],
)
def test_refused(example, shape, words):
    with pytest.raises(ProblemError, match=words):
        mapped(example, shape)


def test_a_block_that_is_not_there():
    product = product_domain()
    with pytest.raises(ProblemError, match="no block 3: the product has 3 blocks"):
        mapped({"kind": "block", "index": 3}, product.shape, domain=product)


@pytest.mark.parametrize("example", [{"kind": "sampling"}, {"kind": "sampling", "indices": [0], "mask": [1]}])
def test_sampling_needs_one_of_indices_and_mask(example):
    with pytest.raises(ValidationError, match="either `indices` or a `mask`"):
        spec("map", example)


def test_a_fault_inside_a_stack_says_where():
    with pytest.raises(ProblemError) as caught:
        mapped({"kind": "stack", "maps": [{"kind": "identity"}, {"kind": "row-sums"}]}, (3,))
    assert caught.value.path == ("maps", 1)


@pytest.mark.parametrize("cost", [np.ones((2, 3)), sp.csr_array(np.ones((2, 3)))])
def test_a_cost_that_does_not_fit(cost):
    with pytest.raises(ProblemError, match="the cost is 2 x 3, but the domain is 3 x 2"):
        InnerProduct(cost, (3, 2))


def test_a_column_from_a_file_fits_a_vector():
    assert InnerProduct(np.ones((4, 1)), (4,)).forward(np.arange(4.0)) == 6.0


@pytest.mark.parametrize(
    ("first", "second", "words"),
    [
        (0, 0, "two different blocks"),
        (3, 0, "no block 3"),
        (0, 1, "block 0 is mapped to a vector of 3, but block 1 is 2 x 2"),
    ],
)
def test_differences_of_blocks_that_are_none(first, second, words):
    product = product_domain()
    with pytest.raises(ProblemError, match=words):
        mapped({"kind": "block-difference", "first": first, "second": second}, product.shape, domain=product)


@pytest.mark.parametrize("sparse", [False, True])
def test_matrices_stay_sparse_and_know_their_symmetry(sparse):
    one, two = np.zeros((50, 50)), np.zeros((50, 50))
    one[3, 7] = one[7, 3] = 2.0
    two[0, 0], two[3, 7], two[7, 3] = 1.0, -1.0, -1.0
    askew = np.zeros((50, 50))
    askew[3, 7] = 1.0
    for matrices, symmetric in (([one, two], True), ([one, askew], False)):
        given = [sp.coo_array(matrix) for matrix in matrices] if sparse else matrices
        direction = Matrices(given, (50, 50)).adjoint(np.array([1.0, 3.0]))
        assert isinstance(direction, SparseDirection)
        assert direction.matrix.nnz <= 3
        assert direction.symmetric == symmetric
        np.testing.assert_array_equal(direction.dense(), matrices[0] + 3.0 * matrices[1])


@few
@seeds
def test_both_triangles_of_a_sampled_direction(seed):
    """Of positions anywhere: pairs of which both are sampled, one, or which lie on the diagonal."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 7))
    sampling = Sampling(rng.permutation(n * n)[: int(rng.integers(1, n * n + 1))], (n, n))
    for _ in range(2):  # the pattern is found once
        direction = sampling.adjoint(rng.standard_normal(sampling.out_shape))
        whole = direction.dense()
        found = direction.symmetrised()
        np.testing.assert_array_equal(found.dense(), 0.5 * (whole + whole.T))
        assert found.symmetric and found.symmetrised() is found
