"""Functions of the user's own, `{python: "mymodule:function"}`: code that a spec asks to be run.

Nothing is run unless who starts cgm allows it, by `--allow-python`, CGM_ALLOW_PYTHON=1 or `allow_python=True`: a spec
may come from a stranger. What is run is the file whose SHA-256 goes into the provenance, read once.
"""

from __future__ import annotations

import hashlib
import os
import sys
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext, redirect_stdout
from contextvars import ContextVar
from dataclasses import dataclass
from operator import index
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from cgm_cli.errors import CgmError, DataError, ProblemError
from cgm_cli.text import quoted

VARIABLE = "CGM_ALLOW_PYTHON"
"""Of the environment, so that processes that are started by this one are allowed as much."""

_ALLOWED = ContextVar("python is allowed", default=False)


@contextmanager
def python_allowed() -> Iterator[None]:
    """Inside, specs may have code run."""
    token = _ALLOWED.set(True)
    try:
        yield
    finally:
        _ALLOWED.reset(token)


def allowing(given: bool):
    """`python_allowed` where that is given."""
    return python_allowed() if given else nullcontext()


def is_allowed() -> bool:
    """Whether specs may have code run."""
    return _ALLOWED.get() or os.environ.get(VARIABLE) == "1"


@dataclass(frozen=True)
class UserCode:
    """What a function in a user's file made: `made`. called: as the spec names it. path: of the file."""

    called: str
    path: Path
    made: Any

    def run(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """The function of the arguments; ProblemError with the line for whatever it raises."""
        with _told(self.called, self.path):
            return function(*arguments)

    def part(self, name: str) -> Any:
        """An attribute of what was made; None where it has none."""
        with _told(self.called, self.path):
            return getattr(self.made, name, None)

    def shape(self) -> tuple[int, ...]:
        """Its attribute `shape`. ProblemError where that is none."""
        given: Any = self.part("shape")
        try:
            found = tuple(map(index, given if isinstance(given, tuple | list) else [given]))  # pyright: ignore
        except TypeError:
            found = ()
        if not found or min(found) < 1:
            raise ProblemError(f"{self.called}: its `shape` is {quoted(repr(given))}, and not one such as (3, 4)")
        return found

    def array(self, what: str, found: Any, shape: tuple[int, ...]) -> np.ndarray:
        """`found` as float64, in a shape with as many entries; ProblemError for what is none, or is not finite."""
        try:
            array = np.asarray(found)
            if array.dtype.kind not in "biuf":
                raise ValueError
            array = array.astype(float)
        except (TypeError, ValueError):
            raise ProblemError(
                f"{self.called}: {what} is of type {type(found).__name__}, not an array of real numbers"
            ) from None
        if array.size != int(np.prod(shape)):
            raise ProblemError(f"{self.called}: {what} has the shape {array.shape}, and {shape} is needed")
        if not np.isfinite(array).all():
            raise ProblemError(f"{self.called}: {what} has an entry that is not finite")
        return array.reshape(shape)


def user_code(called: str, path: Path, *arguments: Any) -> tuple[UserCode, str]:
    """What the function `called`, "module:function" in the file `path`, returns for the arguments; and the SHA-256 of
    the file. ProblemError where that is not allowed, or the code fails.
    """
    if not is_allowed():
        raise ProblemError(
            f"the spec asks for `{called}` of {path} to be run: that is code, which may do anything. If you trust it, "
            f"allow it by --allow-python, {VARIABLE}=1, or `allow_python=True` in Python"
        )
    try:
        source = path.read_bytes()
    except OSError as error:
        raise DataError(f"{path}: cannot be read: {error.strerror}") from None
    digest = hashlib.sha256(source).hexdigest()
    name = called.partition(":")[2]
    module = ModuleType(f"_cgm_python_{digest[:16]}")
    module.__file__ = str(path)
    sys.modules[module.__name__] = module  # dataclasses look up the module of their fields
    with _told(called, path):
        exec(compile(source, str(path), "exec"), module.__dict__)
    function = getattr(module, name, None)
    if not callable(function):
        known = [key for key, value in vars(module).items() if callable(value) and not key.startswith("_")]
        listed = ", ".join(known) or "none"
        raise ProblemError(f"{path} has no function `{quoted(name)}` (those it has: {quoted(listed, 300)})")
    with _told(called, path):
        made = function(*arguments)
    return UserCode(called, path, made), digest


@contextmanager
def _told(called: str, path: Path) -> Iterator[None]:
    """Whatever the user's code raises as ProblemError, with the last line of its file on the way there. What it prints
    goes to standard error: the other is for results.
    """
    try:
        with redirect_stdout(sys.stderr):
            yield
    except CgmError:
        raise
    except (Exception, SystemExit) as error:
        lines = [f.lineno for f in traceback.extract_tb(error.__traceback__) if f.filename == str(path)]
        if isinstance(error, SyntaxError) and error.filename == str(path):
            lines = [error.lineno]
        place = f"{path}:{lines[-1]}" if lines else str(path)
        raise ProblemError(f"{called}: {place}: {type(error).__name__}: {quoted(str(error), 500)}") from None
