"""The run folder: created exclusively, written by one process, and honest about how the run ended.

    runs/<name>/<id>/     spec.yaml  resolved.yaml  arrays/  run.h5  checkpoint.h5  status.json  log.txt

arrays/ is there for a spec from Python, which named them (see `cgm_cli.runs.mapping`).
The writer holds an exclusive lock on `.lock` for as long as it lives, and removes the file at its end. The kernel
drops the lock with its owner, so "status.json says running, but nobody holds the lock" is what a killed run looks like,
on this machine or over NFS.
"""

from __future__ import annotations

import logging
import os
import secrets
import shutil
import socket
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cgm_cli.errors import CgmError, ProblemError
from cgm_cli.methods.status import Status
from cgm_cli.numerics.arrays import Matrix
from cgm_cli.readers import content
from cgm_cli.runs import locks
from cgm_cli.runs.files import refusal, synchronise_folder, to_json, utc_now, write_atomically, write_fault

if TYPE_CHECKING:
    from cgm_cli.methods.record import IterationRecord

RUN_FILES = ("spec.yaml", "resolved.yaml", "run.h5", "checkpoint.h5", "status.json", "log.txt")
_BEFORE_STATUS = ("spec.yaml", "resolved.yaml", content.FOLDER)
_LOCK = ".lock"


class RunDirectory:
    """A run folder that this process alone may write to. Made by `create` or `reopen`; `close` (or `with`) gives the
    lock back.
    """

    def __init__(self, path: Path, lock: int):
        self.path = path
        self.started = utc_now()
        self.source: str | None = None
        self.has_begun = False  # a former run whose folder was reopened is, until then, as it was
        self.has_iterated = False
        self._made: _Made | None = None
        self._lock = lock

    @classmethod
    def create(cls, name: str, out: Path | None = None, root: Path = Path("runs"), again: bool = False) -> RunDirectory:
        """Make `root`/<name>/<id>, where `name` is a valid spec name, or take exactly `out`.

        again: `out` may hold what a process has left that died before its run had begun (see `has_begun`).

        The id is the UTC time with a random suffix, so that solves started in the same second never share a folder.
        Raises ProblemError (exit code 2) when `out` is not empty, is being written by another process, or is no place
        for a folder; CgmError (4) when the file system refuses.
        """
        absent = _absent(root / name if out is None else Path(out))
        before: frozenset[str] = frozenset()
        try:
            if out is None:
                path = _new_folder(root / name)
                absent = [path, *absent]
            else:
                path = Path(out)
                path.mkdir(parents=True, exist_ok=True)
                # Once before the lock file is made, so that a folder which is refused stays as it was.
                _refuse_unless_empty(path, again)
                before = frozenset(entry.name for entry in path.iterdir())
            lock = _acquire(path)
        except FileExistsError as error:
            raise ProblemError(f"{error.filename} is a file; a run needs a folder.") from error
        except OSError as error:
            where = error.filename or out or root
            message = f"The run folder {where} cannot be made or written to: {error.strerror}."
            raise refusal(message, error) from error
        folder = cls(path, lock)
        try:
            _refuse_unless_empty(path, again)
        except BaseException:
            folder.close()
            raise
        folder._made = _Made(absent, before)
        return folder

    @classmethod
    def reopen(cls, path: Path) -> RunDirectory:
        """Take the folder of a run that is no longer written. Raises ProblemError (exit code 2) if it still is, and
        CgmError (4) if the folder cannot be written to.
        """
        try:
            folder = cls(path, _acquire(path, "wait for its end"))
        except OSError as error:
            raise refusal(f"The run folder {path} cannot be written to: {error.strerror}.", error) from error
        for left_over in (*path.glob(".*.tmp"), *path.glob(f"{content.FOLDER}/.*.tmp")):
            with suppress(OSError):  # of a process that was killed while it wrote
                left_over.unlink()
        return folder

    def keep(self, arrays: dict[str, Matrix | bytes]) -> None:
        """Write the arrays that the spec names, file relative to it -> array. They are taken out of the mapping: what
        was made of a frame is not kept for the length of a solve. Raises CgmError if the disk refuses.
        """
        _write_arrays(self.path, arrays)

    def begin(self, spec_text: str, resolved: str, source: Path | None = None) -> None:
        """Write the spec as given, the resolved spec, and the status `running`; source: the file the spec came from.
        Raises CgmError if the disk refuses.
        """
        self.source = None if source is None else os.path.abspath(source)
        write_atomically(self.path / "spec.yaml", spec_text)
        write_atomically(self.path / "resolved.yaml", resolved)
        self.set_status(Status.RUNNING)
        self.has_begun = True

    def set_status(
        self,
        status: Status,
        message: str = "",
        result: Mapping[str, Any] | None = None,
        code: int | None = None,
    ) -> None:
        """Replace status.json. `ended` is null while the run goes on; `result` is the summary that `--json` prints.

        code: what the process leaves with, if it is not what goes with the status.

        Raises CgmError (exit code 4) when the disk refuses.
        """
        state = {
            "status": status.value,
            "sentence": status.sentence,
            "message": message,
            "exit_code": status.exit_code if code is None else code,
            "pid": os.getpid(),
            "host": socket.gethostname(),
            "spec": self.source,
            "started": self.started,
            "ended": None if status is Status.RUNNING else utc_now(),
            "result": result,
        }
        write_atomically(self.path / "status.json", to_json(state, indent=2) + "\n")

    @contextmanager
    def logging(self) -> Iterator[None]:
        """Send the package's log messages and Python's warnings to log.txt for the time of the `with`."""
        handler = _LogFile(self.path / "log.txt", encoding="utf-8", delay=True)
        formatter = logging.Formatter("%(asctime)sZ %(levelname)s %(name)s: %(message)s", "%Y-%m-%dT%H:%M:%S")
        formatter.converter = time.gmtime
        handler.setFormatter(formatter)
        package, warnings = logging.getLogger("cgm_cli"), logging.getLogger("py.warnings")
        level = package.level
        package.setLevel(logging.INFO)
        package.addHandler(handler)
        warnings.addHandler(handler)
        logging.captureWarnings(True)
        try:
            yield
        finally:
            logging.captureWarnings(False)
            warnings.removeHandler(handler)
            package.removeHandler(handler)
            package.setLevel(level)
            handler.close()

    def on_record(self, record: IterationRecord) -> None:
        """An observer of the run: from its first record on, there is something to keep."""
        self.has_iterated = True

    def close(self) -> None:
        """Give the lock back and remove its file."""
        # In this order: whoever opened the file before finds, once it has the lock, that the file is gone.
        with suppress(OSError):
            if locks.is_at(self.path / _LOCK, self._lock):
                os.unlink(self.path / _LOCK)
        os.close(self._lock)

    def __enter__(self) -> RunDirectory:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        """Close; of a new run that was refused before its first record, nothing is left."""
        refused = kind is not None and issubclass(kind, CgmError | MemoryError)
        if refused and self._made is not None and not self.has_iterated:
            self._made.remove_from(self.path)
        self.close()
        if refused and self._made is not None and not self.has_iterated:
            self._made.remove_folders()


