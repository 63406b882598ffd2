"""Kills solves at random moments and lets them go on: `python -m tests.runs.kill --kills 100 --signal KILL`.

Every kill must leave a run that can be read; every run must end, to the last bit, where the undisturbed one ends. A run
is started and resumed by the same command, `cgm solve SPEC --resume RUN`, as a scheduler would.
"""

from __future__ import annotations

import argparse
import json
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

import numpy as np

from cgm_cli.methods.status import Status
from cgm_cli.runs.load import load_run

PROJECT = Path(__file__).resolve().parents[2]
CONFIGS = PROJECT / "configs"
INTERVALS = ("0.02s", "0.2s", "60s")
"""Between checkpoints: in nearly every moment one is being written; now and then; the default, so never here."""

STARTING = 0.1
"""Share of the kills that fall into the first half second of a process, when it only imports."""


@dataclass(frozen=True)
class Subject:
    """A spec whose runs are killed."""

    name: str
    spec: Path
    overrides: tuple[str, ...] = ()

    def command(self, run: Path, *overrides: str) -> list[str]:
        settings = [part for override in (*self.overrides, *overrides) for part in ("--set", override)]
        return ["solve", str(self.spec), "--resume", str(run), "--quiet", *settings]


SUBJECTS = (
    Subject(
        "dense",
        CONFIGS / "maxcut-g1.yaml",
        ("problem.graph={nodes: 300, edges: 3000}", "solver.iterate=dense", "solver.iterations=60"),
    ),
    Subject("factored", CONFIGS / "matrix-completion.yaml", ("solver.iterations=400",)),
    Subject("vector", CONFIGS / "transport.yaml", ("solver.iterations=2000", "stop={}")),
)


@dataclass
class Tally:
    """Kills that hit, runs that came to their end, what was found on disk after a kill, and what went wrong."""

    kills: int = 0
    runs: int = 0
    found: Counter = field(default_factory=Counter)
    faults: list[str] = field(default_factory=list)


class Process(Protocol):
    """As of subprocess.Popen."""

    pid: int
    returncode: int | None

    def poll(self) -> int | None: ...
    def send_signal(self, number: int, /) -> None: ...
    def communicate(self, *, timeout: float | None = None) -> tuple[str, str]: ...


def anew(*arguments: str) -> Process:
    """The command in a new process, begun."""
    command = [sys.executable, "-m", "cgm_cli", *arguments]
    return subprocess.Popen(command, cwd=PROJECT, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)


class Undisturbed:
    """A run of each subject that nobody kills, made when it is first asked for; its folder, and how long it took.

    begun: begins a command.
    """

    def __init__(self, folder: Path, begun: Callable[..., Process] = anew):
        self._folder = folder
        self.begun = begun
        self._made: dict[str, tuple[Path, float]] = {}

    def run(self, subject: Subject) -> tuple[Path, float]:
        if subject.name not in self._made:
            whole = self._folder / f"{subject.name}-whole"
            process = self.begun(*subject.command(whole))
            _await_run(process, whole)
            began = time.monotonic()
            _, errors = process.communicate()
            assert process.returncode == 0, errors
            self._made[subject.name] = whole, time.monotonic() - began
        return self._made[subject.name]


