"""checkpoint.h5: all that a run needs to go on, written now and then, whole or not at all.

It is written to a temporary file, brought to the disk, and renamed over its predecessor. The log is brought to the disk
before it, so that the trace never misses rows that the checkpoint has left behind.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import h5py

from cgm_cli.errors import CgmError, DataError
from cgm_cli.readers.files import NOTHING, file_kind
from cgm_cli.runs.load import own_member, read_own
from cgm_cli.runs.storage import write_hdf5
from cgm_cli.runs.tree import checksum, packed, read_tree, write_tree

SCHEMA = 11
"""Version of what is in a checkpoint; counts up when a state of an older cgm can no longer be read."""

SHARE = 0.02
"""The largest part of the wall time that checkpoints may take."""

_GROUP = "checkpoint"

logger = logging.getLogger(__name__)


class Checkpointer:
    """Called by the loop before every turn, it writes a checkpoint once `every` seconds have passed since the last one;
    later, where writing takes more than a fiftieth of that. `every` None: never.

    A disk that refuses does not stop the run: the fault is logged, and kept in `fault` until a later checkpoint
    succeeds.
    """

    def __init__(self, path: Path, every: float | None, before: Callable[[], None] = lambda: None):
        self.path = path
        self.fault: CgmError | None = None
        self.seconds = 0.0  # spent on checkpoints so far
        self._every = every
        self._before = before
        self._due = time.monotonic() + every if every is not None else float("inf")
        self._pack: Callable[[], Mapping[str, Any]] | None = None
        self._is_written = False

    def __call__(self, pack: Callable[[], Mapping[str, Any]]) -> None:
        """Take note of how to pack the state, and write it if it is time."""
        self._pack, self._is_written = pack, False
        if time.monotonic() >= self._due:
            self.write()

    def write_once(self) -> None:
        """Write the state of now, unless that was done."""
        if not self._is_written:
            self.write()

    def write(self) -> None:
        """Write the state of now, if there is one and checkpoints are wanted."""
        if self._every is None or self._pack is None:
            return
        began = time.monotonic()
        try:
            # A checkpoint ahead of the log would leave a hole in the trace of the run that goes on from it.
            self._before()
            write_checkpoint(self.path, self._pack())
        except CgmError as fault:
            if self.fault is None:
                logger.error("%s The run goes on without it.", fault.message)
            self.fault = fault
        else:
            self.fault, self._is_written = None, True
        ended = time.monotonic()
        self.seconds += ended - began
        self._due = ended + max(self._every, (ended - began) / SHARE)

    def discard(self) -> None:
        """Remove the checkpoint of a run that needs none any more."""
        self._pack = None
        self.path.unlink(missing_ok=True)


def write_checkpoint(path: Path, tree: Mapping[str, Any]) -> None:
    """Replace the checkpoint at `path`. Raises CgmError (exit code 4), and leaves the old one, if the disk refuses."""
    tree = packed(tree)

    def fill(file: h5py.File) -> None:
        file.attrs["schema"] = SCHEMA
        file.attrs["checksum"] = checksum(tree)
        write_tree(file.create_group(_GROUP), tree)

    write_hdf5(path, fill, durable=True)


def read_checkpoint(path: Path) -> dict[str, Any] | None:
    """The tree in the checkpoint at `path`; None if there is no such file. DataError if it cannot be used."""
    if file_kind(path) == NOTHING:
        return None

    def read(file: h5py.File) -> dict[str, Any]:
        schema = file.attrs.get("schema")
        if schema != SCHEMA:
            raise DataError(
                f"{path} is a checkpoint of schema version {schema}, but this cgm reads version {SCHEMA}: "
                "go on with the version of cgm that wrote it, or start the run anew."
            )
        tree = read_tree(own_member(file, _GROUP))
        if checksum(tree) != file.attrs["checksum"]:
            raise DataError(
                f"{path} is damaged: its content does not have the checksum it was written with. Remove it to start "
                "the run anew."
            )
        return tree

    return read_own(path, read, "a checkpoint")
