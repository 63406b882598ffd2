"""What a sweep has come to so far: counts, times and the best run, from the endings as they come in."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from cgm_cli.sweeps.manifest import Manifest, ManifestRow
from cgm_cli.sweeps.task import AttemptEnding, Kind


def figure(summary: Mapping[str, Any], name: str) -> float:
    """A figure of a summary, or a metric; `accuracy` is the larger of gap and infeasibility. nan if there is none."""
    if name == "accuracy":
        parts = [summary.get("gap"), summary.get("infeasibility")]
        known = [part for part in parts if part is not None]
        return max(known) if summary.get("gap") is not None else math.nan
    value = summary.get(name, summary.get("metrics", {}).get(name))
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else math.nan


@dataclass
class Tally:
    """An observer that only counts. total: runs of the sweep; done: those with a result, also from earlier."""

    manifest: Manifest
    total: int
    done: int = 0
    failed: int = 0
    running: int = 0
    computed: int = 0  # by this process
    seconds: float = 0.0  # wall time of these, one after the other
    best: tuple[float, ManifestRow] | None = None
    began: float = field(default_factory=time.monotonic)

    def started(self, row: ManifestRow) -> None:
        self.running += 1

    def ended(self, row: ManifestRow, ending: AttemptEnding, final: bool) -> None:
        if ending.kind not in (Kind.SKIPPED, Kind.BUSY) and self.running:
            self.running -= 1
        if ending.kind in (Kind.DONE, Kind.SKIPPED):
            self.done += 1
            self.consider(row)
        elif final and ending.kind in (Kind.FAILED, Kind.LEFT):
            self.failed += 1
        if ending.kind is Kind.DONE:
            self.computed += 1
            self.seconds += ending.seconds

    def tick(self) -> None:
        pass

    def consider(self, row: ManifestRow) -> None:
        """Let a run that is done compete for being the best."""
        summary = self.manifest.folder(row).summary()
        (order, name), *_ = self.manifest.best.items()
        value = figure(summary or {}, name)
        if math.isnan(value):
            return
        better = self.best is None or (value < self.best[0] if order == "smallest" else value > self.best[0])
        if better:
            self.best = value, row

    @property
    def left(self) -> int:
        """Runs without an end."""
        return self.total - self.done - self.failed

    @property
    def rate(self) -> float:
        """Runs per second since this process began; nan before the first."""
        elapsed = time.monotonic() - self.began
        return self.computed / elapsed if self.computed and elapsed > 0 else math.nan
