""".npy and .npz, without pickles, and without believing a header that the file's size contradicts."""

from __future__ import annotations

import math
import zipfile
from pathlib import Path
from typing import BinaryIO

import numpy as np
import scipy.sparse as sp

from cgm_cli.errors import CgmError, DataError
from cgm_cli.readers.checks import check_compressed, check_form, choose
from cgm_cli.readers.memory import check_fits

_SPARSE_KEYS = {"format", "shape", "data"}


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
                check_fits(name, sum(info.file_size for info in sizes.values()))
                return _read_sparse(path, name)
            info = sizes[choose(name, key, list(sizes))]
            check_fits(name, info.file_size)
            with archive.open(info) as stream:
                return _read_stream(stream, info.file_size, name)
    except (CgmError, OSError):
        raise
    except Exception as error:  # zipfile raises a dozen kinds of error for damaged bytes.
        raise DataError(f"{name}: not a readable .npz file: {error}") from None


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
        reason = (str(error) or type(error).__name__).splitlines()[0]
        raise DataError(f"{name}: not a readable .npy file: {reason}") from None
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


def _read_sparse(path: Path, name: str) -> sp.sparray:
    try:
        matrix = sp.load_npz(path)
        if matrix.format not in ("csr", "csc", "coo"):
            raise ValueError(f"format `{matrix.format}` is not supported; save it as csr")
        if matrix.format != "coo":
            # Indices out of range would be read as memory out of range.
            check_compressed(matrix)
    except Exception as error:  # Any member may be damaged or of a wrong kind.
        raise DataError(f"{name}: not a readable sparse .npz file: {error}") from None
    return matrix
