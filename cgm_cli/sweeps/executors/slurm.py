"""A job array of Slurm: written, submitted, and left alone. Each task of it computes some points, one after the other.

    <sweep>/slurm/<batch>.sh  .json      the script, and the rows of the points
    <sweep>/slurm/<batch>.job            the number that Slurm gave it
    <sweep>/slurm/<batch>-<task>.out     what the tasks said
    <sweep>/slurm/<batch>.stop           tasks that run are to finish and not to come back

Slurm tells a task that it is preempted, or that its time is nearly over, by a signal. The run that is going on writes
its checkpoint and leaves, and the task puts itself back into the queue: to merely leave would be to fail.
"""

from __future__ import annotations

import json
import os
import re
import secrets
import shlex
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path

from cgm_cli.errors import CgmError, DataError, ProblemError
from cgm_cli.methods.status import Status
from cgm_cli.readers.functions import VARIABLE, is_allowed
from cgm_cli.runs.files import write_atomically, write_fault
from cgm_cli.sweeps.executors.local import run_local
from cgm_cli.sweeps.lease import STALE
from cgm_cli.sweeps.manifest import Manifest, ManifestRow, read_manifest
from cgm_cli.sweeps.model import SlurmSpec
from cgm_cli.sweeps.progress import SweepProgress
from cgm_cli.text import counted

_LARGEST_ARRAY = 1001


@dataclass(frozen=True)
class Submission:
    """job: its number. tasks: of the array. per_task: points in each."""

    job: str
    tasks: int
    per_task: int


