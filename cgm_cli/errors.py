"""Every error a user can meet: one message, one exit code, and where in the spec it came from."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager


class CgmError(Exception):
    """A fault that is told to the user in one message, without a traceback.

    `path` is the place in the spec that led here, for instance `("problem", "constraints", 0, "map")`; empty when
    unknown.
    """

    exit_code = 4

    def __init__(self, message: str, path: tuple[str | int, ...] = ()):
        super().__init__(message)
        self.message = message
        self.path = path


class ProblemError(CgmError):
    """The spec is well formed, but cannot be solved: shapes that do not fit, no memory, wrong pairs."""

    exit_code = 2


class DataError(CgmError):
    """A data file is missing, unreadable, or holds something else than the spec says."""

    exit_code = 3


class NumericalError(CgmError):
    """Non-finite numbers or a factorisation that failed while solving."""

    exit_code = 4


@contextmanager
def located(*path: str | int) -> Iterator[None]:
    """Put `path` before the path of any CgmError raised inside, so that the message can point into the spec."""
    try:
        yield
    except CgmError as error:
        error.path = (*path, *error.path)
        raise
