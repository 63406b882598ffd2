"""What every array from a file must pass: numbers, at most two dimensions, not empty, every entry finite."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import scipy.sparse as sp

from cgm_cli.errors import DataError
from cgm_cli.readers.memory import check_fits
from cgm_cli.spec.faults import did_you_mean, quoted, visible


def check_form(name: str, shape: tuple[int, ...], dtype: np.dtype) -> None:
    """DataError unless an array of this form can be float64 in at most two dimensions; to call before allocating."""
    if dtype.kind not in "biuf":
        kinds = {"c": "complex numbers", "O": "objects", "U": "text", "S": "text", "V": "records"}
        raise DataError(f"{name}: holds {kinds.get(dtype.kind, f'`{dtype}`')}; real numbers are needed")
    if len(shape) > 2:
        raise DataError(f"{name}: has {len(shape)} dimensions ({_times(shape)}); at most two are supported")
    if 0 in shape:
        raise DataError(f"{name}: is empty ({_times(shape)})")
    check_fits(name, 8 * math.prod(int(length) for length in shape))


def check_compressed(matrix: sp.csr_array | sp.csc_array) -> None:
    """ValueError if the index arrays of a matrix from a file lead out of it: SciPy would follow them through memory."""
    if matrix.indptr[0] != 0 or (np.diff(matrix.indptr) < 0).any():
        raise ValueError("the index pointers of a sparse matrix do not grow from 0")
    matrix.check_format(full_check=True)


def finished(name: str, array: np.ndarray | sp.sparray) -> np.ndarray | sp.csr_array:
    """The array as float64, C-contiguous or CSR; DataError if its form is wrong or an entry is nan or infinite."""
    if sp.issparse(array):
        check_form(name, (1,) * array.ndim, array.dtype)
        if 0 in array.shape:
            raise DataError(f"{name}: is empty ({_times(array.shape)})")
        array = sp.csr_array(array, dtype=float)
        array.sum_duplicates()
        values = array.data
    else:
        array = np.asarray(array)
        check_form(name, array.shape, array.dtype)
        array = np.require(array, float, ["C", "W"])
        values = array
    finite = np.isfinite(values)
    if not finite.all():
        raise DataError(f"{name}: {_not_finite(array, finite)}")
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


def _not_finite(array: np.ndarray | sp.csr_array, finite: np.ndarray) -> str:
    count = int(finite.size - np.count_nonzero(finite))
    first = int(np.argmin(finite.reshape(-1)))
    if sp.issparse(array):
        row = int(np.searchsorted(array.indptr, first, side="right"))
        place, value = f"row {row}, column {int(array.indices[first]) + 1}", array.data[first]
    else:
        index = np.unravel_index(first, array.shape)
        value = array[index]
        axes = zip(_AXES[array.ndim], index, strict=True)
        place = ", ".join(f"{axis} {int(i) + 1}" for axis, i in axes) or "the number"
    return f"{count} {'entry is' if count == 1 else 'entries are'} not finite, the first at {place}: {value}"


_AXES = {0: (), 1: ("entry",), 2: ("row", "column")}


def _times(shape: tuple[int, ...]) -> str:
    return " x ".join(str(length) for length in shape)
