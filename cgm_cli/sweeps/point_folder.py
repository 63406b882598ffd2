"""The folder of one point in the store: what is known of its run, whoever computed it and for whichever sweep.

    <store>/<id>/   spec.yaml    the spec of the run
                    run/         the run folder
                    output.txt   what the processes of the run wrote to standard output and error
                    task.json    how the last attempt ended
                    claim.*      who is at it (see `cgm_cli.sweeps.lease`)

`running` is never written down: a point is running while somebody holds its claim, so that a dead process leaves no
trace that would have to be healed.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Any

from cgm_cli.runs.files import replacing
from cgm_cli.sweeps import lease

HEADING = "=== "
"""Begins the line of output.txt that stands before what an attempt said."""


class PointState(Enum):
    """Where a point stands; the value is its name in tables."""

    DONE = "done"
    RUNNING = "running"
    FAILED = "failed"
    WAITING = "waiting"


@dataclass(frozen=True)
class Condition:
    """state; summary: the result of a run that is done, as `cgm solve --json` prints it, else None. task: what the last
    attempt left: attempts, message, seconds (wall time of all attempts), host.
    """

    state: PointState
    summary: dict[str, Any] | None
    task: dict[str, Any]


@dataclass(frozen=True)
class PointFolder:
    """One point of the store. path: its folder, which need not be there yet."""

    path: Path

    @property
    def spec(self) -> Path:
        return self.path / "spec.yaml"

    @property
    def run(self) -> Path:
        return self.path / "run"

    @property
    def output(self) -> Path:
        return self.path / "output.txt"

    @property
    def claim(self) -> Path:
        return self.path / "claim"

    @property
    def signs(self) -> tuple[Path, ...]:
        """Files that a living run writes to, even if nobody looks after it any more."""
        return self.run / "run.h5", self.run / "status.json"

    def prepare(self, text: str) -> None:
        """Write the spec, if it is not there. Raises OSError."""
        self.path.mkdir(parents=True, exist_ok=True)
        with suppress(OSError, ValueError):
            if self.spec.read_text(encoding="utf-8") == text:
                return
        # Without waiting for the disk: a spec that is lost is made again from the sweep file.
        _replace(self.spec, text)

    def take(self) -> lease.Lease | None:
        """The claim to compute this point, or None if somebody has it. Raises OSError."""
        return lease.take(self.claim, self.signs)

    def condition(self) -> Condition:
        """How it stands now."""
        # Asked before the status is read: a run that ends in between then shows its end.
        running = lease.is_held(self.claim, self.signs)
        summary, task = self.summary(), _read(self.path / "task.json")
        if summary is not None:
            return Condition(PointState.DONE, summary, task)
        if running:
            return Condition(PointState.RUNNING, None, task)
        failed = task.get("state") == "failed"
        return Condition(PointState.FAILED if failed else PointState.WAITING, None, task)

    def summary(self) -> dict[str, Any] | None:
        """The result of a run that has come to its end; None if it has not."""
        state = _read(self.run / "status.json")
        result = state.get("result")
        # A proof that the constraints contradict each other is a result, too.
        ended = state.get("exit_code") == 0 or state.get("status") == "infeasible"
        return result if isinstance(result, dict) and ended else None

    def message(self, pid: int) -> str:
        """What the process `pid`, the last one at this run, said of its failure."""
        state = _read(self.run / "status.json")
        if state.get("pid") == pid and state.get("status") == "failed" and state.get("message"):
            return str(state["message"]).partition("\n")[0]
        said: list[str] = []
        with suppress(OSError), self.output.open("rb") as file:
            file.seek(max(0, self.output.stat().st_size - 4000))
            last = file.read().decode("utf-8", "replace").rpartition(HEADING)[2]
            said = [line.strip() for line in last.split("\n")[1:] if line.strip()]
        if not said:
            return "it said nothing"
        # Of a traceback the last line says what was wrong, of a message the first.
        return said[-1] if said[0].startswith("Traceback") else said[0]

    def note(self, facts: Mapping[str, Any]) -> None:
        """Replace task.json."""
        with suppress(OSError):
            _replace(self.path / "task.json", json.dumps(dict(facts)) + "\n")


def _replace(path: Path, text: str) -> None:
    with replacing(path, durable=False) as temporary:
        temporary.write_text(text, encoding="utf-8")


def _read(path: Path) -> dict[str, Any]:
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return value if isinstance(value, dict) else {}
