"""A run folder read back, whether the run has ended, goes on, or was killed."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

import h5py
import numpy as np

from cgm_cli.errors import DataError
from cgm_cli.methods.status import Status
from cgm_cli.runs.directory import is_being_written
from cgm_cli.spec.yaml_reader import parse

_T = TypeVar("_T")


def complete_rows(columns: Mapping[str, np.ndarray]) -> int:
    """How many rows of a trace are whole.

    A run killed inside a commit may have made some columns longer than others, and columns longer than what they hold:
    the time of a row that did not arrive is not a number.
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
        return self.state.get("result")

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
    def resolved(self) -> dict[str, Any]:
        """The resolved spec as plain values."""
        path = self.path / "resolved.yaml"
        return parse(_text(path), path).tree

    @cached_property
    def provenance(self) -> dict[str, Any]:
        """The root attributes of run.h5 (see `cgm_cli.runs.provenance`)."""
        return self._read(lambda file: {key: _decoded(value) for key, value in file.attrs.items()})

    @cached_property
    def trace(self) -> dict[str, np.ndarray]:
        """Column name -> array (rows,), all of one length; nan where a record lacked the column."""
        columns = self._read(lambda file: _arrays(file, "trace"))
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

    def _read(self, reader: Callable[[h5py.File], _T], retries: int = 3) -> _T:
        path = self.path / "run.h5"
        if not path.is_file():
            raise DataError(
                f"{self.path} has no run.h5: the run has not begun to iterate (status {self.status.value})."
            )
        try:
            with h5py.File(path, "r", locking=False) as file:
                return reader(file)
        except (OSError, RuntimeError, KeyError, ValueError) as error:
            # Beside a living writer a read may fall into a commit; the next one will not.
            if self.alive and retries:
                time.sleep(0.1)
                return self._read(reader, retries - 1)
            raise DataError(f"{path} cannot be read as a log of cgm: {error}.") from error


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
    if not file.exists():
        raise DataError(_no_run(folder))
    try:
        state = json.loads(_text(file))
        status = Status(state["status"])
    except (ValueError, KeyError, TypeError) as error:
        raise DataError(f"{file} is not a status of cgm: {error}.") from error
    return Run(folder, state, status, alive)


def _no_run(folder: Path) -> str:
    inside = sorted(file.parent for file in folder.glob("*/status.json"))
    hint = f" It holds {len(inside)} runs, the last is {inside[-1]}." if inside else ""
    return f"{folder} is not a run: it has no status.json.{hint}"


def _text(path: Path) -> str:
    try:
        return path.read_bytes().decode("utf-8")
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror}.") from error
    except UnicodeDecodeError as error:
        raise DataError(f"{path} is not UTF-8 text.") from error


def _arrays(file: h5py.File, name: str) -> dict[str, np.ndarray]:
    """Every dataset of the group `name`; a file may only speak for itself, so whatever points elsewhere is refused."""
    if not file.id.links.exists(name.encode()):
        return {}
    group = own_member(file, name)
    if not isinstance(group, h5py.Group):
        raise ValueError(f"{group.name} is not a group")
    return {key: own_array(own_member(group, key)) for key in group}


def own_member(group: h5py.Group, name: str) -> h5py.Group | h5py.Dataset:
    # The low-level call looks at the link only; `group.get(name, getlink=True)` opens what it points to.
    if group.id.links.get_info(name.encode()).type != h5py.h5l.TYPE_HARD:
        raise ValueError(f"{group.name.rstrip('/')}/{name} is a link, and links are not followed")
    return group[name]


def own_array(dataset: h5py.Group | h5py.Dataset) -> np.ndarray:
    if not isinstance(dataset, h5py.Dataset) or dataset.dtype.kind not in "biufc":
        raise ValueError(f"{dataset.name} is not an array of numbers")
    if dataset.external or dataset.is_virtual:
        raise ValueError(f"{dataset.name} keeps its numbers in another file, which is not followed")
    return dataset[()]


def _decoded(value: Any) -> Any:
    """An attribute as it was before it was written: nested values were stored as JSON."""
    if isinstance(value, str) and (value[:1] in ("{", "[") or value == "null"):
        try:
            return json.loads(value)
        except ValueError:
            return value
    return value.item() if isinstance(value, np.generic) else value
