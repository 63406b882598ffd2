"""Every error a user can meet: one message, one exit code, and where in the spec it came from."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

E = TypeVar("E", bound=BaseException)

MOST_TOLD = 50
"""Faults that are told at once, of however many there are."""


def told(messages: Sequence[str], more: int = 0) -> str:
    """The messages with an empty line between them, and a line for `more` that are left out."""
    return "\n\n".join([*messages, f"and {more:,} more"] if more else messages)


class CgmError(Exception):
    """A fault that is told to the user in one message, without a traceback.

    `path` is the place in the spec that led here, for instance `("problem", "constraints", 0, "map")`; empty when
    unknown. `faults`: for programs, each thing that the message tells, once its place is known (`spec.faults.Fault`);
    `more`: those that are left out of it.
    """

    exit_code = 4

    def __init__(self, message: str, path: tuple[str | int, ...] = ()):
        super().__init__(message)
        self.faults: Sequence[Any] = ()
        self.more = 0
        self.message = message
        self.path = path

    def __str__(self) -> str:
        return self.message  # which may have been given its place since

    def below(self, path: tuple[str | int, ...]) -> None:
        """Put `path` before the error's own path."""
        self.path = (*path, *self.path)

    @property
    def each(self) -> list[CgmError]:
        """The errors this one stands for: itself, or those gathered in it."""
        return [self]


class ProblemError(CgmError):
    """The spec is well formed, but cannot be solved: shapes that do not fit, no memory, wrong pairs."""

    exit_code = 2


class MissingPart(ProblemError):
    """Something that is only installed where it is asked for."""


_PACKAGES = {"skimage": "scikit-image", "PIL": "pillow"}
"""Of modules that are called otherwise."""


@contextmanager
def part(extra: str, needed_by: str) -> Iterator[None]:
    """Around the imports of an optional part: MissingPart, with the command that installs it, where it is not there.

    extra: its name in pyproject.toml. needed_by: what needs it, as the subject of a sentence.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        module = (error.name or "a package").partition(".")[0]
        package = _PACKAGES.get(module, module)
        raise MissingPart(f"{needed_by} needs {package}, which is not installed: pip install 'cgm[{extra}]'") from None


class DataError(CgmError):
    """A data file is missing, unreadable, or holds something else than the spec says."""

    exit_code = 3


class NumericalError(CgmError):
    """Non-finite numbers or a factorisation that failed while solving."""

    exit_code = 4


def wrapped(error: BaseException, kind: type[E]) -> E | None:
    """The exception of that kind which the error was made of, or None. Up to Python 3.11, whatever a signal handler
    raises while the body of a class is made, in an import for instance, comes out as a RuntimeError of `__set_name__`.
    """
    found: BaseException | None = error
    while found is not None and not isinstance(found, kind):
        found = found.__cause__ or found.__context__
    return found


@contextmanager
def located(*path: str | int) -> Iterator[None]:
    """Put `path` before the path of any CgmError raised inside, so that the message can point into the spec."""
    try:
        yield
    except CgmError as error:
        error.below(path)
        raise


@contextmanager
def in_range(kind: type[CgmError]) -> Iterator[None]:
    """Turn an overflow, or a division by what underflowed to zero, into an error of that kind.

    Data may hold any finite number, and Python's own floats, unlike NumPy's, raise when their square is none.
    """
    try:
        yield
    except ArithmeticError as error:
        raise kind(
            "the numbers of this problem are out of range: the square of one is beyond 1e308, or too close to zero to "
            "divide by; state it in other units"
        ) from error


class Several(CgmError):
    """Errors found together; leaves with the exit code of the first. more: of those that are not among them."""

    def __init__(self, errors: list[CgmError], more: int = 0):
        super().__init__(told([error.message for error in errors[:MOST_TOLD]], len(errors[MOST_TOLD:]) + more))
        self.errors = errors
        self.exit_code = errors[0].exit_code

    def below(self, path: tuple[str | int, ...]) -> None:
        for error in self.errors:
            error.below(path)

    @property
    def each(self) -> list[CgmError]:
        return [inner for error in self.errors for inner in error.each]


class ErrorCollector:
    """Goes on after an error, so that the faults of independent parts are told at once."""

    def __init__(self) -> None:
        self._errors: list[CgmError] = []

    @contextmanager
    def part(self, *path: str | int) -> Iterator[None]:
        """Keep a CgmError raised inside for `raise_all`, with `path` before its own."""
        try:
            with located(*path):
                yield
        except CgmError as error:
            self._errors.append(error)

    def raise_all(self) -> None:
        """Raise what was kept, if anything was."""
        if self._errors:
            raise self._errors[0] if len(self._errors) == 1 else Several(self._errors)