@dataclass(frozen=True)
class _Made:
    """What `create` found. absent: the folders that it had to make, the innermost first. before: the names in the run
    folder, which belong to somebody else.
    """

    absent: list[Path]
    before: frozenset[str]

    def remove_from(self, folder: Path) -> None:
        """Remove what the run has written into its folder, but for the lock."""
        for name in {*RUN_FILES, content.FOLDER} - self.before:
            with suppress(OSError):
                if name == content.FOLDER:
                    shutil.rmtree(folder / name)
                else:
                    (folder / name).unlink()

    def remove_folders(self) -> None:
        """Remove the folders that were made, as far as nobody has put anything into them."""
        with suppress(OSError):
            for folder in self.absent:
                folder.rmdir()


def _absent(folder: Path) -> list[Path]:
    """The folder and those above it, as far as they are not there."""
    return [each for each in (folder, *folder.parents) if not os.path.lexists(each)]


def _write_arrays(folder: Path, arrays: dict[str, Matrix | bytes]) -> None:
    """Each array whole or not at all, under its name below the folder, which this process alone writes to."""
    while arrays:
        name, array = arrays.popitem()
        path = folder / name
        temporary = path.with_name(f".{path.name}.tmp")
        try:
            path.parent.mkdir(exist_ok=True)
            with open(temporary, "wb") as file:
                content.write(array, file.write)
                file.flush()
                os.fsync(file.fileno())
            os.replace(temporary, path)
            if not arrays:
                synchronise_folder(path.parent)
        except OSError as error:
            with suppress(OSError):
                temporary.unlink()
            raise write_fault(path, error) from error


class _LogFile(logging.FileHandler):
    def handleError(self, record: logging.LogRecord) -> None:
        """A full disk is reported once, at the end of the run, and not for every line."""


def is_being_written(path: Path) -> bool:
    """Whether a living process holds the lock of the run folder `path`."""
    try:
        return locks.is_owned(path / _LOCK) is True
    except OSError:
        return False


def has_begun(path: Path) -> bool:
    """Whether the folder `path` holds more than what a run writes before its status.json. Raises OSError."""
    names = {entry.name for entry in path.iterdir()}
    return not all(name.startswith(".") or name in _BEFORE_STATUS for name in names)


def _refuse_unless_empty(path: Path, again: bool = False) -> None:
    present = {entry.name for entry in path.iterdir()} - {_LOCK}
    if not present or (again and not has_begun(path)):
        return
    if is_being_written(path):
        raise _taken(path)
    run = [name for name in RUN_FILES if name in present]
    if run:
        raise ProblemError(f"{path} already holds a run ({', '.join(run)}); choose another folder.")
    raise ProblemError(f"{path.absolute()} is not empty; a run needs a new or an empty folder.")


def _taken(path: Path, advice: str = "choose another folder") -> ProblemError:
    return ProblemError(f"{path} is being written by another process; {advice}.")


def _acquire(path: Path, advice: str = "choose another folder") -> int:
    while True:
        descriptor = os.open(path / _LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        # Some cluster file systems are mounted without locks; a run there is worth more than the lock.
        taken = locks.try_lock(descriptor) is not False
        if taken and locks.is_at(path / _LOCK, descriptor):
            return descriptor
        os.close(descriptor)
        if not taken:
            raise _taken(path, advice)


def _new_folder(parent: Path) -> Path:
    while True:
        parent.mkdir(parents=True, exist_ok=True)
        path = parent / f"{datetime.now(UTC):%Y%m%dT%H%M%SZ}-{secrets.token_hex(4)}"
        try:
            path.mkdir()
        except (FileExistsError, FileNotFoundError):
            continue  # the parent may have been that of a run which was refused meanwhile
        return path
