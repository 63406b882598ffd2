""".h5 and MATLAB 7.3: only what lies in the file itself; soft, external and virtual links are not followed."""

from __future__ import annotations

import math
from pathlib import Path

import h5py
import numpy as np
import scipy.sparse as sp

from cgm_cli.errors import CgmError, DataError
from cgm_cli.numerics.arrays import Matrix, SparseMatrix
from cgm_cli.readers.checks import check_form, choose, is_complex, reason, sparse
from cgm_cli.readers.memory import check_fits

_FEW_CHUNKS = 10_000
_MOST_NODES, _MOST_LEVELS = 10_000, 50


def read_hdf5(path: Path, key: str | None, name: str, copies: int = 1) -> np.ndarray:
    """The dataset `key` of an HDF5 file, as it is stored."""
    try:
        with h5py.File(path, "r") as file:
            return _dataset(file[choose(name, key and key.strip("/"), _datasets(file, name))], name, copies)
    except (CgmError, MemoryError):
        raise
    except Exception as error:  # What a damaged file leads h5py to is open-ended.
        raise DataError(f"{name}: not a readable HDF5 file: {reason(error)}") from None


def read_matlab73(path: Path, key: str | None, name: str, copies: int = 1) -> Matrix:
    """The variable `key` of a MATLAB 7.3 file, full or sparse, in MATLAB's orientation."""
    try:
        with h5py.File(path, "r") as file:
            keys = [item for item in file if (node := own(file, item)) is not None and _is_matlab_number(node)]
            node = file[choose(name, key, keys)]
            if isinstance(node, h5py.Group):
                return _sparse(node, name)
            if node.attrs.get("MATLAB_empty", 0):
                raise DataError(f"{name}: `{node.name.strip('/')}` is empty")
            return _dataset(node, name, copies, turned=True).T
    except (CgmError, MemoryError):
        raise
    except Exception as error:  # What a damaged file leads h5py to is open-ended.
        raise DataError(f"{name}: not a readable MATLAB 7.3 file: {reason(error)}") from None


def own(group: h5py.Group, key: str) -> h5py.HLObject | None:
    """What the group itself holds under `key`; None for a link to elsewhere, which is not so much as looked behind."""
    # The low-level call looks at the link alone; `group.get(key, getlink=True)` opens what it leads to.
    hard = group.id.links.get_info(key.encode()).type == h5py.h5l.TYPE_HARD
    return group[key] if hard else None


def stored_bytes(dataset: h5py.Dataset) -> int:
    """What reading a dataset takes in memory. ValueError for one that is mostly holes.

    A few bytes can declare a dataset of any size, and HDF5 walks through every chunk of it, stored or not.
    """
    size = math.prod(dataset.shape or ())
    if dataset.chunks:
        needed = math.prod(-(-length // chunk) for length, chunk in zip(dataset.shape, dataset.chunks, strict=True))
        if needed > _FEW_CHUNKS and dataset.id.get_num_chunks() < needed:
            raise ValueError(f"{dataset.name} has {needed} chunks, and most were never written")
        # A single chunk may be larger than the dataset, and is unpacked as a whole.
        size = max(size, math.prod(dataset.chunks))
    return size * dataset.dtype.itemsize


def _datasets(file: h5py.File, name: str) -> list[str]:
    """The paths of all datasets, each under the first of its names."""
    keys: list[str] = []
    seen: set[int] = set()
    waiting: list[tuple[str, h5py.Group]] = [("", file)]
    while waiting:
        path, group = waiting.pop(0)
        for key in group:
            node = own(group, key)
            if node is None:
                continue
            address = h5py.h5o.get_info(node.id).addr
            if address in seen:
                continue
            seen.add(address)
            if len(seen) > _MOST_NODES or path.count("/") >= _MOST_LEVELS:
                raise DataError(f"{name}: more than {_MOST_NODES} arrays, or {_MOST_LEVELS} groups within each other")
            if isinstance(node, h5py.Dataset):
                keys.append(path + key)
            elif isinstance(node, h5py.Group):
                waiting.append((f"{path}{key}/", node))
    return sorted(keys)


def _dataset(dataset: h5py.Dataset, name: str, copies: int = 1, turned: bool = False) -> np.ndarray:
    """turned: its transpose is what is wanted."""
    if dataset.external or dataset.is_virtual:
        raise DataError(f"{name}: `{dataset.name}` refers to other files; copy the data into this one")
    if dataset.shape is None:
        raise DataError(f"{name}: `{dataset.name}` is empty")
    check_form(name, dataset.shape, dataset.dtype, turned, copies)
    check_fits(name, stored_bytes(dataset))
    array = np.asarray(dataset[()])
    return array["real"] + 1j * array["imag"] if array.dtype.names and is_complex(array.dtype) else array


def _is_matlab_number(node: h5py.HLObject) -> bool:
    if isinstance(node, h5py.Group):
        return "MATLAB_sparse" in node.attrs
    kind = node.attrs.get("MATLAB_class", b"double")
    return kind not in (b"char", b"cell", b"struct", b"function_handle", b"opaque")


def _sparse(group: h5py.Group, name: str) -> SparseMatrix:
    rows = int(group.attrs["MATLAB_sparse"])
    if "data" not in group:
        raise DataError(f"{name}: `{group.name.strip('/')}` has no entries")
    parts = [own(group, part) for part in ("data", "ir", "jc")]
    if None in parts:
        raise DataError(f"{name}: `{group.name.strip('/')}` refers to other places")
    data, indices, starts = (_dataset(part, name) for part in parts)
    return sparse(name, sp.csc_array, data, (indices, starts), (rows, starts.size - 1))
