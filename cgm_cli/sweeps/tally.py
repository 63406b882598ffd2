"""What a sweep has come to so far: counts, times and the best run, from the endings as they come in."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from cgm_cli.sweeps.expansion import label
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


@dataclass(frozen=True)
class Best:
    """value: the figure, of several seeds their mean. row: the point, the first of those that differ in the seed."""

    value: float
    row: ManifestRow
    seeds: int

    @property
    def label(self) -> str:
        if self.seeds == 1:
            return f"at point {self.row.number}: {self.row.label}"
        return f"on average over {self.seeds} seeds: {label(_without_seed(self.row))}"


@dataclass
class Tally:
    """An observer that only counts. total: runs of the sweep; done: those with a result, also from earlier.

    Where seeds are varied beside something else, what is best is so on average over the seeds, and a point takes part
    once all of its seeds are done: a single one may be lucky.
    """

    manifest: Manifest
    total: int
    done: int = 0
    failed: int = 0
    running: int = 0
    computed: int = 0  # by this process
    seconds: float = 0.0  # wall time of these, one after the other
    best: Best | None = None
    began: float = field(default_factory=time.monotonic)
    _figures: dict[str, float] = field(default_factory=dict[str, float])

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
        (order, name), *_ = self.manifest.best.items()
        value = figure(self.manifest.folder(row).summary() or {}, name)
        if math.isnan(value):
            return
        self._figures[row.id] = value
        alike = self._alike[self._group(row)]
        if any(each.id not in self._figures for each in alike):
            return
        mean = math.fsum(self._figures[each.id] for each in alike) / len(alike)
        if self.best is None or (mean < self.best.value if order == "smallest" else mean > self.best.value):
            self.best = Best(mean, alike[0], len(alike))

    @cached_property
    def _alike(self) -> dict[str, list[ManifestRow]]:
        """The runs that differ in nothing but their seed, or one alone."""
        found: dict[str, list[ManifestRow]] = {}
        for row in self.manifest.runs:
            found.setdefault(self._group(row), []).append(row)
        return found

    def _group(self, row: ManifestRow) -> str:
        return json.dumps(_without_seed(row) or row.values, sort_keys=True)

    @property
    def left(self) -> int:
        """Runs without an end."""
        return self.total - self.done - self.failed

    @property
    def rate(self) -> float:
        """Runs per second since this process began; nan before the first."""
        elapsed = time.monotonic() - self.began
        return self.computed / elapsed if self.computed and elapsed > 0 else math.nan


def _without_seed(row: ManifestRow) -> dict[str, Any]:
    return {key: value for key, value in row.values.items() if key != "seed"}
