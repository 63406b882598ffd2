"""numba's compiler, loaded at the first call of a function: that takes longer than many a run that needs none of it.

Compiled code is cached on disk, so only the first run on a machine pays for compiling. numba takes more room than all
else that is installed, so it is an extra (`cgm[fast]`): without it a function is what it says it is `otherwise`, an
expression of NumPy's, or what it is to Python.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, cached_property, update_wrapper
from importlib.util import find_spec
from threading import RLock
from types import FunctionType
from typing import Any

import numpy as np

OPTIONS = {"fastmath": {"reassoc", "contract", "nsz"}, "nogil": True}
"""Sums may be reordered, which lets them be vectorised; NaN and infinity keep their meaning (no "nnan", no "ninf").
Threads share the work.
"""


MISSING = (
    "numba is not installed: NumPy and Python take the place of compiled code, in large problems several times as "
    "slowly, and searches for cuts and partitions make a hundredth of the steps. pip install 'cgm[fast]'"
)

SLOWER = 100
"""How many times as long a loop takes Python, about."""


@cache
def available() -> bool:
    """Whether there is a compiler."""
    return find_spec("numba") is not None


def pays(size: int, least: int) -> bool:
    """Whether there is compiled code, and it is worth being loaded for so many entries."""
    return size >= least and available()


def affordable(steps: int) -> int:
    """What can be made of so many steps of a loop in the time that they take where they are compiled."""
    return steps if available() else -(-steps // SLOWER)


class Compiled:
    """A function that is compiled when it is first called. It may call others by their global names, which are inlined;
    they are to stand in the same module, for what is cached is known by the file that it came from.
    """

    def __init__(self, function: FunctionType):
        update_wrapper(self, function)
        self._function = function
        self._otherwise: Callable[..., Any] = function
        self._lock = RLock()

    def __call__(self, *arguments: Any) -> Any:
        return self.code(*arguments)

    @property
    def code(self) -> Callable[..., Any]:
        """What numba makes of it, or what there is without."""
        return self._compiled if available() else self._quiet

    def otherwise(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Decorates what is called where there is no numba: the same with NumPy's means, by the same arguments."""
        self._otherwise = function
        return function

    def _quiet(self, *arguments: Any) -> Any:
        with np.errstate(all="ignore"):  # what is not finite is found later, in words of its own
            return self._otherwise(*arguments)

    @cached_property
    def _compiled(self) -> Callable[..., Any]:
        with self._lock:
            return self.__dict__.get("_compiled") or self._compile()

    def _compile(self) -> Callable[..., Any]:
        import numba

        source = self._function
        known = source.__globals__
        called = {name: known[name].code for name in source.__code__.co_names if isinstance(known.get(name), Compiled)}
        if called:  # numba looks names up itself, and knows nothing of this class
            source = FunctionType(source.__code__, known | called, source.__name__, None, source.__closure__)
            source.__module__, source.__qualname__ = self._function.__module__, self._function.__qualname__
        try:
            return numba.njit(cache=True, **OPTIONS)(source)
        except RuntimeError:
            return numba.njit(**OPTIONS)(source)


def compiled(function: Callable[..., Any]) -> Compiled:
    """Decorates a function: by numba, cached on disk where the folder of the package or the home can be written to."""
    assert isinstance(function, FunctionType)
    return Compiled(function)
