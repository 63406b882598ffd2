"""What `--dry-run` tells: the points, how many runs they are, what is done, and how long the rest may take."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cgm_cli.display.formatting import duration
from cgm_cli.sweeps.expansion import label
from cgm_cli.sweeps.load import Sweep, SweepPoint
from cgm_cli.sweeps.manifest import STORE
from cgm_cli.sweeps.point_folder import PointFolder, PointState
from cgm_cli.text import counted

STARTUP = 1.0
"""Seconds that a run takes before it iterates: Python, the libraries, the problem."""


@dataclass(frozen=True)
class Preview:
    """runs: points that are runs of their own. done: those that need not be computed. seconds: an estimate of the wall
    time of the rest, None where there is nothing to base it on; limit: whether it is what the specs allow at most.
    """

    name: str
    points: list[tuple[SweepPoint, PointState]]
    runs: int
    done: int
    workers: int | None
    seconds: float | None
    limit: bool

    def lines(self) -> Iterator[str]:
        """The table and the sum, for a person."""
        keys = list(self.points[0][0].values)
        cells = [["point", *keys, "run", "state"]]
        for point, state in self.points:
            values = [label({"": value}).removeprefix("=") for value in point.values.values()]
            cells.append([str(point.number), *values, point.id, state.value])
        widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
        for row in cells:
            yield "  ".join(f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True)).rstrip()
        same = f" ({len(self.points)} points, some of which are the same run)" if self.runs < len(self.points) else ""
        yield ""
        yield f"{self.name}: {counted(self.runs, 'run')}{same}, {self.done} of them done already"
        yield self._estimate()

    def _estimate(self) -> str:
        left = self.runs - self.done
        at_once = f"{self.workers} at a time" if self.workers else "one at a time"
        if not left:
            return "nothing is left to compute"
        if self.seconds is None:
            start = duration(STARTUP * left / (self.workers or 1))
            return (
                f"time: unknown until a run has ended, nor do the specs have a "
                f"`stop.time`; starting {counted(left, 'run')}, "
                f"{at_once}, takes some {start} alone"
            )
        word = "at most" if self.limit else "about"
        return f"time: {word} {duration(self.seconds)} for {counted(left, 'run')}, {at_once}"

    def as_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        return {
            "name": self.name,
            "runs": self.runs,
            "done": self.done,
            "seconds": self.seconds,
            "seconds_are": None if self.seconds is None else "at most" if self.limit else "about",
            "points": [
                {"number": point.number, "id": point.id, "state": state.value, "values": point.values}
                for point, state in self.points
            ],
        }


def preview(sweep: Sweep, folder: Path, workers: int | None = None) -> Preview:
    """What would be computed, if the sweep were started in `folder`."""
    store = folder.parent / STORE
    conditions = {point.id: PointFolder(store / point.id).condition() for point in sweep.points}
    points = [(point, conditions[point.id].state) for point in sweep.points]
    done = [condition for condition in conditions.values() if condition.state is PointState.DONE]
    left = {point.id: point for point, state in points if state is not PointState.DONE}
    known = [condition.task["seconds"] for condition in done if "seconds" in condition.task]
    limits = [point.seconds for point in left.values() if point.seconds is not None]
    each: float | None = None
    limit = False
    if known:
        each = sum(known) / len(known)
    elif left and len(limits) == len(left):
        each, limit = max(limits) + STARTUP, True
    seconds = None if each is None else each * len(left) / (workers or sweep.spec.workers or 1)
    count = workers or sweep.spec.workers
    return Preview(sweep.name, points, len(conditions), len(done), count, seconds, limit)
