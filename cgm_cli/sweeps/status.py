"""How a sweep stands, from its files alone: who computes what needs not be alive, or on this machine."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cgm_cli.display.formatting import duration
from cgm_cli.sweeps import driver, lease
from cgm_cli.sweeps.executors import slurm
from cgm_cli.sweeps.manifest import Manifest, ManifestRow, going_on, read_manifest
from cgm_cli.sweeps.point_folder import Condition, PointState
from cgm_cli.text import counted

SHOWN = 20
"""Failed runs that are listed for a person."""


@dataclass(frozen=True)
class Standing:
    """A sweep at one moment. conditions: of every run, in order. drivers: processes, and jobs, that work on it."""

    manifest: Manifest
    conditions: list[tuple[ManifestRow, Condition]]
    drivers: list[str]

    @property
    def counts(self) -> dict[str, int]:
        """State -> number of runs."""
        found = Counter(condition.state for _, condition in self.conditions)
        return {state.value: found[state] for state in PointState}

    @property
    def seconds_left(self) -> float | None:
        """An estimate from the runs that are done, at as many at a time as run now. None if there is no saying."""
        known = [condition.task["seconds"] for _, condition in self.conditions if self._timed(condition)]
        counts = self.counts
        left, running = counts["running"] + counts["waiting"], counts["running"]
        if not left:
            return 0.0
        return sum(known) / len(known) * left / running if known and running else None

    def of(self, state: PointState) -> list[tuple[ManifestRow, Condition]]:
        """The runs in one state."""
        return [(row, condition) for row, condition in self.conditions if condition.state is state]

    def lines(self) -> list[str]:
        """A table of the counts, and what needs attention, for a person."""
        left = self.seconds_left
        cells = {**self.counts, "time left": "-" if left is None else duration(left)}
        widths = [max(len(heading), len(str(cell))) for heading, cell in cells.items()]
        table = (cells, cells.values())
        found = ["  ".join(f"{each:>{width}}" for each, width in zip(row, widths, strict=True)) for row in table]
        failed = self.of(PointState.FAILED)
        for row, condition in failed[:SHOWN]:
            found.append(f"failed: point {row.number} ({row.label}): {condition.task.get('message', '')}")
        if len(failed) > SHOWN:
            found.append(f"... and {len(failed) - SHOWN} more that failed; --json lists them all")
        running = self.counts["running"]
        if not self.drivers and running:
            found.append(f"nobody drives it; going on to the end: {counted(running, 'run')}")
        if not self.drivers and (self.counts["waiting"] or failed):
            who = "nobody works on the others" if running else "nobody works on it"
            command = going_on(
                self.manifest.file, self.manifest.path, self.manifest.name, overrides=self.manifest.overrides
            )
            found.append(f"{who}; go on with: {command}")
        return found

    def as_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        return {
            "sweep": str(self.manifest.path),
            "name": self.manifest.name,
            **self.counts,
            "seconds_left": self.seconds_left,
            "drivers": self.drivers,
            "points": [
                {
                    "number": row.number,
                    "id": row.id,
                    "values": row.values,
                    "state": condition.state.value,
                    "attempts": condition.task.get("attempts", 0),
                    "seconds": condition.task.get("seconds"),
                    "message": condition.task.get("message", "") if condition.state is PointState.FAILED else "",
                    "run": str(self.manifest.folder(row).run),
                }
                for row, condition in self.conditions
            ],
        }

    def _timed(self, condition: Condition) -> bool:
        return condition.state is PointState.DONE and "seconds" in condition.task


def standing(path: Path) -> Standing:
    """The sweep in the folder `path`. Raises DataError (exit code 3) if there is none."""
    manifest = read_manifest(path)
    conditions = [(row, manifest.folder(row).condition()) for row in manifest.runs]
    queued = [f"slurm job {job}" for job in slurm.jobs(path)]
    return Standing(manifest, conditions, [*driver.living(path), *queued])


def orphans(manifest: Manifest) -> list[tuple[ManifestRow, int]]:
    """Runs on this machine whose driver is dead while they go on, with their process ids."""
    found = []
    for row in manifest.runs:
        folder = manifest.folder(row)
        if not lease.is_held(folder.claim):
            continue
        owner = lease.owner_of(folder.claim)
        # The lock is held, though its owner is dead: by the run, whose number is therefore still its own.
        if lease.is_dead_here(owner) and isinstance(owner.get("run"), int):
            found.append((row, owner["run"]))
    return found
