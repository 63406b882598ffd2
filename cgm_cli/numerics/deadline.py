"""A deadline: what is left of the time, asked now and then by whatever may take long.

Work that can be measured beforehand is begun only if it fits (`affords`); work that goes on by steps looks between them
(`should_stop`), and gives up, or hands back what it has by then. With no limit, and nobody who asks, neither ever
changes anything.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache, wraps
from time import perf_counter
from typing import ParamSpec, TypeVar

import numpy as np

from cgm_cli.numerics.threads import one_thread

P = ParamSpec("P")
T = TypeVar("T")

TRIAL_ORDER = 700
"""The order of the matrices that are multiplied to find out how fast that is: some hundredths of a second in all."""

SMALL = 1e9, 5e9
"""Operations up to which no trial is made, which takes longer than they do; and how many a second they are taken for,
a slow machine's.
"""


class OutOfTime(Exception):
    """Raised by `Deadline.check`: the work is given up, and what it has changed is to be taken back by who began it."""


class Deadline:
    """left: seconds that remain, possibly negative; infinite without a limit. asked: whether somebody wants it to end
    now.
    """

    def __init__(self, left: Callable[[], float] = lambda: math.inf, asked: Callable[[], bool] = lambda: False):
        self._left, self._asked = left, asked
        self._missed = False

    @property
    def missed(self) -> bool:
        """Whether anything was given up, or not begun, because of it."""
        return self._missed

    def left(self) -> float:
        """Seconds that remain."""
        return self._left()

    def should_stop(self) -> bool:
        """Whether it has come; work that asks is taken to give up then."""
        return self._note(self._asked() or self._left() <= 0.0)

    def check(self) -> None:
        """Raise OutOfTime if it has come."""
        if self.should_stop():
            raise OutOfTime

    def checked(self, function: Callable[P, T]) -> Callable[P, T]:
        """The function, with a check before every call."""

        @wraps(function)
        def call(*arguments: P.args, **options: P.kwargs) -> T:
            self.check()
            return function(*arguments, **options)

        return call

    def affords(self, seconds: float) -> bool:
        """Whether work that takes so many seconds may begin."""
        return not self._note(self._asked() or self._left() < seconds)

    def keeping(self, seconds: float) -> Deadline:
        """One that comes so much earlier."""
        if math.isinf(self._left()):
            return self
        return _Earlier(self, seconds)

    def part(self, share: float) -> Deadline:
        """One that comes after this share of what is left."""
        return self.keeping((1.0 - share) * max(0.0, self._left()))

    def _note(self, missed: bool) -> bool:
        self._missed = self._missed or missed
        return missed


class _Earlier(Deadline):
    """What misses it need not miss the one it is part of: there is more time after it."""

    def __init__(self, whole: Deadline, seconds: float):
        super().__init__(lambda: whole.left() - seconds, whole._asked)


NEVER = Deadline()
"""The deadline of work that may take as long as it takes."""


@cache
def flops_per_second() -> float:
    """Of products of matrices, which most of a factorisation is made of, by one thread; measured once."""
    matrix = np.full((TRIAL_ORDER, TRIAL_ORDER), 1.0 / TRIAL_ORDER)

    def seconds() -> float:
        began = perf_counter()
        _ = matrix @ matrix
        return perf_counter() - began

    with one_thread():
        return 2.0 * TRIAL_ORDER**3 / min(seconds() for _ in range(3))


def seconds_of(flops: float) -> float:
    """What a factorisation of so many operations takes, roughly."""
    most, rate = SMALL
    return flops / (rate if flops <= most else flops_per_second())
