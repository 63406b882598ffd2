"""The file below an HDF5 file: nothing that was committed is touched before everything new is safely on disk.

HDF5 on a plain file has two weaknesses. A write that fails half-way through a flush (a full disk) leaves headers that
point to nothing, and the library, unable to close the file any more, may crash the process at exit. Here

- bytes behind the committed end go to disk at once: nothing points to them yet;
- bytes before it wait in memory until `commit` puts them in place: the superblock first, which knows how long the file
  is, then all others in the order HDF5 wrote them, numbers before the headers that count them;
- after the first OSError, kept in `fault`, the disk is left alone: HDF5 goes on in memory, closes in peace, and the
  file is cut back to its last committed state.

So a full disk costs the rows after the last commit, and a SIGKILL can only do harm within the few small writes of a
commit.
"""

from __future__ import annotations

import io
import os
from pathlib import Path


class CommittedFile(io.RawIOBase):
    """A new binary file for `h5py.File(file, "w")`. Raises OSError when it cannot be made, and never afterwards."""

    def __init__(self, path: Path):
        super().__init__()
        self.fault: OSError | None = None
        self._descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o644)
        self._position = 0
        self._size = 0  # what HDF5 believes
        self._end = 0  # what the disk holds
        self._committed = 0
        self._pending: dict[int, bytes] = {}

    def commit(self) -> None:
        """Make the disk hold what HDF5 has written so far."""
        if self.fault is not None:
            return
        try:
            # Real zeros instead of a hole: a hole would ask for disk space later, when a header already points to it.
            if self._size > self._end:
                _write_all(self._descriptor, bytes(self._size - self._end), self._end)
                self._end = self._size
            for offset in sorted(self._pending, key=lambda offset: offset > 0):
                _write_all(self._descriptor, self._pending[offset], offset)
            self._pending.clear()
            if self._size < self._end:
                os.ftruncate(self._descriptor, self._size)
                self._end = self._size
            self._committed = self._size
        except OSError as error:
            self.fault = error

    def synchronise(self) -> None:
        """Bring what is committed from the operating system to the disk itself."""
        if self.fault is None:
            try:
                os.fsync(self._descriptor)
            except OSError as error:
                self.fault = error

    def write(self, data) -> int:
        data = memoryview(data).cast("B")
        start, stop = self._position, self._position + len(data)
        split = min(max(self._committed - start, 0), len(data))
        if self.fault is None and split < len(data):
            try:
                _write_all(self._descriptor, data[split:], start + split)
                self._end = max(self._end, stop)
            except OSError as error:
                self.fault = error
        kept = data if self.fault is not None else data[:split]
        if len(kept):
            self._remember(start, bytes(kept))
        self._position = stop
        self._size = max(self._size, stop)
        return len(data)

    def readinto(self, buffer) -> int:
        view = memoryview(buffer).cast("B")
        start = self._position
        count = max(0, min(len(view), self._size - start))
        data = os.pread(self._descriptor, count, start)
        view[:count] = data + bytes(count - len(data))
        for offset, kept in self._pending.items():
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
        return self._size

    def close(self) -> None:
        """Cut back what was never committed, and close."""
        if not self.closed:
            try:
                if self._end > self._committed or self.fault is not None:
                    os.ftruncate(self._descriptor, self._committed)
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

    def _remember(self, start: int, data: bytes) -> None:
        # A later write of the same bytes must win: dictionaries keep their order, and `commit` needs no overlaps.
        stop = start + len(data)
        overlapping = [
            (offset, old) for offset, old in self._pending.items() if offset < stop and offset + len(old) > start
        ]
        if overlapping:
            low = min(start, *(offset for offset, _ in overlapping))
            high = max(stop, *(offset + len(old) for offset, old in overlapping))
            merged = bytearray(high - low)
            for offset, old in [*overlapping, (start, data)]:
                merged[offset - low : offset - low + len(old)] = old
                self._pending.pop(offset, None)
            start, data = low, bytes(merged)
        self._pending[start] = data


def _write_all(descriptor: int, data: bytes | memoryview, offset: int) -> None:
    view = memoryview(data)
    while len(view):
        written = os.pwrite(descriptor, view, offset)
        view, offset = view[written:], offset + written
