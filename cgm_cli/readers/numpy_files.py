"""NumPy's .npy and .npz, and SciPy's sparse .npz, without pickles, and without believing a header that the file's size
contradicts.

A few bytes of an archive may stand for gigabytes: what the headers of its members announce is held against the memory
before any of the numbers is unpacked.
"""

from __future__ import annotations

import math
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import numpy as np
import scipy.sparse as sp

from cgm_cli.errors import CgmError, DataError
from cgm_cli.numerics.arrays import Matrix, SparseMatrix
from cgm_cli.readers.checks import check_form, check_numbers, choose, reason, sparse, sparse_bytes
from cgm_cli.readers.memory import check_fits
from cgm_cli.text import counted

_SPARSE_KEYS = {"format", "shape", "data"}
_SPARSE_FORMS = {
    "csr": (sp.csr_array, "indices", "indptr"),
    "csc": (sp.csc_array, "indices", "indptr"),
    "coo": (sp.coo_array, "row", "col"),
}
_HEADERS = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}
_LONGEST_HEADER = 10_000  # bytes, as in NumPy
_AT_A_TIME = 1 << 24  # bytes


CHANNELS = 4
"""The most that a pixel has: red, green, blue, and how opaque it is."""


@dataclass(frozen=True)
class _Header:
    """What stands before the numbers of an array."""

    shape: tuple[int, ...]
    fortran: bool
    dtype: np.dtype

    @property
    def count(self) -> int:
        return math.prod(self.shape)

    @property
    def nbytes(self) -> int:
        return self.count * self.dtype.itemsize


def read_npy(path: Path, name: str) -> np.ndarray:
    """The array of a .npy file."""
    with path.open("rb") as file:
        header = _header(file, path.stat().st_size, name)
        check_form(name, header.shape, header.dtype, header.fortran)
        return _numbers(file, header, name)


def dimensions(path: Path, name: str) -> int:
    """How many axes the array of a .npy file has."""
    with path.open("rb") as file:
        return len(_header(file, path.stat().st_size, name).shape)


def read_channels(path: Path, name: str) -> np.ndarray:
    """The array of a .npy file (rows, columns, channels), of one to four channels, in its own type."""
    with path.open("rb") as file:
        header = _header(file, path.stat().st_size, name)
        if len(header.shape) != 3 or not 1 <= header.shape[2] <= CHANNELS:
            size = " x ".join(map(str, header.shape))
            raise DataError(
                f"{name}: is {size}; an image is rows x columns x channels, of which there are 1 to {CHANNELS}"
            )
        flat = header.shape[0], header.shape[1] * header.shape[2]
        check_form(name, flat, header.dtype, header.fortran)
        return _numbers(file, header, name)


def read_npz(path: Path, key: str | None, name: str, copies: int = 1) -> Matrix:
    """The array `key` of a .npz file, or the one matrix of a file written by scipy.sparse.save_npz."""
    try:
        with zipfile.ZipFile(path) as archive:
            members = {info.filename.removesuffix(".npy"): info for info in archive.infolist()}
            if members.keys() >= _SPARSE_KEYS and key is None:
                return _read_sparse(archive, members, name, copies)
            info = members[choose(name, key, list(members))]
            header = _peek(archive, info, name)
            check_form(name, header.shape, header.dtype, header.fortran, copies)
            return _member(archive, info, name)
    except (CgmError, OSError, MemoryError):
        raise
    except Exception as error:  # zipfile raises a dozen kinds of error for damaged bytes.
        raise DataError(f"{name}: not a readable .npz file: {reason(error)}") from None


def _header(stream: IO[bytes], size: int, name: str) -> _Header:
    """The header of a stream of `size` bytes in .npy format, which is left where the numbers begin."""
    try:
        version = np.lib.format.read_magic(stream)
        if version not in _HEADERS:
            raise ValueError(f"version {version[0]}.{version[1]} of the format is not supported")
        # Read before NumPy reads the header: its length may be a lie of gigabytes.
        where = stream.tell()
        if int.from_bytes(stream.read(2 * version[0]), "little") > _LONGEST_HEADER:
            raise ValueError("its header is too long")
        stream.seek(where)
        header = _Header(*_HEADERS[version](stream))
    except Exception as error:  # The header is parsed as Python text: what a damaged one raises is open-ended.
        raise DataError(f"{name}: not a readable .npy file: {reason(error)}") from None
    if any(length < 0 for length in header.shape):
        raise DataError(f"{name}: the header gives a negative length")
    check_numbers(name, header.dtype)
    left = size - stream.tell()
    if header.nbytes != left:
        word = "truncated" if header.nbytes > left else "longer than its header says"
        raise DataError(
            f"{name}: is {word}: the header asks for {counted(header.nbytes, 'byte')} of data, the file has {left}"
        )
    return header


def _numbers(stream: IO[bytes], header: _Header, name: str) -> np.ndarray:
    """The array that stands behind its header, as it is stored."""
    flat = np.empty(header.count, header.dtype)
    raw = flat.view(np.uint8).data
    # In parts: what unpacks an archive gathers what it is asked for before it hands it over.
    for start in range(0, header.nbytes, _AT_A_TIME):
        part = stream.read(min(_AT_A_TIME, header.nbytes - start))
        raw[start : start + len(part)] = part
        if start + len(part) < min(start + _AT_A_TIME, header.nbytes):
            raise DataError(f"{name}: is truncated: {start + len(part)} of {counted(header.nbytes, 'byte')}")
    return flat.reshape(header.shape, order="F" if header.fortran else "C")


def _peek(archive: zipfile.ZipFile, info: zipfile.ZipInfo, name: str) -> _Header:
    """The header of a member, of which no more is unpacked than that."""
    # A small archive may hold much; that it holds what it says is seen when it is read.
    with archive.open(info) as stream:
        return _header(stream, info.file_size, name)


def _member(archive: zipfile.ZipFile, info: zipfile.ZipInfo, name: str) -> np.ndarray:
    with archive.open(info) as stream:
        return _numbers(stream, _header(stream, info.file_size, name), name)


def _read_sparse(archive: zipfile.ZipFile, members: dict[str, zipfile.ZipInfo], name: str, copies: int) -> SparseMatrix:
    """What scipy.sparse.save_npz wrote, member by member: SciPy would believe the header of each."""
    try:
        with archive.open(members["format"]) as stream:
            said = stream.read(1000)
        # An array of one text, in bytes or in characters of four bytes.
        form = next((form for form in _SPARSE_FORMS if said.endswith((form.encode(), form.encode("utf-32-le")))), None)
        if form is None:
            raise ValueError(f"its format is none of {', '.join(_SPARSE_FORMS)}; save it as csr")
        kind, *places = _SPARSE_FORMS[form]
        parts = [members[part] for part in ("data", *places)]
        headers = {info.filename: _peek(archive, info, name) for info in (members["shape"], *parts)}
        stored, entries = sum(header.nbytes for header in headers.values()), headers[parts[0].filename].count
        check_fits(name, stored + sparse_bytes((0, 0), entries, copies))
        rows, columns = (int(length) for length in _member(archive, members["shape"], name))
        check_fits(name, stored + sparse_bytes((rows, columns), entries, copies))
        data, *found = (_member(archive, info, name) for info in parts)
        return sparse(name, kind, data, found, (rows, columns))
    except (CgmError, OSError, MemoryError):
        raise
    except Exception as error:  # Any member may be damaged or of a wrong kind.
        raise DataError(f"{name}: not a readable sparse .npz file: {reason(error)}") from None
