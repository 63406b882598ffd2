"""How the time of a run is shared out: turns of the loop first, then the certificates, and at last what is left to do.

What takes long is begun only if it fits into what is left, and given up where it does not end in time. That happens in
the last turn of a run alone, which is undone: what a run does before does not depend on the clock, so that one that is
resumed goes on as if it had never been stopped.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from cgm_cli.methods.state import State
from cgm_cli.methods.status import Status
from cgm_cli.numerics.deadline import Deadline

GRACE, GRACE_SHARE = 1.0, 0.02
"""What may be spent beyond the limit on what a run ends with: seconds, or this part of the limit if that is more."""

ANSWER, ANSWER_SHARE = 2.0, 0.02
"""Seconds, or this part of the time so far if that is more, in which a request to end is answered: half of it by
certificates, and what is left by the rounding.
"""

SHARE = 1.0 / 3.0
"""The largest part of the limit that is kept for what a run ends with."""

SAVED = 1.5e8
"""Bytes of a state that are rounded and saved in a second, as a checkpoint and as the solution: 1 GB of a clustering
took 4.6 s, and 0.16 GB of a cut 1.5 s.
"""


class Request:
    """How somebody else wants the run to end; once said, it stands until they say another way."""

    def __init__(self, should_stop: Callable[[], Status | None]):
        self._should_stop = should_stop
        self._said: Status | None = None

    def __call__(self) -> Status | None:
        self._said = self._should_stop() or self._said
        return self._said


class Budget:
    """limit: seconds, or None. elapsed: those that have passed. request: how somebody wants the run to
    end.

    turns: when the loop has to be left. ending: when certificates have to be; after a request they have little time,
    and none where it is to leave at once.
    """

    def __init__(self, limit: float | None, elapsed: Callable[[], float], request: Callable[[], Status | None]):
        self._limit = math.inf if limit is None else limit
        self._grace = 0.0 if limit is None else max(GRACE, GRACE_SHARE * limit)
        self._elapsed, self._request = elapsed, request
        self._kept = self._after = 0.0
        self._last = self._rounded = self._limit + self._grace
        self._asked: float | None = None  # when a request was first seen
        self.turns = Deadline(lambda: self._limit - self._kept - elapsed(), lambda: request() is not None)
        self.ending = Deadline(lambda: min(self._last, self._answered(0.5)) - elapsed(), self._at_once)

    @property
    def limited(self) -> bool:
        """Whether there is a limit."""
        return math.isfinite(self._limit)

    def keep(self, certificate: float, after: float) -> None:
        """Keep time for a certificate that takes so many seconds, roughly, and for what comes after it; only for that
        where the certificate would not fit into a share of the limit.
        """
        if self.limited:
            # What is kept never shrinks: a turn that was cut short is the last one.
            # The grace is for small problems: of large ones, what comes after takes it up.
            most, rest = SHARE * self._limit, after - max(0.0, self._grace - after)
            self._kept = max(self._kept, certificate + rest if certificate + rest <= most else min(rest, most))
            self._last = self._limit - rest
            self._rounded = self._last + 0.5 * after

    def begin_ending(self, after: float) -> None:
        """The loop is left: however late that is, there is time for a small certificate. after: seconds that are needed
        after the certificates.
        """
        self._after = after
        self._last = max(self._last, self._elapsed() + GRACE)

    def rounding(self) -> Deadline:
        """When a rounding that begins now has to be done with."""
        last = max(self._rounded, self._elapsed() + GRACE)
        return Deadline(lambda: min(last, self._answered(1.0)) - self._elapsed(), self._at_once)

    @property
    def spent(self) -> bool:
        """Whether the time is up: for turns, or for a certificate that a turn has needed."""
        return self.turns.left() <= 0.0 or (self.ending.missed and self._request() is None)

    def _answered(self, share: float) -> float:
        """When so much of the time is over in which a request is to be answered, but for what comes after the answer;
        infinite without one.
        """
        if self._asked is None and self._request() is not None:
            self._asked = self._elapsed()
        if self._asked is None:
            return math.inf
        return self._asked + share * max(0.0, max(ANSWER, ANSWER_SHARE * self._asked) - self._after)

    def _at_once(self) -> bool:
        return self._request() is Status.PREEMPTED


def seconds_to_save(state: State) -> float:
    """What it takes to write a state, to recover the solution from it, to round that, and to write it, roughly."""
    return state.nbytes / SAVED + state.point.iterate.recovery
