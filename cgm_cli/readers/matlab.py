""".mat files of every version: 4 to 7 through SciPy, 7.3 (which is HDF5) through h5py."""

from __future__ import annotations

import math
from pathlib import Path

import h5py
import numpy as np
import scipy.io
import scipy.sparse as sp

from cgm_cli.errors import CgmError, DataError
from cgm_cli.readers.checks import choose
from cgm_cli.readers.hdf5 import read_matlab73
from cgm_cli.readers.memory import check_fits

_NUMBERS = {"double", "single", "logical", "sparse"} | {f"{u}int{bits}" for u in ("", "u") for bits in (8, 16, 32, 64)}


def read_mat(path: Path, key: str | None, name: str) -> np.ndarray | sp.sparray:
    """The variable `key`, full or sparse, in MATLAB's orientation."""
    if h5py.is_hdf5(path):
        return read_matlab73(path, key, name)
    try:
        found = {item: (shape, kind) for item, shape, kind in scipy.io.whosmat(path)}
        if key in found and found[key][1] not in _NUMBERS:
            raise DataError(f"{name}: `{key}` is a {found[key][1]}; real numbers are needed")
        key = choose(name, key, [item for item, (_, kind) in found.items() if kind in _NUMBERS])
        shape, kind = found[key]
        if kind != "sparse":
            # Compressed zeros are small in the file: look at the shape before reading.
            check_fits(name, 8 * math.prod(int(length) for length in shape))
        array = scipy.io.loadmat(path, variable_names=[key])[key]
        if sp.issparse(array):
            array.check_format(full_check=True)
        return array
    except CgmError:
        raise
    except Exception as error:  # SciPy's parser raises whatever the damaged bytes lead to.
        raise DataError(f"{name}: not a readable MATLAB file: {error or type(error).__name__}") from None
