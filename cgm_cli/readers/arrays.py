"""The one way from a file to an array; the suffix picks the reader."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import partial
from importlib import import_module
from pathlib import Path

import numpy as np
import scipy.sparse as sp

from cgm_cli.errors import DataError
from cgm_cli.numerics.arrays import Matrix
from cgm_cli.readers.checks import finished
from cgm_cli.readers.frames import FRAMES

# suffix -> "module:function" (imported when needed), and whether a file holds several arrays by name; such files may be
# packed, and their readers ask for `copies`, too.
IMAGES = (".png", ".jpg", ".jpeg", ".tif", ".tiff", ".bmp", ".webp", ".gif")
_IMAGE = ("cgm_cli.readers.images:read_image", False)
_READERS = {
    ".mat": ("cgm_cli.readers.matlab:read_mat", True),
    ".npy": ("cgm_cli.readers.numpy_files:read_npy", False),
    ".npz": ("cgm_cli.readers.numpy_files:read_npz", True),
    ".csv": ("cgm_cli.readers.text:read_table", False),
    ".txt": ("cgm_cli.readers.text:read_table", False),
    ".h5": ("cgm_cli.readers.hdf5:read_hdf5", True),
    ".hdf5": ("cgm_cli.readers.hdf5:read_hdf5", True),
    ".mtx": ("cgm_cli.readers.market:read_market", False),
    **dict.fromkeys(FRAMES, ("cgm_cli.readers.frames:read_frame", False)),
    **dict.fromkeys(IMAGES, _IMAGE),
}


def read_array(
    path: Path,
    key: str | None = None,
    transpose: bool = False,
    name: str | None = None,
    copies: int = 1,
    takes_complex: bool = False,
    takes_nan: bool = False,
) -> np.ndarray | sp.csr_array:
    """The array in a file: float64, C-contiguous or CSR, at most two dimensions, every entry finite; complex128, where
    the file has complex numbers and `takes_complex` welcomes them; with `takes_nan` an entry may be nan as well.

    Entries of a sparse matrix that are given more than once add up, as float64, whatever their type in the file.
    key: which array of a .mat, .npz or .h5 file, not needed where it holds only one. transpose: of a matrix. name: what
    messages call the file. copies: how often the array has to fit into memory, for what is done with it later: a packed
    file for which there is no room is refused before it is unpacked.

    DataError for anything that cannot be read as that.
    """
    name = name or str(path)
    reader = _reader(path, key, name, max(copies, 2 if transpose else 1))
    try:
        # What a library finds odd in a file is either an error below, or nothing to the user.
        with warnings.catch_warnings(action="ignore"):
            return finished(name, reader(path, name=name), transpose, takes_complex, takes_nan)
    except OSError as error:
        raise DataError(f"{name}: cannot be read: {error.strerror or error}") from None
    except MemoryError:
        raise DataError(f"{name}: does not fit into memory") from None


def _reader(path: Path, key: str | None, name: str, copies: int) -> Callable[..., Matrix]:
    suffix = path.suffix.lower()
    if suffix not in _READERS:
        raise DataError(f"{name}: files of type `{suffix}` are not known (known: {', '.join(_READERS)})")
    where, keyed = _READERS[suffix]
    if key is not None and not keyed:
        raise DataError(f"{name}: a {suffix} file holds one array and has no `key`")
    module, function = where.split(":")
    reader = getattr(import_module(module), function)
    return partial(reader, key=key, copies=copies) if keyed else reader
