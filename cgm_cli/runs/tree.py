"""Nested mappings of arrays and plain values in an HDF5 file: what a checkpoint is made of.

A mapping is a group, an array a dataset, and all plain values of a mapping (text, numbers, None) are one attribute of
its group, as JSON: Python writes and reads floats and integers of any size exactly. The order of an array in memory is
kept, because the last bits of a product may depend on it.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

import h5py
import numpy as np

from cgm_cli.runs.load import own_dataset, own_member
from cgm_cli.runs.stored import StoredArray, read_array

_VALUES = "values"


def write_tree(group: h5py.Group, tree: Mapping[str, Any]) -> None:
    """Put `tree` into an empty group. Keys are text without slashes; arrays may be `StoredArray`s (see `packed`)."""
    values = {}
    for key, value in packed(tree).items():
        if isinstance(value, StoredArray):
            value.write(group, key)
        elif isinstance(value, Mapping) and _has_arrays(value):
            write_tree(group.create_group(key), value)
        else:
            values[key] = value
    group.attrs[_VALUES] = json.dumps(values)


def read_tree(group: h5py.Group) -> dict[str, Any]:
    """What `write_tree` put there. DataError if it takes more memory than there is; other groups may raise anything."""
    tree: dict[str, Any] = json.loads(group.attrs[_VALUES])
    for key in group:
        member = own_member(group, key)
        is_group = isinstance(member, h5py.Group)
        tree[key] = read_tree(member) if is_group else read_array(own_dataset(member, member.name))
    return tree


def packed(tree: Mapping[str, Any]) -> dict[str, Any]:
    """The same with how each array is to be stored, which takes a look at all its numbers: for a tree that is both
    written and summed up.
    """
    return {
        key: packed(value)
        if isinstance(value, Mapping)
        else StoredArray.of(value)
        if isinstance(value, np.ndarray | np.generic)
        else value
        for key, value in tree.items()
    }


def checksum(tree: Mapping[str, Any]) -> str:
    """A digest of every number in `tree`, of its keys, and of how its arrays lie in memory."""
    digest = hashlib.blake2b(digest_size=16)
    _feed(digest, packed(tree))
    return digest.hexdigest()


def _feed(digest: Any, tree: Mapping[str, Any]) -> None:
    for key in sorted(tree):
        value = tree[key]
        if isinstance(value, StoredArray):
            array = value.array
            digest.update(f"{key}{array.dtype.str}{array.shape}{value.fortran}{value.part}".encode())
            digest.update(value.checksums())
        elif isinstance(value, Mapping) and _has_arrays(value):
            digest.update(f"{key}(".encode())
            _feed(digest, value)
            digest.update(b")")
        else:
            digest.update(f"{key}{json.dumps(value, sort_keys=True)}".encode())


def _has_arrays(tree: Mapping[str, Any]) -> bool:
    """Whether a mapping has to be a group; a mapping of plain values alone is a plain value."""
    return any(
        _has_arrays(value) if isinstance(value, Mapping) else isinstance(value, StoredArray) for value in tree.values()
    )
