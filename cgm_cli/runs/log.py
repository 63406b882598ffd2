"""run.h5, written while the run goes on, and readable at every moment.

    /trace/<column>     one row per record, one dataset per column; nan where a record lacks the column
    /solution/<name>    the iterate in its own form         /duals/<name>       one array per term
    /loss/image         M x of the objective h(M x) at the point that the reported bound was computed at
    attributes of /     the provenance, one entry each; nested entries as JSON

Solution, duals and image have HDF5's checksums. A column of the trace, which is too short for chunks of its own, has
that of its bytes as the attribute CHECKSUM, once the run has ended.

While the run goes on, every column has room for rows to come, which are filled with nan (zeros, if it holds integers).
New rows go right into that room: bytes of numbers, and none of HDF5's own, so that there is nothing a kill could leave
half done but the last rows, and `seconds`, written last, says which of them have arrived. Where a column is new or the
room is used up, and at the end, without any room, the file is written anew and renamed over its predecessor.

HDF5 itself cannot do this. It appends to a chunked column by changes of its own index, in several writes that belong
together (measured with 25 columns that grow by 20 rows a flush without a pause; h5py 3.16, HDF5 2.0):
  - format `earliest`: of 2000 writers killed, 13 left columns of unequal length, and 8 a file that cannot be read. The
    lock of a living one keeps every reader out; with locks switched off, 86 % of what one reads is of unequal length,
    and 10 % unreadable;
  - formats `latest` and SWMR: all 300 writers killed left a file that is marked as open for writing, and refused. SWMR,
    moreover, allows no new columns, and does not work over NFS.
A log to append to, folded into the file at the end, would keep the records of a run that goes on or was killed in
another place than those of one that has ended; here whatever reads HDF5 reads all three. A contiguous dataset is one
piece of the file, and HDF5 tells where (H5Dget_offset): pwrite puts rows there, and HDF5 need not have the file open.
"""

from __future__ import annotations

import os
import time
import zlib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import h5py
import numpy as np

from cgm_cli.errors import CgmError
from cgm_cli.methods.record import IterationRecord
from cgm_cli.runs.files import to_json, write_fault
from cgm_cli.runs.storage import CHECKSUM, write_all, write_hdf5

_ROOM = 512
"""Rows that a new file has room for; doubled whenever they are used up, so that rewriting costs little in all."""

# Every other column may be missing in a record, hence float.
_TYPES = {"k": np.int64, "lmo_matvecs": np.int64, "certified": np.bool_}
_LAST = "seconds"

_CHUNK = 4_000_000
"""Bytes that have a checksum together."""
_LARGEST_CHUNK = 2**31
"""Below the 4 GB of HDF5."""


