"""What stands where a file is expected. Only regular files are opened: a named pipe or a device may block for ever."""

from __future__ import annotations

import errno
import hashlib
import stat
from pathlib import Path

FILE = "a file"
NOTHING = "nothing"
PIPE = "a named pipe"
_KINDS = {
    stat.S_IFDIR: "a folder",
    stat.S_IFIFO: PIPE,
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}


def sha256(path: Path) -> str:
    """The SHA-256 of a file, in hexadecimal digits. Raises OSError."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def file_kind(path: Path) -> str:
    """FILE, NOTHING, or in words what else stands at `path`: a folder, a named pipe, a link that leads nowhere ..."""
    try:
        mode = path.stat().st_mode
    except ValueError:
        return NOTHING  # no name of a file can hold a NUL
    except OSError as error:
        if error.errno == errno.ELOOP:
            return "a link that leads back to itself"
        if error.errno in (errno.EACCES, errno.EPERM):
            return "out of reach (no permission)"
        return "a link that leads nowhere" if _is_link(path) else NOTHING
    return FILE if stat.S_ISREG(mode) else _KINDS.get(stat.S_IFMT(mode), "no file")


def _is_link(path: Path) -> bool:
    try:
        return stat.S_ISLNK(path.lstat().st_mode)
    except OSError:
        return False
