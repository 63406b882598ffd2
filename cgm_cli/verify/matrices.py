"""Linear maps as sparse matrices, written out from their definitions: rows of the image, columns of the point, both in
C order. A matrix has its adjoint with it, so no second formula can disagree with the first.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import scipy.sparse as sp

from cgm_cli.blocks.directions import SparseDirection
from cgm_cli.blocks.factored_direction import FactoredDirection
from cgm_cli.blocks.maps.base import LinearMap
from cgm_cli.blocks.maps.bilinear_convolution import BilinearConvolution
from cgm_cli.blocks.maps.block import Block
from cgm_cli.blocks.maps.block_difference import BlockDifference
from cgm_cli.blocks.maps.column_sums import ColumnSums
from cgm_cli.blocks.maps.congruence import Congruence
from cgm_cli.blocks.maps.convolution import Convolution
from cgm_cli.blocks.maps.diagonal import Diagonal
from cgm_cli.blocks.maps.differences import Differences
from cgm_cli.blocks.maps.diffraction import CodedDiffraction
from cgm_cli.blocks.maps.given import GivenMap
from cgm_cli.blocks.maps.identity import Identity
from cgm_cli.blocks.maps.inner_product import InnerProduct
from cgm_cli.blocks.maps.kronecker import Kronecker
from cgm_cli.blocks.maps.matrices import Matrices
from cgm_cli.blocks.maps.matrix import MatrixMap
from cgm_cli.blocks.maps.quadratic_forms import QuadraticForms
from cgm_cli.blocks.maps.row_sums import RowSums
from cgm_cli.blocks.maps.sampling import Sampling
from cgm_cli.blocks.maps.stack import Stack
from cgm_cli.numerics.arrays import is_sparse
from cgm_cli.verify.precision import Congruent, Unchecked, entry

WRITTEN_OUT = 3 * 10**7
"""The most entries a map or a point may have to be written out: a matrix of order 5000, half a gigabyte."""

PRODUCTS = 3000
"""The most products of a user's function that are taken to write its map out."""


def matrix_of(linear: LinearMap) -> sp.csr_array | Congruent:
    """The matrix of a map, (entries of the image) x (entries of the point). Raises Unchecked where it has no entry."""
    if isinstance(linear, Congruence) and _is_large(linear):
        return Congruent(linear.matrix.toarray() if is_sparse(linear.matrix) else linear.matrix)
    return _written_out(linear)


def _written_out(linear: LinearMap) -> sp.csr_array:
    return sp.csr_array(entry(MATRICES, linear, "a map")(linear))


def operator_bound(matrix: sp.csr_array | Congruent) -> float:
    """At least the largest singular value: the root of the largest absolute row sum times the largest column sum."""
    if isinstance(matrix, Congruent):
        return operator_bound(sp.csr_array(matrix.factor)) ** 2
    entries = sp.coo_array(matrix)
    sizes = np.abs(entries.data)
    # Not the sums of SciPy: of a sparse cost of order 20000 there are 4 10^8 columns, nearly all of them empty.
    sums = (np.bincount(np.unique(places, return_inverse=True)[1], sizes) for places in entries.coords)
    return math.sqrt(math.prod(float(each.max(initial=0.0)) for each in sums))


def _sizes(linear: LinearMap) -> tuple[int, int]:
    sizes = math.prod(linear.out_shape), math.prod(linear.in_shape)
    everything = isinstance(linear, Identity | Differences | RowSums | ColumnSums) or (
        isinstance(linear, InnerProduct) and not isinstance(linear.direction, SparseDirection)
    )
    if everything and sizes[1] > WRITTEN_OUT:
        raise Unchecked(f"a map of {sizes[1]} entries is too large to be written out")
    return sizes


def _ones(linear: LinearMap, rows: np.ndarray, columns: np.ndarray) -> sp.coo_array:
    return sp.coo_array((np.ones(len(rows)), (rows, columns)), shape=_sizes(linear))


def _identity(linear: Identity) -> sp.coo_array:
    _, size = _sizes(linear)
    return _ones(linear, np.arange(size), np.arange(size))