class RunLog:
    """An observer that writes every record to `path`, at the latest `flush_seconds` or `flush_rows` records later.

    former: column -> the rows of a run that this one goes on with. Raises CgmError (exit code 4) when the file cannot
    be made; an older file stays until then. After that a failing disk never stops the solve: the first fault is kept in
    `fault`, nothing more is written, and the file stays as it was after the last flush that went through.
    """

    def __init__(
        self,
        path: Path,
        provenance: Mapping[str, Any],
        former: Mapping[str, np.ndarray] | None = None,
        *,
        flush_seconds: float = 1.0,
        flush_rows: int = 1000,
    ):
        self.path = path
        self.fault: CgmError | None = None
        self._attributes = dict(provenance)
        self._flush_seconds = flush_seconds
        self._flush_rows = flush_rows
        self._pending: list[IterationRecord] = []
        self._newest: int | None = None  # the k of the last record
        self._rows = 0
        self._room = 0
        self._places: dict[str, int] = {}  # where in the file a column begins
        self._descriptor: int | None = None
        # The first record is flushed at once: it creates the columns.
        self._due = 0.0
        self._rewrite(former or {}, min(map(len, (former or {}).values()), default=0), _ROOM)

    def on_record(self, record: IterationRecord) -> None:
        """Take one record; most calls only append to a list. One of the same k takes the place of the last one."""
        if self.fault is not None:
            return
        if record.k == self._newest:
            if self._pending:
                self._pending.pop()
            else:
                self._rows -= 1
        self._newest = record.k
        self._pending.append(record)
        if len(self._pending) >= self._flush_rows or time.monotonic() >= self._due:
            self.flush()

    def flush(self) -> None:
        """Bring the buffered records to the operating system: they survive the end of this process."""
        if self._pending and self.fault is None:
            try:
                self._append([record.columns() for record in self._pending])
            except CgmError as fault:
                self.fault = fault
            self._pending.clear()
        self._due = time.monotonic() + self._flush_seconds

    def synchronise(self) -> None:
        """Bring the buffered records to the disk itself: they survive a loss of power. Raises `fault`, if any."""
        self.flush()
        if self.fault is None:
            try:
                os.fsync(self._opened)
            except OSError as error:
                self.fault = write_fault(self.path, error)
        if self.fault is not None:
            raise self.fault

    def finish(
        self,
        solution: Mapping[str, np.ndarray],
        duals: Mapping[str, np.ndarray],
        attributes: Mapping[str, Any],
        loss_image: np.ndarray | None = None,
    ) -> None:
        """Add what is known at the end: the arrays, and further root attributes (end time, status)."""
        self.flush()
        if self.fault is not None:
            return
        self._attributes |= attributes
        loss = {} if loss_image is None else {"image": loss_image}
        groups = {name: arrays for name, arrays in (("solution", solution), ("duals", duals), ("loss", loss)) if arrays}
        try:
            self._rewrite(self._columns(), self._rows, 0, groups)
        except CgmError as fault:
            self.fault = fault

    def close(self) -> None:
        """Write what is still buffered, take the room away, and close the file. Closing twice is harmless."""
        if self._descriptor is not None:
            if self._room:
                self.finish({}, {}, {})
            os.close(self._descriptor)
            self._descriptor = None

    def __enter__(self) -> RunLog:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def _opened(self) -> int:
        assert self._descriptor is not None
        return self._descriptor

    def _append(self, rows: list[dict[str, Any]]) -> None:
        names = dict.fromkeys(_key(name) for row in rows for name in row)
        total = self._rows + len(rows)
        if total > self._room or any(name not in self._places for name in names):
            room = max(self._room, _ROOM)
            while room < total:
                room *= 2
            columns: dict[str, Sequence[Any] | np.ndarray] = {**self._columns()}
            columns |= {name: () for name in names if name not in self._places}
            self._rewrite(columns, self._rows, room)
        cells: dict[str, list[Any]] = {name: [_missing(name)] * len(rows) for name in self._places}
        for index, row in enumerate(rows):
            for name, value in row.items():
                cells[_key(name)][index] = value
        try:
            for name in sorted(cells, key=lambda name: name == _LAST):
                data = np.array(cells[name], dtype=_dtype(name))
                write_all(self._opened, data.tobytes(), self._places[name] + self._rows * data.itemsize)
        except OSError as error:
            raise write_fault(self.path, error) from error
        self._rows = total

    def _columns(self) -> dict[str, np.ndarray]:
        """The rows so far, from the file."""
        columns: dict[str, np.ndarray] = {}
        for name, place in self._places.items():
            dtype = np.dtype(_dtype(name))
            data = os.pread(self._opened, self._rows * dtype.itemsize, place)
            columns[name] = np.frombuffer(data, dtype=dtype)
        return columns

    def _rewrite(
        self,
        columns: Mapping[str, Sequence[Any] | np.ndarray],
        rows: int,
        room: int,
        groups: Mapping[str, Mapping[str, np.ndarray]] = {},
    ) -> None:
        """Replace the file by one with these columns, `rows` long, and room for `room` rows in all; 0: no room."""
        places = {}

        def fill(file: h5py.File) -> None:
            for key, value in self._attributes.items():
                file.attrs[key] = _attribute(value)
            trace = file.create_group("trace")
            for name, values in columns.items():
                padded = np.full(max(room, rows), _missing(name), dtype=_dtype(name))
                padded[: min(len(values), rows)] = values[:rows]
                column = trace.create_dataset(name, data=padded)
                places[name] = column.id.get_offset()
                if not room:
                    column.attrs[CHECKSUM] = zlib.crc32(padded.tobytes())
            for group, arrays in groups.items():
                members = file.create_group(group)
                for key, array in arrays.items():
                    data = np.asarray(array)
                    members.create_dataset(_key(key), data=data, **_with_checksums(data))

        write_hdf5(self.path, fill)
        try:
            descriptor = os.open(self.path, os.O_RDWR | os.O_CLOEXEC)
        except OSError as error:
            raise write_fault(self.path, error) from error
        if self._descriptor is not None:
            os.close(self._descriptor)
        self._descriptor, self._places, self._rows, self._room = descriptor, places, rows, room


class Late:
    """A RunLog from `make` on: whoever goes on with a run writes over its log no sooner than it must."""

    def __init__(self, opener: Callable[[], RunLog]):
        self._opener = opener
        self._log: RunLog | None = None

    def make(self) -> None:
        """Make it, unless that was done."""
        if self._log is None:
            self._log = self._opener()

    @property
    def made(self) -> RunLog:
        """The log, which is there by now."""
        assert self._log is not None
        return self._log

    def on_record(self, record: IterationRecord) -> None:
        self.made.on_record(record)


def _with_checksums(array: np.ndarray) -> dict[str, Any]:
    """Options that let HDF5 refuse to read bytes that were damaged; it has checksums of chunks alone: rows, here."""
    if array.ndim == 0 or array.size == 0 or array.nbytes // len(array) > _LARGEST_CHUNK:
        return {}
    rows = max(1, min(len(array), _CHUNK * len(array) // array.nbytes))
    return {"fletcher32": True, "chunks": (rows, *array.shape[1:])}


def _key(name: str) -> str:
    # A slash would make groups of it.
    return name.replace("/", "_")


def _dtype(name: str) -> type:
    return _TYPES.get(name, np.float64)


def _missing(name: str) -> float | int:
    return np.nan if _dtype(name) is np.float64 else 0


def _attribute(value: Any) -> Any:
    """Strings go in as variable-length strings, which the 64 kB limit on attributes does not hold for."""
    if isinstance(value, str | bool | int | float):
        return value
    return to_json(value)