def torment(
    subjects: tuple[Subject, ...],
    kills: int,
    number: signal.Signals,
    seed: int,
    folder: Path,
    undisturbed: Undisturbed,
) -> Tally:
    """Kill so many times, then let every run come to its end. What is killed is begun as what is undisturbed was."""
    rng, tally = random.Random(seed), Tally()
    turn = 0
    while tally.kills < kills:
        subject = subjects[turn % len(subjects)]
        expected, seconds = undisturbed.run(subject)
        run = folder / f"{subject.name}-{turn}"
        every = INTERVALS[(turn // len(subjects)) % len(INTERVALS)]
        command = subject.command(run, f"checkpoint.every={every}")
        # Up to three kills for one run, then it may end.
        for _ in range(min(3, kills - tally.kills)):
            process = undisturbed.begun(*command)
            if rng.random() < STARTING:
                after = rng.uniform(0.0, 0.5)
            else:
                _await_run(process, run)
                after = rng.uniform(0.0, seconds)
            if not _killed(process, after, number, tally):
                break
            _check_readable(run, tally)
        last = undisturbed.begun(*command)
        _, errors = last.communicate()
        if last.returncode != 0:
            tally.faults.append(f"{run.name}: exit code {last.returncode}: {errors}")
        else:
            tally.faults += [f"{run.name}: {name} differs" for name in differences(expected, run)]
        tally.runs += 1
        turn += 1
    return tally


def _await_run(process: Process, run: Path) -> None:
    """Until the process has said in status.json that it runs, or has ended."""
    while process.poll() is None:
        with suppress(OSError, ValueError):
            if json.loads((run / "status.json").read_text())["pid"] == process.pid:
                return
        time.sleep(0.002)


def _killed(process: Process, after: float, number: signal.Signals, tally: Tally) -> bool:
    """Send the signal after so many seconds; False if the process had ended by then."""
    try:
        _, errors = process.communicate(timeout=after)
    except subprocess.TimeoutExpired:
        process.send_signal(number)
        _, errors = process.communicate()
        tally.kills += 1
        # A run may come to its end while the signal is on its way; before Python runs, SIGTERM simply kills.
        allowed = {-number, 0} if number == signal.SIGKILL else {-number, Status.PREEMPTED.exit_code, 0}
        if process.returncode not in allowed or "Traceback" in errors:
            tally.faults.append(f"exit code {process.returncode} after {after:.3f} s: {errors}")
        return True
    if process.returncode != 0:
        tally.faults.append(f"exit code {process.returncode} before the signal: {errors}")
    return False


def _check_readable(run: Path, tally: Tally) -> None:
    """What is there can be read, and does not look finished if it is not."""
    if not (run / "status.json").exists():
        tally.found["no run yet"] += 1
        return
    found = load_run(run)
    rows = 0
    if (run / "run.h5").exists():
        rows = len(found.trace.get("k", ()))
        if not np.array_equal(found.trace.get("k", np.arange(rows)), np.arange(rows)):
            tally.faults.append(f"{run.name}: the trace has a gap or a repeat")
    if found.status is Status.RUNNING and not found.died:
        tally.faults.append(f"{run.name}: looks alive")
    tally.found[f"{found.status.value}{', with rows' if rows else ''}"] += 1


def differences(one: Path, other: Path) -> list[str]:
    """What differs, to the last bit, between two runs of one spec; times aside."""
    one, other = load_run(one), load_run(other)
    found = [] if one.status is other.status else ["status"]
    for group in ("trace", "solution", "duals"):
        arrays, others = getattr(one, group), getattr(other, group)
        for name in dict.fromkeys([*arrays, *others]):
            timed = group == "trace" and name.startswith("seconds")
            same = name in arrays and name in others
            if not same or not (timed or _same_bits(arrays[name], others[name])):
                found.append(f"{group}/{name}")
    return found if timeless(one.summary) == timeless(other.summary) else [*found, "summary"]


def timeless(summary: dict) -> dict:
    """A summary without its seconds and its folder, which may differ."""
    certificate = summary["certificate"]
    untimed = None if certificate is None else {**certificate, "seconds": 0}
    return {**summary, "seconds": 0, "run": "", "certificate": untimed}


def _same_bits(one: np.ndarray, other: np.ndarray) -> bool:
    return one.shape == other.shape and one.dtype == other.dtype and one.tobytes() == other.tobytes()


def main() -> None:
    """Report the kills; exit code 1 if anything went wrong."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--signal", default="KILL", choices=["KILL", "TERM", "USR1", "INT"])
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        number, place = signal.Signals[f"SIG{options.signal}"], Path(folder)
        tally = torment(SUBJECTS, options.kills, number, options.seed, place, Undisturbed(place))
    print(f"{tally.kills} kills by {number.name}, {tally.runs} runs, each to its end")
    for what, count in tally.found.most_common():
        print(f"    found after a kill: {what}: {count}")
    print(*(tally.faults or ["every run was readable, was resumed, and ended bit-equal"]), sep="\n")
    sys.exit(bool(tally.faults))


if __name__ == "__main__":
    main()
