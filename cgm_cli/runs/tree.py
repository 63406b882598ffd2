"""Nested mappings of arrays and plain values in an HDF5 file: what a checkpoint is made of.

A mapping is a group, an array a dataset, and all plain values of a mapping (text, numbers, None) are one attribute of
its group, as JSON: Python writes and reads floats and integers of any size exactly. The order of an array in memory is
kept, because the last bits of a product may depend on it.
"""

from __future__ import annotations

import hashlib
import json
import zlib
from collections.abc import Mapping
from typing import Any

import h5py
import numpy as np

from cgm_cli.numerics.threads import share
from cgm_cli.readers.hdf5 import stored_bytes
from cgm_cli.readers.memory import check_fits
from cgm_cli.runs.load import own_dataset, own_member

_VALUES = "values"
_FORTRAN = "fortran"


def write_tree(group: h5py.Group, tree: Mapping[str, Any]) -> None:
    """Put `tree` into an empty group. Keys are text without slashes."""
    values = {}
    for key, value in tree.items():
        if isinstance(value, Mapping) and _has_arrays(value):
            write_tree(group.create_group(key), value)
        elif isinstance(value, np.ndarray | np.generic):
            array = np.asarray(value)
            fortran = _is_fortran(array)
            stored = array.T if fortran else array
            # What is never written reads as zeros, and takes no room: the duals of a young run are gigabytes of them.
            written = {"shape": stored.shape, "dtype": stored.dtype} if _is_zero(stored) else {"data": stored}
            group.create_dataset(key, **written).attrs[_FORTRAN] = fortran
        else:
            values[key] = value
    group.attrs[_VALUES] = json.dumps(values)


def read_tree(group: h5py.Group) -> dict[str, Any]:
    """What `write_tree` put there. DataError if it takes more memory than there is; other groups may raise anything."""
    tree: dict[str, Any] = json.loads(group.attrs[_VALUES])
    for key in group:
        member = own_member(group, key)
        if isinstance(member, h5py.Group):
            tree[key] = read_tree(member)
        else:
            dataset = own_dataset(member, member.name)
            check_fits(group.file.filename, stored_bytes(dataset))
            array = dataset[()]
            tree[key] = array.T if member.attrs[_FORTRAN] else array
    return tree


PIECE = 1 << 26
"""Bytes that are summed up at once, each piece by a thread of its own."""


def checksum(tree: Mapping[str, Any]) -> str:
    """A digest of every number in `tree`, of its keys, and of how its arrays lie in memory.

    Of arrays it takes their CRC-32, against damage: a cryptographic one takes longer than the disk does to write them.
    """
    digest = hashlib.blake2b(digest_size=16)
    _feed(digest, tree)
    return digest.hexdigest()


def _feed(digest: Any, tree: Mapping[str, Any]) -> None:
    for key in sorted(tree):
        value = tree[key]
        if isinstance(value, Mapping) and _has_arrays(value):
            digest.update(f"{key}(".encode())
            _feed(digest, value)
            digest.update(b")")
        elif isinstance(value, np.ndarray | np.generic):
            array = np.asarray(value)
            fortran = _is_fortran(array)
            digest.update(f"{key}{array.dtype.str}{array.shape}{fortran}".encode())
            digest.update(_sums(np.ascontiguousarray(array.T if fortran else array)).tobytes())
        else:
            digest.update(f"{key}{json.dumps(value, sort_keys=True)}".encode())


def _sums(array: np.ndarray) -> np.ndarray:
    """The CRC-32 of every piece of a contiguous array."""
    data = array.reshape(-1).view(np.uint8)
    sums = np.zeros(-(-data.size // PIECE), dtype=np.uint32)

    def add(piece: int) -> None:
        sums[piece] = zlib.crc32(data[piece * PIECE : (piece + 1) * PIECE].data)

    share(add, [(piece,) for piece in range(sums.size)])
    return sums


def _is_fortran(array: np.ndarray) -> bool:
    return bool(array.ndim > 1 and array.flags.f_contiguous and not array.flags.c_contiguous)


def _is_zero(array: np.ndarray) -> bool:
    """Whether all its numbers are zero, and none is minus zero."""
    if array.ndim == 0 or array.dtype.kind not in "fiu" or array.any():
        return False
    return array.dtype.kind != "f" or not np.signbit(array).any()


def _has_arrays(tree: Mapping[str, Any]) -> bool:
    """Whether a mapping has to be a group; a mapping of plain values alone is a plain value."""
    return any(
        _has_arrays(value) if isinstance(value, Mapping) else isinstance(value, np.ndarray | np.generic)
        for value in tree.values()
    )
