"""Files that the user asked for, written whole or not at all, and never over somebody else's."""

from __future__ import annotations

from pathlib import Path

from cgm_cli.errors import ProblemError
from cgm_cli.readers.files import FILE, NOTHING, file_kind
from cgm_cli.runs.files import refusal, write_atomically, write_fault

MARK = "Written by cgm report"
"""Stands in every page, table and figure of a report, so that the next report may replace them."""
CSV_HEAD = "run,name,status,"
"""How every CSV table of a report begins: such a file has no room for a mark."""
_LOOKED_AT = 65_536


def ready(path: Path, force: bool = False) -> Path:
    """The path, its folder made. Raises ProblemError (exit code 2) where there is no place for a file, and CgmError (4)
    where the file system refuses.

    A file that stands there already may be replaced if a report wrote it, or it is empty, or with `force`.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise refusal(f"The folder {path.parent} cannot be made: {error.strerror}.", error) from error
    found = file_kind(path)
    if found not in (FILE, NOTHING):
        raise ProblemError(f"{path} cannot be written: it is {found}.")
    if found == FILE and not force and not _is_ours(path):
        raise ProblemError(f"{path} exists, and was not written by `cgm report`; --force overwrites it.")
    return path


def write_text(path: Path, text: str, force: bool = False) -> None:
    """Put `text` there in UTF-8. Raises CgmError where that cannot be done, or must not, as in `ready`."""
    write_atomically(ready(path, force), text)


def _is_ours(path: Path) -> bool:
    # The mark of a PDF stands at its end, that of everything else at the beginning.
    try:
        with path.open("rb") as file:
            ends = file.read(_LOOKED_AT)
            file.seek(max(0, path.stat().st_size - _LOOKED_AT))
            ends += b"\n" + file.read()
    except OSError as error:
        raise write_fault(path, error) from error
    return ends == b"\n" or ends.startswith(CSV_HEAD.encode()) or MARK.encode() in ends
