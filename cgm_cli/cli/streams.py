"""Standard output and standard error that may be closed, full, or gone."""

from __future__ import annotations

import errno
import os
import sys
from contextlib import suppress
from typing import TextIO

from cgm_cli.errors import CgmError

_UNWRITABLE = {errno.EPIPE, errno.EBADF, errno.EIO, errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.ENXIO}


class OutputError(CgmError):
    """Standard output cannot be written. The message is empty when its reader has left, who needs no telling."""

    def __init__(self, error: OSError, exit_code: int = 0):
        gone = isinstance(error, BrokenPipeError)
        super().__init__("" if gone else f"standard output cannot be written: {error.strerror or error}")
        self.exit_code = exit_code or CgmError.exit_code


def is_unwritable(error: OSError) -> bool:
    """Whether the error is that of a stream without a name, such as standard output, which refuses a write."""
    return error.filename is None and error.errno in _UNWRITABLE


def open_closed() -> None:
    """Make streams of those that were closed before the start: output refuses every write, messages vanish.

    Their numbers are taken as well, so that no file of the run gets the number of standard output or error.
    """
    for number, flags in enumerate((os.O_RDONLY, os.O_RDONLY, os.O_WRONLY)):
        try:
            os.fstat(number)
        except OSError:
            with suppress(OSError):
                _put(os.devnull, flags, number)
    if sys.stdout is None:
        # Open for reading only: a write fails like one to a closed descriptor, and not before there is one.
        sys.stdout = open(os.open(os.devnull, os.O_RDONLY), "w", encoding="utf-8")  # noqa: SIM115
    if sys.stderr is None:
        sys.stderr = open(os.open(os.devnull, os.O_WRONLY), "w", encoding="utf-8")  # noqa: SIM115


def tell(message: str) -> None:
    """A line on standard error, or nothing when it cannot be written."""
    if sys.stderr is None:
        return
    with suppress(OSError, ValueError):
        sys.stderr.write(message + "\n")
        sys.stderr.flush()


def tell_if_slow() -> None:
    """That there is no compiled code, where there is none."""
    from cgm_cli.numerics import compiled

    if not compiled.available():
        tell(compiled.MISSING)


def settle(stream: TextIO | None) -> OSError | None:
    """Write what is buffered. If that fails, drop it, so that nothing is raised again at exit, and return the error."""
    if stream is None:
        return None
    try:
        stream.flush()
    except OSError as error:
        # A stream of a program that calls us may have no descriptor.
        with suppress(OSError, ValueError):
            _put(os.devnull, os.O_WRONLY, stream.fileno())
            stream.flush()
        return error
    return None


def _put(path: str, flags: int, number: int) -> None:
    descriptor = os.open(path, flags)
    if descriptor != number:
        os.dup2(descriptor, number)
        os.close(descriptor)
