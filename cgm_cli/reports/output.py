"""Files that the user asked for, written whole or not at all."""

from __future__ import annotations

from pathlib import Path

from cgm_cli.errors import ProblemError
from cgm_cli.readers.files import FILE, NOTHING, standing
from cgm_cli.runs.files import write_atomically


def ready(path: Path) -> Path:
    """The path, its folder made. Raises ProblemError (exit code 2) where no file can be written."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ProblemError(f"The folder {path.parent} cannot be made: {error.strerror}.") from error
    found = standing(path)
    if found not in (FILE, NOTHING):
        raise ProblemError(f"{path} cannot be written: it is {found}.")
    return path


def write_text(path: Path, text: str) -> None:
    """Put `text` there in UTF-8. Raises CgmError where that cannot be done."""
    write_atomically(ready(path), text)
