"""What every array from a file must pass: numbers, at most two dimensions, not empty, every entry finite.

Numbers of every real type are widened to float64 before anything is computed with them: sums of int8, and opposites of
unsigned numbers, wrap around without a word. Whole numbers beyond 2^53, and extended precision, are rounded to the
nearest float64, as decimal numbers in a text are; what is beyond its range is refused as not finite. Complex numbers
become complex128; readers hand them on, and only `finished` knows whether they are welcome.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
import scipy.sparse as sp

from cgm_cli.errors import DataError
from cgm_cli.numerics.arrays import Matrix, SparseMatrix, is_sparse
from cgm_cli.readers.memory import check_fits
from cgm_cli.text import COMPLEX_ARE, did_you_mean, quoted, visible


def check_form(name: str, shape: tuple[int, ...], dtype: np.dtype, fortran: bool = False, copies: int = 1) -> None:
    """DataError unless an array of this form can be float64, or complex128, in at most two dimensions; to call before
    allocating.

    dtype, fortran: type and order in which it is stored. What is not of these types in C order is there twice for a
    moment. copies: how many of the wide type there have to be room for.
    """
    check_numbers(name, dtype)
    if len(shape) > 2:
        raise DataError(f"{name}: has {len(shape)} dimensions ({_times(shape)}); at most two are supported")
    if 0 in shape:
        raise DataError(f"{name}: is empty ({_times(shape)})")
    target = wide(dtype)
    copied = dtype != target or (fortran and len(shape) == 2 and min(shape) > 1)
    each = max(target.itemsize + copied * dtype.itemsize, target.itemsize * copies)
    check_fits(name, each * math.prod(int(length) for length in shape))


def is_complex(dtype: np.dtype) -> bool:
    """Whether these are complex numbers, which MATLAB writes into HDF5 as records."""
    return dtype.kind == "c" or dtype.names == ("real", "imag")


def wide(dtype: np.dtype) -> np.dtype:
    """The type that such numbers are computed with."""
    return np.dtype(complex if is_complex(dtype) else float)


def check_numbers(name: str, dtype: np.dtype) -> None:
    """DataError unless these are numbers, real or complex."""
    if dtype.kind not in "biuf" and not is_complex(dtype):
        kinds = {"O": "objects", "U": "text", "S": "text", "V": "records"}
        raise DataError(f"{name}: holds {kinds.get(dtype.kind, f'`{dtype}`')}; real numbers are needed")


def check_compressed(matrix: sp.csr_array | sp.csc_array) -> None:
    """ValueError if the index arrays of a matrix from a file lead out of it: SciPy would follow them through memory."""
    if matrix.indptr[0] != 0 or (np.diff(matrix.indptr) < 0).any():
        raise ValueError("the index pointers of a sparse matrix do not grow from 0")
    matrix.check_format(full_check=True)


def sparse(
    name: str,
    kind: type[sp.csr_array] | type[sp.csc_array] | type[sp.coo_array],
    values: np.ndarray,
    places: Sequence[np.ndarray],
    shape: tuple[int, int],
) -> SparseMatrix:
    """A float64, or complex128, matrix of SciPy's constructors `kind`, for parts that were found in a file.

    places: indices and index pointers, or rows and columns. ValueError if they are not whole numbers, do not belong
    together, or lead out of the matrix; DataError if it would not fit into memory as CSR.
    """
    check_numbers(name, values.dtype)
    check_fits(name, sparse_bytes(shape, values.size))
    if any(part.dtype.kind not in "iu" for part in places):
        raise ValueError("the indices of a sparse matrix are not whole numbers")
    # Those of uint64 beyond the range come out negative, and are refused as such.
    first, second = (part.astype(np.int64) for part in places)
    values = values.astype(wide(values.dtype))
    if issubclass(kind, sp.coo_array):
        return kind((values, (first, second)), shape=shape)
    matrix = kind((values, first, second), shape=shape)
    check_compressed(matrix)
    return matrix


def sparse_bytes(shape: tuple[int, int], entries: int, copies: int = 1) -> int:
    """What a sparse matrix takes on its way to CSR besides its parts as they are stored: every value with two indices,
    as it is and as CSR, and pointers. copies: how many of the matrix in CSR there have to be room for.
    """
    return max(48, 16 * copies) * entries + 8 * max(2, copies) * (shape[0] + 1)


def finished(
    name: str, array: Matrix, transpose: bool = False, takes_complex: bool = False, takes_nan: bool = False
) -> np.ndarray | sp.csr_array:
    """The array, or its transpose, as float64 or, if complex numbers are welcome, complex128, C-contiguous or CSR.

    takes_nan: whether an entry may be nan, for one that is not known. DataError if its form is wrong, another entry is
    not finite, or there is no memory to copy it.
    """
    array = array if is_sparse(array) else np.asarray(array)
    check_numbers(name, array.dtype)
    if is_complex(array.dtype) and not takes_complex:
        raise DataError(f"{name}: holds complex numbers; real numbers are needed ({COMPLEX_ARE})")
    target = wide(array.dtype)
    if array.ndim > 2 or 0 in array.shape:
        check_form(name, array.shape, array.dtype)
    array = array.T if transpose else array
    if is_sparse(array):
        check_fits(name, 16 * array.nnz + 8 * (array.shape[0] + 1) if array.format != "csr" else 0)
        # Widened first: what turns a matrix into CSR adds up the entries at the same place.
        array = sp.csr_array(array.astype(target, copy=False))
        array.sum_duplicates()
        values = array.data
    else:
        kept = array.dtype == target and array.flags.c_contiguous and array.flags.writeable
        check_fits(name, 0 if kept else target.itemsize * array.size)
        array = np.require(array, target, ["C", "W"])
        values = array.reshape(-1)
    refused = _infinite if takes_nan else _not_finite
    bad = [start for start in range(0, values.size, _BLOCK) if refused(values[start : start + _BLOCK]).any()]
    if bad:
        raise DataError(f"{name}: {_told(array, values, bad, refused, transpose)}")
    return array


def reason(error: Exception) -> str:
    """What a library says of a file, on one short line: it may quote the bytes of the file."""
    text = visible((str(error) or type(error).__name__).partition("\n")[0])
    return text if len(text) <= 200 else text[:197] + "..."


def choose(name: str, key: str | None, keys: Sequence[str]) -> str:
    """The key to read: `key`, or the only one there is. DataError lists what there is."""
    if key is None:
        if len(keys) == 1:
            return keys[0]
        if not keys:
            raise DataError(f"{name}: holds no array of numbers")
        raise DataError(f"{name}: holds several arrays, say which with `key`: {_listed(keys)}")
    if key not in keys:
        hint = did_you_mean(key, keys)
        tail = f"; {hint}" if hint else ""
        raise DataError(f"{name}: has no array `{quoted(key)}`{tail} (it has: {_listed(keys) or 'none'})")
    return key


def _listed(keys: Sequence[str]) -> str:
    more = f" and {len(keys) - 20} more" if len(keys) > 20 else ""
    return ", ".join(f"`{quoted(key)}`" for key in keys[:20]) + more


def _infinite(values: np.ndarray) -> np.ndarray:
    return np.isinf(values)


def _not_finite(values: np.ndarray) -> np.ndarray:
    return ~np.isfinite(values)


def _told(
    array: np.ndarray | sp.csr_array,
    values: np.ndarray,
    bad: list[int],
    refused: Callable[[np.ndarray], np.ndarray],
    transposed: bool,
) -> str:
    """values: the numbers of the array; bad: where the blocks of them begin that have some which are refused."""
    blocks = [refused(values[start : start + _BLOCK]) for start in bad]
    count = sum(int(np.count_nonzero(block)) for block in blocks)
    first = bad[0] + int(np.argmax(blocks[0]))
    if is_sparse(array):
        index = int(np.searchsorted(array.indptr, first, side="right")) - 1, int(array.indices[first])
    else:
        index = np.unravel_index(first, array.shape)
    # The place is that in the file.
    axes = zip(_AXES[array.ndim], index[::-1] if transposed else index, strict=True)
    place = ", ".join(f"{axis} {int(i) + 1}" for axis, i in axes) or "the number"
    return f"{count} {'entry is' if count == 1 else 'entries are'} not finite, the first at {place}: {values[first]}"


_BLOCK = 1 << 20
_AXES = {0: (), 1: ("entry",), 2: ("row", "column")}


def _times(shape: tuple[int, ...]) -> str:
    return " x ".join(str(length) for length in shape)
