"""Files that are either whole or absent, JSON that every parser reads, and one sentence for a failed write."""

from __future__ import annotations

import errno
import glob
import json
import math
import os
import secrets
import signal
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np

from cgm_cli.errors import CgmError, ProblemError
from cgm_cli.runs import locks

_FULL = {errno.ENOSPC: "the disk is full", errno.EDQUOT: "the disk quota is used up"}
_WRONG_PATH = {errno.ENOENT, errno.EEXIST, errno.ENOTDIR, errno.EISDIR, errno.ENAMETOOLONG, errno.ELOOP}
_DEADLY = tuple(getattr(signal, f"SIG{name}") for name in ("TERM", "HUP", "QUIT", "USR1", "USR2", "XCPU"))
"""Signals that end a process on the spot if nobody handles them, and that it can do something about."""

_unfinished: set[Path] = set()


def utc_now() -> str:
    """The time of day in UTC as ISO 8601 with milliseconds, for instance 2026-05-01T12:00:00.123Z."""
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def write_fault(path: Path, error: OSError) -> CgmError:
    """The CgmError (exit code 4) that tells why `path` could not be written."""
    reason = _FULL.get(error.errno or 0) or error.strerror or str(error)
    return CgmError(f"{path} could not be written: {reason}.")


def refusal(message: str, error: OSError) -> CgmError:
    """Why nothing can be made where the user wants it: ProblemError (exit code 2) if the path is no good, such as one
    through a file; CgmError (4) if the file system refuses.
    """
    return ProblemError(message) if error.errno in _WRONG_PATH else CgmError(message)


def write_atomically(path: Path, text: str) -> None:
    """Write `text` (UTF-8) so that a reader, or a crash, sees either the old file or the whole new one.

    Raises CgmError (exit code 4) when the file system refuses.
    """
    try:
        with replacing(path) as temporary, open(temporary, "w", encoding="utf-8", newline="") as file:
            file.write(text)
    except OSError as error:
        raise write_fault(path, error) from error


@contextmanager
def replacing(path: Path, durable: bool = True) -> Iterator[Path]:
    """An empty file beside `path` for the `with` to write to, which takes the place of `path` at its end.

    It is gone if the `with` raises, or a signal ends the process. What a process has left that was killed outright
    goes when somebody writes `path` again: a living one holds a lock on its file. durable: the new file survives a loss
    of power from then on. Raises OSError.
    """
    # Names may be as long as the file system lets them be.
    stem = path.with_name("." + path.name.encode()[:200].decode(errors="ignore"))
    _clear(stem)
    temporary = stem.with_name(f"{stem.name}.{secrets.token_hex(4)}.tmp")
    with _removed_by_signals(temporary):
        descriptor = None
        try:
            descriptor = _create(temporary)
            yield temporary
            if durable:
                os.fsync(descriptor)
            os.replace(temporary, path)
            if durable:
                synchronise_folder(path.parent)
        finally:
            # After the rename there is nothing of that name.
            with suppress(OSError):
                temporary.unlink()
            if descriptor is not None:
                os.close(descriptor)


def _create(temporary: Path) -> int:
    """Make a file and lock it."""
    while True:
        descriptor = os.open(temporary, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)
        try:
            # Where there are no locks, nobody takes the file for one that was left.
            locks.wait_for_lock(descriptor)
            if locks.is_at(temporary, descriptor):
                return descriptor
        except BaseException:
            os.close(descriptor)
            raise
        os.close(descriptor)  # somebody cleared it away before it was locked


def _clear(stem: Path) -> None:
    """Remove what processes have left behind that died while they wrote the same file."""
    for left in stem.parent.glob(f"{glob.escape(stem.name)}.????????.tmp"):
        with suppress(OSError):
            descriptor = os.open(left, os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
            try:
                if locks.try_lock(descriptor):
                    left.unlink()
            finally:
                os.close(descriptor)


@contextmanager
def _removed_by_signals(temporary: Path) -> Iterator[None]:
    """Let signals that nobody handles remove the file before they end the process, as they do otherwise."""
    former = {}
    _unfinished.add(temporary)
    try:
        # Elsewhere Python allows no handlers.
        if threading.current_thread() is threading.main_thread():
            for number in _DEADLY:
                if signal.getsignal(number) is signal.SIG_DFL:
                    former[number] = signal.signal(number, _leave)
        yield
    finally:
        for number, handler in former.items():
            signal.signal(number, handler)
        _unfinished.discard(temporary)


def _leave(number: int, frame: FrameType | None) -> None:
    for temporary in list(_unfinished):
        with suppress(OSError):
            temporary.unlink()
    signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)


def synchronise_folder(folder: Path) -> None:
    """Bring a rename to the disk. Raises OSError."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def plain(value: Any) -> Any:
    """`value` in JSON's own types: arrays become lists, nan and the infinities (which JSON lacks) become None."""
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, np.ndarray):
        value = value.tolist()
    elif isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if value is None or isinstance(value, str | bool | int):
        return value
    return str(value)


def to_json(value: Any, *, indent: int | None = None) -> str:
    """Strict JSON text of `value`: no NaN, no Infinity."""
    return json.dumps(plain(value), indent=indent, allow_nan=False, ensure_ascii=False)
