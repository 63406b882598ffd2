""".mat files of every version: 7.3 is HDF5, older ones are SciPy's.

SciPy's reader of version 5 follows what it finds in the file into its tables: of files with one to three damaged bytes
one in fifty ends the process (of 4000 each: SIGSEGV or SIGBUS for 71 of a full matrix, for 156 with a sparse one beside
it; SciPy 1.17). So it runs in a process of its own, `matlab_child`, with a limit on its memory and its time. What a
variable would take is weighed here before it is unpacked: a few compressed bytes may stand for gigabytes.
"""

from __future__ import annotations

import json
import math
import signal
import subprocess
import sys
from collections.abc import Sequence
from io import BufferedReader
from pathlib import Path
from typing import Any, cast

import h5py
import numpy as np
import scipy.sparse as sp

from cgm_cli.errors import CgmError, DataError
from cgm_cli.numerics.arrays import Matrix
from cgm_cli.readers import memory
from cgm_cli.readers.checks import check_numbers, choose, reason, sparse, wide
from cgm_cli.readers.hdf5 import read_matlab73
from cgm_cli.readers.memory import check_fits

SECONDS, BYTES_PER_SECOND = 60, 10_000_000
"""Processor time for a file, and one second more for each so many bytes: zlib unpacks several times as many."""

HEADERS = 1 << 26
"""Bytes for what is read before a variable can be weighed."""

_WHOLE = {f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)}
_NUMBERS = {"double", "single", "logical", "sparse"} | _WHOLE
_UNLIMITED = 1 << 62


def read_mat(path: Path, key: str | None, name: str, copies: int = 1) -> Matrix:
    """The variable `key`, full or sparse, in MATLAB's orientation."""
    if h5py.is_hdf5(path):
        return read_matlab73(path, key, name, copies)
    with path.open("rb"):
        pass  # what is no readable file is told as such
    try:
        with _Child(path) as child:
            return _read(child, key, name, copies)
    except (CgmError, MemoryError):
        raise
    except Exception as error:  # What a damaged file leads to is open-ended.
        raise DataError(f"{name}: not a readable MATLAB file: {reason(error)}") from None


def _read(child: _Child, key: str | None, name: str, copies: int) -> Matrix:
    found: dict[str, tuple[list[int], str]] = {}
    for item, shape, kind in child.hear()["variables"]:
        if not item.startswith("__"):  # SciPy's name for what MATLAB keeps for itself
            found.setdefault(item, (shape, kind))
    if key in found and found[key][1] not in _NUMBERS:
        kind = found[key][1].replace("unknown", "value")
        raise DataError(f"{name}: `{key}` is a {kind}; real numbers are needed")
    key = choose(name, key, [item for item, (_, kind) in found.items() if kind in _NUMBERS])
    shape, kind = found[key]
    if kind not in ("sparse", "logical"):  # a sparse matrix of truth values is `logical`
        _check_room(name, shape, np.dtype(float), copies)
    child.say(key)
    told = child.hear()
    forms = [(np.dtype(dtype), size) for dtype, size in told["parts"]]
    check_numbers(name, forms[0][0])
    if told["sparse"]:
        check_fits(name, sum(dtype.itemsize * size for dtype, size in forms))
        values, indices, starts = (child.numbers(*form) for form in forms)
        return sparse(name, sp.csc_array, values, (indices, starts), tuple(told["shape"]))
    _check_room(name, told["shape"], wide(forms[0][0]), copies)
    return child.numbers(*forms[0]).reshape(told["shape"], order="F")


def _check_room(name: str, shape: Sequence[int], dtype: np.dtype, copies: int) -> None:
    """For a full array: it is there twice for a moment, as the child has read it and here, then here in both orders."""
    check_fits(name, max(2, copies) * dtype.itemsize * math.prod(shape))


class _Child:
    """A process that reads a file. ValueError for what it says is wrong, or if it has died."""

    def __init__(self, path: Path):
        available = memory.available_memory()
        # What it reads must be there once more, here; for its headers there must be something in any case.
        most = _UNLIMITED if available is None else available // 2 + HEADERS
        self._seconds = SECONDS + path.stat().st_size // BYTES_PER_SECOND
        script = Path(__file__).with_name("matlab_child.py")
        # In a group of its own: an interrupt from the keyboard is for this process, which then ends the other.
        self._process = subprocess.Popen(
            [sys.executable, "-P", script, path, str(most), str(self._seconds)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            process_group=0,
        )

    def say(self, what: Any) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(what).encode() + b"\n")
        self._process.stdin.flush()

    def hear(self) -> dict[str, Any]:
        """The next line. MemoryError if the child has not enough."""
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line.endswith(b"\n"):
            raise self._death()
        told = json.loads(line)
        if "memory" in told:
            raise MemoryError
        if "error" in told:
            raise ValueError(told["error"])
        return told

    def numbers(self, dtype: np.dtype, size: int) -> np.ndarray:
        """The next numbers, of shape (size,)."""
        assert self._process.stdout is not None
        array = np.empty(size, dtype)
        # What Popen calls IO is a buffered reader where it is read as bytes.
        if cast(BufferedReader, self._process.stdout).readinto(array.view("u1").data) < array.nbytes:
            raise self._death()
        return array

    def _death(self) -> ValueError:
        code = self._process.wait()
        if code == -signal.SIGXCPU:
            return ValueError(f"it takes more than {self._seconds} s of processor time")
        how = signal.Signals(-code).name if code < 0 else f"exit code {code}"
        return ValueError(f"it is damaged: SciPy's reader dies of it ({how})")

    def __enter__(self) -> _Child:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.communicate()
