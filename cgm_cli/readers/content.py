"""Arrays in files that are named by what is in them: arrays/<SHA-256>.npy, .npz for a sparse matrix, .csv for a table.

A run folder keeps the arrays of a spec from Python in such files. The name tells whether the file is whole, and arrays
that are equal share one: all are written in one form, in C order and little endian, in their own type; sparse matrices
as CSR, CSC or coordinates, as `scipy.sparse.save_npz` would.
"""

from __future__ import annotations

import hashlib
import re
import zipfile
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from cgm_cli.numerics.arrays import Matrix, SparseMatrix, is_sparse

FOLDER = "arrays"
"""Where such files are, beside the spec that names them."""

_NAME = re.compile(rf"(?:.*/)?{FOLDER}/([0-9a-f]{{64}})\.(?:np[yz]|csv)", re.DOTALL)
_AT_A_TIME = 1 << 24  # bytes


def digest_in(name: str) -> str | None:
    """The SHA-256 that the name of a data file gives, in hexadecimal digits; None for a name of another form."""
    match = _NAME.fullmatch(name)
    return match[1] if match else None


def name_of(array: Matrix | bytes) -> str:
    """The name of the file that `write` makes of the array, relative to the folder of the spec."""
    digest = hashlib.sha256()
    write(array, digest.update)
    suffix = "csv" if isinstance(array, bytes) else "npz" if is_sparse(array) else "npy"
    return f"{FOLDER}/{digest.hexdigest()}.{suffix}"


def write(array: Matrix | bytes, take: Callable[[Any], Any]) -> None:
    """Hand the bytes of the file to `take`, 16 MB or a row at a time.

    array: real numbers, of at most two dimensions; or a two-dimensional matrix in the format csr, csc or coo; or the
    bytes of a table as they are.
    """
    if isinstance(array, bytes):
        take(array)
        return
    stream = _Stream(take)
    if not is_sparse(array):
        _write_npy(array, stream)
        return
    with zipfile.ZipFile(stream, "w") as archive:
        for part, numbers in _members(array).items():
            # What is written is not known to be small until it has been written.
            with archive.open(zipfile.ZipInfo(f"{part}.npy"), "w", force_zip64=True) as member:
                _write_npy(numbers, member)


def parts(array: np.ndarray) -> Iterator[np.ndarray]:
    """The entries of an array in C order, as contiguous arrays of 16 MB, or of one row where that is more."""
    if array.ndim == 0 or array.size == 0:
        yield array
        return
    rows = max(1, _AT_A_TIME * len(array) // array.nbytes)
    for start in range(0, len(array), rows):
        yield np.ascontiguousarray(array[start : start + rows])


class _Stream:
    """Where bytes go that cannot be gone back to: an archive comes out the same, whatever takes it."""

    def __init__(self, take: Callable[[Any], Any]):
        self._take = take

    def write(self, data: Any) -> int:
        self._take(data)
        return len(data)

    def flush(self) -> None:
        """Nothing is kept back."""

    def close(self) -> None:
        """Nothing is open."""


def _write_npy(array: np.ndarray, stream: Any) -> None:
    dtype = array.dtype.newbyteorder("<")
    header = {"descr": dtype.str, "fortran_order": False, "shape": array.shape}
    np.lib.format.write_array_header_1_0(stream, header)
    for part in parts(array):
        stream.write(part.astype(dtype, copy=False).reshape(-1).view(np.uint8).data)


def _members(matrix: SparseMatrix) -> dict[str, np.ndarray]:
    found = {"format": np.array(matrix.format.encode()), "shape": np.array(matrix.shape, dtype=np.int64)}
    if matrix.format == "coo":
        return {**found, "data": matrix.data, "row": matrix.row, "col": matrix.col}
    # Behind its last entry a matrix may have room for more, filled with anything.
    size = matrix.nnz
    return {**found, "data": matrix.data[:size], "indices": matrix.indices[:size], "indptr": matrix.indptr}
