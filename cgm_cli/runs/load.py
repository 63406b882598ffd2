"""A run folder read back, whether the run has ended, goes on, or was killed."""

from __future__ import annotations

import json
import math
import zlib
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

import h5py
import numpy as np

from cgm_cli.errors import CgmError, DataError
from cgm_cli.methods.status import Status
from cgm_cli.readers.checks import reason
from cgm_cli.readers.files import FILE, NOTHING, file_kind
from cgm_cli.readers.hdf5 import own, stored_bytes
from cgm_cli.readers.memory import check_fits, human
from cgm_cli.runs.directory import is_being_written
from cgm_cli.runs.storage import CHECKSUM
from cgm_cli.spec.yaml_reader import parse

_T = TypeVar("_T")

_MOST_BYTES = 20_000_000
"""Of a text file in a run folder: a spec has at most 5 MB, and its resolved form not many times as much."""


def complete_rows(columns: Mapping[str, np.ndarray]) -> int:
    """How many rows of a trace are whole.

    While a run goes on, and after it was killed, its columns have room for rows to come: the time of a row that has not
    arrived is not a number.
    """
    rows = min(map(len, columns.values()), default=0)
    if "seconds" in columns:
        arrived = np.flatnonzero(~np.isnan(columns["seconds"][:rows]))
        rows = int(arrived[-1]) + 1 if arrived.size else 0
    return rows


@dataclass(frozen=True)
class Run:
    """One run folder. All but the status is read when first asked for; reading raises DataError (exit code 3).

    path: the folder. state: status.json, with pid, host, started, ended, message. status: how the run ended. alive:
    whether its process was still there when the folder was read.
    """

    path: Path
    state: dict[str, Any]
    status: Status
    alive: bool

    @property
    def died(self) -> bool:
        """The run neither ended nor goes on: its process was killed."""
        return self.status is Status.RUNNING and not self.alive

    @property
    def is_final(self) -> bool:
        """The run has a result that nothing can be added to: a process that goes on with it has nothing to do."""
        return self.summary is not None and not self.status.resumable

    @property
    def summary(self) -> dict[str, Any] | None:
        """The object that `cgm solve --json` printed; None for a run that gave no result."""
        result = self.state.get("result")
        return result if isinstance(result, dict) else None

    @property
    def wall_seconds(self) -> float:
        """From when it was started to when it ended, reading, saving and pauses included; nan where that is not known,
        as of a run that goes on.
        """
        try:
            began, ended = (datetime.fromisoformat(self.state[key]) for key in ("started", "ended"))
        except (KeyError, TypeError, ValueError):
            return math.nan
        return (ended - began).total_seconds()

    @property
    def spec_file(self) -> Path | None:
        """Where the spec came from: relative data files are looked up beside it. None for a spec without a file."""
        place = self.state.get("spec")
        return Path(place) if isinstance(place, str) else None

    @cached_property
    def spec_text(self) -> str:
        """The spec as it was given."""
        return _text(self.path / "spec.yaml")

    @cached_property
    def resolved_text(self) -> str:
        """The resolved spec: every default and override written out."""
        return _text(self.path / "resolved.yaml")

    @cached_property
    def resolved(self) -> dict[str, Any]:
        """The resolved spec as plain values."""
        file = self.path / "resolved.yaml"
        try:
            return parse(self.resolved_text, file).tree
        except DataError:
            raise
        except CgmError as error:
            # Of a run this is damage, not a fault of the user's that the line would show.
            raise DataError(error.message.partition("\n")[0]) from error

    @cached_property
    def provenance(self) -> dict[str, Any]:
        """The root attributes of run.h5 (see `cgm_cli.runs.provenance`)."""
        return self._read(lambda file: {key: _decoded(value) for key, value in file.attrs.items()})

    @property
    def form(self) -> dict[str, Any]:
        """How x is kept: `kind`, `columns` and `because`; empty where nothing is known of it."""
        found = self.provenance.get("iterate") if file_kind(self.path / "run.h5") == FILE else None
        return found if isinstance(found, dict) and isinstance(found.get("kind"), str) else {}

    @cached_property
    def trace(self) -> dict[str, np.ndarray]:
        """Column name -> array (rows,), all of one length; nan where a record lacked the column."""
        return self.columns()

    def columns(self, wanted: Collection[str] | None = None) -> dict[str, np.ndarray]:
        """Like `trace`, but only the `wanted` columns that there are, and `seconds`; read anew each time."""
        columns = self._read(lambda file: _arrays(file, "trace", None if wanted is None else {*wanted, "seconds"}))
        for name, column in columns.items():
            if column.ndim != 1:
                raise DataError(
                    f"{self.path / 'run.h5'}: /trace/{name} is not one-dimensional; this is not a log of cgm."
                )
        rows = complete_rows(columns)
        return {name: column[:rows] for name, column in columns.items()}

    @cached_property
    def solution(self) -> dict[str, np.ndarray]:
        """The final iterate in its own form; empty for a run that did not come to its end."""
        return self._read(lambda file: _arrays(file, "solution"))

    @cached_property
    def duals(self) -> dict[str, np.ndarray]:
        """Term -> dual array; empty for a run that did not come to its end."""
        return self._read(lambda file: _arrays(file, "duals"))

    @cached_property
    def loss_image(self) -> np.ndarray | None:
        """M x of the objective h(M x) at the point of the reported bound; None where the run saved none."""
        return self._read(lambda file: _arrays(file, "loss")).get("image")

    def _read(self, reader: Callable[[h5py.File], _T]) -> _T:
        path = self.path / "run.h5"
        if file_kind(path) == NOTHING:
            why = "it was lost, for" if self.summary else "the run has not begun to iterate;"
            raise DataError(f"{self.path} has no run.h5: {why} the status is {self.status.value}.")
        return read_own(path, reader, "a log")


