"""The folder of a sweep: its manifest, which is all that a process on another machine needs to take part.

runs/<sweep>/   sweep.yaml  manifest.json  points/<number> (links into the store)  results.csv  results.h5
runs/.store/<id>/           one folder per point, shared by all sweeps (see `cgm_cli.sweeps.point_folder`)
"""

from __future__ import annotations

import json
import os
import shlex
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from cgm_cli.errors import DataError
from cgm_cli.runs.files import utc_now, write_atomically, write_fault
from cgm_cli.sweeps.expansion import label
from cgm_cli.sweeps.load import Sweep
from cgm_cli.sweeps.point_folder import PointFolder

SCHEMA = 1
STORE = ".store"


@dataclass(frozen=True)
class ManifestRow:
    """One point in the manifest. number: from 1. id: its folder in the store. values: key of the spec -> value.
    threads: of its linear algebra.
    """

    number: int
    id: str
    values: dict[str, Any]
    threads: int

    @property
    def label(self) -> str:
        """`key=value key=value`."""
        return label(self.values)


@dataclass(frozen=True)
class Manifest:
    """A sweep folder. path: the folder. file: what it was made from. store: where the points are. cwd, data: the
    working folder and $CGM_DATA that the runs get. timeout: seconds of one run, or None. best: {"smallest" or
    "largest": name of a figure}. overrides: `key=value` texts that changed the base.
    """

    path: Path
    name: str
    file: str | None
    store: Path
    cwd: str
    data: str
    timeout: float | None
    best: dict[str, str]
    rows: tuple[ManifestRow, ...]
    overrides: tuple[str, ...] = ()

    @property
    def keys(self) -> list[str]:
        """What is varied."""
        return list(self.rows[0].values)

    @property
    def runs(self) -> list[ManifestRow]:
        """The rows without those that repeat an earlier one."""
        return list({row.id: row for row in reversed(self.rows)}.values())[::-1]

    def folder(self, row: ManifestRow) -> PointFolder:
        """Where the run of a row is."""
        return PointFolder(self.store / row.id)


def write_manifest(sweep: Sweep, path: Path) -> Manifest:
    """Make the sweep folder and the folder of every point. Raises CgmError (exit code 4) if the disk refuses."""
    store = path.parent / STORE
    rows = tuple(ManifestRow(point.number, point.id, point.values, point.threads) for point in sweep.points)
    best = {key: value for key, value in sweep.spec.best.model_dump().items() if value is not None}
    data = os.pathsep.join(os.path.abspath(each) for each in os.environ.get("CGM_DATA", "").split(os.pathsep) if each)
    file = str(sweep.document.path.absolute()) if sweep.document.path is not None else None
    manifest = Manifest(path, sweep.name, file, store, os.getcwd(), data, sweep.spec.timeout, best, rows, sweep.given)
    try:
        (path / "points").mkdir(parents=True, exist_ok=True)
        for point, row in zip(sweep.points, rows, strict=True):
            manifest.folder(row).prepare(sweep.spec_text(point))
        _link(manifest)
    except OSError as error:
        raise write_fault(Path(error.filename or path), error) from error
    write_atomically(path / "sweep.yaml", sweep.document.text)
    told = {
        "schema": SCHEMA,
        "name": sweep.name,
        "file": file,
        "written": utc_now(),
        "store": os.path.relpath(store, path),
        "cwd": manifest.cwd,
        "data": manifest.data,
        "timeout": manifest.timeout,
        "best": best,
        "set": sweep.given,
        "points": [asdict(row) for row in rows],
    }
    write_atomically(path / "manifest.json", json.dumps(told) + "\n")
    return manifest


def read_manifest(path: Path) -> Manifest:
    """The manifest in a sweep folder. Raises DataError (exit code 3) if there is none that can be read."""
    file = path / "manifest.json"
    try:
        told: Mapping[str, Any] = json.loads(file.read_text(encoding="utf-8"))
        if told["schema"] != SCHEMA:
            raise DataError(f"{file} is of schema {told['schema']}, but this cgm reads {SCHEMA}: run the sweep again.")
        rows = tuple(ManifestRow(**row) for row in told["points"])
        store = Path(os.path.normpath(path / told["store"]))
        common = (told["cwd"], told["data"], told["timeout"], told["best"])
        return Manifest(path, told["name"], told["file"], store, *common, rows, tuple(told.get("set", ())))
    except (FileNotFoundError, NotADirectoryError):
        raise DataError(f"{path} is not the folder of a sweep: it has no manifest.json.") from None
    except OSError as error:
        raise DataError(f"{file} cannot be read: {error.strerror}.") from error
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise DataError(
            f"{file} is not the manifest of a sweep, or is damaged. `cgm sweep FILE` writes it anew, and keeps "
            "what was computed."
        ) from error


def default_folder(name: str) -> Path:
    """Where a sweep of that name goes if nobody says otherwise."""
    return Path("runs") / name


def going_on(
    file: str | Path | None, folder: Path, name: str, options: Sequence[str] = (), overrides: Sequence[str] = ()
) -> str:
    """The command that goes on with the sweep in the folder, to be given where this one was; options: of that one."""
    command = ["cgm", "sweep", "FILE" if file is None else str(file), *overrides]
    if os.path.abspath(folder) != os.path.abspath(default_folder(name)):
        command += ["--out", str(folder)]
    return shlex.join([*command, *options])


def displaced(sweep: Sweep, path: Path) -> str | None:
    """Another sweep file, which is still there, that the folder `path` was made from; None if there is none."""
    try:
        former = read_manifest(path).file
    except DataError:
        return None
    here = sweep.document.path
    if former is None or not os.path.exists(former) or (here is not None and os.path.samefile(former, here)):
        return None
    return former


def _link(manifest: Manifest) -> None:
    """points/<number> -> the folder in the store, for whoever looks with their own eyes."""
    folder = manifest.path / "points"
    width = len(str(len(manifest.rows)))
    wanted = {f"{row.number:0{width}d}": os.path.relpath(manifest.folder(row).path, folder) for row in manifest.rows}
    present = {}
    for entry in os.scandir(folder):
        with suppress(OSError):
            present[entry.name] = os.readlink(entry.path)
    # Not every file system has links, and nothing depends on them.
    for name in present.keys() - wanted.keys():
        with suppress(OSError):
            (folder / name).unlink()
    for name, target in wanted.items():
        if present.get(name) != target:
            with suppress(OSError):
                (folder / name).unlink(missing_ok=True)
                (folder / name).symlink_to(target)
