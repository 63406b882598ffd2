"""run.h5, written while the run goes on, and readable whenever the writer dies.

    /trace/<column>     one row per record, one dataset per column, extendable; nan where a record lacks the column
    /solution/<name>    the iterate in its own form         /duals/<name>       one array per term
    /loss/image         M x of the objective h(M x) at the point that the reported bound was computed at
    attributes of /     the provenance, one entry each; nested entries as JSON

Three choices make a killed run readable. `libver="earliest"` has no consistency flags that a dead writer leaves set.
Rows are buffered, and reach the file in one commit that appends before it overwrites (`storage`). And the file gets its
name only after its first commit, so there is never a run.h5 without a header.
"""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import h5py
import numpy as np

from cgm_cli.errors import CgmError
from cgm_cli.methods.record import IterationRecord
from cgm_cli.runs.files import to_json, write_fault
from cgm_cli.runs.storage import CommittedFile

# A flush rewrites the last chunk of each column: 4 kB, one page. Every other column may be missing in a record, hence
# float.
_CHUNK_ROWS = 512
_TYPES = {"k": np.int64, "lmo_matvecs": np.int64, "certified": np.bool_}


class RunLog:
    """An observer that writes every record to `path`, at the latest `flush_seconds` or `flush_rows` records later.

    Raises CgmError (exit code 4) when the file cannot be opened. After that a failing disk never stops the solve: the
    first fault is kept in `fault`, nothing more is written, and the file stays as it was after the last flush that went
    through.
    """

    def __init__(
        self, path: Path, provenance: Mapping[str, Any], *, flush_seconds: float = 1.0, flush_rows: int = 1000
    ):
        self.path = path
        self.fault: CgmError | None = None
        self._flush_seconds = flush_seconds
        self._flush_rows = flush_rows
        self._pending: list[IterationRecord] = []
        self._columns: dict[str, h5py.Dataset] = {}
        self._rows = 0
        # The first record is flushed at once: it creates the columns.
        self._due = 0.0
        temporary = path.with_name(f".{path.name}.tmp")
        try:
            self._storage = CommittedFile(temporary)
        except OSError as error:
            raise write_fault(path, error) from error
        self._file = h5py.File(self._storage, "w", libver="earliest")
        self._file.create_group("trace")
        for key, value in provenance.items():
            self._file.attrs[key] = _attribute(value)
        self._commit()
        if self.fault is None:
            os.replace(temporary, path)
        else:
            temporary.unlink()

    def on_record(self, record: IterationRecord) -> None:
        """Take one record; most calls only append to a list."""
        if self.fault is not None:
            return
        self._pending.append(record)
        if len(self._pending) >= self._flush_rows or time.monotonic() >= self._due:
            self.flush()

    def flush(self) -> None:
        """Bring the buffered records to the file and the file to the operating system."""
        if self._pending and self.fault is None:
            self._write_pending()
            self._commit()
        self._due = time.monotonic() + self._flush_seconds

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
        loss = {} if loss_image is None else {"image": loss_image}
        for name, arrays in (("solution", solution), ("duals", duals), ("loss", loss)):
            group = self._file.create_group(name)
            for key, array in arrays.items():
                group.create_dataset(_key(key), data=np.asarray(array))
        for key, value in attributes.items():
            self._file.attrs[key] = _attribute(value)
        self._commit()

    def close(self) -> None:
        """Write what is still buffered and close the file. Closing twice is harmless."""
        if not self._file:
            return
        self.flush()
        self._file.close()
        self._storage.commit()
        self._storage.close()
        self._note_fault()

    def __enter__(self) -> RunLog:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _commit(self) -> None:
        self._file.flush()
        self._storage.commit()
        self._note_fault()

    def _note_fault(self) -> None:
        if self.fault is None and self._storage.fault is not None:
            self.fault = write_fault(self.path, self._storage.fault)
            self._pending.clear()

    def _write_pending(self) -> None:
        rows = [record.columns() for record in self._pending]
        start, stop = self._rows, self._rows + len(rows)
        for name in dict.fromkeys(key for row in rows for key in row):
            column = self._columns.get(name) or self._new_column(name)
            column.resize((stop,))
            missing = column.fillvalue
            column[start:stop] = np.array([row.get(name, missing) for row in rows], dtype=column.dtype)
        # A column that no record of this batch has still gets its rows, as fill values, which take no space.
        for column in self._columns.values():
            if len(column) < stop:
                column.resize((stop,))
        self._rows = stop
        self._pending.clear()

    def _new_column(self, name: str) -> h5py.Dataset:
        dtype = _TYPES.get(name, np.float64)
        fill = np.nan if dtype is np.float64 else None
        column = self._file["trace"].create_dataset(
            _key(name), shape=(self._rows,), maxshape=(None,), chunks=(_CHUNK_ROWS,), dtype=dtype, fillvalue=fill
        )
        self._columns[name] = column
        return column


def _key(name: str) -> str:
    # A slash would make groups of it.
    return name.replace("/", "_")


def _attribute(value: Any) -> Any:
    """Strings go in as variable-length strings, which the 64 kB limit on attributes does not hold for."""
    if isinstance(value, str | bool | int | float):
        return value
    return to_json(value)
