"""Paths -> run folders. What is no run is told, with the reason, and the others go on."""

from __future__ import annotations

import glob
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from cgm_cli.errors import CgmError
from cgm_cli.readers.files import FILE, file_kind
from cgm_cli.reports.entry import Entry, read_entry
from cgm_cli.sweeps.manifest import read_manifest

_DEPTH = 8
_MOST_FOLDERS = 50_000
"""Looked into below the paths given: somebody may well ask for a report of a whole disk."""

_STATUS, _LOG, _MANIFEST = "status.json", "run.h5", "manifest.json"
_HDF5_ENDINGS = (".h5", ".hdf5", ".hdf")


@dataclass(frozen=True)
class Unreadable:
    """A path that gave no run, and why. is_waiting: it is a point of a sweep whose turn has not come."""

    path: Path
    reason: str
    is_waiting: bool = False


@dataclass(frozen=True)
class Collection:
    """entries: the runs, in the order of the paths, within a folder by name. faults: what was no run."""

    entries: list[Entry]
    faults: list[Unreadable]


def collect(paths: Iterable[str | Path]) -> Collection:
    """The runs at `paths`: run folders, their run.h5, sweeps, folders that hold any of them, and patterns of such."""
    entries: dict[str, Entry] = {}
    faults: dict[str, Unreadable] = {}
    search = _Search()
    for path in _expanded(paths):
        for found in search.below(path):
            key = os.path.realpath(found.path if isinstance(found, Unreadable) else found)
            if isinstance(found, Unreadable):
                faults.setdefault(key, found)
            elif key not in entries and key not in faults:
                try:
                    entries[key] = read_entry(found)
                except CgmError as error:
                    faults[key] = Unreadable(found, error.message)
    return Collection(list(entries.values()), list(faults.values()))


def _expanded(paths: Iterable[str | Path]) -> Iterator[Path]:
    for path in paths:
        text = str(path)
        # A folder may really be called runs[1]: only what does not exist is a pattern.
        if not os.path.lexists(text) and glob.has_magic(text):
            matches = sorted(glob.glob(text, recursive=True))
            yield from map(Path, matches or [text])
        else:
            yield Path(text)


class _Search:
    """Looks for runs below folders, and into no more of them than `_MOST_FOLDERS` in all."""

    def __init__(self) -> None:
        self._left = _MOST_FOLDERS

    def below(self, path: Path) -> Iterator[Path | Unreadable]:
        """The run folders at and below `path`, and what looks like a run but is none."""
        if path.is_dir():
            found = False
            for item in self._walk(path, _DEPTH):
                found = True
                yield item
            if not found:
                yield Unreadable(path, _no_run_below(path))
        elif file_kind(path) == FILE:
            yield _of_file(path)
        else:
            yield Unreadable(path, _nothing_at(path))

    def _walk(self, folder: Path, depth: int) -> Iterator[Path | Unreadable]:
        self._left -= 1
        if self._left < 0:
            if self._left == -1:
                yield Unreadable(
                    folder, f"more than {_MOST_FOLDERS} folders: the search ended here; name a smaller folder."
                )
            return
        try:
            with os.scandir(folder) as listing:
                inside = sorted(listing, key=lambda entry: entry.name)
        except OSError as error:
            yield Unreadable(folder, f"cannot be read: {error.strerror}.")
            return
        names = {entry.name for entry in inside}
        # A folder of runs may have a status of its own; that of a run lies beside its spec.
        if _STATUS in names and ("resolved.yaml" in names or not any(_is_folder(entry) for entry in inside)):
            yield folder
            return
        if _LOG in names:
            yield Unreadable(
                folder, f"has a {_LOG} but no {_STATUS}: it is no run of cgm, or an incomplete copy of one."
            )
            return
        if _MANIFEST in names:
            yield from _points_of(folder)
            return
        for entry in inside:
            if entry.name.startswith("."):
                continue
            if _is_folder(entry):
                if depth > 0:
                    yield from self._walk(Path(entry.path), depth - 1)
            elif entry.name.endswith(_HDF5_ENDINGS):
                yield Unreadable(Path(entry.path), f"an HDF5 file by itself; a run is a folder with a {_STATUS}.")


def _points_of(folder: Path) -> Iterator[Path | Unreadable]:
    """The runs of a sweep, which lie in a store that it may share with others, in the order of its points."""
    try:
        manifest = read_manifest(folder)
    except CgmError as error:
        yield Unreadable(folder, error.message)
        return
    for row in manifest.runs:
        run = manifest.folder(row).run
        begun = file_kind(run / _STATUS) == FILE
        waits = Unreadable(run, f"point {row.number} of {folder} has no run yet ({row.label}).", is_waiting=True)
        yield run if begun else waits


def _is_folder(entry: os.DirEntry[str]) -> bool:
    # Links are not followed: they may lead back up, and the same run need not be told twice.
    return entry.is_dir(follow_symlinks=False)


def _of_file(path: Path) -> Path | Unreadable:
    if path.name in (_LOG, _STATUS) and file_kind(path.parent / _STATUS) == FILE:
        return path.parent
    if path.name.endswith(_HDF5_ENDINGS):
        return Unreadable(path, f"an HDF5 file by itself; a run is a folder with a {_STATUS} beside its {_LOG}.")
    return Unreadable(path, f"a file; a run is a folder with a {_STATUS}.")


def _no_run_below(path: Path) -> str:
    try:
        empty = not any(path.iterdir())
    except OSError as error:
        return f"cannot be read: {error.strerror}."
    return "an empty folder." if empty else f"holds no run: there is no folder with a {_STATUS} in it."


def _nothing_at(path: Path) -> str:
    found = file_kind(path)
    if found == "nothing":
        return "nothing matches this pattern." if glob.has_magic(str(path)) else "there is no such file or folder."
    return f"is {found}; a run is a folder."