def load_run(path: str | Path) -> Run:
    """The run in the folder `path` (or of the run.h5 at `path`). Raises DataError (exit code 3) if there is none."""
    folder = Path(path)
    if folder.name == "run.h5":
        folder = folder.parent
    if not folder.is_dir():
        raise DataError(f"{folder} is not a folder; a run is a folder with a status.json.")
    # Asked before the status is read: a run that ends in between then shows its end, and never looks dead.
    alive = is_being_written(folder)
    file = folder / "status.json"
    if file_kind(file) == NOTHING:
        raise DataError(_no_run(folder))
    try:
        state = json.loads(_text(file))
        if not isinstance(state, dict) or "status" not in state:
            raise ValueError("it has no `status`")
        status = Status(state["status"])
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise DataError(f"{file} is not a status of cgm: {reason(error)}.") from error
    return Run(folder, state, status, alive)


def read_own(path: Path, reader: Callable[[h5py.File], _T], what: str) -> _T:
    """What `reader` makes of an HDF5 file that may come from a stranger. Raises DataError, in which it is no `what`."""
    found = file_kind(path)
    if found != FILE:
        raise DataError(f"{path} cannot be read: it is {found}.")
    try:
        with h5py.File(path, "r", locking=False) as file:
            return reader(file)
    except CgmError:
        raise
    except Exception as error:  # What a damaged file leads h5py to is open-ended.
        raise DataError(f"{path} cannot be read as {what} of cgm: {reason(error)}.") from error


def _no_run(folder: Path) -> str:
    inside = sorted(file.parent for file in folder.glob("*/status.json"))
    hint = f" It holds {len(inside)} runs, the last is {inside[-1]}." if len(inside) > 1 else ""
    hint = hint or (f" It holds a run, {inside[0]}." if inside else "")
    return f"{folder} is not a run: it has no status.json.{hint}"


def _text(path: Path) -> str:
    found = file_kind(path)
    if found not in (FILE, NOTHING):
        raise DataError(f"{path} cannot be read: it is {found}.")
    try:
        with path.open("rb") as file:
            raw = file.read(_MOST_BYTES + 1)
        if len(raw) > _MOST_BYTES:
            raise DataError(f"{path} is larger than {human(_MOST_BYTES)}: cgm did not write it.")
        return raw.decode("utf-8")
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror}.") from error
    except UnicodeDecodeError as error:
        raise DataError(f"{path} is not UTF-8 text.") from error


def _arrays(file: h5py.File, name: str, wanted: Collection[str] | None = None) -> dict[str, np.ndarray]:
    """Every dataset of the group `name`, or those `wanted` of them; a file may only speak for itself, so whatever
    points elsewhere is refused.
    """
    if not file.id.links.exists(name.encode()):
        return {}
    group = own_member(file, name)
    if not isinstance(group, h5py.Group):
        raise ValueError(f"/{name} is not a group")
    keys = [key for key in group if wanted is None or key in wanted]
    datasets = {key: own_dataset(own_member(group, key), f"/{name}/{key}") for key in keys}
    # Together, and before the first is read: a damaged header may claim any size.
    check_fits(file.filename, sum(map(stored_bytes, datasets.values())))
    return {key: _read_whole(dataset) for key, dataset in datasets.items()}


def _read_whole(dataset: h5py.Dataset) -> np.ndarray:
    damaged = f"the bytes of {dataset.name} are damaged: they miss their checksum"
    try:
        found = dataset[()]
    except OSError as error:
        if dataset.fletcher32 and "filter" in str(error):
            raise ValueError(damaged) from error
        raise
    if CHECKSUM in dataset.attrs and zlib.crc32(found) != dataset.attrs[CHECKSUM]:
        raise ValueError(damaged)
    return found


def own_member(group: h5py.Group, name: str) -> h5py.HLObject:
    """What lies in `group` under `name`; ValueError for a link, which may point anywhere."""
    node = own(group, name)
    if node is None:
        raise ValueError(f"{group.name.rstrip('/')}/{name} is a link, and links are not followed")
    return node


def own_dataset(node: h5py.HLObject, name: str) -> h5py.Dataset:
    """`node`, if it is an array of numbers that its own file holds; ValueError otherwise."""
    if not isinstance(node, h5py.Dataset) or node.dtype.kind not in "biufc" or node.shape is None:
        raise ValueError(f"{name} is not an array of numbers")
    if node.external or node.is_virtual:
        raise ValueError(f"{name} keeps its numbers in another file, which is not followed")
    return node


def _decoded(value: Any) -> Any:
    """An attribute as it was before it was written: nested values were stored as JSON."""
    if isinstance(value, str) and (value[:1] in ("{", "[") or value == "null"):
        try:
            return json.loads(value)
        except (ValueError, RecursionError):
            return value
    if isinstance(value, h5py.Empty):
        return None
    return value.item() if isinstance(value, np.generic) else value
