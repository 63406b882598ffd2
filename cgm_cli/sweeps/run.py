"""`cgm sweep FILE` from a manifest to an exit code: what is left to do, by which executor, and how it ended."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from cgm_cli.methods.status import Status
from cgm_cli.sweeps.driver import driving
from cgm_cli.sweeps.executors.local import SweepObserver, run_local
from cgm_cli.sweeps.manifest import Manifest, ManifestRow
from cgm_cli.sweeps.model import DaskSpec
from cgm_cli.sweeps.point_folder import PointState
from cgm_cli.sweeps.progress import SweepProgress
from cgm_cli.text import counted

SOME_FAILED = 5
"""Exit code of a sweep some of whose runs failed."""


@dataclass(frozen=True)
class Options:
    """workers: runs at the same time. retries: further attempts at a failed run. most: failures after which the sweep
    stops, or None. only: "failed" or "waiting", or None for both.
    """

    workers: int
    retries: int = 0
    most: int | None = None
    only: str | None = None
    quiet: bool = False


Executor = Callable[[list[ManifestRow], SweepObserver, Callable[[], bool], Path], None]
"""Computes the rows, telling the observer, until they have ended or it is asked to stop. To tell processes elsewhere of
this it may make the file.
"""


def local_executor(manifest: Manifest, options: Options) -> Executor:
    """Processes on this machine."""

    def execute(
        rows: list[ManifestRow], observer: SweepObserver, should_stop: Callable[[], bool], stop_file: Path
    ) -> None:
        run_local(manifest, rows, options.workers, options.retries, observer, should_stop)

    return execute


def dask_executor(manifest: Manifest, options: Options, spec: DaskSpec) -> Executor:
    """Workers of dask."""
    from cgm_cli.sweeps.executors.dask import run_dask

    def execute(
        rows: list[ManifestRow], observer: SweepObserver, should_stop: Callable[[], bool], stop_file: Path
    ) -> None:
        run_dask(manifest, rows, spec, options.workers, options.retries, observer, should_stop, stop_file)

    return execute


def drive(
    manifest: Manifest, options: Options, executor: Executor, should_stop: Callable[[], Status | None]
) -> tuple[int, SweepProgress]:
    """Compute what is left of a sweep. The exit code: 0, 5 if some runs failed, 75 or 130 if told to leave.

    Raises KeyboardInterrupt on a second Ctrl-C.
    """
    runs = manifest.runs
    todo, done = remaining(manifest, options.only)
    with driving(manifest.path) as driver, SweepProgress(manifest, len(runs), options.quiet) as progress:
        progress.done = len(done)
        progress.failed = 0 if options.only != "waiting" else _failed(manifest)
        before = progress.failed
        for row in done:
            progress.consider(row)
        if done and not options.quiet:
            progress.say(f"{len(done)} of {counted(len(runs), 'run')} done already")

        def enough() -> bool:
            return options.most is not None and progress.failed - before >= options.most

        def stop() -> bool:
            return should_stop() is not None or enough() or driver.told_to_stop()

        if todo:
            executor(todo, progress, stop, driver.stop_file)
        status = should_stop()
        cancelled = driver.told_to_stop() and not enough()
    if status is not None:
        return status.exit_code, progress
    if cancelled:
        return Status.INTERRUPTED.exit_code, progress
    return SOME_FAILED if progress.failed else 0, progress


def remaining(manifest: Manifest, only: str | None = None) -> tuple[list[ManifestRow], list[ManifestRow]]:
    """What there is to compute, and what is done."""
    todo, done = [], []
    for row in manifest.runs:
        state = manifest.folder(row).condition().state
        if state is PointState.DONE:
            done.append(row)
        elif only is None or (only == "failed") is (state is PointState.FAILED):
            todo.append(row)
    return todo, done


def _failed(manifest: Manifest) -> int:
    return sum(manifest.folder(row).condition().state is PointState.FAILED for row in manifest.runs)
