""".npy and .npz, without pickles, and without believing a header that the file's size contradicts."""

from __future__ import annotations

import math
import zipfile
from pathlib import Path
from typing import BinaryIO

import numpy as np
import scipy.sparse as sp

from cgm_cli.errors import CgmError, DataError
from cgm_cli.readers.checks import check_compressed, check_form, choose, reason
from cgm_cli.readers.memory import check_fits

_SPARSE_KEYS = {"format", "shape", "data"}
_SPARSE_FORMS = {
    "csr": (sp.csr_array, "indices", "indptr"),
    "csc": (sp.csc_array, "indices", "indptr"),
    "coo": (sp.coo_array, "row", "col"),
}


def read_npy(path: Path, name: str) -> np.ndarray:
    """The array of a .npy file."""
    with path.open("rb") as file:
        return _read_stream(file, path.stat().st_size, name)


def read_npz(path: Path, key: str | None, name: str) -> np.ndarray | sp.sparray:
    """The array `key` of a .npz file, or the one matrix of a file written by scipy.sparse.save_npz."""
    try:
        with zipfile.ZipFile(path) as archive:
            sizes = {info.filename.removesuffix(".npy"): info for info in archive.infolist()}
            if sizes.keys() >= _SPARSE_KEYS and key is None:
                return _read_sparse(archive, sizes, name)
            return _member(archive, sizes[choose(name, key, list(sizes))], name)
    except (CgmError, OSError):
        raise
    except Exception as error:  # zipfile raises a dozen kinds of error for damaged bytes.
        raise DataError(f"{name}: not a readable .npz file: {reason(error)}") from None


def _read_stream(stream: BinaryIO, size: int, name: str) -> np.ndarray:
    """One array in .npy format from a stream of `size` bytes."""
    try:
        version = np.lib.format.read_magic(stream)
        read_header = {
            (1, 0): np.lib.format.read_array_header_1_0,
            (2, 0): np.lib.format.read_array_header_2_0,
        }.get(version)
        if read_header is None:
            raise ValueError(f"version {version[0]}.{version[1]} of the format is not supported")
        shape, fortran, dtype = read_header(stream)
    except Exception as error:  # The header is parsed as Python text: what a damaged one raises is open-ended.
        raise DataError(f"{name}: not a readable .npy file: {reason(error)}") from None
    if any(length < 0 for length in shape):
        raise DataError(f"{name}: the header gives a negative length")
    check_form(name, shape, dtype)
    needed, left = math.prod(shape) * dtype.itemsize, size - stream.tell()
    if needed != left:
        word = "truncated" if needed > left else "longer than its header says"
        raise DataError(f"{name}: is {word}: the header asks for {needed} bytes of data, the file has {left}")
    raw = stream.read(needed)
    if len(raw) != needed:
        raise DataError(f"{name}: is truncated: {len(raw)} of {needed} bytes")
    return np.frombuffer(raw, dtype).reshape(shape, order="F" if fortran else "C")


def _member(archive: zipfile.ZipFile, info: zipfile.ZipInfo, name: str) -> np.ndarray:
    # A small archive may hold much; that it holds what it says is seen when it is read.
    check_fits(name, info.file_size)
    with archive.open(info) as stream:
        return _read_stream(stream, info.file_size, name)


def _read_sparse(archive: zipfile.ZipFile, sizes: dict[str, zipfile.ZipInfo], name: str) -> sp.sparray:
    """What scipy.sparse.save_npz wrote, member by member: SciPy would believe the header of each."""
    check_fits(name, sum(info.file_size for info in sizes.values()))
    try:
        with archive.open(sizes["format"]) as stream:
            said = stream.read(1000)
        # An array of one text, in bytes or in characters of four bytes.
        form = next((form for form in _SPARSE_FORMS if said.endswith((form.encode(), form.encode("utf-32-le")))), None)
        if form is None:
            raise ValueError(f"its format is none of {', '.join(_SPARSE_FORMS)}; save it as csr")
        rows, columns = (int(length) for length in _member(archive, sizes["shape"], name))
        check_fits(name, 8 * rows)
        kind, *indices = _SPARSE_FORMS[form]
        parts = [_member(archive, sizes[part], name) for part in ("data", *indices)]
        data, where = parts[0], [part.astype(np.int64, casting="safe") for part in parts[1:]]
        if form == "coo":
            return kind((data, tuple(where)), shape=(rows, columns))
        matrix = kind((data, *where), shape=(rows, columns))
        # Indices out of range would be read as memory out of range.
        check_compressed(matrix)
    except CgmError:
        raise
    except Exception as error:  # Any member may be damaged or of a wrong kind.
        raise DataError(f"{name}: not a readable sparse .npz file: {reason(error)}") from None
    return matrix