def submit(
    manifest: Manifest,
    rows: Sequence[ManifestRow],
    spec: SlurmSpec,
    per_task: int | None,
    retries: int,
    most: int | None,
) -> Submission:
    """Submit the points. More of them go into one task than asked for where the array would become too large.

    Raises ProblemError where there is no Slurm, or it refuses; CgmError if the script cannot be written.
    """
    if shutil.which("sbatch") is None:
        raise ProblemError("there is no `sbatch` here: submit from a machine of the cluster, or use --executor local")
    wanted = per_task or spec.per_task
    packed = max(wanted, -(-len(rows) // largest_array()))
    tasks = -(-len(rows) // packed)
    batch = f"{datetime.now(UTC):%Y%m%dT%H%M%SZ}-{secrets.token_hex(2)}"
    stem = manifest.path.absolute() / "slurm" / batch
    told = {
        "per_task": packed,
        "retries": retries,
        "most": most,
        "requeue": spec.requeue,
        "rows": [asdict(row) for row in rows],
    }
    try:
        stem.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise write_fault(stem.parent, error) from error
    write_atomically(stem.with_suffix(".json"), json.dumps(told) + "\n")
    script = stem.with_suffix(".sh")
    write_atomically(script, script_text(manifest, stem, spec, tasks, max(row.threads for row in rows)))
    done = _slurm("sbatch", "--parsable", str(script))
    if done.returncode != 0:
        raise ProblemError(f"sbatch refuses {script}: {done.stderr.strip()}. Nothing was submitted.")
    job = done.stdout.strip().partition(";")[0]
    write_atomically(stem.with_suffix(".job"), job + "\n")
    return Submission(job, tasks, packed)


def script_text(manifest: Manifest, stem: Path, spec: SlurmSpec, tasks: int, threads: int) -> str:
    """The batch script. stem: its path without `.sh`."""
    at_once = f"%{spec.at_once}" if spec.at_once else ""
    options: dict[str, str | int | bool] = {
        "job-name": manifest.name,
        "array": f"0-{tasks - 1}{at_once}",
        "output": f"{stem}-%a.out",
        "open-mode": "append",
        "chdir": manifest.cwd,
        "cpus-per-task": threads,
        # To this shell, which the program replaces: without the B it would go to job steps, and there are none.
        "signal": f"B:USR1@{spec.warning}",
        "requeue" if spec.requeue else "no-requeue": True,
    }
    options |= {key.replace("_", "-"): value for key, value in spec.options.items()}
    lines = ["#!/bin/bash"]
    for key, value in options.items():
        if value is True:
            lines.append(f"#SBATCH --{key}")
        elif value is not False:
            lines.append(f"#SBATCH --{key}={shlex.quote(str(value))}")
    command = [sys.executable, "-m", "cgm_cli", "sweep", "task", str(manifest.path.absolute()), stem.name]
    allowed = [f"export {VARIABLE}=1"] if is_allowed() else []
    return "\n".join([*lines, *allowed, *spec.setup, f"exec {shlex.join(command)}"]) + "\n"


def work(path: Path, batch: str, should_stop: Callable[[], Status | None]) -> int:
    """What one task of the array does: compute its points. Returns its exit code.

    Raises DataError where the sweep, or the batch in it, is not there.
    """
    manifest = read_manifest(path)
    stem = path / "slurm" / batch
    try:
        told = json.loads(stem.with_suffix(".json").read_text(encoding="utf-8"))
        task = int(os.environ["SLURM_ARRAY_TASK_ID"])
    except (OSError, ValueError, KeyError) as error:
        raise DataError(
            f"{stem}.json is not a batch of this sweep, or this is no task of an array: {error}."
        ) from error
    first = task * told["per_task"]
    rows = [ManifestRow(**row) for row in told["rows"][first : first + told["per_task"]]]
    stop_file = stem.with_suffix(".stop")
    with SweepProgress(manifest, len(rows)) as progress:

        def stop() -> bool:
            enough = told["most"] is not None and progress.failed >= told["most"]
            return should_stop() is not None or enough or stop_file.exists()

        # A run of this task before it was requeued, on another machine, may look alive for a while.
        run_local(manifest, rows, 1, told["retries"], progress, stop, patience=2 * STALE)
    if should_stop() is not None and progress.left and not stop_file.exists():
        return _come_back(told["requeue"], progress)
    return 5 if progress.failed else 0


def jobs(path: Path) -> dict[str, str]:
    """The jobs of the sweep that are in the queue, or run: number -> batch. Empty where Slurm cannot be asked."""
    known = {}
    for file in sorted((path / "slurm").glob("*.job")):
        with suppress(OSError):
            known[file.read_text(encoding="utf-8").strip()] = file.stem
    if not known or shutil.which("squeue") is None:
        return {}
    # All jobs of the user: for a number that Slurm has forgotten, it would refuse to answer at all.
    done = _slurm("squeue", "--noheader", "--me", "--array", "--format=%F")
    present = set(done.stdout.split()) if done.returncode == 0 else set()
    return {job: batch for job, batch in known.items() if job in present}


def cancel(path: Path, job: str, batch: str) -> None:
    """Take what waits of a job out of the queue, and ask what runs to finish. Raises CgmError if the disk refuses."""
    file = path / "slurm" / f"{batch}.stop"
    try:
        file.touch()
    except OSError as error:
        raise write_fault(file, error) from error
    done = _slurm("scancel", "--state=PENDING", job)
    if done.returncode != 0:
        raise CgmError(f"scancel {job}: {done.stderr.strip()}. Tasks that run will finish nevertheless.")


def largest_array() -> int:
    """How many tasks an array may have."""
    done = _slurm("scontrol", "show", "config")
    found = re.search(r"^MaxArraySize\s*=\s*(\d+)", done.stdout, re.MULTILINE)
    return max(1, int(found[1])) if found else _LARGEST_ARRAY


def _come_back(requeue: bool, progress: SweepProgress) -> int:
    job = os.environ["SLURM_JOB_ID"]
    state = re.search(r"\bJobState=(\w+)", _slurm("scontrol", "show", "job", "--oneliner", job).stdout)
    # One that somebody has cancelled is completing by now, and would come back to life.
    if not requeue or (state and state[1] != "RUNNING"):
        progress.say(f"told to leave with {counted(progress.left, 'point')} to do; they wait for the next `cgm sweep`")
        return Status.PREEMPTED.exit_code
    done = _slurm("scontrol", "requeue", job)
    if done.returncode != 0:
        progress.say(f"could not go back to the queue: {done.stderr.strip()}")
        return Status.PREEMPTED.exit_code
    progress.say(f"back to the queue with {counted(progress.left, 'point')} to do")
    # Slurm ends this process now, and takes one that ends by itself for one that has failed.
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    time.sleep(600)
    return Status.PREEMPTED.exit_code


def _slurm(*command: str) -> subprocess.CompletedProcess[str]:
    try:
        return subprocess.run(command, capture_output=True, text=True, timeout=60, stdin=subprocess.DEVNULL)
    except (OSError, subprocess.SubprocessError) as error:
        return subprocess.CompletedProcess(command, 1, "", str(error))