def _inner_product(linear: InnerProduct) -> sp.coo_array:
    direction = linear.direction
    if isinstance(direction, SparseDirection):
        cost = sp.coo_array(direction.matrix)
        rows, columns = (part.astype(np.int64) for part in cost.coords)
        flat = rows * linear.in_shape[1] + columns
        return sp.coo_array((cost.data, (np.zeros(flat.size, dtype=np.int64), flat)), shape=_sizes(linear))
    _, size = _sizes(linear)
    if isinstance(direction, FactoredDirection):
        return sp.coo_array(((direction.columns * direction.weights) @ direction.columns.T).reshape(1, size))
    return sp.coo_array(direction.array.reshape(1, size))


def _row_sums(linear: RowSums) -> sp.coo_array:
    """Entry (i, j) of the point counts in row i."""
    rows, size = _sizes(linear)
    return _ones(linear, np.arange(size) // (size // rows), np.arange(size))


def _column_sums(linear: ColumnSums) -> sp.coo_array:
    """Entry (i, j) of the point counts in column j."""
    columns, size = _sizes(linear)
    return _ones(linear, np.arange(size) % columns, np.arange(size))


def _diagonal(linear: Diagonal) -> sp.coo_array:
    places = np.arange(linear.in_shape[0], dtype=np.int64)
    return _ones(linear, places, places * (linear.in_shape[0] + 1))


def _differences(linear: Differences) -> sp.coo_array:
    """Row (a, place) of an image: +1 at the next place along axis a, -1 at the place; empty at the last one.

    Of c channels the next place along the last axis is c entries on.
    """
    _, size = _sizes(linear)
    places = np.arange(size).reshape(linear.in_shape)
    parts = []
    last = len(linear.in_shape) - 1
    for axis, length in enumerate(linear.in_shape):
        step = linear.channels if axis == last else 1
        here = np.take(places, np.arange(length - step), axis=axis).reshape(-1)
        after = np.take(places, np.arange(step, length), axis=axis).reshape(-1)
        rows, columns = np.concatenate([here, here]), np.concatenate([after, here])
        signs = np.repeat([1.0, -1.0], here.size)
        parts.append(sp.coo_array((signs, (rows, columns)), shape=(size, size)))
    return sp.vstack(parts)


def _sampling(linear: Sampling) -> sp.coo_array:
    return _ones(linear, np.arange(linear.indices.size), linear.indices.astype(np.int64))


def _matrices(linear: Matrices) -> sp.coo_array:
    """Row i is A_i, raveled."""
    coefficients, positions = linear.coefficients
    entries = sp.coo_array(coefficients)
    columns = positions[entries.coords[1]].astype(np.int64)
    return sp.coo_array((entries.data, (entries.coords[0], columns)), shape=_sizes(linear))


def _quadratic_forms(linear: QuadraticForms) -> sp.csr_array:
    """Row i, column (k, l): v_ik v_il."""
    if linear.vectors.shape[0] * math.prod(linear.in_shape) > WRITTEN_OUT:
        raise Unchecked("quadratic forms of so many entries are too large to be written out")
    return sp.csr_array(np.array([np.outer(v, v).reshape(-1) for v in linear.vectors]))


def _coded_diffraction(linear: CodedDiffraction) -> sp.csr_array:
    """Row (l, k): E(a a^*) (cgm_cli.numerics.hermitian), a_j = conj(exp(-2 pi i <k, j / N>) d_l(j))."""
    if math.prod(linear.out_shape) * math.prod(linear.in_shape) > WRITTEN_OUT:
        raise Unchecked("intensities of so many entries are too large to be written out")
    places = np.indices(linear.shape).reshape(len(linear.shape), -1)
    turns = sum(np.outer(axis, axis) / length for axis, length in zip(places, linear.shape, strict=True))
    rows = list[np.ndarray]()
    for mask in linear.masks:
        for each in np.exp(-2j * np.pi * turns) * mask.reshape(-1):
            form = np.outer(each.conj(), each)
            real, imaginary = np.real(form), np.imag(form)
            rows.append(np.block([[real, -imaginary], [imaginary, real]]).reshape(-1))
    return sp.csr_array(np.array(rows))


def _bilinear_convolution(linear: BilinearConvolution) -> sp.csr_array:
    """Columns (k, K + n) and (K + n, k): half of the sum of B_lk times C_n, shifted by l."""
    if math.prod(linear.out_shape) * math.prod(linear.in_shape) > WRITTEN_OUT:
        raise Unchecked("convolutions of so many entries are too large to be written out")
    (length, k), n = linear.left.shape, linear.right.shape[1]
    shifts = (np.arange(length)[:, None] - np.arange(length)) % length
    found = np.zeros((length, k + n, k + n))
    for j in range(n):
        found[:, :k, k + j] = found[:, k + j, :k] = 0.5 * linear.right[shifts, j] @ linear.left
    return sp.csr_array(found.reshape(length, -1))


def _block(linear: Block) -> sp.coo_array:
    """The matrix of the inner map, with its columns where the block begins."""
    inner = sp.coo_array(_written_out(linear.inner))
    return sp.coo_array((inner.data, (inner.coords[0], inner.coords[1] + linear.start)), shape=_sizes(linear))


def _is_large(linear: Congruence) -> bool:
    return _entries(linear) > WRITTEN_OUT


def _entries(linear: Congruence) -> int:
    return (linear.matrix.nnz if is_sparse(linear.matrix) else linear.matrix.size) ** 2


def _congruence(linear: Congruence) -> sp.coo_array:
    """Row (i, j), column (k, l): v_ik v_jl."""
    if _is_large(linear):
        raise Unchecked(f"a congruence of {_entries(linear)} entries is too large to be written out")
    return sp.coo_array(sp.kron(linear.matrix, linear.matrix))


def _kronecker(linear: Kronecker) -> sp.coo_array:
    """Row (i, j), column (k, l): a_ik b_jl."""
    if linear.left.size * linear.right.size > WRITTEN_OUT:
        raise Unchecked("a Kronecker map of so many entries is too large to be written out")
    return sp.coo_array(sp.kron(linear.left, linear.right))


def _convolution(linear: Convolution) -> sp.csr_array:
    """The sum over all k of h_k times a shift by s - k along every axis, which is a Kronecker product of diagonals."""
    sizes = _sizes(linear)
    if sizes[0] * linear.kernel.size > WRITTEN_OUT:
        raise Unchecked("a convolution of so many entries is too large to be written out")
    found = sp.csr_array(sizes)
    for k, value in np.ndenumerate(linear.kernel):
        shift = sp.eye_array(1)
        for n, m, length, entry_of in zip(linear.in_shape, linear.out_shape, linear.kernel.shape, k, strict=True):
            first = length - 1 if linear.valid else (length - 1) // 2
            shift = sp.kron(shift, sp.eye_array(m, n, k=first - entry_of))
        found = found + value * shift
    return sp.csr_array(found)


def _given(linear: GivenMap) -> np.ndarray:
    """Column j is what the user's function makes of the unit vector e_j; the adjoint is not asked for."""
    _, size = _sizes(linear)
    if size > PRODUCTS:
        raise Unchecked(f"a map of `{linear.trusts[0]}` of {size} entries is known by products alone")
    return np.array([linear.forward(unit.reshape(linear.in_shape)) for unit in np.eye(size)]).T


MATRICES: dict[type, Callable] = {
    Congruence: _congruence,
    Identity: _identity,
    MatrixMap: lambda linear: linear.matrix,
    InnerProduct: _inner_product,
    Sampling: _sampling,
    RowSums: _row_sums,
    ColumnSums: _column_sums,
    Diagonal: _diagonal,
    Differences: _differences,
    Stack: lambda linear: sp.vstack([_written_out(inner) for inner in linear.maps]),
    Kronecker: _kronecker,
    Convolution: _convolution,
    Block: _block,
    BlockDifference: lambda linear: _written_out(linear.plus) - _written_out(linear.minus),
    Matrices: _matrices,
    QuadraticForms: _quadratic_forms,
    CodedDiffraction: _coded_diffraction,
    BilinearConvolution: _bilinear_convolution,
    GivenMap: _given,
}
