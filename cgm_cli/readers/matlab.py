""".mat files of every version: 7.3 is HDF5, 5 to 7 have a reader of their own, 4 is left to SciPy."""

from __future__ import annotations

import math
from pathlib import Path

import h5py
import numpy as np
import scipy.io
import scipy.sparse as sp

from cgm_cli.errors import CgmError, DataError
from cgm_cli.readers.checks import check_compressed, choose, reason
from cgm_cli.readers.hdf5 import read_matlab73
from cgm_cli.readers.matlab5 import is_matlab5, read_matlab5
from cgm_cli.readers.memory import check_fits


def read_mat(path: Path, key: str | None, name: str, copies: int = 1) -> np.ndarray | sp.sparray:
    """The variable `key`, full or sparse, in MATLAB's orientation."""
    if h5py.is_hdf5(path):
        return read_matlab73(path, key, name, copies)
    check_fits(name, path.stat().st_size)
    raw = path.read_bytes()
    try:
        return read_matlab5(raw, key, name, copies) if is_matlab5(raw) else _read_matlab4(path, key, name)
    except (CgmError, MemoryError):
        raise
    except Exception as error:  # What a damaged file leads to is open-ended, in SciPy's parser above all.
        raise DataError(f"{name}: not a readable MATLAB file: {reason(error)}") from None


def _read_matlab4(path: Path, key: str | None, name: str) -> np.ndarray | sp.sparray:
    shapes = {item: shape for item, shape, kind in scipy.io.whosmat(path) if kind not in ("char", "unknown")}
    key = choose(name, key, list(shapes))
    check_fits(name, 16 * math.prod(int(length) for length in shapes[key]))
    array = scipy.io.loadmat(path, variable_names=[key])[key]
    if sp.issparse(array):
        check_compressed(array)
    return array
