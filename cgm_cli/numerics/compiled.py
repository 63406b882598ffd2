"""numba's compiler, loaded at the first call of a function: that takes longer than many a run that needs none of it.

Compiled code is cached on disk, so only the first run on a machine pays for compiling.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property, update_wrapper
from threading import RLock
from types import FunctionType
from typing import Any

OPTIONS = {"fastmath": {"reassoc", "contract", "nsz"}, "nogil": True}
"""Sums may be reordered, which lets them be vectorised; NaN and infinity keep their meaning (no "nnan", no "ninf").
Threads share the work.
"""


class Compiled:
    """A function that is compiled when it is first called. It may call others by their global names, which are inlined;
    they are to stand in the same module, for what is cached is known by the file that it came from.
    """

    def __init__(self, function: FunctionType):
        update_wrapper(self, function)
        self._function = function
        self._lock = RLock()

    def __call__(self, *arguments: Any) -> Any:
        return self.code(*arguments)

    @cached_property
    def code(self) -> Callable[..., Any]:
        """What numba makes of it."""
        with self._lock:
            return self.__dict__.get("code") or self._compile()

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
