""".h5 and MATLAB 7.3: only what lies in the file itself; soft, external and virtual links are not followed."""

from __future__ import annotations

from pathlib import Path

import h5py
import numpy as np
import scipy.sparse as sp

from cgm_cli.errors import CgmError, DataError
from cgm_cli.readers.checks import check_compressed, check_form, choose
from cgm_cli.readers.memory import check_fits


def read_hdf5(path: Path, key: str | None, name: str) -> np.ndarray:
    """The dataset `key` of an HDF5 file, as it is stored."""
    try:
        with h5py.File(path, "r") as file:
            return _dataset(file[choose(name, key and key.strip("/"), _datasets(file))], name)
    except CgmError:
        raise
    except Exception as error:  # What a damaged file leads h5py to is open-ended.
        raise DataError(f"{name}: not a readable HDF5 file: {error}") from None


def read_matlab73(path: Path, key: str | None, name: str) -> np.ndarray | sp.sparray:
    """The variable `key` of a MATLAB 7.3 file, full or sparse, in MATLAB's orientation."""
    try:
        with h5py.File(path, "r") as file:
            keys = [item for item in file if _is_hard(file, item) and _is_matlab_number(file[item])]
            node = file[choose(name, key, keys)]
            if isinstance(node, h5py.Group):
                return _sparse(node, name)
            if node.attrs.get("MATLAB_empty", 0):
                raise DataError(f"{name}: `{node.name.strip('/')}` is empty")
            return _dataset(node, name).T
    except CgmError:
        raise
    except Exception as error:  # What a damaged file leads h5py to is open-ended.
        raise DataError(f"{name}: not a readable MATLAB 7.3 file: {error}") from None


def _datasets(file: h5py.File) -> list[str]:
    keys: list[str] = []

    # visititems follows hard links only.
    def visit(key: str, node: h5py.HLObject) -> None:
        if isinstance(node, h5py.Dataset):
            keys.append(key)

    file.visititems(visit)
    return keys


def _dataset(dataset: h5py.Dataset, name: str) -> np.ndarray:
    if dataset.external or dataset.is_virtual:
        raise DataError(f"{name}: `{dataset.name}` refers to other files; copy the data into this one")
    if dataset.shape is None:
        raise DataError(f"{name}: `{dataset.name}` is empty")
    check_form(name, dataset.shape, dataset.dtype)
    return np.asarray(dataset[()])


def _is_hard(group: h5py.Group, key: str) -> bool:
    # The low-level call looks at the link alone; `group.get(key, getlink=True)` opens what it leads to.
    return group.id.links.get_info(key.encode()).type == h5py.h5l.TYPE_HARD


def _is_matlab_number(node: h5py.HLObject) -> bool:
    if isinstance(node, h5py.Group):
        return "MATLAB_sparse" in node.attrs
    kind = node.attrs.get("MATLAB_class", b"double")
    return kind not in (b"char", b"cell", b"struct", b"function_handle", b"opaque")


def _sparse(group: h5py.Group, name: str) -> sp.csc_array:
    rows = int(group.attrs["MATLAB_sparse"])
    if "data" not in group:
        raise DataError(f"{name}: `{group.name.strip('/')}` has no entries")
    if not all(_is_hard(group, part) for part in ("data", "ir", "jc")):
        raise DataError(f"{name}: `{group.name.strip('/')}` refers to other places")
    data, indices, starts = (_dataset(group[part], name) for part in ("data", "ir", "jc"))
    check_fits(name, 8 * rows)
    matrix = sp.csc_array((data, indices.astype(np.int64), starts.astype(np.int64)), shape=(rows, starts.size - 1))
    check_compressed(matrix)
    return matrix
