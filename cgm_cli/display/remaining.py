"""How long it may still take until the tolerances are met, at the rate at which the run has come nearer to them."""

from __future__ import annotations

import math
from collections import deque

from cgm_cli.display.formatting import duration
from cgm_cli.methods.record import IterationRecord
from cgm_cli.methods.stopping import StopRules

_KEPT = 400
_SPAN = 3.0
_SLOWEST = 0.05
_LONGEST = 30 * 86400.0


class Remaining:
    """Takes records as they come. rules: when the run ends; None where that is not known.

    What is off, in tolerances, falls like a power of the time: log(off) against log(seconds) from a third of the time
    until now gives its rate r, and off^(1/r) times the time until now is when it is 1.
    """

    def __init__(self, rules: StopRules | None):
        self._rules = rules
        self._kept: deque[tuple[float, float]] = deque(maxlen=_KEPT)
        self._next = 0.0

    def take(self, record: IterationRecord) -> None:
        """Keep as many per doubling of the time, however long the run."""
        off = self._off(record)
        if record.seconds >= self._next and math.isfinite(off) and off > 0.0:
            self._kept.append((record.seconds, off))
            self._next = 1.02 * record.seconds

    def seconds(self, record: IterationRecord) -> float | None:
        """An estimate, no longer than what the budgets leave; None where no tolerance is set or no rate is known."""
        now, off = record.seconds, self._off(record)
        if self._rules is None or not math.isfinite(off) or now <= 0.0:
            return None
        if off <= 1.0:
            return 0.0
        past = [(seconds, former) for seconds, former in self._kept if 0.0 < seconds <= now / _SPAN]
        left = [self._rules.time - now] if self._rules.time is not None else []
        if record.k > 0:
            left.append(now * (self._rules.iterations - record.k) / record.k)
        if past:
            seconds, former = past[-1]
            rate = math.log(former / off) / math.log(now / seconds)
            # As a logarithm, because a slow rate may give more than there are numbers for.
            grows = math.log(off) / rate if rate > _SLOWEST else math.inf
            left.append(now * math.expm1(grows) if grows < 50.0 else math.inf)
            found = max(0.0, min(left))
            return found if found < _LONGEST else None
        return None

    def in_words(self, record: IterationRecord) -> str:
        """`about 12.3s left`; nothing where there is nothing left, or that is not known."""
        seconds = self.seconds(record)
        return f"about {duration(seconds)} left" if seconds else ""

    def _off(self, record: IterationRecord) -> float:
        """The largest of what is asked for over its tolerance; nan where nothing is, or it is not known."""
        if self._rules is None:
            return math.nan
        asked = [(record.gap, self._rules.gap), (record.infeasibility, self._rules.infeasibility)]
        parts = [value / limit for value, limit in asked if limit]
        return max(parts) if parts and not any(map(math.isnan, parts)) else math.nan
