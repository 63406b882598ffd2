"""One array in an HDF5 file, to the bit and in its order in memory: whole; by half of a large symmetric matrix; or, of
zeros, by its shape alone. The matrices of a run are mostly symmetric, and its young duals are gigabytes of zeros.
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from typing import Literal

import h5py
import numpy as np

from cgm_cli.numerics.bands import SLAB
from cgm_cli.numerics.kernels import complete
from cgm_cli.numerics.threads import share
from cgm_cli.readers.hdf5 import stored_bytes
from cgm_cli.readers.memory import check_fits

PIECE = 1 << 26
"""Bytes that are summed up at once, each piece by a thread of its own."""

HALVED_ENTRIES = 1 << 16
"""Matrices of fewer entries are stored whole."""

_FORTRAN, _ORDER = "fortran", "order"


@dataclass(frozen=True)
class StoredArray:
    """array: in the order of its dataset; what was given is its transpose where it is `fortran`. part: which of its
    numbers are stored; of a symmetric matrix those of each slab of rows that are not right of the slab's last one.
    """

    array: np.ndarray
    fortran: bool
    part: Literal["whole", "half", "nothing"]

    @classmethod
    def of(cls, value: np.ndarray | np.generic) -> StoredArray:
        array = np.asarray(value)
        fortran = bool(array.ndim > 1 and array.flags.f_contiguous and not array.flags.c_contiguous)
        array = array.T if fortran else array
        if _is_zero(array):
            return cls(array, fortran, "nothing")
        return cls(array, fortran, "half" if _is_symmetric(array) else "whole")

    def write(self, group: h5py.Group, key: str) -> None:
        """Make the dataset `key` of a group that has none of this name."""
        array = self.array
        if self.part == "nothing":  # what was never written reads as zeros, and takes no room
            dataset = group.create_dataset(key, shape=array.shape, dtype=array.dtype)
        elif self.part == "whole":
            dataset = group.create_dataset(key, data=array)
        else:
            order = len(array)
            dataset = group.create_dataset(key, shape=_starts(order)[-1], dtype=array.dtype)
            dataset.attrs[_ORDER] = order
            for start, rows in zip(_starts(order), _slabs(order), strict=False):
                block = array[rows, : rows.stop]
                dataset[start : start + block.size] = block.reshape(-1)
        dataset.attrs[_FORTRAN] = self.fortran

    def checksums(self) -> bytes:
        """The CRC-32 of all that is stored, against damage: a digest takes longer than the disk does to write it."""
        if self.part == "half":
            blocks = [self.array[rows, : rows.stop] for rows in _slabs(len(self.array))]
        elif self.part == "whole":
            data = np.ascontiguousarray(self.array).reshape(-1).view(np.uint8)
            blocks = [data[first : first + PIECE] for first in range(0, data.size, PIECE)]
        else:
            blocks = []
        sums = np.zeros(len(blocks), dtype=np.uint32)

        def add(place: int) -> None:
            sums[place] = zlib.crc32(np.ascontiguousarray(blocks[place]).data)

        share(add, [(place,) for place in range(sums.size)])
        return sums.tobytes()


def read_array(dataset: h5py.Dataset) -> np.ndarray:
    """What `StoredArray.write` made the dataset of. DataError if it takes more memory than there is; anything may be
    raised by others.
    """
    order = int(dataset.attrs.get(_ORDER, 0))
    check_fits(dataset.file.filename, stored_bytes(dataset) + order**2 * dataset.dtype.itemsize)
    array = _completed(dataset, order) if order else dataset[()]
    return array.T if dataset.attrs[_FORTRAN] else array


def _completed(dataset: h5py.Dataset, order: int) -> np.ndarray:
    array = np.empty((order, order), dtype=dataset.dtype)
    for start, rows in zip(_starts(order), _slabs(order), strict=False):
        block = array[rows, : rows.stop]
        block[...] = dataset[start : start + block.size].reshape(block.shape)
    complete(array)
    return array


def _slabs(order: int) -> list[slice]:
    return [slice(first, min(first + SLAB, order)) for first in range(0, order, SLAB)]


def _starts(order: int) -> list[int]:
    """Where the block of each slab begins in the dataset, and where the last one ends."""
    sizes = [(rows.stop - rows.start) * rows.stop for rows in _slabs(order)]
    return [0, *np.cumsum(sizes).tolist()]


def _is_zero(array: np.ndarray) -> bool:
    """Whether all its numbers are zero, and none is minus zero."""
    if array.ndim == 0 or array.dtype.kind not in "fiu" or array.any():
        return False
    return array.dtype.kind != "f" or not np.signbit(array).any()


def _is_symmetric(array: np.ndarray) -> bool:
    """Whether it is a matrix worth halving, symmetric to the bit: -0.0 is not 0.0 here."""
    if array.ndim != 2 or array.shape[0] != array.shape[1] or array.size < HALVED_ENTRIES or array.dtype != np.float64:
        return False
    bits, slabs = array.view(np.int64), _slabs(len(array))

    def agree(rows: slice) -> bool:
        return all(
            np.array_equal(bits[rows, others], bits[others, rows].T) for others in slabs if others.start <= rows.start
        )

    if not agree(slabs[0]):
        return False
    found = np.zeros(len(slabs), dtype=bool)

    def look(place: int) -> None:
        found[place] = agree(slabs[place])

    share(look, [(place,) for place in range(len(slabs))])
    return bool(found.all())
