"""Files that are either whole or absent, JSON that every parser reads, and one sentence for a failed write."""

from __future__ import annotations

import errno
import json
import math
import os
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from cgm_cli.errors import CgmError

_FULL = {errno.ENOSPC: "the disk is full", errno.EDQUOT: "the disk quota is used up"}


def utc_now() -> str:
    """The time of day in UTC as ISO 8601 with milliseconds, for instance 2026-05-01T12:00:00.123Z."""
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def write_fault(path: Path, error: OSError) -> CgmError:
    """The CgmError (exit code 4) that tells why `path` could not be written."""
    reason = _FULL.get(error.errno) or error.strerror or str(error)
    return CgmError(f"{path} could not be written: {reason}.")


def write_atomically(path: Path, text: str) -> None:
    """Write `text` (UTF-8) so that a reader, or a crash, sees either the old file or the whole new one.

    Raises CgmError (exit code 4) when the file system refuses.
    """
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        try:
            with open(temporary, "w", encoding="utf-8", newline="") as file:
                file.write(text)
                file.flush()
                os.fsync(file.fileno())
            rename_durably(temporary, path)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise
    except OSError as error:
        raise write_fault(path, error) from error


def rename_durably(temporary: Path, path: Path) -> None:
    """Rename a file whose content is on the disk, and bring the rename itself there, too. Raises OSError."""
    os.replace(temporary, path)
    descriptor = os.open(path.parent, os.O_RDONLY)
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
