"""Whole HDF5 files: written to a temporary name, renamed when complete. A reader, or a crash, sees the old or the new.

HDF5 on a plain file cannot stand a write that fails, a full disk for instance: unable to close the file any more, the
library may crash the process at exit. So it writes to a `ForgivingFile`, which reports the failure afterwards.
"""

from __future__ import annotations

import io
import os
from collections.abc import Callable
from pathlib import Path

import h5py

from cgm_cli.runs.files import replacing, write_fault

CHECKSUM = "crc32"
"""The attribute of a dataset with that of its bytes, of one too short for the checksums of HDF5."""


def write_hdf5(path: Path, fill: Callable[[h5py.File], None], *, durable: bool = False) -> None:
    """Put what `fill` writes in place of the file at `path`; with `durable` it survives a loss of power from then on.

    The earliest format has no flags of consistency that a reader could stumble over. Raises CgmError (exit code 4), and
    leaves the old file, if the disk refuses.
    """
    try:
        with replacing(path, durable) as temporary:
            storage = ForgivingFile(temporary)
            try:
                with h5py.File(storage, "w", libver="earliest") as file:
                    fill(file)
            finally:
                storage.close()
            if storage.fault is not None:
                raise storage.fault
    except OSError as error:
        raise write_fault(path, error) from error


PIECE = 1 << 25
"""Bytes of a large file that wait in the system's cache to be written: where memory is given to a machine when it first
writes to it, a cache of gigabytes takes many times as long as the disk does.
"""


class ForgivingFile(io.RawIOBase):
    """A new binary file for `h5py.File(file, "w")`. Raises OSError when it cannot be made, and never afterwards.

    After the first failure, kept in `fault`, the disk is left alone, and what is written lives in memory: so HDF5 can
    close in peace.
    """

    def __init__(self, path: Path):
        super().__init__()
        self.fault: OSError | None = None
        self._descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o644)
        self._position = 0
        self._size = 0  # what HDF5 believes
        self._waiting = 0  # bytes that may be in the cache alone
        self._kept: list[tuple[int, bytes]] = []  # what did not go to the disk, in order

    def write(self, data) -> int:
        data = memoryview(data).cast("B")
        if self.fault is None:
            try:
                for first in range(0, len(data), PIECE):
                    self._put(data[first : first + PIECE], self._position + first)
            except OSError as error:
                self.fault = error
        if self.fault is not None:
            self._kept.append((self._position, bytes(data)))
        self._position += len(data)
        self._size = max(self._size, self._position)
        return len(data)

    def _put(self, data: memoryview, position: int) -> None:
        write_all(self._descriptor, data, position)
        self._waiting += len(data)
        if self._waiting >= PIECE and hasattr(os, "posix_fadvise"):  # not on macOS
            os.fdatasync(self._descriptor)
            os.posix_fadvise(self._descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
            self._waiting = 0

    def readinto(self, buffer) -> int:
        view = memoryview(buffer).cast("B")
        start = self._position
        count = max(0, min(len(view), self._size - start))
        data = os.pread(self._descriptor, count, start)
        view[:count] = data + bytes(count - len(data))
        for offset, kept in self._kept:
            low, high = max(start, offset), min(start + count, offset + len(kept))
            if low < high:
                view[low - start : high - start] = kept[low - offset : high - offset]
        self._position += count
        return count

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        base = {io.SEEK_SET: 0, io.SEEK_CUR: self._position, io.SEEK_END: self._size}[whence]
        self._position = base + offset
        return self._position

    def truncate(self, size: int | None = None) -> int:
        self._size = self._position if size is None else size
        try:
            if self.fault is None:
                os.ftruncate(self._descriptor, self._size)
        except OSError as error:
            self.fault = error
        return self._size

    def close(self) -> None:
        if not self.closed:
            try:
                os.close(self._descriptor)
            except OSError as error:
                self.fault = self.fault or error
        super().close()

    def readable(self) -> bool:
        return True

    def writable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True


def write_all(descriptor: int, data: bytes | memoryview, offset: int) -> None:
    """All of `data` at `offset` of an open file. Raises OSError."""
    view = memoryview(data)
    while len(view):
        written = os.pwrite(descriptor, view, offset)
        view, offset = view[written:], offset + written
